// SPDX-License-Identifier: GPL-2.0-only
#include "intel.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <format>

#include <linux/perf_event.h>

#include "diagnosis.h"
#include "interrupts.h"
#include "state.h"
#include "stretch.h"
#include "work.h"

#include "kit/recorder.h"

namespace auxpmu::machine::intel
{
namespace
{

/* Runs this with the watchdog for hard lockups off, which would take an interrupt that is nobody's for its own. */
class Unwatched
{
public:
	/* (there may be none) */
	Unwatched() : before(read_small_file(file)) { set("0"); }
	~Unwatched()
	{
		if (before)
			set(*before);
	}
	Unwatched(const Unwatched &) = delete;

private:
	static constexpr const char *file = "/proc/sys/kernel/nmi_watchdog";
	static void set(const std::string &to) { static_cast<void>(write_small_file(file, to)); }
	std::optional<std::string> before;
};

bool is_stray(const Finding &one)
{
	return one.name == "stray-interrupt";
}

/*
 * A unit goes on until its interrupt is served. How far is told in bytes: an interrupt that comes so many instructions late costs much
 * of dense trace and little of sparse trace; bytes that the unit holds back are as many in both. (A microsecond is some 4000
 * instructions, and some 1000 bytes of dense trace.)
 */
void find_by_windows(StepResult &result, const Unit &unit, const Interrupts &dense, const Interrupts &sparse)
{
	constexpr std::uint64_t far = 4096, much = 1200; /* bytes */
	const bool holds_back = sparse.windows && sparse.overshoot >= much;
	const bool late = dense.windows && dense.overshoot >= far && dense.overshoot >= 2 * sparse.overshoot + 512;

	if (sparse.missed || (dense.missed && !late && !holds_back))
		result.find({"lost-interrupt",
			std::format("in {} of {} windows the interrupt did not come where it was due",
				dense.missed + sparse.missed,
				dense.missed + sparse.missed + dense.windows + sparse.windows)});
	else if (late || (holds_back && !unit.holds_back))
		result.find({"late-interrupt", std::format("interrupts come late: the unit makes {} bytes meanwhile",
						       std::max(dense.overshoot, sparse.overshoot))});
	else if (holds_back)
		result.find({"slow-flush", std::format("the unit holds back trace: {} bytes come behind the interrupt",
						   sparse.overshoot)});
}

/*
 * Interrupts that are nobody's: more than there was trace handed over; or some also when nothing is traced, while a
 * counter has the kernel look. The kernel complains of some of them only, and of an interrupt that is late, too.
 */
void find_stray(StepResult &result, KernelLog &log, std::uint64_t came, std::uint64_t records)
{
	const bool timely = result.findings.empty();
	perf_event_attr attr = dummy_attr();
	StepResult seen;

	attr.type = PERF_TYPE_HARDWARE;
	attr.config = PERF_COUNT_HW_INSTRUCTIONS;
	attr.exclude_kernel = 1;
	const std::uint64_t before = interrupts_on_0("NMI:");

	if (auto counter = Event::open(attr, Target::task()); counter && counter->enable())
		for (unsigned n = 0; n < 200; n++)
			work(Density::sparse);
	const std::uint64_t untraced = interrupts_on_0("NMI:") - before;

	diagnose_log(seen, log.lines());
	std::erase_if(seen.findings, is_stray);
	for (const auto &finding : seen.findings)
		result.find(finding);
	result.excerpt.insert(result.excerpt.end(), seen.excerpt.begin(), seen.excerpt.end());
	if (untraced > 1)
		result.find({"spurious-interrupt",
			std::format("while nothing was traced {} interrupts came for which there "
				    "was no reason",
				untraced)});
	else if (timely && came > records + records / 5)
		result.find({"doubled-interrupt",
			std::format("{} interrupts came, and {} times trace was handed over", came, records)});
}

} // namespace

StepResult judge_interrupts(const Unit &unit, KernelLog &log)
{
	constexpr unsigned windows = 48;
	const Pmu pmu = Pmu::find(unit.driver).value();
	const Unwatched unwatched;
	const Pinned here(0);

	const std::uint64_t before = interrupts_on_0("NMI:");
	auto dense = measure_interrupts(pmu, Density::dense, windows);
	auto sparse = measure_interrupts(pmu, Density::sparse, windows);
	const std::uint64_t came = interrupts_on_0("NMI:") - before;

	if (!dense || !sparse)
		return StepResult::failed((dense ? sparse : dense).error().text);
	StepResult result = StepResult::passed("dense trace: " + dense->text() + "; sparse: " + sparse->text());

	find_by_windows(result, unit, *dense, *sparse);
	find_stray(result, log, came, dense->records + sparse->records);
	return result;
}

/* A record of BTS has 24 bytes: from, to, flags. */
StepResult judge_calls(const Pmu &bts)
{
	constexpr unsigned depth = 14;
	const std::uint64_t function = reinterpret_cast<std::uintptr_t>(&recursion), expected = entries(depth);
	std::uint64_t found = 0, from_to[3];
	const Pinned here(0);
	auto stretch = record_stretch(bts, [] { recursion(depth); });

	if (!stretch)
		return StepResult::failed(stretch.error().text);
	const std::vector<std::byte> &trace = stretch->trace;

	for (std::size_t at = 0; at + sizeof from_to <= trace.size(); at += sizeof from_to) {
		std::memcpy(from_to, trace.data() + at, sizeof from_to);
		/* a return from an interrupt may lead there, too */
		found += from_to[1] == function && from_to[0] < 1ULL << 63;
	}
	if (found == expected)
		return StepResult::passed(std::format("{} calls, all of them are in the trace", found));
	return StepResult::failed(std::format("of {} calls {} are in the trace", expected, found));
}

/* Bit 63 of IA32_RTIT_CTL is reserved in every edition of the SDM; a processor raises a general protection fault. */
StepResult judge_reserved(const Choice &choice, KernelLog &log)
{
	constexpr std::uint32_t rtit_ctl = 0x570;
	constexpr std::uint64_t bit = 1ULL << 63;

	if (!choice.write_registers)
		return StepResult::not_done(
			"it writes registers past the kernel, which taints it: say --write-registers");
	if (!until_free("auxpmu_pt"))
		return StepResult::not_done("somebody traces");
	for (unsigned cpu : online_cpus()) {
		const std::uint64_t is = read_register(cpu, rtit_ctl);
		const int error = is & 1 ? EBUSY : write_register(cpu, rtit_ctl, is | bit);

		if (error == EIO)
			continue;
		if (error)
			return StepResult::not_done(
				std::format("CPU {}: the register cannot be written: {}", cpu, std::strerror(error)));
		write_register(cpu, rtit_ctl, is);
		StepResult result =
			StepResult::failed(std::format("CPU {}: a reserved bit of IA32_RTIT_CTL can be written", cpu));

		result.find(
			{"lenient", "the hardware takes what the SDM forbids: it is not the hardware it says it is"});
		return result;
	}
	/* what the kernel says about it is expected */
	static_cast<void>(log.records());
	return StepResult::passed("a general protection fault on each CPU");
}

} // namespace auxpmu::machine::intel
