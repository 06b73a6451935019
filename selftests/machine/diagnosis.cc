// SPDX-License-Identifier: GPL-2.0-only
#include "diagnosis.h"

#include <algorithm>
#include <filesystem>
#include <format>
#include <regex>
#include <span>
#include <sstream>

#include "kit/pmu.h"
#include "kit/statistics.h"

namespace auxpmu::machine
{
namespace
{

/* The name of a fault is that of docs/virtual-hardware.md, where it is one of those. */
struct Sign {
	const char *pattern; /* of a line, or the name of a counter */
	const char *fault;
	const char *says;
	bool vague = false; /* follows from others: told only if nothing else is */
};

constexpr Sign in_log[] = {
	{"NMI received for unknown reason", "stray-interrupt", "an interrupt came that nobody had asked for"},
	{"unchecked MSR access error: WRMSR to (0x[0-9a-f]+)", "gp",
		"a register that this processor has, by CPUID, cannot be written"},
	{"(TraceEn|BTS or TR) is set, by firmware|IA32_DS_AREA is set, and not by this kernel", "in-use",
		"firmware, a hypervisor or a tool uses the trace unit, which nobody else gets then"},
	{"PT is enabled at boot time", "in-use", "firmware has left Intel PT on"},
	{"was followed by no interrupt in", "lost-interrupt", "the unit's interrupt did not come"},
	{"ToPA ERROR encountered", "topa-error", "the trace unit met an operational error"},
	{"let the unit write behind its window", "writes-behind", "the unit wrote where it had been told not to"},
	{"let the unit go on", "does-not-stop", "the unit went on writing after it had been stopped"},
	{"does not stop: an AUX area", "never-ready", "a sink did not stop"},
	/* auxpmu_etm: -ETIMEDOUT, -EBUSY */
	{"auxpmu_etm: arm\\(\\) on CPU [0-9]+ returned -110", "never-idle",
		"a trace unit was switched off, and did not become idle (TRCSTATR.IDLE)"},
	{"auxpmu_etm: arm\\(\\) on CPU [0-9]+ returned -16", "never-ready",
		"a sink is not ready to be started (STS.TMCReady), or a CATU"},
	/* the kernel's own drivers of CoreSight */
	{"timeout while waiting for completion of Manual Flush", "flush-never-ends",
		"a sink does not say that a flush has ended (FFCR.FlushMan)"},
	{"timeout while waiting for TMC to be Ready", "never-ready", "a sink is not ready (STS.TMCReady)"},
	{"timeout while waiting for Idle Trace Status", "never-idle", "a trace unit does not become idle"},
	{"tmc_sync_etr_buf", "memory-error", "a sink could not write to memory (STS.MemErr)"},
	{"WARNING: |BUG: |Oops|general protection fault|soft lockup|hard LOCKUP|detected stall", "kernel",
		"the kernel complained"},
};

constexpr Sign in_counters[] = {
	{"errors/topa", "topa-error", "the trace unit met an operational error (RTIT_STATUS.Error)"},
	{"errors/overflow", "overflow", "the trace unit's internal buffer overflowed"},
	{"errors/fault", "gp", "a register of the unit cannot be written"},
	{"arm_failures", "arm", "the unit could not be started", true},
	{"contract_violations", "contract", "the driver broke the framework's contract; the kernel's log has how",
		true},
	{"overruns", "overrun", "the unit wrote more than it had room for", true},
};

constexpr Sign in_output[] = {
	{"internal buffer has overflowed", "overflow",
		"the trace has a gap, where the trace unit's internal buffer overflowed"},
};

/* A fault is told once in a step; what the step itself found of it says more. */
void find_once(StepResult &result, const Sign &sign)
{
	if (sign.vague ? result.findings.empty() : std::ranges::none_of(result.findings, [&](const Finding &one) {
		    return one.name == sign.fault;
	    }))
		result.find({sign.fault, sign.says});
}

/* What a line of text is a sign of. */
class Signs
{
public:
	explicit Signs(std::span<const Sign> table) : table(table)
	{
		for (const Sign &sign : table)
			patterns.emplace_back(sign.pattern);
	}
	void find_in(StepResult &result, const std::string &line) const
	{
		for (std::size_t n = 0; n < table.size(); n++)
			if (std::regex_search(line, patterns[n]))
				find_once(result, table[n]);
	}

private:
	std::span<const Sign> table;
	std::vector<std::regex> patterns;
};

/* Lines of the log that a report shows. */
const std::regex &interesting()
{
	static const std::regex words("auxpmu|coresight|intel_pt|intel_bts|perf:|perfevents|NMI|MSR|taint|WARNING|BUG|"
				      "Oops|fault|lockup|stall|RIP:|Call Trace|panic");
	return words;
}

} // namespace

Counters read_counters(std::string_view pmu)
{
	const std::string folder = std::format("/sys/bus/event_source/devices/{}/errors", pmu);
	std::error_code error;
	Counters all;

	for (const auto &file : std::filesystem::directory_iterator(folder, error))
		if (auto text = read_small_file(file.path()))
			all["errors/" + file.path().filename().string()] = std::strtoull(text->c_str(), nullptr, 10);
	if (auto stats = Statistics::read(pmu))
		all.merge(stats->totals());
	return all;
}

void diagnose_log(StepResult &result, const std::vector<std::string> &lines)
{
	static const Signs signs(in_log);

	for (const auto &line : lines) {
		if (std::regex_search(line, interesting()))
			result.excerpt.push_back("kernel: " + line);
		signs.find_in(result, line);
	}
}

void diagnose_counters(StepResult &result, std::string_view pmu, const Counters &before, const Counters &after)
{
	for (const auto &sign : in_counters) {
		const auto was = before.find(sign.pattern), is = after.find(sign.pattern);

		if (is == after.end())
			continue;
		/* a driver that was loaded anew begins at 0 */
		const std::uint64_t old = was == before.end() || was->second > is->second ? 0 : was->second;

		if (is->second == old)
			continue;
		find_once(result, sign);
		result.excerpt.push_back(std::format("{}: {} grew by {}", pmu, sign.pattern, is->second - old));
	}
}

void diagnose_output(StepResult &result, std::string_view output)
{
	static const Signs signs(in_output);
	std::istringstream lines{std::string(output)};

	for (std::string line; std::getline(lines, line);)
		signs.find_in(result, line);
}

} // namespace auxpmu::machine
