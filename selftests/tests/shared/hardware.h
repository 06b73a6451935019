/* SPDX-License-Identifier: GPL-2.0-only */
/* Code shared by the tests of the backends for Intel's trace units. */
#ifndef AUXPMU_TESTS_HARDWARE_H
#define AUXPMU_TESTS_HARDWARE_H

#include <string>

#include "shared/fixture.h"

namespace auxpmu::test
{

/* The in-tree PMU for the units of the PMU under test; empty if there is none. */
inline std::string intree()
{
	const std::string &ours = options().pmu;

	return ours == "auxpmu_pt" ? "intel_pt" : ours == "auxpmu_bts" ? "intel_bts" : "";
}

inline void need_hardware()
{
	if (intree().empty())
		SKIP("the PMU under test is neither auxpmu_pt nor auxpmu_bts");
}

inline void need(const std::string &ours)
{
	if (options().pmu != ours)
		SKIP("the PMU under test is not " << ours);
}

inline void need_in_tree()
{
	need_hardware();
	if (!Pmu::find(intree()))
		SKIP("the kernel's own " << intree() << " is not there");
}

/*
 * The in-tree PMU with an AUX area that a claim of the PMU under test does not hold, if the machine has one; beside it users need
 * CAP_PERFMON (docs/compatibility.md).
 */
inline std::string another_in_tree()
{
	const std::string other = intree() == "intel_pt" ? "intel_bts" : "intel_pt";

	return Pmu::find(other) ? other : "";
}

inline std::string attribute(const std::string &name, const std::string &of = options().pmu)
{
	return read_small_file("/sys/bus/event_source/devices/" + of + "/" + name).value_or("");
}

/*
 * Where ToPA tables hold only one output region, each region interrupts, and an overwrite-mode buffer must be a single block.
 */
inline bool each_region_interrupts()
{
	return attribute("caps/topa_multiple_entries").starts_with("0");
}

/* The number of address filters that an event may have. */
inline unsigned long nr_filters()
{
	return std::stoul("0" + attribute("nr_addr_filters"));
}

/* Waits for the release of the units, which happens a moment after the last event is gone. */
inline void wait_until_free(const std::string &pmu = options().pmu)
{
	wait_until("the trace units to be given back", [&] { return !units_held(pmu); });
}

/* Produces trace: a few bytes of PT, or two and more records of BTS, for each of these calls. */
void churn(unsigned calls);

inline Setup on_cpu(int cpu, std::size_t aux_bytes)
{
	Setup setup;

	setup.target = Target::on_cpu(cpu);
	setup.aux_bytes = aux_bytes;
	setup.exclude_kernel = true;
	return setup;
}

/* Traces until there are this many bytes, or the event is off. */
inline void fill(Tracer &tracer, std::uint64_t bytes)
{
	const std::uint64_t end = tracer.aux.head() + bytes;

	wait_until("trace", [&] {
		churn(1000);
		return tracer.aux.head() >= end || tracer.off();
	});
}

/* The count of CPU 0 in a line of /proc/interrupts. */
std::uint64_t interrupts(const std::string &name);

/* A sampling counter of CPU 0, whose samples nobody reads. */
Event sampler(std::uint64_t period, bool kernel);

/* Keeps the CPU busy until more than twenty NMIs have come. */
void take_nmis();

/* The address of a kernel symbol; skips the test if the kernel does not show it. */
std::uint64_t symbol(const std::string &wanted);

/* An event of the in-tree driver, which the test must not disturb. */
Result<Event> open_in_tree(Target target);

/* Traces this thread with the in-tree driver; returns the number of bytes. */
std::uint64_t trace_in_tree(int cpu);

} // namespace auxpmu::test

#endif /* AUXPMU_TESTS_HARDWARE_H */
