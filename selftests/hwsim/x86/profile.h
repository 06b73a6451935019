/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Profiles: what distinguishes one processor from another as far as its trace and performance hardware goes, as data. A
 * driver has to cope with each of these, so each is a machine to test it on.
 */
#ifndef HWSIM_X86_PROFILE_H
#define HWSIM_X86_PROFILE_H

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace hwsim::x86
{

/* CPUID leaf 14H (SDM volume 3, "Enumeration of Intel Processor Trace"). */
struct PtCapabilities {
	bool cr3_filtering = false;
	bool psb_cyc = false; /* PSBFreq, CYC packets */
	bool ip_filtering = false;
	bool mtc = false;
	bool ptwrite = false;
	bool event_trace = false;
	bool tnt_disable = false;
	bool topa = true;
	bool topa_multi = false; /* tables of more than one output region */
	bool single_range = false;
	bool lip = false;                /* IP payloads are linear addresses: the CS base is in them */
	std::uint8_t address_ranges = 0; /* number of ADDRn_A/B pairs */
	std::uint16_t mtc_periods = 0;   /* bit n: MTCFreq n can be chosen */
	std::uint16_t cycle_thresholds = 0;
	std::uint16_t psb_periods = 0;
};

/* What the SDM leaves to the processor, and decoders have to cope with; taken from traces of silicon, where there are any. */
struct PtHabits {
	bool compresses_ips = true; /* in the TIP family; in FUP never */
	/* Outcomes that gather before a TNT, and from how many on it has the long form: by default where that is not longer. */
	std::uint8_t most_outcomes = 47, long_tnt_from = 43;
	/* Where PADs are: pt::padding_to_a_word(), or pt::padding(). */
	bool a_word_each = false;
	/* PSB+ */
	bool state_before_time = false; /* MODE, FUP and PIP in front of TSC and CBR */
	bool tells_tsx = false;         /* MODE.TSX, though nothing is ever a transaction */
};

/* CPUID leaf 0AH. */
struct PmuCapabilities {
	std::uint8_t version = 0;
	std::uint8_t general = 0; /* number of counters, and their width in bits */
	std::uint8_t general_width = 0;
	std::uint8_t fixed = 0;
	std::uint8_t fixed_width = 0;
	/* IA32_PERF_CAPABILITIES exists, and says that IA32_A_PMCx take the full width, and that counters can freeze in SMM. */
	bool full_width = false;
	bool any_thread_deprecated = false;

	/* Can counters freeze on a performance interrupt? */
	bool freezes() const { return full_width && version >= 2; }
};

/* Last branch records. */
struct LbrCapabilities {
	/* As IA32_PERF_CAPABILITIES has them (SDM volume 3, "Last Branch Records and 64-Bit LBR MSR Formats"). */
	enum class Format : std::uint8_t { flags = 4, info = 5, time = 6, architectural = 0x3f };

	Format format = Format::info;
	std::uint8_t depth = 32; /* records */

	bool architectural() const { return format == Format::architectural; }
	bool has_info() const { return format == Format::info || architectural(); }
	/* CPUID leaf 1CH: bit n means that 8 * (n + 1) records can be chosen; here the whole depth, half of it, and so on. */
	constexpr std::uint32_t depths() const
	{
		std::uint32_t all = 0;
		for (unsigned chosen = depth; chosen >= 8; chosen /= 2)
			all |= 1u << (chosen / 8 - 1);
		return all;
	}
};

struct Profile {
	std::string_view name;
	std::uint32_t signature; /* CPUID leaf 1, EAX */
	PtCapabilities pt;
	PtHabits pt_habits{};
	PmuCapabilities pmu;
	LbrCapabilities lbr{};
	/* TraceEn, and LBR or TR of IA32_DEBUGCTL, can be set at the same time. */
	bool trace_beside_branches = true;
	/* CPUID leaf 15H: the TSC runs at numerator/denominator times the always running timer (ART). */
	std::uint32_t tsc_denominator;
	std::uint32_t tsc_numerator;
	/* IA32_VMX_MISC: Intel PT may be used in VMX operation. */
	bool trace_in_vmx = true;
	std::uint8_t bus_ratio;        /* TSC in units of the 100 MHz bus: CBR packets, MSR_PLATFORM_INFO */
	std::uint8_t tsc_ticks_per_ns; /* bus_ratio / 10 */
};

std::span<const Profile> profiles();
/* By name, null if there is none. */
const Profile *find_profile(std::string_view name);

/* A machine with two types of cores, which differ in their trace units only. */
struct Cores {
	Profile even, odd; /* processors of these numbers */

	const Profile &of(unsigned processor) const { return processor % 2 ? odd : even; }
};

/*
 * NAME, with all cores alike, or NAME+OTHER. Empty if there is no such profile, or if OTHER has clock packets and NAME no clock
 * for them.
 */
std::optional<Cores> find_cores(std::string_view names);

} // namespace hwsim::x86

#endif
