/* SPDX-License-Identifier: GPL-2.0-only */
/* Faults of the framework's own, see software.h.  Shared by the framework's own files only. */
#ifndef AUXPMU_FAULT_H
#define AUXPMU_FAULT_H

#include "internal.h"
#include "software.h"

/* Shall this go wrong now?  Any context. */
static inline bool core_fault(struct auxpmu *pmu, enum core_fault fault)
{
	return auxpmu_fault(&pmu->faults[fault]);
}

/* With the PMU's folder in debugfs.  May sleep. */
void auxpmu_faults_add(struct auxpmu *pmu);

#endif /* AUXPMU_FAULT_H */
