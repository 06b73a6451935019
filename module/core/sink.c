// SPDX-License-Identifier: GPL-2.0-only
/*
 * Sinks, see sink.h: who may share one, when it is on, and when its trace is collected.
 *
 * Trace of all CPUs lies in the sink's memory as it came, and whoever collects it gets all of it.
 * So that a decoder finds a CPU's trace in one piece, it should be the same unit as long as trace
 * comes: the collector. It collects when a poll finds enough or the sink interrupts, and when it is
 * disarmed. Of the others only the last one collects, when it is disarmed; what those that go
 * before have written stays for whoever is left. A unit that is sampled collects, too. When another
 * unit collects than before, what it gets has trace missing in front of it, and says so. The sum of
 * the areas has each byte once.
 *
 * Any unit may be the collector. Consumers stop the events of one CPU after the other, from the
 * first on; so it is the one of the last CPU, which is there to the end.
 *
 * An event whose unit writes into the AUX area by the sink has the sink for itself. Then the unit
 * is looked at when a poll is due, and hands over when it is time.
 *
 * The lock is a leaf: inside it only the backend's sink operations are called, and, while a unit
 * collects, the perf core's functions of that unit's transaction.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/capability.h>
#include <linux/cpumask.h>
#include <linux/cred.h>
#include <linux/delay.h>
#include <linux/err.h>
#include <linux/hrtimer.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/percpu.h>
#include <linux/pid.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/smp.h>
#include <linux/spinlock.h>
#include <linux/timekeeping.h>

#include "compat.h"
#include "core/paranoid.h"
#include "core/sink.h"
#include "core/state.h"
#include "core/transaction.h"
#include "inject/fault.h"

/*
 * The period of polling: the time in which half of the memory is filled, the sink's or the
 * window's, but often enough for a reader who waits, and not so often that nothing else is done.
 * What is little for that long is collected in the end, for readers that do not wait to be woken.
 */
#define SINK_POLL_LEAST		(100 * NSEC_PER_USEC)
#define SINK_POLL_MOST		(10 * NSEC_PER_MSEC)
#define SINK_POLL_FIRST		NSEC_PER_MSEC
#define SINK_LOOKS		16
/* What comes by a flush within less than that tells of no rate. */
#define SINK_MEASURED		(10 * NSEC_PER_USEC)

/* Whoever interrupts the holder of a lock here must not wait for another sink's: see sink.h. */
DEFINE_PER_CPU(bool, auxpmu_sink_held);

static struct core_sink *sink_of(const struct core_unit *unit)
{
	struct auxpmu_sink *sink = core_unit_event(unit)->pub.needs.sink;

	if (sink && sink->desc->of_cpu)
		sink = sink->desc->of_cpu(sink, unit->pub.cpu);
	return sink ? core_sink(sink) : NULL;
}

/* A unit without a sink locks nothing, which sparse cannot follow: so it is told of no lock. */
static void sink_lock(struct core_sink *sink)
{
	raw_spin_lock(&sink->lock);
	__release(&sink->lock);
	__this_cpu_write(auxpmu_sink_held, true);
}

static void sink_unlock(struct core_sink *sink)
{
	__this_cpu_write(auxpmu_sink_held, false);
	__acquire(&sink->lock);
	raw_spin_unlock(&sink->lock);
}

/*
 * With the sink's lock held, so that CPU @cpu, whose event uses the sink, cannot go offline: it
 * would leave the CPU before. An irq_work would do, but irq_work_queue_on() is not exported.
 */
static void sink_send(struct auxpmu *pmu, unsigned int cpu)
{
	/* -EBUSY: it is on its way already. */
	smp_call_function_single_async(cpu, &per_cpu_ptr(pmu->units, cpu)->collect);
}

/* --- who may share it --------------------------------------------------------------------- */

void auxpmu_sink_note_sharer(struct perf_event *event)
{
	struct core_event *aux = core_event(auxpmu_event(event));
	const struct perf_event_attr *attr = &event->attr;

	/* An inherited event is its parent's owner's, whoever forks. */
	if (event->parent) {
		aux->sharer = core_event(auxpmu_event(event->parent))->sharer;
		get_pid(aux->sharer.owner);
		return;
	}
	aux->sharer = (struct core_sharer){
		.owner = get_task_pid(current, PIDTYPE_TGID),
		.uid = current_euid(),
		.capable = perfmon_capable(),
		.task = event->hw.target,
		.excluded = attr->exclude_user | attr->exclude_kernel << 1 |
			    attr->exclude_hv << 2 | attr->exclude_idle << 3 |
			    attr->exclude_host << 4 | attr->exclude_guest << 5,
	};
}

