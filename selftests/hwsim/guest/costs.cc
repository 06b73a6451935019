// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Work of three kinds, each between two lines on standard output, by which somebody outside measures what it costs: system calls,
 * code full of branches, a loop of one block.
 *
 *   costs [thousands of rounds]
 */
#include <cstdio>
#include <cstdlib>
#include <sys/syscall.h>
#include <unistd.h>

namespace
{

[[gnu::noinline]] unsigned fibonacci(unsigned n)
{
	return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
}

/* Whoever measures gets time to do so while nothing runs. */
void say(const char *what, const char *work)
{
	std::printf("%s %s\n", what, work);
	std::fflush(stdout);
	sleep(3);
}

} // namespace

int main(int argc, char **argv)
{
	const long rounds = 1000 * (argc > 1 ? std::atol(argv[1]) : 1);
	say("begin", "syscalls");
	for (long i = 0; i < 60 * rounds; i++)
		syscall(SYS_getppid);
	say("end", "syscalls");

	say("begin", "branches");
	volatile unsigned sum = 0;
	for (long i = 0; i < 48 * rounds; i++)
		sum = sum + fibonacci(14);
	say("end", "branches");

	say("begin", "loop");
	for (long i = 0; i < 600'000 * rounds; i++)
		asm volatile("" : : "r"(i));
	say("end", "loop");
	return 0;
}
