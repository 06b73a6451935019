/* SPDX-License-Identifier: GPL-2.0-only */
/* What the perf core calls.  Shared by the framework's own files only. */
#ifndef AUXPMU_CORE_PMU_H
#define AUXPMU_CORE_PMU_H

struct auxpmu_desc;
struct pmu;

/* Of every PMU; what differs is for register.c to fill in. */
extern const struct pmu auxpmu_callbacks;

/*
 * @ret if operation @op of a backend may return that, else -EINVAL, and the log says so. The core
 * takes what is no errno for a pointer: see ERR_PTR().
 */
int auxpmu_errno_of(const struct auxpmu_desc *desc, const char *op, int ret);

#endif /* AUXPMU_CORE_PMU_H */
