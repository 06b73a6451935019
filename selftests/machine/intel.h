/* SPDX-License-Identifier: GPL-2.0-only */
/* What is done with Intel's trace units, PT and BTS: each of them a step of the check. */
#ifndef AUXPMU_MACHINE_INTEL_H
#define AUXPMU_MACHINE_INTEL_H

#include "choice.h"
#include "step.h"
#include "unit.h"

#include "kit/kernel_log.h"
#include "kit/pmu.h"

namespace auxpmu::machine::intel
{

/* Whether interrupts come, once, and in time; log: the kernel's, from here on. */
StepResult judge_interrupts(const Unit &unit, KernelLog &log);
/* A recursion, against the records of BTS. */
StepResult judge_calls(const Pmu &bts);
/* Writes registers of PT past the kernel. */
StepResult judge_reserved(const Choice &choice, KernelLog &log);

} // namespace auxpmu::machine::intel

#endif /* AUXPMU_MACHINE_INTEL_H */
