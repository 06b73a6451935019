// SPDX-License-Identifier: GPL-2.0-only
/*
 * Processors with different cores: how the Intel PT backend treats CPUs that differ in CPUID leaf 14H, which these tests read
 * on each CPU.
 */
#include <algorithm>
#include <cerrno>
#include <string>
#include <string_view>
#include <vector>

#include <cpuid.h>

#include "shared/fixture.h"
#include "shared/hardware.h"

using namespace auxpmu;
using namespace auxpmu::test;

namespace
{

enum Register { eax, ebx, ecx, edx };

/* A field of leaf 14H, and the bits of config that require it; 0: there are none. */
struct Capability {
	const char *name;
	unsigned subleaf;
	Register reg;
	unsigned lowest, width;
	std::uint64_t config;
	bool number = false; /* and not flags */
};
constexpr Capability all_capabilities[] = {
	{"max_subleaf", 0, eax, 0, 32, 0, true},
	{"cr3_filtering", 0, ebx, 0, 1, 0},
	{"psb_cyc", 0, ebx, 1, 1, 1 << 1},
	{"ip_filtering", 0, ebx, 2, 1, 0},
	{"mtc", 0, ebx, 3, 1, 1 << 9},
	{"ptwrite", 0, ebx, 4, 1, 1 << 12},
	{"event_trace", 0, ebx, 7, 1, std::uint64_t{1} << 31},
	{"tnt_disable", 0, ebx, 8, 1, std::uint64_t{1} << 55},
	{"topa_output", 0, ecx, 0, 1, 0},
	{"topa_multiple_entries", 0, ecx, 1, 1, 0},
	{"single_range_output", 0, ecx, 2, 1, 0},
	{"num_address_ranges", 1, eax, 0, 3, 0, true},
	{"mtc_periods", 1, eax, 16, 16, 0},
	{"cycle_thresholds", 1, ebx, 0, 16, 0},
	{"psb_periods", 1, ebx, 16, 16, 0},
};

std::uint64_t value_on(int cpu, const Capability &of)
{
	unsigned reg[4] = {};

	pin(cpu);
	__cpuid_count(0x14, 0, reg[eax], reg[ebx], reg[ecx], reg[edx]);
	if (of.subleaf && !reg[eax])
		return 0;
	__cpuid_count(0x14, of.subleaf, reg[eax], reg[ebx], reg[ecx], reg[edx]);
	return reg[of.reg] >> of.lowest & ((std::uint64_t{1} << of.width) - 1);
}

/* What CPUs have in common. */
std::uint64_t common(const std::vector<int> &cpus, const Capability &of)
{
	std::uint64_t all = ~std::uint64_t{0};

	for (const int cpu : cpus)
		all = of.number ? std::min(all, value_on(cpu, of)) : all & value_on(cpu, of);
	return all;
}

std::uint64_t shown(const Capability &of)
{
	return std::stoull("0" + attribute(std::string("caps/") + of.name), nullptr, 16);
}

perf_event_attr attr_of(std::uint64_t config)
{
	perf_event_attr attr = pmu().attr();

	attr.config = config;
	attr.exclude_kernel = 1;
	return attr;
}

/* 0 or an errno. */
int answer(std::uint64_t config)
{
	const auto event = Event::open(attr_of(config), Target::on_cpu(0));

	return event ? 0 : event.error().code;
}

/* Bytes of trace of some work on a CPU. */
std::uint64_t traced(int cpu, std::uint64_t config)
{
	pin(cpu);
	Event event = Event::open(attr_of(config), Target::on_cpu(cpu)).value();
	DataRing data = DataRing::map(event, 64 * KiB).value();
	AuxRing aux = AuxRing::map(data, event, 64 * KiB, AuxMode::full_trace).value();

	event.enable().value();
	churn(1000);
	event.disable().value();
	return aux.head();
}

/* The capabilities are those of these CPUs, of which each one traces with all that they have in common. */
void check_common(const std::vector<int> &cpus)
{
	const std::string faults = attribute("errors/fault");
	std::uint64_t config = 0;

	for (const Capability &one : all_capabilities) {
		INFO(one.name);
		const std::uint64_t can = common(cpus, one);
		CHECK(shown(one) == can);
		if (!one.config)
			continue;
		CHECK(answer(one.config) == (can ? 0 : EINVAL));
		config |= can ? one.config : 0;
	}
	for (const int cpu : cpus) {
		INFO("CPU " << cpu);
		CHECK(traced(cpu, config) > 0);
	}
	CHECK(attribute("errors/fault") == faults);
}

} // namespace

TEST_CASE("What is offered is what all CPUs can do, and each of them does it", "[pt][cores]")
{
	need("auxpmu_pt");
	std::vector<int> all;
	for (int cpu = 0; cpu < cpus(); cpu++)
		all.push_back(cpu);
	check_common(all);

	/* Values of a field that are not values everywhere. */
	const Capability &thresholds = *std::ranges::find_if(all_capabilities,
		[](const Capability &one) { return std::string_view(one.name) == "cycle_thresholds"; });
	const std::uint64_t common_ones = common(all, thresholds);
	for (unsigned value = 1; common_ones && value < 16; value++)
		CHECK(answer(1 << 1 | value << 19) == (common_ones >> value & 1 ? 0 : EINVAL));
}

TEST_CASE("A CPU that has come since and can do less is not traced, and what others can do is offered", "[lesser][.]")
{
	need("auxpmu_pt");
	check_common({0});
	const std::string faults = attribute("errors/fault");
	CHECK(traced(1, 0) == 0);
	CHECK(attribute("errors/fault") == faults);
	CHECK(traced(0, 0) > 0);
}