void auxpmu_sink_forget_sharer(struct core_event *aux)
{
	put_pid(aux->sharer.owner);
}

/*
 * The trace of one event gets into the area of another. So it has to be one that the same process
 * opened, with the same rights, and that hides the same; and that traces the same task, unless the
 * process may trace everything.
 */
static bool sink_may_share(const struct core_sharer *a, const struct core_sharer *b)
{
	return a->owner == b->owner && uid_eq(a->uid, b->uid) && a->capable == b->capable &&
	       a->excluded == b->excluded && (a->task == b->task || a->capable);
}

/* Lock held. The first user. */
static void sink_take(struct core_sink *sink, const struct core_unit *unit)
{
	const struct core_event *aux = core_unit_event(unit);

	sink->pmu = unit->pub.pmu;
	sink->ops = auxpmu_paranoid_sink_ops(sink->pmu) ?: sink->pub.desc->ops;
	sink->sharer = aux->sharer;
	sink->exclusive = aux->pub.needs.output != AUXPMU_COPY && !aux->shares;
	sink->wanted = false;
	sink->owner = unit->pub.cpu;
	sink->collector = -1;
	sink->last = -1;
	sink->period = SINK_POLL_FIRST;
	sink->held = 0;
	sink->seen = AUXPMU_NO_LIMIT;
	sink->looked = 0;
	sink->looks = 0;
	sink->rate = 0;
}

/*
 * Lock held. Whoever has it for itself is told that it is wanted, and then the core tries again.
 * The pid stays valid: every event that is attached holds it.
 */
static bool sink_admits(struct core_sink *sink, struct core_unit *unit)
{
	struct core_event *aux = core_unit_event(unit);

	if (!sink->users) {
		sink_take(sink, unit);
		return true;
	}
	if (!sink_may_share(&sink->sharer, &aux->sharer))
		return false;
	aux->shares = aux->pub.needs.output != AUXPMU_COPY;
	if (sink->exclusive && !sink->wanted) {
		sink->wanted = true;
		sink_send(unit->pub.pmu, sink->owner);
	}
	return !sink->exclusive;
}

int auxpmu_sink_attach(struct core_unit *unit)
{
	struct core_event *aux = core_unit_event(unit);
	struct core_sink *sink = sink_of(unit);
	bool admitted;

	unit->window_least = 0;
	if (!sink)
		return aux->pub.needs.sink ? -ENODEV : 0;
	sink_lock(sink);
	admitted = sink_admits(sink, unit);
	sink->users += admitted;
	sink_unlock(sink);
	if (!admitted) {
		aux->refused = true;
		unit->stats.sink_busy++;
		return -EBUSY;
	}
	unit->collect_due = false;
	if (sink->pub.desc->polled)
		hrtimer_start(&unit->poll, ns_to_ktime(SINK_POLL_FIRST),
			      HRTIMER_MODE_REL_PINNED_HARD);
	return 0;
}

void auxpmu_sink_detach(struct core_unit *unit)
{
	struct core_sink *sink = sink_of(unit);

	if (!sink)
		return;
	/* Pinned, and IRQs are off: it is not running. */
	hrtimer_try_to_cancel(&unit->poll);
	sink_lock(sink);
	if (sink->collector == unit->pub.cpu)
		sink->collector = -1;
	sink->users--;
	sink_unlock(sink);
}

/* --- on and off --------------------------------------------------------------------------- */

/*
 * Another event, or another part of its trace, which is not what it collected into before. That no
 * other unit is armed does not mean that no other event shares the sink: one that collects is not,
 * for a moment.
 */
static void sink_begin(struct core_sink *sink, unsigned int cpu)
{
	if (sink->users == 1)
		sink->last = -1;
	else if (sink->last == cpu)
		sink->last = nr_cpu_ids;
	if (sink->users == 1 || sink->collector == cpu)
		sink->collector = -1;
}

