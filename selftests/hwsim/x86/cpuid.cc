// SPDX-License-Identifier: GPL-2.0-or-later
#include "cpuid.h"

#include <algorithm>

namespace hwsim::x86
{
namespace
{

/*
 * From leaf 16H the kernel would derive a crystal frequency, and from that a wrong rate of QEMU's APIC timer. So the leaf is empty,
 * as are those after it, up to that of LBRs if there is one.
 */
constexpr std::uint32_t frequencies = 0x16, branch_records = 0x1c;
constexpr std::uint32_t architectural_events = 7;
/* Cache references, cache misses, mispredicted branches: a machine without caches and prediction has none. */
constexpr std::uint32_t missing_events = 1 << 3 | 1 << 4 | 1 << 6;

constexpr std::uint32_t bit(bool set, unsigned position)
{
	return set ? 1u << position : 0;
}

CpuidResult perfmon(const PmuCapabilities &pmu)
{
	CpuidResult result;
	result.eax = pmu.version | pmu.general << 8 | pmu.general_width << 16 | architectural_events << 24;
	result.ebx = missing_events;
	result.edx = pmu.fixed | pmu.fixed_width << 5;
	if (pmu.version >= 5) {
		result.ecx = (1u << pmu.fixed) - 1;
		result.edx |= bit(pmu.any_thread_deprecated, 15);
	}
	return result;
}

/* Whether there are architectural last branch records. */
bool has_records(const Profile &profile, const Hardware &hardware)
{
	return hardware.pmu && profile.lbr.architectural();
}

/* EBX: filters by level and by kind, call stacks. ECX: mispredictions, cycles, kinds. */
CpuidResult records(const LbrCapabilities &lbr)
{
	return {.eax = lbr.depths(), .ebx = 7, .ecx = 7};
}

CpuidResult trace(const PtCapabilities &pt)
{
	const std::uint32_t subleaves = pt.psb_cyc || pt.mtc || pt.address_ranges ? 1 : 0;
	return {
		.eax = subleaves,
		.ebx = bit(pt.cr3_filtering, 0) | bit(pt.psb_cyc, 1) | bit(pt.ip_filtering, 2) | bit(pt.mtc, 3) |
		       bit(pt.ptwrite, 4) | bit(pt.event_trace, 7) | bit(pt.tnt_disable, 8),
		.ecx = bit(pt.topa, 0) | bit(pt.topa_multi, 1) | bit(pt.single_range, 2) | bit(pt.lip, 31),
	};
}

CpuidResult trace_details(const PtCapabilities &pt)
{
	return {
		.eax = pt.address_ranges | std::uint32_t{pt.mtc_periods} << 16,
		.ebx = pt.cycle_thresholds | std::uint32_t{pt.psb_periods} << 16,
	};
}

} // namespace

bool cpuid_differs(std::uint32_t leaf)
{
	return leaf == 0 || leaf == 1 || leaf == 7 || leaf == 0xa || (leaf >= 0x14 && leaf <= branch_records);
}

CpuidResult cpuid(
	const Profile &profile, const Hardware &hardware, std::uint32_t leaf, std::uint32_t subleaf, CpuidResult native)
{
	switch (leaf) {
	case 0:
		native.eax = has_records(profile, hardware) ? branch_records : frequencies - 1;
		return native;
	case 1:
		native.eax = profile.signature;
		/* No x2APIC: PMIs are delivered through the memory mapped APIC. */
		native.ecx &= ~bit(true, 21);
		/* VMX */
		native.ecx |= bit(true, 5);
		/* DTES64, DS-CPL; DS */
		native.ecx |= bit(hardware.bts, 2) | bit(hardware.bts, 4);
		native.edx |= bit(hardware.bts, 21);
		/* PDCM */
		native.ecx = (native.ecx & ~bit(true, 15)) | bit(hardware.pmu && profile.pmu.full_width, 15);
		return native;
	case 7:
		if (subleaf == 0) {
			native.ebx = (native.ebx & ~bit(true, 25)) | bit(hardware.pt, 25);
			native.edx = (native.edx & ~bit(true, 19)) | bit(has_records(profile, hardware), 19);
		}
		return native;
	case 0xa:
		return hardware.pmu ? perfmon(profile.pmu) : CpuidResult{};
	case 0x14:
		if (!hardware.pt || subleaf > 1)
			return {};
		return subleaf == 0 ? trace(profile.pt) : trace_details(profile.pt);
	case 0x15:
		return {.eax = profile.tsc_denominator, .ebx = profile.tsc_numerator};
	case branch_records:
		return has_records(profile, hardware) ? records(profile.lbr) : CpuidResult{};
	default:
		return leaf < frequencies ? native : CpuidResult{};
	}
}

} // namespace hwsim::x86
