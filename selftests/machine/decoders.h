/* SPDX-License-Identifier: GPL-2.0-only */
/* What decoders that are not ours find in the trace of Intel's units, against what was executed: each of them a step of the check. */
#ifndef AUXPMU_MACHINE_DECODERS_H
#define AUXPMU_MACHINE_DECODERS_H

#include <string>

#include "choice.h"
#include "step.h"

namespace auxpmu::machine
{

/* libipt, in random programs, against single steps; of these PMUs, either of which may be none. */
StepResult judge_steps(const Choice &choice, const std::string &pt, const std::string &bts);
/* perf, of the kernel's own driver of PT, against how many calls a recursion makes. */
StepResult judge_calls_by_perf(const Choice &choice);
/* gdb, of the kernel's own drivers, against single steps. */
StepResult judge_debugger(const Choice &choice);

} // namespace auxpmu::machine

#endif /* AUXPMU_MACHINE_DECODERS_H */
