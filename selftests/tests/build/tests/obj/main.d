build/tests/obj/main.o: main.cc report.h tasks.h
