// SPDX-License-Identifier: GPL-2.0-or-later
#include "perfmon.h"

namespace hwsim::x86
{
namespace
{

bool within(std::uint32_t msr, std::uint32_t first, unsigned count)
{
	return msr >= first && msr < first + count;
}

} // namespace

bool Perfmon::owns(std::uint32_t msr) const
{
	const PmuCapabilities &pmu = profile.pmu;
	switch (msr) {
	case fixed_ctr_ctrl:
	case status:
	case ctrl:
	case ovf_ctrl:
	case pebs_enable:
	case platform_info:
	case perf_capabilities:
		return true;
	case status_set:
		return pmu.version >= 4;
	default:
		return within(msr, pmc0, pmu.general) || within(msr, perfevtsel0, pmu.general) ||
		       within(msr, fixed_ctr0, pmu.fixed) || within(msr, a_pmc0, pmu.general);
	}
}

std::uint64_t Perfmon::read(std::uint32_t msr) const
{
	switch (msr) {
	case fixed_ctr_ctrl:
		return fixed_control;
	case status:
		return global_status;
	case ctrl:
		return global_control;
	case pebs_enable:
		return pebs;
	case platform_info:
		/* Maximum non-turbo ratio, which perf scales cycle packets by. */
		return std::uint64_t{profile.bus_ratio} << 8;
	case ovf_ctrl:
	case status_set:
	case perf_capabilities:
		return 0;
	default:
		if (within(msr, pmc0, profile.pmu.general))
			return general[msr - pmc0];
		if (within(msr, a_pmc0, profile.pmu.general))
			return general[msr - a_pmc0];
		if (within(msr, perfevtsel0, profile.pmu.general))
			return select[msr - perfevtsel0];
		return fixed[msr - fixed_ctr0];
	}
}

void Perfmon::write(std::uint32_t msr, std::uint64_t value)
{
	const PmuCapabilities &pmu = profile.pmu;
	switch (msr) {
	case fixed_ctr_ctrl:
		fixed_control = value;
		return;
	case ctrl:
		global_control = value;
		return;
	case ovf_ctrl: /* also IA32_PERF_GLOBAL_STATUS_RESET */
		global_status &= ~value;
		return;
	case status_set:
		global_status |= value;
		return;
	case pebs_enable:
		pebs = value;
		return;
	case status:
	case platform_info:
	case perf_capabilities:
		return;
	default:
		break;
	}
	/* Without full-width writes a counter takes 32 bits and extends their sign (SDM, "IA32_PMCx"). */
	if (within(msr, pmc0, pmu.general))
		general[msr - pmc0] =
			cut(static_cast<std::uint64_t>(static_cast<std::int64_t>(static_cast<std::int32_t>(value))),
				pmu.general_width);
	else if (within(msr, a_pmc0, pmu.general))
		general[msr - a_pmc0] = cut(value, pmu.general_width);
	else if (within(msr, perfevtsel0, pmu.general))
		select[msr - perfevtsel0] = value;
	else if (within(msr, fixed_ctr0, pmu.fixed))
		fixed[msr - fixed_ctr0] = cut(value, pmu.fixed_width);
}

} // namespace hwsim::x86
