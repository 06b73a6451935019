/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Rtit: registers of Intel PT that programs in ring 0 write, and which features this processor has (SDM volume 4; volume 3, "Trace
 * Control Registers"). The virtual hardware has definitions of its own, so that a mistake in them is found.
 */
#ifndef HWSIM_FUZZ_RTIT_H
#define HWSIM_FUZZ_RTIT_H

#include <cpuid.h>
#include <cstdint>

namespace hwsim::fuzz
{

namespace rtit
{
constexpr std::uint32_t output_base = 0x560, output_mask = 0x561, ctl = 0x570, status = 0x571, cr3_match = 0x572, addr0_a = 0x580;

/* IA32_RTIT_CTL */
constexpr std::uint64_t trace_en = 1, cyc_en = 1 << 1, os = 1 << 2, user = 1 << 3, fup_on_ptw = 1 << 5, cr3_filter = 1 << 7,
			topa = 1 << 8, mtc_en = 1 << 9, tsc_en = 1 << 10, dis_retc = 1 << 11, ptw_en = 1 << 12,
			branch_en = 1 << 13;
constexpr unsigned mtc_freq = 14, cyc_thresh = 19, psb_freq = 24, addr_cfg = 32; /* where fields of 4 bits begin */
constexpr std::uint64_t within = 1, stop = 2; /* ADDRn_CFG */
} // namespace rtit

struct Rtit {
	bool cr3_filter = false, cyc = false, mtc = false, ptwrite = false, single_range = false;
	unsigned ranges = 0;
	unsigned mtc_freqs = 0, cyc_thresholds = 0, psb_freqs = 0; /* bit n: n may be chosen */

	/* What this processor has (SDM volume 3, "Detection of Intel Processor Trace": CPUID leaf 14H). */
	static Rtit here()
	{
		unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
		Rtit unit;
		__get_cpuid_count(0x14, 0, &eax, &ebx, &ecx, &edx);
		const bool more = eax;
		unit.cr3_filter = ebx & 1;
		unit.cyc = ebx & 2;
		unit.mtc = ebx & 8;
		unit.ptwrite = ebx & 16;
		unit.single_range = ecx & 4;
		if (!more)
			return unit;
		__get_cpuid_count(0x14, 1, &eax, &ebx, &ecx, &edx);
		unit.ranges = eax & 7;
		unit.mtc_freqs = eax >> 16;
		unit.cyc_thresholds = ebx & 0xffff;
		unit.psb_freqs = ebx >> 16;
		return unit;
	}
};

} // namespace hwsim::fuzz

#endif
