/* SPDX-License-Identifier: GPL-2.0-only */
/* What is done with Arm's trace units, by the PMU auxpmu_etm: each of them a step of the check. */
#ifndef AUXPMU_MACHINE_CORESIGHT_H
#define AUXPMU_MACHINE_CORESIGHT_H

#include <optional>

#include "step.h"
#include "stretch.h"

#include "kit/pmu.h"

namespace auxpmu::machine::coresight
{

/* Of a stretch without trace, of units that could be started and that nobody else uses. */
std::optional<Finding> why_nothing(const Stretch &stretch);
/* A recursion whose calls go by a pointer, so that the trace names where each has led. */
StepResult judge_calls(const Pmu &pmu);
/* Of a trace buffer, which stops and interrupts. */
StepResult judge_interrupts(const Pmu &pmu);
/* Of a sink on the trace bus, which is stopped. */
StepResult judge_sink(const Pmu &pmu);
/* Address comparators. */
StepResult judge_filter(const Pmu &pmu);

} // namespace auxpmu::machine::coresight

#endif /* AUXPMU_MACHINE_CORESIGHT_H */
