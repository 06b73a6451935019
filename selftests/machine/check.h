/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The check of a machine with trace units: its steps, one after the other, each noted in the journal before and after.
 */
#ifndef AUXPMU_MACHINE_CHECK_H
#define AUXPMU_MACHINE_CHECK_H

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "choice.h"
#include "journal.h"
#include "state.h"
#include "unit.h"

#include "kit/kernel_log.h"

namespace auxpmu::machine
{

class Check
{
public:
	Check(const Choice &chosen, Journal &journal, const State &before);

	/* All steps that are chosen and not in the journal; tell() is called with each of them before and after. */
	using Tell = std::function<void(const StepResult *result, const std::string &name, const std::string &title)>;
	void run(const Tell &tell);
	/* Name and title of each. */
	std::vector<std::pair<std::string, std::string>> list() const;

	/* Is there a step of this name or pattern? */
	bool has(const std::string &pattern) const;

private:
	struct Step {
		std::string name, title;
		std::function<StepResult()> run;
		std::string needs;          /* a step without which it is not done */
		std::optional<Unit> unit{}; /* whose driver is to be loaded; else none of ours is */
	};

	void plan(const Unit &unit);
	bool chosen(const std::string &name) const;
	StepResult perform(const Step &step);
	StepResult guarded(const Step &step);

	StepResult claim(const Unit &unit);
	StepResult registers(const Unit &unit);
	StepResult theirs(const Unit &unit);
	StepResult rounds(const Unit &unit);
	StepResult left();

	Choice choice;
	Journal &journal;
	const State &before;
	KernelLog log;
	Modules modules;
	std::vector<Step> plans;
};

/* The steps of a whole check on this machine have these verdicts: what can be said of the machine. */
struct Conclusion {
	Verdict verdict;
	std::string sentence;
};
Conclusion conclude(const std::vector<StepResult> &results, const Choice &choice);

} // namespace auxpmu::machine

#endif /* AUXPMU_MACHINE_CHECK_H */
