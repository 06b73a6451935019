// SPDX-License-Identifier: GPL-2.0-only
#include "check.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <fnmatch.h>
#include <format>

#include "coresight.h"
#include "decoders.h"
#include "diagnosis.h"
#include "intel.h"
#include "programs.h"
#include "stretch.h"
#include "work.h"

#include "kit/pmu.h"

namespace auxpmu::machine
{
namespace
{

/* A program that traces until somebody kills it; tests have one for Intel's units. */
std::vector<std::string> forever(const Unit &unit, const std::string &tests)
{
	if (!unit.filter.empty())
		return {tests, "--pmu", unit.driver, "[forever]"};
	return {"/proc/self/exe", "--trace-forever", unit.driver};
}

/* A stretch that has no trace: the reason, where the stretch tells it. */
StepResult nothing_of(const Unit &unit, unsigned cpu, const Stretch &stretch, bool not_started)
{
	StepResult result = StepResult::failed(std::format(
		"CPU {}: {}", cpu, stretch.ran ? "nothing is traced of 3000 calls" : "the event is never scheduled"));

	/* the kernel's log has why a unit could not be started */
	if (unit.driver == "auxpmu_etm" && !not_started)
		if (auto finding = coresight::why_nothing(stretch))
			result.find(*finding);
	return result;
}

} // namespace

Check::Check(const Choice &chosen, Journal &journal, const State &before)
	: choice(chosen), journal(journal), before(before)
{
	for (const auto &unit : possible_units())
		plan(unit);
#ifdef __x86_64__
	plans.push_back(
		{"calls/intel_pt", "perf finds each call of a recursion in the trace of the kernel's own driver",
			[this] { return judge_calls_by_perf(choice); }, ""});
	plans.push_back({"steps/intel_pt", "trace of the kernel's own driver says what single steps say",
		[this] { return judge_steps(choice, "intel_pt", "intel_bts"); }, ""});
	plans.push_back({"debugger", "gdb finds in the trace of the kernel's own driver what single steps say",
		[this] { return judge_debugger(choice); }, ""});
#endif
	plans.push_back({"left", "the machine is as it was", [this] { return left(); }, ""});
}

/* What is done with each unit. */
void Check::plan(const Unit &unit)
{
	const auto add = [&](const std::string &name, const char *title, std::function<StepResult()> what) {
		const std::string needs = name == "load" ? "" : (name == "claim" ? "load/" : "claim/") + unit.driver;

		plans.push_back({name + "/" + unit.driver, title, std::move(what), needs, unit});
	};

	add("load", "the driver loads, and finds trace units", [this, unit] { return modules.load(unit); });
	add("claim", "the units are to be had, and trace on each CPU", [this, unit] { return claim(unit); });
	if (unit.driver == "auxpmu_etm") {
		const auto pmu = [] {
			return Pmu::find("auxpmu_etm").value();
		};

		add("interrupts", "interrupts come, with a reason, and in time",
			[pmu] { return coresight::judge_interrupts(pmu()); });
		add("sink", "a sink on the trace bus hands over all trace",
			[pmu] { return coresight::judge_sink(pmu()); });
		add("calls", "each call of a recursion is in the trace",
			[pmu] { return coresight::judge_calls(pmu()); });
		add("filter", "ranges of addresses keep out what is not in them",
			[pmu] { return coresight::judge_filter(pmu()); });
	} else {
		add("interrupts", "interrupts come, once, and in time",
			[this, unit] { return intel::judge_interrupts(unit, log); });
	}
	if (unit.driver == "auxpmu_pt") {
		add("steps", "trace says what single steps say, in random programs",
			[this] { return judge_steps(choice, "auxpmu_pt", "none"); });
		add("reserved", "reserved bits of the unit's registers cannot be written",
			[this] { return intel::judge_reserved(choice, log); });
	}
	if (unit.driver == "auxpmu_bts") {
		add("steps", "trace says what single steps say, in random programs",
			[this] { return judge_steps(choice, "intel_pt", "auxpmu_bts"); });
		add("calls", "each call of a recursion is in the trace",
			[] { return intel::judge_calls(Pmu::find("auxpmu_bts").value()); });
	}
	add("contract", "the contract of AUX PMUs, as for each driver",
		[this, unit] { return run_tests(choice, unit, "[contract]"); });
	if (!unit.filter.empty()) {
		add("hardware", "what is asked of a unit of hardware", [this, unit] {
			return run_tests(choice, unit, "[hardware]~[hurt]~[forever]~[suspend]~[refusals]");
		});
		add("own", "what is asked of this unit", [this, unit] { return run_tests(choice, unit, unit.filter); });
		add("registers", "the units' registers are as before, when the driver is gone",
			[this, unit] { return registers(unit); });
	}
	if (unit.driver == "auxpmu_etm")
		plans.push_back({"theirs/" + unit.driver, "the kernel's own drivers trace, and do not complain",
			[this, unit] { return theirs(unit); }, "sink/" + unit.driver});
	add("rounds", "load, trace, kill, unload; then the kernel's own driver traces",
		[this, unit] { return rounds(unit); });
}

std::vector<std::pair<std::string, std::string>> Check::list() const
{
	std::vector<std::pair<std::string, std::string>> all;

	for (const auto &step : plans)
		all.emplace_back(step.name, step.title);
	return all;
}

namespace
{

/* A step by its name, by a pattern, or all of its kind: "claim". */
bool names_step(const std::string &pattern, const std::string &step)
{
	return !fnmatch(pattern.c_str(), step.c_str(), 0) || step.starts_with(pattern + "/");
}

} // namespace

bool Check::has(const std::string &pattern) const
{
	return std::ranges::any_of(plans, [&](const Step &step) { return names_step(pattern, step.name); });
}

/* Also what another step that is chosen needs, and the end. */
bool Check::chosen(const std::string &name) const
{
	if (choice.only.empty() || name == "left" ||
		std::ranges::any_of(choice.only, [&](const std::string &one) { return names_step(one, name); }))
		return true;
	return std::ranges::any_of(
		plans, [&](const Step &step) { return step.needs == name && step.name != name && chosen(step.name); });
}

void Check::run(const Tell &tell)
{
	/* tests look at registers; State::restore() removes it */
	execute({.words = {"modprobe", "msr"}});
	for (const auto &step : plans) {
		if (!chosen(step.name) || journal.find(step.name))
			continue;
		tell(nullptr, step.name, step.title);
		const StepResult result = perform(step);

		journal.end(result);
		tell(&result, step.name, step.title);
	}
}

/* One step, and what the kernel and the driver's counters told meanwhile. */
StepResult Check::perform(const Step &step)
{
	const std::string driver = modules.driver();
	const Counters counters = read_counters(driver);

	static_cast<void>(log.records());
	journal.begin(step.name);
	StepResult result = guarded(step);

	result.name = step.name;
	result.stands = result.verdict == Verdict::passed;
	if (result.verdict == Verdict::not_done || result.verdict == Verdict::not_applicable)
		return result;
	diagnose_log(result, log.lines());
	if (modules.driver() == driver)
		diagnose_counters(result, driver, counters, read_counters(driver));
	if (result.verdict == Verdict::failed && result.findings.empty())
		result.find({step.name, result.reason});
	return result;
}

StepResult Check::guarded(const Step &step)
{
	if (!step.needs.empty()) {
		const StepResult *need = journal.find(step.needs);

		if (need && need->verdict == Verdict::not_applicable)
			return StepResult::not_applicable(need->reason);
		if (!need || !need->stands)
			return StepResult::not_done("it needs what the step " + step.needs + " did not get");
	}
	try {
		if (!step.unit) {
			if (const std::string why = modules.unload(); !why.empty())
				return StepResult::not_done(why);
		} else if (!step.needs.empty() && modules.driver() != step.unit->driver) {
			/* after a crash, or a step that has unloaded it */
			if (const StepResult loaded = modules.load(*step.unit); loaded.verdict != Verdict::passed)
				return loaded;
		}
		return step.run();
	} catch (const std::exception &error) {
		return StepResult::failed(error.what());
	}
}

/* --- steps --------------------------------------------------------------------------------- */

StepResult Check::claim(const Unit &unit)
{
	const std::uint64_t failures = read_counters(unit.driver)["arm_failures"];
	auto pmu = Pmu::find(unit.driver);
	std::size_t bytes = 0, cpus = 0;

	if (!pmu)
		return StepResult::not_applicable("there is no such unit");
	for (unsigned cpu : online_cpus()) {
		const Pinned here(cpu);
		auto stretch = record_stretch(*pmu, [] { work(Density::dense); });

		if (!stretch) {
			StepResult result = StepResult::failed(std::format("CPU {}: {}", cpu, stretch.error().text));

			if (stretch.error().code == EBUSY)
				result.find({"in-use",
					"somebody uses the trace unit: a tracer on this machine; or firmware, if the "
					"kernel said when it booted that PT is enabled"});
			return result;
		}
		if (!stretch->ran || stretch->trace.empty())
			return nothing_of(unit, cpu, *stretch, read_counters(unit.driver)["arm_failures"] > failures);
		bytes += stretch->trace.size();
		cpus++;
	}
	return StepResult::passed(std::format("{} CPUs traced, {} bytes", cpus, bytes));
}

/* Before the driver is loaded and after it is gone, with no trace of others in between. */
StepResult Check::registers(const Unit &unit)
{
	if (const std::string why = modules.unload(); !why.empty())
		return StepResult::failed(why);
	const Registers one = read_registers(unit.registers);

	if (one.empty())
		return StepResult::not_done(
			"the registers cannot be read: there is no module msr, or the kernel is locked down");
	if (const StepResult loaded = modules.load(unit); loaded.verdict != Verdict::passed)
		return loaded;
	if (const StepResult traced = claim(unit); traced.verdict != Verdict::passed)
		return traced;
	if (const std::string why = modules.unload(); !why.empty())
		return StepResult::failed(why);
	const Registers other = read_registers(unit.registers);
	StepResult result = StepResult::passed(std::format("{} registers are as before", one.size()));

	for (const auto &[name, value] : one)
		if (const auto now = other.find(name); now != other.end() && now->second != value)
			result.find({"registers", std::format("{} was {:#x}, and is {:#x}", name, value, now->second)});
	return result;
}

/* Of a sink's fault to end a flush only the kernel's driver tells. */
StepResult Check::theirs(const Unit &unit)
{
	if (const std::string why = modules.load_theirs(unit); !why.empty())
		return StepResult::not_done(why);
	StepResult result = StepResult::failed("");
	{
		const Pinned here(0);
		auto stretch = record_stretch(Pmu::find(unit.theirs).value(), [] { work(Density::dense); });

		if (!stretch)
			result.reason = std::format("{}: {}", unit.theirs, stretch.error().text);
		else if (stretch->trace.empty())
			result.reason = unit.theirs + " has traced nothing of 3000 calls";
		else
			result = StepResult::passed(std::format("{} bytes", stretch->trace.size()));
	}
	modules.unload_theirs();
	return result;
}

namespace
{

/* Waits until there is trace of one of them. False if one of them ends, or there is none for too long. */
bool until_traced(const Unit &unit, std::vector<Background> &tracers)
{
	const auto end = std::chrono::steady_clock::now() + patience;

	while (!read_counters(unit.driver)["committed"])
		if (!std::ranges::all_of(tracers, &Background::alive) || std::chrono::steady_clock::now() > end)
			return false;
	return true;
}

} // namespace

/* Each round begins and ends without our modules. */
StepResult Check::rounds(const Unit &unit)
{
	const auto program = find_program("auxpmu_tests", choice.folders);
	const auto cpus = online_cpus();

	if (!program)
		return StepResult::not_done("there is no program auxpmu_tests; it is in the package auxpmu-tools");

	for (unsigned round = 1; round <= choice.rounds; round++) {
		if (const StepResult loaded = modules.load(unit); loaded.verdict != Verdict::passed)
			return StepResult::failed(std::format("round {}: {}", round, loaded.reason));
		{
			std::vector<Background> tracers;

			for (unsigned cpu : {cpus.front(), cpus.back()})
				tracers.emplace_back(
					Command{.words = forever(unit, *program), .cpu = static_cast<int>(cpu)});
			if (!until_traced(unit, tracers))
				return StepResult::failed(
					std::format("round {}: no trace with {}", round, unit.driver));
		}
		if (const std::string why = modules.unload(); !why.empty())
			return StepResult::failed(std::format("round {}: {}", round, why));
		auto theirs = Pmu::find(unit.theirs);

		if (!theirs)
			continue;
		auto stretch = record_stretch(*theirs, [] { work(Density::dense); });

		if (!stretch || stretch->trace.empty())
			return StepResult::failed(std::format("round {}: {} does not trace after ours: {}", round,
				unit.theirs, stretch ? "there is no trace" : stretch.error().text));
	}
	return StepResult::passed(std::format("{} rounds", choice.rounds));
}

StepResult Check::left()
{
	const std::string why = modules.unload();

	before.restore();
	const auto differences = before.differences(State::read());
	StepResult result = StepResult::passed("modules, settings, mounts, processors and PMUs are as before");

	if (!why.empty())
		result.find({"left", why});
	for (const auto &difference : differences)
		result.find({"left", difference});
	return result;
}

Conclusion conclude(const std::vector<StepResult> &results, const Choice &choice)
{
	std::vector<std::string> names;
	std::string failed, missing;

	for (const auto &result : results) {
		for (const auto &finding : result.findings)
			if (std::ranges::find(names, finding.name) == names.end()) {
				names.push_back(finding.name);
				failed += (failed.empty() ? "" : ", ") + finding.name;
			}
		if (result.verdict == Verdict::not_done)
			missing += (missing.empty() ? "" : ", ") + result.name;
	}
	if (!failed.empty())
		return {Verdict::failed, "FAILED: " + failed};
	if (std::ranges::none_of(results, [](const StepResult &one) {
		    return one.name.starts_with("claim/") && one.verdict == Verdict::passed;
	    }))
		return {Verdict::not_done,
			"incomplete: there is no trace unit here that this project has a driver for"};
	if (!choice.only.empty())
		return {Verdict::not_done, "incomplete: only some steps were chosen"};
	if (!missing.empty())
		return {Verdict::not_done, "incomplete: not done: " + missing};
	return {Verdict::passed, "passed"};
}

} // namespace auxpmu::machine
