/* SPDX-License-Identifier: GPL-2.0-only */
/* Programs of this project that are run for a step, and what is read of what they print. */
#ifndef AUXPMU_MACHINE_PROGRAMS_H
#define AUXPMU_MACHINE_PROGRAMS_H

#include <chrono>
#include <string>
#include <vector>

#include "choice.h"
#include "command.h"
#include "step.h"
#include "unit.h"

namespace auxpmu::machine
{

/* The longest that a step's program may take: in an emulated guest some take minutes. */
constexpr std::chrono::seconds patience{1800};

std::vector<std::string> last_lines(const std::string &text, std::size_t most);

/* A verdict from the TAP that a program printed, its findings, and what is worth to be read of it. */
StepResult of_tap(const Outcome &outcome);

/* The tests of a PMU that this filter of Catch2's names. */
StepResult run_tests(const Choice &choice, const Unit &unit, std::string filter);

} // namespace auxpmu::machine

#endif /* AUXPMU_MACHINE_PROGRAMS_H */
