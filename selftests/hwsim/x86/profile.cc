// SPDX-License-Identifier: GPL-2.0-or-later
#include "profile.h"

#include <algorithm>

namespace hwsim::x86
{
namespace
{

/* The same in all profiles, except for the arguments; AnyThread is deprecated from version 5 on. */
constexpr PmuCapabilities counters(std::uint8_t version, std::uint8_t general)
{
	return {.version = version,
		.general = general,
		.general_width = 48,
		.fixed = 3,
		.fixed_width = 48,
		.full_width = true,
		.any_thread_deprecated = version >= 5};
}

/* The masks of periods are those that the processors report; all allow 0, which KVM and the SDM want of an unused field. */
constexpr Profile all[] = {
	{
		/* The first: no CYC, no MTC, one region per table, so the driver is interrupted for each. */
		.name = "broadwell",
		.signature = 0x306d4,
		.pt = {.cr3_filtering = true},
		.pt_habits = {.compresses_ips = false,
			.most_outcomes = 44,
			.long_tnt_from = 7,
			.a_word_each = true,
			.tells_tsx = true},
		.pmu = counters(3, 4),
		.lbr = {LbrCapabilities::Format::flags, 16},
		.trace_beside_branches = false,
		.tsc_denominator = 0,
		.tsc_numerator = 0,
		.trace_in_vmx = false,
		.bus_ratio = 20,
		.tsc_ticks_per_ns = 2,
	},
	{
		.name = "skylake",
		.signature = 0x506e3,
		.pt = {.cr3_filtering = true,
			.psb_cyc = true,
			.ip_filtering = true,
			.mtc = true,
			.topa_multi = true,
			.single_range = true,
			.address_ranges = 2,
			.mtc_periods = 0x0249,
			.cycle_thresholds = 0x3fff,
			.psb_periods = 0x003f},
		.pt_habits = {.most_outcomes = 6, .state_before_time = true, .tells_tsx = true},
		.pmu = counters(4, 4),
		.trace_beside_branches = false,
		.tsc_denominator = 2,
		.tsc_numerator = 250,
		.bus_ratio = 30,
		.tsc_ticks_per_ns = 3,
	},
	{
		.name = "goldmont",
		.signature = 0x506c9,
		.pt = {.cr3_filtering = true,
			.psb_cyc = true,
			.ip_filtering = true,
			.mtc = true,
			.topa_multi = true,
			.single_range = true,
			.address_ranges = 2,
			.mtc_periods = 0x0249,
			.cycle_thresholds = 0x0fff,
			.psb_periods = 0x003f},
		.pmu = counters(4, 4),
		.lbr = {.format = LbrCapabilities::Format::time},
		.tsc_denominator = 3,
		.tsc_numerator = 312,
		.bus_ratio = 20,
		.tsc_ticks_per_ns = 2,
	},
	{
		.name = "icelake",
		.signature = 0x706e5,
		.pt = {.cr3_filtering = true,
			.psb_cyc = true,
			.ip_filtering = true,
			.mtc = true,
			.ptwrite = true,
			.topa_multi = true,
			.single_range = true,
			.address_ranges = 2,
			.mtc_periods = 0x0249,
			.cycle_thresholds = 0x3fff,
			.psb_periods = 0x003f},
		.pt_habits = {.most_outcomes = 6, .state_before_time = true, .tells_tsx = true},
		.pmu = counters(5, 8),
		.tsc_denominator = 2,
		.tsc_numerator = 104,
		.bus_ratio = 20,
		.tsc_ticks_per_ns = 2,
	},
	{
		/* Gracemont cores only: the events of Alder Lake without a hybrid PMU. */
		.name = "alderlake-n",
		.signature = 0xb06e0,
		.pt = {.cr3_filtering = true,
			.psb_cyc = true,
			.ip_filtering = true,
			.mtc = true,
			.ptwrite = true,
			.event_trace = true,
			.tnt_disable = true,
			.topa_multi = true,
			.single_range = true,
			.address_ranges = 2,
			.mtc_periods = 0x0249,
			.cycle_thresholds = 0x3fff,
			.psb_periods = 0x003f},
		.pmu = counters(5, 6),
		.lbr = {.format = LbrCapabilities::Format::architectural},
		.tsc_denominator = 2,
		.tsc_numerator = 104,
		.bus_ratio = 20,
		.tsc_ticks_per_ns = 2,
	},
};

} // namespace

std::span<const Profile> profiles()
{
	return all;
}

const Profile *find_profile(std::string_view name)
{
	const auto at = std::ranges::find(all, name, &Profile::name);
	return at == std::end(all) ? nullptr : at;
}

std::optional<Cores> find_cores(std::string_view names)
{
	const auto plus = names.find('+');
	const Profile *first = find_profile(names.substr(0, plus));
	const Profile *second = plus == names.npos ? first : find_profile(names.substr(plus + 1));
	if (!first || !second || (second->pt.mtc && !first->tsc_numerator))
		return {};
	Cores cores = {*first, *first};
	cores.odd.pt = second->pt;
	cores.odd.pt_habits = second->pt_habits;
	return cores;
}

} // namespace hwsim::x86
