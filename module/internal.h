/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The private halves of what auxpmu.h declares: PMU, unit, event, buffer, sink. Shared by the
 * framework's own files only.
 */
#ifndef AUXPMU_INTERNAL_H
#define AUXPMU_INTERNAL_H

#include <linux/atomic.h>
#include <linux/container_of.h>
#include <linux/cpumask.h>
#include <linux/device.h>
#include <linux/hrtimer.h>
#include <linux/irq_work.h>
#include <linux/limits.h>
#include <linux/list.h>
#include <linux/log2.h>
#include <linux/minmax.h>
#include <linux/perf_event.h>
#include <linux/rcupdate.h>
#include <linux/smp.h>
#include <linux/spinlock.h>
#include <linux/uaccess.h>
#include <linux/uidgid.h>
#include <linux/workqueue.h>

#include "auxpmu.h"
#include "compat.h"
#include "core/stats.h"

/* The framework's own faults: see inject/fault.h. */
enum core_fault {
	CORE_FAULT_SETUP,		/* no memory for a buffer's description */
	CORE_FAULT_ORDERS,		/* chunks count as single pages */
	CORE_FAULT_MIXED,		/* each chunk counts as pieces of all smaller orders */
	CORE_FAULT_ADD,			/* the event cannot be scheduled */
	CORE_FAULT_ARM,			/* the unit cannot be armed */
	CORE_FAULT_TRUNCATED,		/* flags on the next record */
	CORE_FAULT_PARTIAL,
	CORE_FAULT_COLLISION,
	CORE_FAULT_SHORT_SAMPLE,	/* half of a sample's trace is missing */
	CORE_FAULT_LATE_POLL,		/* a poll's timer comes two periods late */
	CORE_FAULTS
};

/**
 * struct core_sharer - whose an event is, and what it shows
 * @owner: the process that opened it
 * @uid: by whose right
 * @capable: it might have opened any
 * @task: that it traces, or NULL; compared, never dereferenced
 * @excluded: its exclude_ bits
 */
struct core_sharer {
	struct pid *owner;
	kuid_t uid;
	bool capable;
	const void *task;
	u8 excluded;
};

/**
 * struct core_event - an event
 * @pub: what its backend sees
 * @sharer: if it has a sink
 * @shares: its trace is copied from its sink's memory, whatever it needs: another event came
 * @refused: it was, because of its sink, and no record has said so yet
 * @serial: shared by an event and its inherited children only, which have the same needs
 * @arm_failed: arm() failed, a record said PARTIAL, and no arm() has succeeded since
 * @area_known: it, or a child of it, has had an AUX area, or the log has said that it has none
 */
struct core_event {
	struct auxpmu_event pub;
	struct core_sharer sharer;
	u64 serial;
	bool shares;
	bool refused;
	bool arm_failed;
	bool area_known;
};

/**
 * struct core_buffer - an AUX buffer
 * @pub: what its backend sees
 * @rb: the ring that owns it; compared, never dereferenced; NULL once @leave is queued
 * @id: unique for ever; not 0
 * @mapped: the unit writes through pub.base, and the buffer is one chunk there
 * @guard: with rules.guarded: the page in front of pub.base, and behind the mapping
 * @nr_of_order: chunks of each order
 * @serial: of the event it was made for
 * @rules: for that event
 * @head: overwrite mode: position at which the next transaction begins
 * @first: position at which the first transaction began, if @begun
 * @sink: the shared sink whose trace it has got last; compared, never dereferenced
 * @piece: number of the piece of that sink's trace which was the last one
 * @begun: there was a transaction
 * @node: in the hash table of all buffers
 * @leave: queues @release when the core frees it in atomic context
 * @release: frees it in process context
 * @rcu: readers that have looked it up may still use its chunks
 */
