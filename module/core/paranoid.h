/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * paranoid=1: the framework checks what its backends do. Shared by the framework's own files only.
 *
 * A PMU that is registered while the parameter is set gets operations that check the backend's
 * (struct auxpmu, @ops). Other PMUs call the backend's own, at no cost.
 */
#ifndef AUXPMU_PARANOID_H
#define AUXPMU_PARANOID_H

#include <linux/irqflags.h>
#include <linux/jump_label.h>

#include "core/complaint.h"
#include "internal.h"

/* Before the units of @pmu are made; sets @pmu->ops. 0 or -ENOMEM. May sleep. */
int auxpmu_paranoid_make(struct auxpmu *pmu);
void auxpmu_paranoid_free(struct auxpmu *pmu);

/* Operations that check those of a sink that is used by @pmu's events; NULL: it is believed. */
const struct auxpmu_sink_ops *auxpmu_paranoid_sink_ops(const struct auxpmu *pmu);

/* The memory of one unit: unit->private. NULL if it needs none or there is no memory. May sleep. */
void *auxpmu_unit_alloc(const struct auxpmu *pmu, int cpu);
void auxpmu_unit_free(struct auxpmu_unit *unit);

DECLARE_STATIC_KEY_FALSE(auxpmu_paranoid);

/* Did a backend call the framework's @function with IRQs on, against the contract? */
static inline bool auxpmu_paranoid_refuses(struct auxpmu *pmu, const char *function)
{
	if (!static_branch_unlikely(&auxpmu_paranoid) || !pmu->paranoid || irqs_disabled())
		return false;
	auxpmu_complain(pmu, AUXPMU_IRQS_ON, function, 0, 0);
	return true;
}

#endif /* AUXPMU_PARANOID_H */
