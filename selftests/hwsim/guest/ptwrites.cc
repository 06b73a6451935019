// SPDX-License-Identifier: GPL-2.0-or-later
/* Five PTWRITE instructions of each width, from a register and from memory; payloads count up. To be built with -mptwrite. */
#include <cstdint>
#include <cstdio>

int main()
{
	for (std::uint64_t i = 0; i < 5; i++) {
		asm volatile("ptwrite %0" : : "r"(0xabc0'0000'0000 + i));
		asm volatile("ptwrite %0" : : "r"(static_cast<std::uint32_t>(0xdef000 + i)));
		const std::uint64_t wide = 0xabc1'0000'0000 + i;
		const std::uint32_t narrow = static_cast<std::uint32_t>(0xdef100 + i);
		asm volatile("ptwriteq %0" : : "m"(wide));
		asm volatile("ptwritel %0" : : "m"(narrow));
	}
	std::puts("ptwrites done");
	return 0;
}
