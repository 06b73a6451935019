# SPDX-License-Identifier: GPL-2.0-only
#
# How programs on the kit are compiled: objects of DIR and of the kit (lib-NAME.o) go to O/obj; programs are static, so
# that they run in any guest.  Needs g++ 13 or newer.  The Makefile that includes this has set DIR and O.

CXX ?= g++
CXXFLAGS ?= -O2
WARN := -Wall -Wextra -Werror

# The objects of all of the kit.
KIT := $(patsubst %.cc,$(O)/obj/lib-%.o,$(notdir $(wildcard $(DIR)../lib/*.cc)))

compile = $(CXX) -std=c++20 $(CXXFLAGS) $(WARN) -MMD -MP -c -o $@ $<
link = $(CXX) -static $(CXXFLAGS) $(LDFLAGS) -o $@ $(filter %.o,$^) $(LIBS)

$(O)/obj/lib-%.o: $(DIR)../lib/%.cc
	@mkdir -p $(@D)
	$(compile)

$(O)/obj/%.o: $(DIR)%.cc
	@mkdir -p $(@D)
	$(compile)

# The verifier reads every byte of every trace.
$(O)/obj/lib-trace_verifier.o: CXXFLAGS += -O3

-include $(wildcard $(O)/obj/*.d)
