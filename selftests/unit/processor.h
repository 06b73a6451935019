// SPDX-License-Identifier: GPL-2.0-only
// The processor that the unit tests of the drivers' pure parts run on: its capabilities and its registers.
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
	std::function<bool(std::uint32_t, std::uint64_t)> faults; // does this write raise #GP?
	bool in_nmi = false;
	long allocations_left = -1; // allocations before one fails; -1: none fails
	long allocated = 0;         // allocations not yet freed
};

extern Processor processor;

} // namespace unit
