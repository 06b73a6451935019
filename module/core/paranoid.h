/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * paranoid=1: a framework that does not believe what its backends say. Shared by the framework's
 * own files only.
 *
 * A PMU that is registered while the parameter is set gets a table of operations that look at what
 * the backend's do (struct auxpmu, @ops). Others call the backend's own: to them it costs nothing.
 */
#ifndef AUXPMU_PARANOID_H
#define AUXPMU_PARANOID_H

#include <linux/irqflags.h>
#include <linux/jump_label.h>

#include "core/complaint.h"
#include "internal.h"

/* Before a unit of @pmu is made; sets @pmu->ops.  0 or -ENOMEM.  May sleep. */
int auxpmu_paranoid_make(struct auxpmu *pmu);
void auxpmu_paranoid_free(struct auxpmu *pmu);

/* The memory of one unit: unit->private. NULL for none, or if it is not to be had. May sleep. */
void *auxpmu_unit_alloc(const struct auxpmu *pmu, int cpu);
void auxpmu_unit_free(struct auxpmu_unit *unit);

DECLARE_STATIC_KEY_FALSE(auxpmu_paranoid);

/* Did a backend call @function of the framework's with IRQs on, which the contract rules out? */
static inline bool auxpmu_paranoid_refuses(struct auxpmu *pmu, const char *function)
{
	if (!static_branch_unlikely(&auxpmu_paranoid) || !pmu->paranoid || irqs_disabled())
		return false;
	auxpmu_complain(pmu, AUXPMU_IRQS_ON, function, 0, 0);
	return true;
}

#endif /* AUXPMU_PARANOID_H */
