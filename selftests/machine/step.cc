// SPDX-License-Identifier: GPL-2.0-only
#include "step.h"

#include <algorithm>

namespace auxpmu::machine
{

std::string_view text_of(Verdict verdict)
{
	switch (verdict) {
	case Verdict::passed:
		return "passed";
	case Verdict::failed:
		return "FAILED";
	case Verdict::not_applicable:
		return "not applicable";
	default:
		return "not done";
	}
}

void StepResult::find(Finding finding)
{
	verdict = Verdict::failed;
	if (std::ranges::find(findings, finding) == findings.end())
		findings.push_back(std::move(finding));
}

} // namespace auxpmu::machine
