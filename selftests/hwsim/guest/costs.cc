// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Runs three kinds of work: system calls, branch-intensive code, and a loop of one block. A line on standard output marks the begin and
 * the end of each, so that an observer outside can measure its cost.
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

/* Prints a mark, then sleeps to give the observer time to measure while no work runs. */
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
