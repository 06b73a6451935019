/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What is told by counters of a driver, by the kernel's log, and by what programs print: the names of faults.
 */
#ifndef AUXPMU_MACHINE_DIAGNOSIS_H
#define AUXPMU_MACHINE_DIAGNOSIS_H

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "step.h"

namespace auxpmu::machine
{

/* The counters of one driver: "errors/topa", "arm_failures". */
using Counters = std::map<std::string, std::uint64_t, std::less<>>;
/* Those of a PMU, in sysfs (errors/) and debugfs (stats); none if it is not there. */
Counters read_counters(std::string_view pmu);

/* Adds what these lines of the kernel's log tell, and the lines themselves, if they are about trace or complaints. */
void diagnose_log(StepResult &result, const std::vector<std::string> &lines);
/* Adds what the growth of counters tells. */
void diagnose_counters(StepResult &result, std::string_view pmu, const Counters &before, const Counters &after);
/* Adds what the output of a program tells. */
void diagnose_output(StepResult &result, std::string_view output);

} // namespace auxpmu::machine

#endif /* AUXPMU_MACHINE_DIAGNOSIS_H */
