/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The PMU as the framework sees it: struct pmu and one session per CPU. Shared by the framework's
 * own files only.
 */
#ifndef AUXPMU_PMU_H
#define AUXPMU_PMU_H

#include <linux/atomic.h>
#include <linux/limits.h>
#include <linux/list.h>
#include <linux/log2.h>
#include <linux/minmax.h>

#include "auxpmu.h"
#include "compat.h"

/* What can be made to go wrong: see fault.h.  STUCK to DUE and SLOW_STOP are the unit's. */
enum auxpmu_fault {
	AUXPMU_FAULT_SETUP,		/* no memory for a buffer's description */
	AUXPMU_FAULT_ORDERS,		/* blocks count as single pages */
	AUXPMU_FAULT_MIXED,		/* blocks count as pieces of all smaller orders */
	AUXPMU_FAULT_ADD,		/* the event cannot be scheduled */
	AUXPMU_FAULT_ARM,		/* the unit cannot be armed */
	AUXPMU_FAULT_STUCK,		/* its pointer did not move: what it wrote is lost */
	AUXPMU_FAULT_OVERRUN,		/* it wrote a page more than its window */
	AUXPMU_FAULT_SPURIOUS_IRQ,	/* one interrupt more */
	AUXPMU_FAULT_LATE_IRQ,		/* one a page of trace later */
	AUXPMU_FAULT_LOST_IRQ,		/* one less: the unit runs into its limit */
	AUXPMU_FAULT_DUE,		/* its interrupt is due as soon as it is armed */
	AUXPMU_FAULT_BUSY,		/* the same, behind a record just written */
	AUXPMU_FAULT_TRUNCATED,		/* flags on the next record */
	AUXPMU_FAULT_PARTIAL,
	AUXPMU_FAULT_COLLISION,
	AUXPMU_FAULT_SLOW_STOP,		/* disarming takes a millisecond */
	AUXPMU_FAULT_SHORT_SAMPLE,	/* half of a sample's trace is not there */
	AUXPMU_FAULT_UNREGISTER,	/* the PMU goes while events are there */
	AUXPMU_FAULTS
};

struct auxpmu_complaints;
struct auxpmu_paranoid;

struct auxpmu {
	struct pmu pmu;
	const struct auxpmu_desc *desc;
	const struct auxpmu_ops *ops;		/* the backend's, or those of paranoid.c */
	struct module *owner;
	struct auxpmu_session __percpu *sessions;
	struct auxpmu_complaints __percpu *complaints;
	struct auxpmu_paranoid *paranoid;	/* NULL if it is believed */
	struct list_head node;			/* of suspend.c */
	struct claim *claim;			/* NULL if it needs none */
	struct dentry *debugfs;
	atomic_t faults[AUXPMU_FAULTS];
	/* Events and buffers, or AUXPMU_GONE while there may be none: before and after its time. */
	atomic_t users;
};

#define AUXPMU_GONE	INT_MIN

/* The order of the largest block that the hardware takes and the allocator has. */
static inline unsigned int auxpmu_largest_order(const struct auxpmu *pmu)
{
	u64 block = pmu->desc->limits.max_block;
	unsigned int most = AUXPMU_LARGEST_ORDER;

	return block ? min_t(unsigned int, ilog2(block) - PAGE_SHIFT, most) : most;
}

/* One event or buffer more; false while the PMU is being made or taken away. */
static inline bool auxpmu_get(struct auxpmu *pmu)
{
	return atomic_inc_unless_negative(&pmu->users);
}

/* Frees it.  May sleep. */
void auxpmu_release(struct auxpmu *pmu);

/* One less; the last one of a PMU that was taken away frees it. */
static inline void auxpmu_put(struct auxpmu *pmu)
{
	if (atomic_dec_return(&pmu->users) == AUXPMU_GONE)
		auxpmu_release(pmu);
}

static inline struct auxpmu *auxpmu_of(const struct perf_event *event)
{
	return container_of(event->pmu, struct auxpmu, pmu);
}

/* The user's mistake, in one sentence; rate limited, for any user may make it. */
#define auxpmu_notice(apmu, fmt, ...) \
	pr_notice_ratelimited("%s: " fmt "\n", (apmu)->desc->name, ##__VA_ARGS__)

#endif /* AUXPMU_PMU_H */
