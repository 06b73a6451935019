// SPDX-License-Identifier: GPL-2.0-only
/*
 * Suspend, see suspend.h: a unit at work is parked, with its transaction open, and armed again when
 * the machine is back.  What the unit wrote is kept; the record says PARTIAL, for what the CPU did
 * in between was not traced.
 */
#include <linux/list.h>
#include <linux/spinlock.h>

#include "compat.h"
#include "core/session.h"
#include "core/suspend.h"
#include "internal.h"

/* Raw, so that nobody who holds it is put aside: while the machine suspends nobody takes it. */
static DEFINE_RAW_SPINLOCK(pmus_lock);
static LIST_HEAD(pmus);

/* On the last CPU, IRQs off, everybody else frozen. */
static int suspend(AUXPMU_SYSCORE_ARG)
{
	struct auxpmu *pmu;

	list_for_each_entry(pmu, &pmus, node)
		auxpmu_suspend(pmu);
	return 0;
}

static void suspend_resume(AUXPMU_SYSCORE_ARG)
{
	struct auxpmu *pmu;

	list_for_each_entry(pmu, &pmus, node) {
		if (pmu->ops->invalidate)
			pmu->ops->invalidate(&this_cpu_ptr(pmu->units)->pub);
		auxpmu_resume(pmu);
	}
}

static struct syscore_ops ops = {
	.suspend = suspend,
	.resume = suspend_resume,
};

static struct syscore syscore = {
	.ops = &ops,
};

void auxpmu_suspend_add(struct auxpmu *pmu)
{
	raw_spin_lock(&pmus_lock);
	list_add(&pmu->node, &pmus);
	raw_spin_unlock(&pmus_lock);
}

void auxpmu_suspend_remove(struct auxpmu *pmu)
{
	raw_spin_lock(&pmus_lock);
	/* Of a PMU that was revoked the second time. */
	list_del_init(&pmu->node);
	raw_spin_unlock(&pmus_lock);
}

void auxpmu_suspend_init(void)
{
	register_syscore(&syscore);
}

void auxpmu_suspend_exit(void)
{
	unregister_syscore(&syscore);
}
