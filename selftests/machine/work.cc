// SPDX-License-Identifier: GPL-2.0-only
#include "work.h"

namespace auxpmu::machine
{

/* What is between the calls keeps the compiler from making one of them a loop. */
[[gnu::noipa]] unsigned recursion(unsigned n)
{
	if (n < 2)
		return n;
	unsigned a = recursion(n - 1);

	asm volatile("" : "+r"(a));
	unsigned b = recursion(n - 2);

	asm volatile("" : "+r"(b));
	return a + b;
}

[[gnu::noipa]] unsigned paced_recursion(unsigned n)
{
	static unsigned (*volatile const through)(unsigned) = paced_recursion;
	unsigned pace = n;

	/* each waits for the one before */
#ifdef __aarch64__
	asm volatile(".rept 256\n mul %w0, %w0, %w0\n .endr" : "+r"(pace));
#else
	asm volatile(".rept 256\n imul %0, %0\n .endr" : "+r"(pace));
#endif
	if (n < 2)
		return n;
	const unsigned a = through(n - 1), b = through(n - 2);

	return a + b;
}

std::uint64_t entries(unsigned n)
{
	return n < 2 ? 1 : 1 + entries(n - 1) + entries(n - 2);
}

void work(Density density)
{
	if (density == Density::dense)
		recursion(16);
	else
		for (unsigned i = 0; i < 10000; i++)
			asm volatile(".rept 24\n nop\n .endr");
}

} // namespace auxpmu::machine