int auxpmu_sink_switch_on(struct core_unit *unit)
{
	struct core_sink *sink = sink_of(unit);
	int ret = 0;

	sink_lock(sink);
	if (unit->pub.starting)
		sink_begin(sink, unit->pub.cpu);
	if (cpumask_empty(sink->armed) || sink->off) {
		sink->looked = ktime_get_mono_fast_ns();
		sink->seen = 0;
		ret = sink->ops->start(&sink->pub);
		sink->off = ret && !cpumask_empty(sink->armed);
	}
	if (!ret)
		cpumask_set_cpu(unit->pub.cpu, sink->armed);
	sink_unlock(sink);
	return ret;
}

void auxpmu_sink_withdraw(struct core_unit *unit)
{
	struct core_sink *sink = sink_of(unit);
	struct auxpmu_position position = {};

	if (!auxpmu_sink_collects(unit))
		return;
	sink_lock(sink);
	cpumask_clear_cpu(unit->pub.cpu, sink->armed);
	if (sink->collector == unit->pub.cpu)
		sink->collector = -1;
	if (cpumask_empty(sink->armed)) {
		sink->ops->stop(&sink->pub);
		/* What others have left for this unit meanwhile. */
		sink->ops->position(&sink->pub, &position);
		sink->piece++;
		sink->holed = sink->piece;
	}
	sink_unlock(sink);
	auxpmu_transaction_lost(unit, position.bytes + position.lost);
}

/* Lock held. Does the unit, which is not armed any more, collect? */
static bool sink_wants(const struct core_sink *sink, const struct core_unit *unit)
{
	return unit->collect_due || sink->collector == unit->pub.cpu || cpumask_empty(sink->armed);
}

/* Its trace is about to be copied. */
static void sink_stop(struct core_sink *sink)
{
	const struct auxpmu_sink_ops *has = sink->pub.desc->ops;

	if (cpumask_empty(sink->armed))
		sink->ops->stop(&sink->pub);
	else if (has->turn)
		sink->off = sink->ops->turn(&sink->pub);
	else if (!has->consume)
		sink->ops->stop(&sink->pub);
}

void auxpmu_sink_hold(struct core_unit *unit)
{
	struct core_sink *sink = sink_of(unit);

	sink_lock(sink);
	cpumask_clear_cpu(unit->pub.cpu, sink->armed);
	sink->collecting = sink_wants(sink, unit);
	if (sink->collecting)
		sink_stop(sink);
}

/* All its trace has been collected, and units of other CPUs are armed. */
static void sink_continue(struct core_sink *sink)
{
	const struct auxpmu_sink_ops *has = sink->pub.desc->ops;

	if (has->turn)
		return;
	if (has->consume)
		sink->ops->consume(&sink->pub, sink->held);
	else
		sink->off = sink->ops->start(&sink->pub);
}

/*
 * It has got to @at, a position or so many bytes in its memory, by @now: when will it be @left
 * bytes further?
 */
static void sink_note_progress(struct core_sink *sink, u64 now, u64 at, u64 left)
{
	u64 elapsed = clamp_t(u64, now - sink->looked, SINK_MEASURED, NSEC_PER_SEC);
	u64 more = at > sink->seen ? at - sink->seen : 0;

	sink->seen = at;
	sink->looked = now;
	sink->rate = max(div64_u64(min_t(u64, more, SZ_1G) * NSEC_PER_MSEC, elapsed),
			 sink->rate - sink->rate / 16);
	sink->period = clamp_t(u64, div64_u64(left * NSEC_PER_MSEC, sink->rate + 1),
			       SINK_POLL_LEAST, SINK_POLL_MOST);
}

static void sink_note_piece(const struct core_sink *sink, struct core_buffer *area)
{
	area->sink = sink;
	area->piece = sink->piece;
}

/*
 * Other areas have got pieces since the area's last one, or these are lost. Where all units have
 * begun anew meanwhile nothing is missing, but the area may end within a packet.
 */
static bool sink_has_cut(const struct core_sink *sink, const struct core_buffer *area)
{
	return area->sink == sink && area->piece != sink->piece;
}

/* With a piece that another area was to get, trace was lost that may be this one's. */
static bool sink_has_lost(const struct core_sink *sink, const struct core_buffer *area)
{
	return area->sink == sink && area->piece < sink->holed;
}

