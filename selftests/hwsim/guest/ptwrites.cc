// SPDX-License-Identifier: GPL-2.0-or-later
/* Five PTWRITE instructions of each width; payloads count up. To be built with -mptwrite. */
#include <cstdint>
#include <cstdio>

int main()
{
	for (std::uint64_t i = 0; i < 5; i++) {
		asm volatile("ptwrite %0" : : "r"(0xabc0'0000'0000 + i));
		asm volatile("ptwrite %0" : : "r"(static_cast<std::uint32_t>(0xdef000 + i)));
	}
	std::puts("ptwrites done");
	return 0;
}
