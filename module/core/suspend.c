// SPDX-License-Identifier: GPL-2.0-only
/*
 * Suspend, see suspend.h: parks a unit that traces, with its transaction open, and arms it again
 * when the machine is back. What the unit wrote is kept; the record says PARTIAL, since the CPU was
 * not traced in between.
 */
#include <linux/list.h>
#include <linux/spinlock.h>

#include "compat.h"
#include "core/session.h"
#include "core/suspend.h"
#include "internal.h"

/*
 * Raw: the holder must not be preempted (PREEMPT_RT), since the syscore callbacks walk the list
 * without the lock.
 */
static DEFINE_RAW_SPINLOCK(pmus_lock);
static LIST_HEAD(pmus);

/* On the last CPU, IRQs off, all tasks frozen. */
static int suspend(AUXPMU_SYSCORE_ARG)
{
	struct auxpmu *pmu;

	list_for_each_entry(pmu, &pmus, node)
		auxpmu_suspend(pmu, false);
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
	/* For a revoked PMU this is the second call. */
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
