// SPDX-License-Identifier: GPL-2.0-only The processor for the unit tests of the drivers' pure parts: its
// capabilities and its registers.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>

namespace unit
{

struct Processor {
	std::array<std::uint32_t, 32> caps{}; // by enum pt_cap
	bool needs_branches = false;
	std::map<std::uint32_t, std::uint64_t> registers;
	std::function<bool(std::uint32_t, std::uint64_t)> faults; // is that write refused?
	bool in_nmi = false;
	long allocations_left = -1; // before one fails; -1: none does
	long allocated = 0;         // and not freed
};

extern Processor processor;

} // namespace unit