/* The unit has collected: does it again, unless it ends. */
static void sink_collected(struct core_sink *sink, const struct core_unit *unit)
{
	if (sink->held) {
		sink->last = unit->pub.cpu;
		sink->piece++;
		if (sink->hole || unit->stats.lost_space != sink->lost_space)
			sink->holed = sink->piece;
		if (!unit->broken)
			sink_note_piece(sink, core_buffer(unit->pub.buffer));
	}
	if (unit->collect_due && sink->held)
		sink->collector = unit->pub.cpu;
	if (!unit->collect_due && sink->collector == unit->pub.cpu)
		sink->collector = -1;
	sink_note_progress(sink, ktime_get_mono_fast_ns(), sink->held, sink->pub.desc->size / 2);
	sink->seen = 0;
	if (!sink->held)
		sink->period = SINK_POLL_MOST;
}

void auxpmu_sink_let_go(struct core_unit *unit)
{
	struct core_sink *sink = sink_of(unit);

	if (sink->collecting) {
		sink_collected(sink, unit);
		/* If it fails, they write into nothing until one is armed, which starts it. */
		if (!cpumask_empty(sink->armed))
			sink_continue(sink);
		if (!cpumask_empty(sink->armed) && sink->off)
			unit->stats.arm_failures++;
	}
	unit->collect_due = false;
	sink_unlock(sink);
}

/* --- its trace ---------------------------------------------------------------------------- */

u64 auxpmu_sink_position(struct core_unit *unit, struct auxpmu_position *position)
{
	const struct core_buffer *area = core_buffer(unit->pub.buffer);
	struct core_sink *sink = sink_of(unit);
	u64 size = sink->pub.desc->size;
	bool elsewhere;

	if (!sink->collecting)
		return size;
	sink->ops->position(&sink->pub, position);
	sink->held = min(position->bytes, size);
	sink->hole = position->gap || position->lost;
	sink->lost_space = unit->stats.lost_space;
	unit->broken |= sink_has_cut(sink, area);
	/* What came before is in another's area, or nowhere. */
	elsewhere = sink->last != -1 && sink->last != unit->pub.cpu;
	if ((elsewhere || sink_has_lost(sink, area)) && position->bytes)
		position->gap = true;
	return size;
}

unsigned int auxpmu_sink_spans(const struct core_unit *unit, struct auxpmu_span spans[2])
{
	struct core_sink *sink = sink_of(unit);

	return sink->collecting ? sink->ops->spans(&sink->pub, spans) : 0;
}

/* --- when it is collected ----------------------------------------------------------------- */

/* Lock held. The CPU whose unit collects: the collector, or if there is none, the last one. */
static unsigned int sink_collector(const struct core_sink *sink)
{
	return sink->collector >= 0 ? sink->collector : cpumask_last(sink->armed);
}

/* Collect on this CPU, whose unit is armed. */
static void sink_collect_here(struct core_unit *unit)
{
	unit->collect_due = true;
	auxpmu_interrupt(unit->pub.pmu);
}

void auxpmu_sink_sampled(struct core_unit *unit)
{
	unit->collect_due = true;
}

/* Lock held. Is it up to the unit of CPU @cpu, which is armed then, to look at it at @now? */
static bool sink_look_due(const struct core_sink *sink, unsigned int cpu, u64 now)
{
	unsigned int collector = sink_collector(sink);
	u64 since = now - sink->looked;

	/* Was it paused just when it collected? Then it is not off for a moment only. */
	if (collector < nr_cpu_ids && !cpumask_test_cpu(collector, sink->armed))
		return cpumask_last(sink->armed) == cpu && since >= 2 * sink->period;
	return collector == cpu && since >= sink->period / 2;
}

/* From where the unit's next bytes come to where its reader wants to be woken. */
static u64 sink_until_wakeup(const struct core_unit *unit)
{
	if (unit->pub.buffer->overwrite)
		return U64_MAX;
	return max(unit->window_wakeup, unit->position) - unit->position;
}

/*
 * Lock held. Each collection disturbs the trace, so it waits until there is enough for the unit's
 * reader, or in the sink. It is to be half full the next time. Whoever looks in the place of a
 * collector that is off collects, and is the next one.
 */
