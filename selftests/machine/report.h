/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The report: one text that a person can read and send. It has what the machine is and what was seen, and nothing about who uses it:
 * no names of the host or of users, no addresses of the network, no serial numbers.
 */
#ifndef AUXPMU_MACHINE_REPORT_H
#define AUXPMU_MACHINE_REPORT_H

#include <string>
#include <vector>

#include "check.h"
#include "step.h"

namespace auxpmu::machine
{

struct Facts {
	std::vector<std::pair<std::string, std::string>> lines;
	bool is_virtual = false;

	/* Adds lines of names that are not there yet: of PMUs that were not there before. */
	void merge(const Facts &more);
};
/* Processor, kernel, PMUs and what may matter for them. */
Facts read_facts();

std::string report(const Facts &facts, const Conclusion &conclusion, const std::vector<StepResult> &results);

/* What the last crash left in pstore, without what is private; empty if there is none. */
std::vector<std::string> crash_lines();

} // namespace auxpmu::machine

#endif /* AUXPMU_MACHINE_REPORT_H */
