// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Executes PTWRITE instructions: five of each width, from a register and from memory, with increasing payloads. With a number N as the
 * argument: N of them, with the TSC read just before as the payload, and work in between. To be built with -mptwrite.
 */
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include <x86intrin.h>

namespace
{

void of_each_width()
{
	for (std::uint64_t i = 0; i < 5; i++) {
		asm volatile("ptwrite %0" : : "r"(0xabc0'0000'0000 + i));
		asm volatile("ptwrite %0" : : "r"(static_cast<std::uint32_t>(0xdef000 + i)));
		const std::uint64_t wide = 0xabc1'0000'0000 + i;
		const std::uint32_t narrow = static_cast<std::uint32_t>(0xdef100 + i);
		asm volatile("ptwriteq %0" : : "m"(wide));
		asm volatile("ptwritel %0" : : "m"(narrow));
	}
}

void of_time(int count)
{
	volatile unsigned work = 0;

	for (int i = 0; i < count; i++) {
		asm volatile("ptwrite %0" : : "r"(static_cast<std::uint64_t>(__rdtsc())));
		for (int n = 0; n < 200; n++)
			work = work + (work % 3 ? 1u : 2u);
	}
}

} // namespace

int main(int argc, char **argv)
{
	if (argc > 1)
		of_time(std::atoi(argv[1]));
	else
		of_each_width();
	std::puts("ptwrites done");
	return 0;
}
