/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Resources of a trace unit (IHI0064, "Resources"): counters, and the selectors by which events are chosen. There are no sequencer, no
 * external inputs, and no pairs of selectors: an event that wants one never happens.
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

	/* The trace unit is enabled: counters begin with what their registers say. */
	void start();
	/* So many cycles pass, at an instruction. */
	void advance(std::uint32_t cycles, std::uint64_t pc);
	/* Did this event happen in those cycles? As registers code it: a selector, in a field of eight bits. */
	bool happened(std::uint64_t event) const;
	/* Is there an event that depends on more than the constant selectors 0 and 1? */
	bool in_use() const { return used; }

private:
	static constexpr unsigned most_counters = 4, most_selectors = 32;

	bool at_comparator(unsigned n, std::uint64_t pc) const;
	bool in_range(unsigned n, std::uint64_t pc) const;
	unsigned count(unsigned n, std::uint64_t cycles);

	Registers &registers;
	std::array<bool, most_counters> at_zero{};
	std::uint32_t selected = 0; /* a bit for each selector */
	bool used = false;
};

} // namespace hwsim::arm64::etm

#endif
