/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Resources of a trace unit (IHI0064, "Resources"): counters, a sequencer, and the resource selectors that events use, singly or in pairs.
 * There are no external inputs and no single-shot comparators: an event that selects one never occurs.
 *
 * Time advances by basic blocks. Counters and sequencer react in the next block to the events of this one.
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

	/* The trace unit is being enabled: counters and sequencer start from the values in their registers. */
	void start();
	/* Lets this many cycles pass, with the block that begins at "pc". */
	void advance(std::uint32_t cycles, std::uint64_t pc);
	/* Did this event occur in those cycles? It is encoded as in registers: 8 bits that name a selector or a pair of selectors. */
	bool happened(std::uint64_t event) const;
	/* Does any event use more than the constant selectors 0 and 1? */
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
	/* About the last advance(): the number of cycles, and in how many of them each counter was at zero and each selector active. */
	std::uint32_t passed = 0;
	std::array<std::uint32_t, most_counters> at_zero{};
	std::array<std::uint32_t, most_selectors> active{};
	bool used = false;
};

} // namespace hwsim::arm64::etm

#endif
