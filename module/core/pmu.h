/* SPDX-License-Identifier: GPL-2.0-only */
/* The callbacks of the perf core. Shared by the framework's own files only. */
#ifndef AUXPMU_CORE_PMU_H
#define AUXPMU_CORE_PMU_H

struct auxpmu_desc;
struct core_unit;
struct pmu;

/* The same for every PMU; register.c fills in what differs. */
extern const struct pmu auxpmu_callbacks;

/*
 * @ret if it is 0 or an errno, else -EINVAL and a line in the log: operation @op of a backend
 * returned it, and the core would take such a value for a pointer (see ERR_PTR()).
 */
int auxpmu_errno_of(const struct auxpmu_desc *desc, const char *op, int ret);

/* Take the unit's event, if it has one, off its CPU, as the core's del() does. There, IRQs off. */
void auxpmu_take_off(struct core_unit *unit);

#endif /* AUXPMU_CORE_PMU_H */