struct core_buffer {
	struct auxpmu_buffer pub;
	const void *rb;
	u64 id;
	bool mapped;
	struct page *guard;
	u32 nr_of_order[32];
	u64 serial;
	struct auxpmu_window_rules rules;
	u64 head;
	u64 first;
	const void *sink;
	u64 piece;
	bool begun;
	struct hlist_node node;
	struct irq_work leave;
	struct work_struct release;
	struct rcu_head rcu;
};

/**
 * struct core_unit - the unit of one CPU, and its session, from start() to stop()
 * @pub: what the backend sees
 * @word: the state of the session, see core/state.h
 * @handle: of the transaction
 * @rules_buffer: id of the buffer that @pub.rules and @pub.window were made for; 0: none
 * @rules_event: serial of the event they were made for
 * @rules_copy: the event's trace has to be copied into that buffer
 * @rules_shared: they are those of an event that shares its sink
 * @window_limit: the core's limit when the window was taken
 * @window_wakeup: position of the consumer's next wake-up when the window was taken
 * @window_least: no window is to be shorter, if there is room elsewhere, whatever the rules say
 * @head: position at which the transaction began
 * @position: how far the unit got; the bytes from @head to here are to be committed
 * @flags: PERF_AUX_FLAG_* for the end of the transaction
 * @broken: its trace is copied, and some is missing behind what the area has
 * @fresh: nothing was armed since the transaction began
 * @suspended: parked by auxpmu_suspend()
 * @absent: the backend's online() has found no unit on its CPU
 * @serve: serves what was requested in an NMI, if the backend cannot be called there
 * @collect_due: when it is disarmed, it collects its sink's trace
 * @collect: the interrupt of its sink, sent to its CPU
 * @poll: looks after its sink, if that does not interrupt
 * @times_up: how often its CPU had come up when auxpmu_hotplug_look() last looked
 * @stats: since the PMU was registered
 */
struct core_unit {
	struct auxpmu_unit pub;
	atomic_t word;
	struct perf_output_handle handle;
	u64 rules_buffer;
	u64 rules_event;
	bool rules_copy;
	bool rules_shared;
	u64 window_limit;
	u64 window_wakeup;
	u64 window_least;
	u64 head;
	u64 position;
	u64 flags;
	bool broken;
	bool fresh;
	bool suspended;
	bool absent;
	bool collect_due;
	struct irq_work serve;
	call_single_data_t collect;
	struct hrtimer poll;
	unsigned int times_up;
	struct core_stats stats;
};

static inline struct core_event *core_event(struct auxpmu_event *event)
{
	return container_of(event, struct core_event, pub);
}

/* The event that @unit traces for; between add and del. */
static inline struct core_event *core_unit_event(const struct core_unit *unit)
{
	return core_event(auxpmu_unit_event(&unit->pub));
}

static inline struct core_buffer *core_buffer(struct auxpmu_buffer *buffer)
{
	return container_of(buffer, struct core_buffer, pub);
}

static inline struct core_unit *core_unit(struct auxpmu_unit *unit)
{
	return container_of(unit, struct core_unit, pub);
}

/**
 * struct core_sink - a sink
 * @pub: what its backend sees
 * @pmu: whose events use it, if there are any
 * @ops: the backend's, or those of paranoid_sink.c; as @pmu
 * @lock: guards all that follows, and the hardware from sink operations of several CPUs at once
 * @users: events that are attached to it
 * @sharer: whose they are, if there are any
 * @exclusive: of one event, whose unit writes into the AUX area through it, on CPU @owner
 * @wanted: exclusive: another event that may share it was refused
 * @armed: CPUs whose units may be writing into it
 * @collector: CPU of the unit that is to collect its trace, also while that is off for a moment to
 *	do so; -1: none
 * @last: CPU into whose area trace was collected last, nr_cpu_ids if that event is gone; -1: none
 *	was
 * @piece: number of the last piece that was collected, in one area or lost
 * @holed: number of the last one with which trace was lost
 * @hole: trace is missing in front of what it holds
 * @lost_space: what the unit that collects had lost before
 * @collecting: a unit is at it
 * @off: it could not go on, though units are armed
 * @held: bytes that its last collection found
 * @seen: bytes that it held when it was last looked at; exclusive: the position up to which the
 *	unit had written then
 * @looked: when that was: monotonic ns
 * @looks: since the last one that found enough
 * @rate: bytes per millisecond, of the fastest time that is not long ago
 * @period: of polling: ns
 */
