/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * EtmPage: the memory-mapped registers of a trace unit (IHI0064, chapter 7): those that are also system registers, and those that exist
 * only in the memory map. Like the trace unit, the page belongs to one vCPU.
 */
#ifndef HWSIM_ARM64_ETM_PAGE_H
#define HWSIM_ARM64_ETM_PAGE_H

#include "component.h"
#include "trace_unit.h"

namespace hwsim::arm64
{

class EtmPage final : public Component
{
public:
	/* @skips_power_up: TRCPDCR.PU must not be set. */
	EtmPage(TraceUnit &with, bool skips_power_up);

	/* Would this write enable the trace unit? */
	bool switches_on(std::uint32_t offset, std::uint32_t value) const
	{
		return !shows(management::lsr, management::locked) && TraceUnit::switches_on(offset, value);
	}

private:
	static constexpr std::uint32_t pdcr = 0x310, pdsr = 0x314;

	bool put(std::uint32_t offset, std::uint32_t value) override;
	bool claim(std::uint32_t offset, std::uint32_t value) override;
	void show_unit();

	TraceUnit &unit;
	const bool must_not_power_up;
};

} // namespace hwsim::arm64

#endif
