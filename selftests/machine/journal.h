/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What was done, in a file that outlives a crash of the machine: each line is on the disk before the next thing is done.
 *
 * A step is begun, and later ended. One that was begun and not ended is where the machine went down, or where somebody killed this
 * program.
 */
#ifndef AUXPMU_MACHINE_JOURNAL_H
#define AUXPMU_MACHINE_JOURNAL_H

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "step.h"

#include "kit/handle.h"
#include "kit/result.h"

namespace auxpmu::machine
{

class Journal
{
public:
	/* Opens the journal in this folder, or begins one. What is in it is read. boot: that of the running kernel. */
	Journal() = default;
	static Result<Journal> open(const std::string &folder, std::string_view boot);

	/* The steps that have ended, in their order; one that was interrupted has failed. */
	const std::vector<StepResult> &done() const noexcept { return ended; }
	/* The result of this step, if it was begun at all. */
	const StepResult *find(std::string_view step) const;
	/* Was something in it when it was opened? */
	bool resumed() const noexcept { return found; }

	void begin(std::string_view step);
	void end(const StepResult &result);
	/* The report is written: the next check begins anew. */
	void remove();

private:
	void read(std::string_view boot);
	void add(const std::string &text);

	std::string path, folder, booted;
	UniqueFd file;
	std::vector<StepResult> ended;
	bool found = false;
};

} // namespace auxpmu::machine

#endif /* AUXPMU_MACHINE_JOURNAL_H */