static bool sink_has_enough(struct core_sink *sink, const struct core_unit *unit, u64 now)
{
	const struct auxpmu_sink_desc *desc = sink->pub.desc;
	u64 holds;

	if (!desc->ops->progress || sink->off || sink_collector(sink) != unit->pub.cpu)
		return true;
	holds = sink->ops->progress(&sink->pub);
	if (holds >= min(desc->size / 4, sink_until_wakeup(unit)) || ++sink->looks >= SINK_LOOKS)
		return true;
	sink_note_progress(sink, now, holds, desc->size / 2 - holds);
	return false;
}

/* In the unit's timer, not forwarded yet, before what is found changes the period. */
static void sink_count_look(const struct core_sink *sink, struct core_unit *unit, u64 now)
{
	s64 late = now - ktime_to_ns(hrtimer_get_expires(&unit->poll));

	unit->stats.polls++;
	unit->stats.late_polls += late > (s64)READ_ONCE(sink->period);
}

static bool sink_collect_due(struct core_sink *sink, struct core_unit *unit)
{
	bool due;
	u64 now;

	/* Nobody notes progress later than that meanwhile. */
	sink_lock(sink);
	now = ktime_get_mono_fast_ns();
	due = sink_look_due(sink, unit->pub.cpu, now);
	if (due)
		sink_count_look(sink, unit, now);
	due = due && sink_has_enough(sink, unit, now);
	if (due)
		sink->looks = 0;
	sink_unlock(sink);
	return due;
}

/* From the window's start to where its unit should hand over: at its interrupt, or half-way. */
static u64 sink_window_part(const struct core_unit *unit)
{
	const struct auxpmu_window *window = &unit->pub.window;

	return min(window->irq - window->from, (window->to - window->from) / 2);
}

/*
 * No window of a unit with this rule is to be shorter than what it writes until it is looked at for
 * sure, if it becomes twice as fast. But several have to be in a chunk, however fast it is.
 */
static u64 sink_window_least(const struct core_sink *sink, const struct core_unit *unit)
{
	u64 most = ((u64)PAGE_SIZE << unit->pub.buffer->chunks.order) / 4;

	if (!unit->pub.rules.least || !unit->pub.rules.contiguous)
		return 0;
	return min(2 * sink->rate * (SINK_POLL_MOST / NSEC_PER_MSEC), most);
}

/*
 * The unit writes into the AUX area. The sink is its event's alone, so there is nothing to lock. As
 * a flight recorder it does not hand over.
 */
static void sink_look_at_window(struct core_sink *sink, struct core_unit *unit)
{
	u64 now, written, part;

	if (unit->pub.window.to == AUXPMU_NO_LIMIT) {
		sink->period = SINK_POLL_MOST;
		return;
	}
	if (!(atomic_read(&unit->word) & AUXPMU_ARMED))
		return;
	now = ktime_get_mono_fast_ns();
	sink_count_look(sink, unit, now);
	part = sink_window_part(unit);
	written = unit->pub.pmu->ops->progress(&unit->pub);
	if (written < part) {
		sink_note_progress(sink, now, unit->pub.window.from + written, part - written);
		return;
	}
	unit->window_least = sink_window_least(sink, unit);
	auxpmu_interrupt(unit->pub.pmu);
	sink_note_progress(sink, ktime_get_mono_fast_ns(), unit->position, part);
}

/* Lock not held. Does the unit have it for itself, while another event wants it? */
static bool sink_is_wanted(struct core_sink *sink, const struct core_unit *unit)
{
	bool wanted;

	sink_lock(sink);
	wanted = sink->exclusive && sink->wanted && sink->owner == unit->pub.cpu;
	sink_unlock(sink);
	return wanted;
}

/* From now on its trace is copied, too, and others may come. */
static void sink_open(struct core_sink *sink, struct core_unit *unit)
{
	core_unit_event(unit)->shares = true;
	if (atomic_read(&unit->word) & AUXPMU_ARMED)
		auxpmu_interrupt(unit->pub.pmu);
	/* A unit that is off does as its event when it is armed, see session_do_arm(). */
	sink_lock(sink);
	sink->exclusive = false;
	sink_unlock(sink);
}

static void sink_look(struct core_sink *sink, struct core_unit *unit)
{
	if (!unit->pub.copies)
		sink_look_at_window(sink, unit);
	else if (sink_collect_due(sink, unit))
		sink_collect_here(unit);
}

static enum hrtimer_restart sink_poll(struct hrtimer *timer)
{
	struct core_unit *unit = container_of(timer, struct core_unit, poll);
	struct core_sink *sink = sink_of(unit);

