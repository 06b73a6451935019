/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Perfmon: the registers of the performance counters of one processor: SDM volume 3, "Performance Monitoring". They can be
 * written and read; nothing counts yet. The status register also carries the trace unit's interrupt.
 */
#ifndef HWSIM_X86_PERFMON_H
#define HWSIM_X86_PERFMON_H

#include <array>
#include <cstdint>

#include "profile.h"

namespace hwsim::x86
{

class Perfmon
{
public:
	explicit Perfmon(const Profile &of) : profile(of) {}

	bool owns(std::uint32_t msr) const;
	std::uint64_t read(std::uint32_t msr) const;
	void write(std::uint32_t msr, std::uint64_t value);

	/* Trace_ToPA_PMI of IA32_PERF_GLOBAL_STATUS. */
	void set_topa_interrupt() { global_status |= topa_interrupt; }

	static constexpr std::uint64_t topa_interrupt = std::uint64_t{1} << 55;

private:
	static constexpr std::uint32_t pmc0 = 0xc1, perfevtsel0 = 0x186, fixed_ctr0 = 0x309, perf_capabilities = 0x345,
				       fixed_ctr_ctrl = 0x38d, status = 0x38e, ctrl = 0x38f, ovf_ctrl = 0x390,
				       status_set = 0x391, pebs_enable = 0x3f1, a_pmc0 = 0x4c1, platform_info = 0xce;

	static std::uint64_t cut(std::uint64_t value, unsigned width)
	{
		return value & ((std::uint64_t{1} << width) - 1);
	}

	const Profile &profile;
	std::array<std::uint64_t, 8> general{}, select{};
	std::array<std::uint64_t, 4> fixed{};
	std::uint64_t fixed_control = 0, global_control = 0, global_status = 0, pebs = 0;
};

} // namespace hwsim::x86

#endif
