// SPDX-License-Identifier: GPL-2.0-only
#include "decoders.h"

#include <format>
#include <fstream>
#include <sstream>

#include "programs.h"

#include "kit/pmu.h"

namespace auxpmu::machine
{

/* Programs' instructions have the lengths that the decoder of PT finds: BTS is judged beside a PT. */
StepResult judge_steps(const Choice &choice, const std::string &pt, const std::string &bts)
{
	const auto program = find_program("hwsim-fuzz", choice.folders);

	if (!Pmu::find(pt))
		return StepResult::not_applicable("there is no PMU " + pt);
	if (!program)
		return StepResult::not_done(
			"there is no program hwsim-fuzz; it is in the package auxpmu-tools (amd64)");
	const Outcome judged = execute({.words = {*program, "--pt", pt, "--bts", Pmu::find(bts) ? bts : "none",
						"--programs", std::to_string(choice.programs), "--tries", "0"},
		.limit = patience});

	/* without libipt, or with a C library that is too old */
	if (judged.how == Outcome::How::exited &&
		(judged.code == 127 || judged.output.find("GLIBC") != std::string::npos))
		return StepResult::not_done("hwsim-fuzz does not start: " + judged.output);
	return of_tap(judged);
}

/* perf's decoder is neither libipt nor gdb's. */
StepResult judge_calls_by_perf(const Choice &choice)
{
	const auto perf = find_in_path("perf"), program = find_program("branches", choice.folders);
	const std::string data = choice.scratch + "/calls.data";

	if (!Pmu::find("intel_pt"))
		return StepResult::not_applicable("there is no PMU intel_pt");
	if (!perf || !program)
		return StepResult::not_done(perf ? "there is no program branches; it is in the package auxpmu-tools"
						 : "there is no perf; it is in the package linux-perf");
	const Outcome recorded = execute({.words = {*perf, "record", "--no-buildid", "--no-buildid-cache", "-o", data,
						  "-e", "intel_pt//u", *program, "14"},
		.limit = patience});
	const std::size_t at = recorded.output.find("entries ");

	if (!recorded.ok() || at == std::string::npos) {
		StepResult result = StepResult::failed("perf record: " + recorded.text());

		result.excerpt = last_lines(recorded.output, 10);
		return result;
	}
	const std::uint64_t expected = std::strtoull(recorded.output.c_str() + at + 8, nullptr, 10);
	const Outcome decoded =
		execute({.words = {*perf, "script", "-i", data, "--itrace=c", "-F", "ip,sym,addr"}, .limit = patience});
	const Outcome errors = execute({.words = {*perf, "script", "-i", data, "--itrace=e"}, .limit = patience});
	std::istringstream lines(decoded.output);
	std::uint64_t found = 0;

	/* "ADDRESS caller => ADDRESS fibonacci", of calls only */
	for (std::string line; std::getline(lines, line);)
		found += line.find("=>") != std::string::npos && line.ends_with(" fibonacci");
	StepResult result =
		found == expected ? StepResult::passed(std::format("{} calls, all of them are in the trace", found))
				  : StepResult::failed(std::format("of {} calls {} are in the trace", expected, found));

	if (const std::size_t error = errors.output.find("instruction trace error"); error != std::string::npos) {
		result.find({"decode", "perf cannot decode all of the trace"});
		for (const auto &line : last_lines(errors.output, 5))
			result.excerpt.push_back(line);
	}
	return result;
}

StepResult judge_debugger(const Choice &choice)
{
	const auto gdb = find_in_path("gdb"), program = find_program("steps", choice.folders),
		   script = find_program("btrace.py", choice.folders);
	const std::string steps = choice.scratch + "/steps", says = choice.scratch + "/says";
	std::string formats;

	if (Pmu::find("intel_pt"))
		formats = "pt";
	if (Pmu::find("intel_bts"))
		formats += formats.empty() ? "bts" : " bts";
	if (formats.empty())
		return StepResult::not_applicable("there is neither intel_pt nor intel_bts, which gdb takes");
	if (!gdb)
		return StepResult::not_done("there is no gdb; it is in the package gdb");
	if (!program || !script)
		return StepResult::not_done("there is no program steps; it is in the package auxpmu-tools (amd64)");
	/* Both on one CPU: the program asks on how many it may run; and for gdb, see below. */
	if (const Outcome stepped = execute({.words = {*program, steps}, .limit = patience, .cpu = 0}); !stepped.ok())
		return StepResult::failed("single steps: " + stepped.text());
	/* in-tree drivers leave the last IP of another CPU in the trace of a thread that moves (guest/modes) */
	const Outcome debugged = execute({.words = {*gdb, "-q", "-nx", "-batch", "-x", *script, *program},
		.limit = patience,
		.cpu = 0,
		.environment = {"FORMATS=" + formats, "PREFIX=" + says}});
	StepResult result = debugged.ok() ? StepResult::passed("") : StepResult::failed("gdb: " + debugged.text());

	if (!debugged.ok())
		result.excerpt = last_lines(debugged.output, 10);
	std::istringstream each(formats);

	for (std::string format; debugged.ok() && each >> format;) {
		std::ifstream a(steps + "." + format), b(says + "." + format);
		std::string one, other;
		std::size_t same = 0;

		while (std::getline(a, one) && std::getline(b, other) && one == other)
			same++;
		if (a.eof() && !std::getline(b, other) && same) {
			result.reason +=
				std::format("{}{} instructions of {}", result.reason.empty() ? "" : ", ", same, format);
			continue;
		}
		result.find({"decode",
			std::format("gdb's instructions from {} differ from single steps behind {}", format, same)});
		result.excerpt.push_back(
			std::format("{}: by single steps {}, by gdb {}", format, a ? one : "none", b ? other : "none"));
	}
	return result;
}

} // namespace auxpmu::machine