	if (core_fault(unit->pub.pmu, CORE_FAULT_LATE_POLL))
		mdelay(DIV_ROUND_UP(2 * SINK_POLL_MOST, NSEC_PER_MSEC));
	sink_look(sink, unit);
	hrtimer_forward_now(timer, ns_to_ktime(READ_ONCE(sink->period)));
	return HRTIMER_RESTART;
}

/* The unit was told that it is to collect, or that its sink is wanted. */
static void sink_told(void *data)
{
	struct core_unit *unit = data;
	struct core_sink *sink = unit->pub.event ? sink_of(unit) : NULL;

	if (sink && sink_is_wanted(sink, unit))
		sink_open(sink, unit);
	else
		sink_collect_here(unit);
}

/* The CPU whose unit is to collect, as it is told now unless it is this one; or none. */
static unsigned int sink_tell(struct core_sink *sink, struct auxpmu *pmu)
{
	unsigned int cpu;

	sink_lock(sink);
	cpu = sink_collector(sink);
	/* If it goes before it is reached, it collects for that. */
	if (cpu < nr_cpu_ids)
		sink->collector = cpu;
	if (cpu != smp_processor_id() && cpu < nr_cpu_ids)
		sink_send(pmu, cpu);
	sink_unlock(sink);
	return cpu;
}

bool auxpmu_sink_hands_over(struct core_unit *unit)
{
	struct core_sink *sink = sink_of(unit);

	if (!auxpmu_sink_collects(unit))
		return true;
	unit->collect_due = sink_tell(sink, unit->pub.pmu) == unit->pub.cpu;
	return unit->collect_due;
}

bool auxpmu_sink_interrupt(struct auxpmu *pmu, struct auxpmu_sink *pub)
{
	unsigned int cpu = sink_tell(core_sink(pub), pmu);

	if (cpu == smp_processor_id())
		sink_collect_here(this_cpu_ptr(pmu->units));
	return cpu < nr_cpu_ids;
}
EXPORT_SYMBOL_NS_GPL(auxpmu_sink_interrupt, AUXPMU_NS);

/* --- life --------------------------------------------------------------------------------- */

void auxpmu_sink_unit_init(struct core_unit *unit)
{
	INIT_CSD(&unit->collect, sink_told, unit);
	hrtimer_setup(&unit->poll, sink_poll, CLOCK_MONOTONIC, HRTIMER_MODE_REL_PINNED_HARD);
}

static void sink_nothing(void *unused)
{
}

void auxpmu_sink_unit_exit(struct core_unit *unit)
{
	hrtimer_cancel(&unit->poll);
	/* Calls of one CPU are served in their order, and before it goes offline. */
	smp_call_function_single(unit->pub.cpu, sink_nothing, NULL, 1);
}

static bool sink_desc_valid(const struct auxpmu_sink_desc *desc)
{
	const struct auxpmu_sink_ops *ops = desc->ops;

	return ops && ops->start && ops->stop && ops->position && ops->spans && desc->size &&
	       desc->size <= AUXPMU_SINK_MAX;
}

struct auxpmu_sink *auxpmu_sink_make(const struct auxpmu_sink_desc *desc, void *private)
{
	struct core_sink *sink;

	if (!desc->of_cpu && !sink_desc_valid(desc))
		return ERR_PTR(-EINVAL);
	sink = kzalloc(sizeof(*sink), GFP_KERNEL);
	if (!sink)
		return ERR_PTR(-ENOMEM);
	if (!zalloc_cpumask_var(&sink->armed, GFP_KERNEL)) {
		kfree(sink);
		return ERR_PTR(-ENOMEM);
	}
	raw_spin_lock_init(&sink->lock);
	sink->collector = -1;
	sink->last = -1;
	sink->pub.desc = desc;
	sink->pub.private = private;
	return &sink->pub;
}
EXPORT_SYMBOL_NS_GPL(auxpmu_sink_make, AUXPMU_NS);

void auxpmu_sink_free(struct auxpmu_sink *pub)
{
	struct core_sink *sink = core_sink(pub);

	WARN_ON(sink->users);
	free_cpumask_var(sink->armed);
	kfree(sink);
}
EXPORT_SYMBOL_NS_GPL(auxpmu_sink_free, AUXPMU_NS);
