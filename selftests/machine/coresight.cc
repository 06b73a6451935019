// SPDX-License-Identifier: GPL-2.0-only
#include "coresight.h"

#include <algorithm>
#include <filesystem>
#include <format>
#include <fstream>
#include <sstream>

#include "diagnosis.h"
#include "frames.h"
#include "handovers.h"
#include "interrupts.h"
#include "packets.h"
#include "work.h"

namespace auxpmu::machine::coresight
{
namespace
{

std::vector<std::byte> unit_trace(const Stretch &stretch)
{
	return stretch.framed ? unframed(stretch.trace) : stretch.trace;
}

Packets packets_of(const Stretch &stretch)
{
	return read_packets(unit_trace(stretch));
}

void find_overflow(StepResult &result, unsigned overflows)
{
	if (overflows)
		result.find({"overflow", std::format("the trace has {} Overflow packets: the trace unit made more than "
						     "its FIFO and the way to the sink could take",
						 overflows)});
}

/* Does trace go into a trace buffer of the core's own? Its trace has no frames. */
Result<bool> has_buffer(const Pmu &pmu)
{
	auto stretch = record_stretch(pmu, [] { recursion(4); });

	if (!stretch)
		return stretch.error();
	return !stretch->framed;
}

std::uint64_t counter(const Pmu &pmu, const char *name)
{
	return read_counters(pmu.name())[name];
}

/* "filter 0x1230/0x100@/path": code of this program from here on. Empty if nobody knows where that is in the file. */
std::string filter_on(std::uint64_t address, unsigned bytes)
{
	std::ifstream maps("/proc/self/maps");
	std::error_code error;
	const auto path = std::filesystem::read_symlink("/proc/self/exe", error);

	for (std::string line; std::getline(maps, line);) {
		unsigned long long first, behind, offset;

		if (std::sscanf(line.c_str(), "%llx-%llx %*s %llx", &first, &behind, &offset) == 3 &&
			address >= first && address < behind)
			return std::format("filter {:#x}/{:#x}@{}", address - first + offset, bytes, path.string());
	}
	return "";
}

} // namespace

std::optional<Finding> why_nothing(const Stretch &stretch)
{
	if (!stretch.ran)
		return Finding{"claimed", "the trace unit, or a component on the way to its sink, has the claim tag of "
					  "somebody else: a debugger"};
	if (!stretch.partials)
		return {};
	if (stretch.framed)
		return Finding{"memory-error", "the sink could not write to memory (STS.MemErr)"};
	return Finding{"external-abort", "the trace buffer has stopped with a fault: memory did not take a write"};
}

StepResult judge_calls(const Pmu &pmu)
{
	constexpr unsigned depth = 20;
	const auto function = reinterpret_cast<std::uintptr_t>(&paced_recursion);
	const std::uint64_t expected = entries(depth);
	const Pinned here(0);
	auto stretch = record_stretch(pmu, [] { paced_recursion(depth); });

	if (!stretch)
		return StepResult::failed(stretch.error().text);
	const auto trace = unit_trace(*stretch);
	const Packets packets = read_packets(trace);
	const auto found = static_cast<std::uint64_t>(std::ranges::count(packets.targets, function));
	/* where a synchronization comes just then, the address may be told behind it alone */
	const auto more = static_cast<std::uint64_t>(std::ranges::count(packets.places, function));
	StepResult result = StepResult::passed(
		std::format("{} calls, all of them are in {} bytes of trace", expected, stretch->trace.size()));

	find_overflow(result, count_overflows(trace));
	if (packets.unknown)
		result.find({"decode",
			std::format("at byte {} of the trace there is what no packet begins with", *packets.unknown)});
	if (stretch->partials && result.findings.empty())
		result.find({"gap", "trace is missing where there was room for all of it"});
	if (result.findings.empty() && (found > expected || found + more < expected))
		result.find({"calls", std::format("of {} calls {} are in the trace", expected, found)});
	if (result.verdict == Verdict::failed)
		result.reason =
			std::format("of {} calls {} are in {} bytes of trace", expected, found, stretch->trace.size());
	return result;
}

/*
 * At its limit a trace buffer stops, and interrupts. What is executed until that is served waits in the trace unit's FIFO, for which it
 * is too much if that takes long.
 */
StepResult judge_interrupts(const Pmu &pmu)
{
	constexpr unsigned windows = 24;
	const Pinned here(0);
	auto buffer = has_buffer(pmu);

	if (!buffer)
		return StepResult::failed(buffer.error().text);
	if (!*buffer)
		return StepResult::not_applicable("trace goes to a sink on the trace bus, which has no interrupt");
	const std::uint64_t before = interrupts_on_0("auxpmu_etm"), served_before = counter(pmu, "interrupts");
	auto seen = measure_handovers(pmu, windows);
	const std::uint64_t came = interrupts_on_0("auxpmu_etm") - before,
			    served = counter(pmu, "interrupts") - served_before;

	if (!seen)
		return StepResult::failed(seen.error().text);
	StepResult result =
		StepResult::passed(std::format("{} windows, {} interrupts, {} of them with a reason; {} overflows, {} "
					       "of as much trace in one window",
			seen->stops, came, served, seen->overflows, seen->without_stops));

	find_overflow(result, seen->without_stops);
	if (!seen->stops || seen->missed)
		result.find({"lost-interrupt",
			std::format("in {} of {} windows the interrupt did not come where it was due", seen->missed,
				seen->stops)});
	if (seen->faults)
		result.find({"external-abort", std::format("the trace buffer has stopped {} times with a fault, not at "
							   "its end: memory did not take a write",
						       seen->faults)});
	else if (!seen->missed && seen->overflows > 2 * seen->without_stops + seen->stops / 8)
		result.find({"late-interrupt",
			std::format("interrupts come late: {} times in {} the trace unit has overflowed until then",
				seen->overflows, seen->stops)});
	if (came > served + served / 5 + 1)
		result.find(
			{"spurious-interrupt", std::format("of {} interrupts {} had no reason", came, came - served)});
	return result;
}

/* Each stretch is ended by a stop of the sink, and is shorter than anything that it writes into. */
StepResult judge_sink(const Pmu &pmu)
{
	constexpr unsigned stretches = 24;
	unsigned cut = 0, unwritten = 0;
	std::size_t bytes = 0;
	const Pinned here(0);

	for (unsigned n = 0; n < stretches; n++) {
		auto stretch = record_stretch(pmu, [] { paced_recursion(14); });

		if (!stretch)
			return StepResult::failed(stretch.error().text);
		if (!stretch->framed)
			return StepResult::not_applicable("trace goes into a trace buffer of the core's own");
		bytes += stretch->trace.size();
		if (stretch->partials)
			(stretch->trace.empty() ? unwritten : cut)++;
	}
	StepResult result = StepResult::passed(std::format("{} stretches, {} bytes", stretches, bytes));

	if (unwritten)
		result.find({"memory-error",
			std::format("{} of {} times the sink could not write to memory", unwritten, stretches)});
	if (cut)
		result.find({"frames-cut", std::format("{} of {} times the sink's last frame was not whole, where it "
						       "was stopped",
						   cut, stretches)});
	return result;
}

StepResult judge_filter(const Pmu &pmu)
{
	constexpr unsigned bytes = 64;
	const auto function = reinterpret_cast<std::uintptr_t>(&recursion);
	const auto filter = filter_on(function, bytes),
		   elsewhere = filter_on(reinterpret_cast<std::uintptr_t>(&entries), bytes);
	const Pinned here(0);
	const auto run = [] {
		recursion(12);
	};

	if (pmu.cap("nr_addr_filters").value_or("") == "0")
		return StepResult::not_applicable("the trace units have no address comparators");
	if (filter.empty() || elsewhere.empty())
		return StepResult::not_done("nobody knows where this program is in its file");
	auto all = record_stretch(pmu, run), some = record_stretch(pmu, run, filter),
	     none = record_stretch(pmu, run, elsewhere);

	for (const auto *one : {&all, &some, &none})
		if (!*one)
			return StepResult::failed((*one).error().text);
	StepResult result = StepResult::passed(std::format("bytes of trace: {} of a program, {} of its function that "
							   "runs, {} of another one",
		all->trace.size(), some->trace.size(), none->trace.size()));
	const auto outside = packets_of(*none).targets.size();

	if (packets_of(*some).targets.empty())
		result.find({"no-comparators", "of a range of addresses that is executed there is no trace"});
	else if (outside)
		result.find({"no-comparators",
			std::format(
				"of a range of addresses that is not executed there is trace: {} branches", outside)});
	return result;
}

} // namespace auxpmu::machine::coresight
