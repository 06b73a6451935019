/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * All differences between kernel versions are here, and in kernels.h what backends need of them.
 * The rest reads as if written for the newest kernel.
 *
 * Kernels from 6.1 on are supported (Kbuild refuses others). A macro of the kernel or a compile
 * probe (features.sh writes features.h) tells a difference, never a version number: stable kernels
 * backport both features and fixes.
 */
#ifndef AUXPMU_COMPAT_H
#define AUXPMU_COMPAT_H

#include <linux/export.h>
#include <linux/irq_work.h>
#include <linux/log2.h>
#include <linux/mmzone.h>
#include <linux/perf_event.h>
#include <linux/syscore_ops.h>

#include "kernels.h"

/* EXPORT_SYMBOL_NS_GPL() took a bare token up to 6.12, and a string from then on. */
#ifdef AUXPMU_HAS_TOKEN_NAMESPACES
#define AUXPMU_NS	AUXPMU
#else
#define AUXPMU_NS	"AUXPMU"
#endif

/* Without the capability (up to about 6.9) the core gives large chunks to every PMU. */
#ifndef PERF_PMU_CAP_AUX_PREFER_LARGE
#define PERF_PMU_CAP_AUX_PREFER_LARGE	0
#endif

/*
 * The largest order of the page allocator. Its macro changed twice: up to 6.3 MAX_ORDER was one
 * more, from 6.4 to 6.7 MAX_ORDER was the order itself, since then MAX_PAGE_ORDER is.
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
 * May the current user trace the kernel? Up to 6.1 the answer depends on a sysctl that is not
 * exported: only privileged users may there.
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
 * Is an AUX area being mapped through an event that has no mapping of its own, but was redirected
 * into another event's ring? From about 7.0 on the core increments that event's mmap_count from 0
 * then ("refcount_t: addition on 0"), after it has called setup_aux(): refusing the buffer prevents
 * it.
 */
static inline bool auxpmu_mapped_by_redirection(const struct perf_event *event)
{
#ifdef AUXPMU_HAS_MMAP_REFCOUNT
	return !refcount_read(&event->mmap_count);
#else
	return false;
#endif
}

/* On older kernels the syscore_ops are registered as such, and their functions have no argument. */
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
 * Stop the timer that rotates events of @pmu on @cpu for good; @pmu is about to be unregistered.
 * May sleep.
 *
 * The core starts the timer when add() fails, and when perf_event_mux_interval_ms is written; it
 * stays queued until it expires, even without events. perf_pmu_unregister() frees a queued timer,
 * and the next timer that is started on that CPU follows dangling pointers (6.2 to 7.3). While
 * hrtimer_active is set, the core does not start the timer. 6.1 has no such timer for PMUs with
 * perf_sw_context, as ours are.
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
 * Switch @event off from NMI or with IRQs off: the core does it in an irq_work of the event, as
 * soon as IRQs are on.
 *
 * perf_event_disable_inatomic() does this, but is not exported. The core means to do it when an AUX
 * buffer is full. But 6.1 stores a CPU number in what had become a boolean, and so never disables
 * on CPU 0; 6.12 queues an irq_work that no longer looks at the flag, and so never disables at all.
 * PERF_EVENT_IOC_ENABLE has no effect then. 7.2 and newer do it right. A probe cannot tell, so this
 * is called on all kernels: setting the flag and queueing the work twice changes nothing.
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