struct core_sink {
	struct auxpmu_sink pub;
	struct auxpmu *pmu;
	const struct auxpmu_sink_ops *ops;
	raw_spinlock_t lock;
	unsigned int users;
	struct core_sharer sharer;
	bool exclusive;
	bool wanted;
	unsigned int owner;
	cpumask_var_t armed;
	int collector;
	int last;
	u64 piece;
	u64 holed;
	bool hole;
	u64 lost_space;
	bool collecting;
	bool off;
	u64 held;
	u64 seen;
	u64 looked;
	unsigned int looks;
	u64 rate;
	u64 period;
};

static inline struct core_sink *core_sink(struct auxpmu_sink *sink)
{
	return container_of(sink, struct core_sink, pub);
}

struct auxpmu_complaints;
struct auxpmu_paranoid;

struct auxpmu {
	struct pmu pmu;
	const struct auxpmu_desc *desc;
	const struct auxpmu_ops *ops;		/* the backend's, or those of paranoid.c */
	struct module *owner;
	struct core_unit __percpu *units;
	struct auxpmu_complaints __percpu *complaints;
	struct auxpmu_paranoid *paranoid;	/* NULL if it is believed */
	struct list_head node;			/* of suspend.c */
	struct hlist_node presence;		/* of presence.c, if the backend has online() */
	struct claim *claim;			/* NULL if it needs none */
	struct dentry *debugfs;
	struct dentry *fault_folder;
	atomic_t faults[CORE_FAULTS];
	/*
	 * Number of events and buffers. AUXPMU_GONE is added while the PMU is being made or taken
	 * away: no new user then.
	 */
	atomic_t users;
};

#define AUXPMU_GONE	INT_MIN

/* The order of the largest chunk that both the unit and the page allocator support. */
static inline unsigned int auxpmu_largest_order(const struct auxpmu *pmu)
{
	u64 chunk = pmu->desc->limits.max_chunk;
	unsigned int most = AUXPMU_LARGEST_ORDER;

	return chunk ? min_t(unsigned int, ilog2(chunk) - PAGE_SHIFT, most) : most;
}

/* For one more event or buffer; false while the PMU is being made or taken away. */
static inline bool auxpmu_get(struct auxpmu *pmu)
{
	return atomic_inc_unless_negative(&pmu->users);
}

/* Frees it.  May sleep. */
void auxpmu_free(struct auxpmu *pmu);

/* The reverse; when the PMU was taken away, the last user frees it. */
static inline void auxpmu_put(struct auxpmu *pmu)
{
	if (atomic_dec_return(&pmu->users) == AUXPMU_GONE)
		auxpmu_free(pmu);
}

/* What the framework reads of other drivers' PMUs. */
struct auxpmu_peek {
	typeof_member(struct pmu, setup_aux) setup_aux;
	typeof_member(struct pmu, type) type;
};

/*
 * Look at the PMU of @dev, if it has one. The caller holds the device, not the PMU: its module may
 * be freeing it. Then it does not matter what is read, but the read must not fault.
 */
static inline bool auxpmu_peek(const struct device *dev, struct auxpmu_peek *peek)
{
	const struct pmu *pmu = dev_get_drvdata(dev);

	return pmu && !get_kernel_nofault(peek->setup_aux, &pmu->setup_aux) &&
	       !get_kernel_nofault(peek->type, &pmu->type);
}

static inline struct auxpmu *auxpmu_of(const struct perf_event *event)
{
	return container_of(event->pmu, struct auxpmu, pmu);
}

#endif /* AUXPMU_INTERNAL_H */
