/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The framework's own faults, see software.h: each check is a no-op until a fault is first set.
 * Shared by the framework's own files only.
 */
#ifndef AUXPMU_FAULT_H
#define AUXPMU_FAULT_H

#include <linux/jump_label.h>

#include "internal.h"
#include "software.h"

DECLARE_STATIC_KEY_FALSE(auxpmu_faults);

/* Shall this fault happen now?  Any context. */
static inline bool core_fault(struct auxpmu *pmu, enum core_fault fault)
{
	return static_branch_unlikely(&auxpmu_faults) && auxpmu_fault(&pmu->faults[fault]);
}

/* After the PMU's debugfs folder was made. May sleep. */
void auxpmu_core_faults_add(struct auxpmu *pmu);

#endif /* AUXPMU_FAULT_H */
