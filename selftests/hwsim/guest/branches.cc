// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A program to be traced: recursion, loops, indirect calls and jumps, calls into the C library, system calls. It prints how often the
 * recursive function is entered, as a computed and not a measured number. With "rounds" it repeats the recursion so many times and sleeps
 * after each, or waits (start.h), so that the tracer is scheduled out and in again after an amount of trace that "depth" determines.
 *
 *   branches [depth [rounds]]
 */
#include <cstdio>
#include <cstdlib>
#include <unistd.h>

#include "start.h"

/* Not mangled, because address filters are tested on these names. */
extern "C" [[gnu::noinline]] unsigned fibonacci(unsigned n)
{
	return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
}
extern "C" [[gnu::noinline]] void finished()
{
	asm volatile("");
}

namespace
{

unsigned add(unsigned a, unsigned b)
{
	return a + b;
}
unsigned mix(unsigned a, unsigned b)
{
	return a * 31 ^ b;
}
unsigned choose(unsigned a, unsigned b)
{
	switch (b % 7) {
	case 0:
		return a + 3;
	case 1:
		return a ^ 0x55;
	case 2:
		return a << 1;
	case 3:
		return a >> 1;
	case 4:
		return a - b;
	default:
		return a * b;
	}
}

/* How often fibonacci() is entered by a call of fibonacci(n), that call included. */
unsigned long entries(unsigned n)
{
	return n < 2 ? 1 : 1 + entries(n - 1) + entries(n - 2);
}

int order(const void *a, const void *b)
{
	return *static_cast<const int *>(a) - *static_cast<const int *>(b);
}

} // namespace

int main(int argc, char **argv)
{
	wait_for_start();
	const unsigned depth = argc > 1 ? static_cast<unsigned>(std::atoi(argv[1])) : 10;
	const int rounds = argc > 2 ? std::atoi(argv[2]) : 0;
	unsigned (*volatile table[])(unsigned, unsigned) = {add, mix, choose};
	int numbers[64];
	unsigned value = 1;
	for (int i = 0; i < 64; i++)
		numbers[i] = i * 7919 % 101;
	std::qsort(numbers, 64, sizeof numbers[0], order);
	for (unsigned i = 0; i < 50 * depth; i++) {
		value = table[i % 3](value, i);
		if (i % 64 == 0)
			getppid(); /* the result differs from run to run, the work must not */
	}
	value += fibonacci(depth);
	for (int i = 0; i < rounds; i++) {
		unsigned again = depth;
		asm volatile(""
			: "+r"(again)); /* fibonacci() has no side effects; without this the compiler would call it once */
		value += fibonacci(again);
		if (!wait_after_round())
			usleep(2000);
	}
	finished();
	std::printf("value %u sorted %d entries %lu\n", value, numbers[5],
		entries(depth) * (1 + static_cast<unsigned long>(rounds)));
	return 0;
}
