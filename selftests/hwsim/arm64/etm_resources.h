/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Resources of a trace unit (IHI0064, "Resources"): counters, a sequencer, and the selectors by which events are chosen, alone or in
 * pairs. There are no external inputs, and no single-shot comparators: an event that wants one never happens.
 *
 * Time passes block by block. What follows from what happened in one is there in the next.
 */
#ifndef HWSIM_ARM64_ETM_RESOURCES_H
#define HWSIM_ARM64_ETM_RESOURCES_H

#include <array>
#include <cstdint>

#include "etm_registers.h"

namespace hwsim::arm64::etm
{

class Resources
{
public:
	explicit Resources(Registers &of) : registers(of) {}

	/* The trace unit is enabled: counters and sequencer begin with what their registers say. */
	void start();
	/* So many cycles pass, at an instruction. */
	void advance(std::uint32_t cycles, std::uint64_t pc);
	/* Did this event happen in those cycles? As registers code it, in a field of eight bits: a selector, or a pair of them. */
	bool happened(std::uint64_t event) const;
	/* Is there an event that depends on more than the constant selectors 0 and 1? */
	bool in_use() const { return used; }

private:
	static constexpr unsigned most_counters = 4, most_selectors = 32;

	std::uint32_t times(std::uint64_t event) const;
	bool at_comparator(unsigned n, std::uint64_t pc) const;
	bool in_range(unsigned n, std::uint64_t pc) const;
	std::uint32_t count(unsigned n, std::uint32_t decrements, std::uint32_t cycles);
	void sequence();
	std::uint32_t select(std::uint64_t control, std::uint64_t pc) const;

	Registers &registers;
	/* Of the cycles that passed last: how many, in how many each counter was at zero, and each selector active. */
	std::uint32_t passed = 0;
	std::array<std::uint32_t, most_counters> at_zero{};
	std::array<std::uint32_t, most_selectors> active{};
	bool used = false;
};

} // namespace hwsim::arm64::etm

#endif
