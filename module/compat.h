/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Kernel versions meet here, and nowhere else: the rest reads as if written for the newest kernel.
 *
 * Supported are 6.1 and newer (Kbuild refuses others).  A difference is known by a macro of the
 * kernel's or by a compile probe (features.sh writes features.h), not by a version number: stable
 * kernels backport both features and fixes.
 */
#ifndef AUXPMU_COMPAT_H
#define AUXPMU_COMPAT_H

#include <linux/export.h>
#include <linux/hrtimer.h>
#include <linux/irq_work.h>
#include <linux/log2.h>
#include <linux/mmzone.h>
#include <linux/perf_event.h>
#include <linux/syscore_ops.h>

#include "features.h"

/* EXPORT_SYMBOL_NS_GPL() took a bare token up to 6.12, and a string from then on. */
#ifdef AUXPMU_HAS_TOKEN_NAMESPACES
#define AUXPMU_NS	AUXPMU
#else
#define AUXPMU_NS	"AUXPMU"
#endif

/* Without the capability (up to 6.9 or so) the core hands out large chunks to everybody. */
#ifndef PERF_PMU_CAP_AUX_PREFER_LARGE
#define PERF_PMU_CAP_AUX_PREFER_LARGE	0
#endif

/*
 * The order of the largest block the page allocator has.  Its name and its meaning changed twice:
 * MAX_ORDER was one more up to 6.3, the order itself from 6.4 to 6.7, and MAX_PAGE_ORDER is since.
 */
#define AUXPMU_LARGEST_ORDER	ilog2(MAX_ORDER_NR_PAGES)

/* aux_pause and aux_resume: 6.13 and newer, and Debian's 6.12. */
#ifdef PERF_PMU_CAP_AUX_PAUSE
static inline bool auxpmu_paused(const struct perf_event *event)
{
	return READ_ONCE(event->hw.aux_paused);
}

static inline bool auxpmu_pauses_leader(const struct perf_event_attr *attr)
{
	return attr->aux_pause || attr->aux_resume;
}
#else
#define PERF_PMU_CAP_AUX_PAUSE	0
#define PERF_EF_PAUSE		0
#define PERF_EF_RESUME		0
static inline bool auxpmu_paused(const struct perf_event *event)
{
	return false;
}

static inline bool auxpmu_pauses_leader(const struct perf_event_attr *attr)
{
	return false;
}
#endif

/*
 * May the current user see what the kernel does?  Up to 6.1 the answer took a sysctl that is not
 * exported: there, the privileged only.
 */
#ifdef AUXPMU_HAS_PERF_ALLOW_KERNEL
static inline int auxpmu_allow_kernel(void)
{
	return perf_allow_kernel();
}
#else
#include <linux/capability.h>
static inline int auxpmu_allow_kernel(void)
{
	return perfmon_capable() ? 0 : -EACCES;
}
#endif

/*
 * Is an AUX area being mapped by way of an event that has no mapping of its own, in the ring of
 * another one that it was redirected to?  From 7.0 or so on the core then counts mappings up from
 * 0 ("refcount_t: addition on 0"), after it has asked for the buffer: who refuses that keeps it
 * from it.
 */
static inline bool auxpmu_mapped_by_redirection(const struct perf_event *event)
{
#ifdef AUXPMU_HAS_MMAP_REFCOUNT
	return !refcount_read(&event->mmap_count);
#else
	return false;
#endif
}

/* Is anything set behind attr.config2?  Words that a kernel does not have it refuses itself. */
static inline bool auxpmu_config_behind_2(const struct perf_event_attr *attr)
{
	u64 all = 0;

#ifdef AUXPMU_HAS_CONFIG3
	all |= attr->config3;
#endif
#ifdef AUXPMU_HAS_CONFIG4
	all |= attr->config4;
#endif
	return all;
}

/* Is anything set behind attr.config? */
static inline bool auxpmu_more_config(const struct perf_event_attr *attr)
{
	return attr->config1 || attr->config2 || auxpmu_config_behind_2(attr);
}

#ifndef AUXPMU_HAS_HRTIMER_SETUP
static inline void hrtimer_setup(struct hrtimer *timer,
				 enum hrtimer_restart (*function)(struct hrtimer *),
				 clockid_t clock, enum hrtimer_mode mode)
{
	hrtimer_init(timer, clock, mode);
	timer->function = function;
}
#endif

/* Suspend and resume of syscore were without an argument, and registered as they are. */
#ifdef AUXPMU_HAS_SYSCORE_DATA
#define AUXPMU_SYSCORE_ARG	void *data
#else
#define AUXPMU_SYSCORE_ARG	void
struct syscore {
	struct syscore_ops *ops;
};

static inline void register_syscore(struct syscore *syscore)
{
	register_syscore_ops(syscore->ops);
}

static inline void unregister_syscore(struct syscore *syscore)
{
	unregister_syscore_ops(syscore->ops);
}
#endif

/*
 * Stop for good the timer that rotates events of @pmu on @cpu; @pmu is about to be
 * unregistered.  May sleep.
 *
 * The core starts it when add() fails, and when perf_event_mux_interval_ms is written; it is
 * queued until that time is over, events or not.  perf_pmu_unregister() frees it as it is, and
 * whoever next starts a timer on that CPU follows pointers of what is freed (6.2 to 7.3).  While
 * hrtimer_active is set the core takes the timer for started, and leaves it alone.  6.1 has none
 * for PMUs whose events are in the context of software events, as ours are.
 */
static inline void auxpmu_stop_rotation(const struct pmu *pmu, int cpu)
{
#ifdef AUXPMU_HAS_PMU_CONTEXT
#ifdef AUXPMU_HAS_PMU_CONTEXT_POINTER
	struct perf_cpu_pmu_context *context = *per_cpu_ptr(pmu->cpu_pmu_context, cpu);
#else
	struct perf_cpu_pmu_context *context = per_cpu_ptr(pmu->cpu_pmu_context, cpu);
#endif
	bool stopped;

	do {
		hrtimer_cancel(&context->hrtimer);
		raw_spin_lock_irq(&context->hrtimer_lock);
		/* The core may have started it in between. */
		stopped = !hrtimer_active(&context->hrtimer);
		if (stopped)
			context->hrtimer_active = 1;
		raw_spin_unlock_irq(&context->hrtimer_lock);
	} while (!stopped);
#endif
}

/*
 * Switch @event off from a context that cannot: the core does it in an irq_work of the event's, as
 * soon as IRQs are on.
 *
 * That is what perf_event_disable_inatomic() does, which is not exported. The core calls it, or
 * means to, when an AUX buffer is full; but 6.1 stores a CPU number in what had become a boolean
 * and so never disables on CPU 0, and 6.12 queues an irq_work that no longer looks at the flag and
 * so never disables at all: PERF_EVENT_IOC_ENABLE then has no effect. Kernels where the core is
 * right (7.2 and newer) see the same flag set and the same work queued twice, which changes
 * nothing; that the core is right cannot be probed, so it is done on all.
 */
static inline void auxpmu_disable_inatomic(struct perf_event *event)
{
	event->pending_disable = 1;
#ifdef AUXPMU_HAS_PENDING_DISABLE_IRQ
	irq_work_queue(&event->pending_disable_irq);
#else
	irq_work_queue(&event->pending_irq);
#endif
}

#endif /* AUXPMU_COMPAT_H */
