/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The PMU as the framework sees it: struct pmu and one session per CPU. Shared by the framework's
 * own files only.
 */
#ifndef AUXPMU_PMU_H
#define AUXPMU_PMU_H

#include <linux/atomic.h>
#include <linux/limits.h>

#include "auxpmu.h"

struct auxpmu {
	struct pmu pmu;
	const struct auxpmu_desc *desc;
	const struct auxpmu_ops *ops;
	struct module *owner;
	struct auxpmu_session __percpu *sessions;
	struct dentry *debugfs;
	/* Events and buffers, or AUXPMU_GONE while there may be none: before and after its time. */
	atomic_t users;
};

#define AUXPMU_GONE	INT_MIN

/* One event or buffer more; false while the PMU is being made or taken away. */
static inline bool auxpmu_get(struct auxpmu *pmu)
{
	return atomic_inc_unless_negative(&pmu->users);
}

static inline void auxpmu_put(struct auxpmu *pmu)
{
	atomic_dec(&pmu->users);
}

static inline struct auxpmu *auxpmu_of(const struct perf_event *event)
{
	return container_of(event->pmu, struct auxpmu, pmu);
}

/* The user's mistake, in one sentence; rate limited, for any user may make it. */
#define auxpmu_notice(apmu, fmt, ...) \
	pr_notice_ratelimited("%s: " fmt "\n", (apmu)->desc->name, ##__VA_ARGS__)

#endif /* AUXPMU_PMU_H */
