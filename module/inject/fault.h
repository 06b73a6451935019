/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Faults on request: each branch that handles a failure can be made to be taken, debugfs
 * PMU/faults/NAME: how many times more.  Costs a no-op until one is first asked for.
 */
#ifndef AUXPMU_FAULT_H
#define AUXPMU_FAULT_H

#include <linux/jump_label.h>

#include "internal.h"

DECLARE_STATIC_KEY_FALSE(auxpmu_faults);

bool __auxpmu_fault(struct auxpmu *pmu, enum auxpmu_fault fault);

/* Shall this go wrong now?  Any context. */
static inline bool auxpmu_fault(struct auxpmu *pmu, enum auxpmu_fault fault)
{
	return static_branch_unlikely(&auxpmu_faults) && __auxpmu_fault(pmu, fault);
}

void auxpmu_faults_add(struct auxpmu *pmu);

#endif /* AUXPMU_FAULT_H */
