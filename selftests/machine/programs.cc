// SPDX-License-Identifier: GPL-2.0-only
#include "programs.h"

#include <format>
#include <sstream>

#include "diagnosis.h"
#include "tap.h"

#include "kit/pmu.h"

namespace auxpmu::machine
{

std::vector<std::string> last_lines(const std::string &text, std::size_t most)
{
	std::istringstream in(text);
	std::vector<std::string> lines;

	for (std::string line; std::getline(in, line);)
		lines.push_back(line);
	if (lines.size() > most)
		lines.erase(lines.begin(), lines.end() - static_cast<std::ptrdiff_t>(most));
	return lines;
}

StepResult of_tap(const Outcome &outcome)
{
	const Tap tap = Tap::parse(outcome.output);
	StepResult result = StepResult::passed(std::format("{} passed, {} skipped", tap.passed, tap.skipped));

	for (const auto &reason : tap.reasons)
		result.excerpt.push_back("skipped: " + reason);
	for (const auto &line : last_lines(outcome.output, 40))
		if (line.starts_with("# instructions") || line.starts_with("hwsim-fuzz:"))
			result.excerpt.push_back(line);
	if (outcome.ok() && tap.failed.empty() && tap.passed)
		return result;
	/* kselftest's: skipped as a whole */
	if (outcome.how == Outcome::How::exited && outcome.code == 4 && tap.failed.empty()) {
		result.verdict = Verdict::not_done;
		result.reason = tap.reasons.empty() ? "the tests skip themselves" : *tap.reasons.begin();
		return result;
	}
	result.verdict = Verdict::failed;
	result.reason = std::format(
		"{} passed, {} failed, {} skipped; {}", tap.passed, tap.failed.size(), tap.skipped, outcome.text());
	for (const auto &name : tap.failed)
		result.excerpt.push_back("failed: " + name);
	result.excerpt.insert(result.excerpt.end(), tap.said.begin(), tap.said.end());
	if (tap.failed.empty())
		for (const auto &line : last_lines(outcome.output, 15))
			result.excerpt.push_back(line);
	diagnose_output(result, outcome.output);
	return result;
}

StepResult run_tests(const Choice &choice, const Unit &unit, std::string filter)
{
	const auto program = find_program("auxpmu_tests", choice.folders);
	const auto pause = Pmu::find(unit.driver).value().cap("pause");

	if (!program)
		return StepResult::not_done("there is no program auxpmu_tests; it is in the package auxpmu-tools");
	if (!pause || !pause->starts_with("1"))
		filter += "~[pauses]";
	/* virtual hardware is treated as if it were real: nobody asks it for faults */
	return of_tap(execute({.words = {*program, "--pmu", unit.driver, filter},
		.limit = patience,
		.environment = {"NO_FAULTS=1"}}));
}

} // namespace auxpmu::machine
