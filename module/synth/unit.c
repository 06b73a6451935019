// SPDX-License-Identifier: GPL-2.0-only
/*
 * A trace unit made of software. A timer per CPU, or the debugfs file "emit", makes it write; being
 * software, it owns the session while it writes. It writes as each of the three kinds of hardware
 * does, and stops where its model says.
 */
#include <linux/cpumask.h>
#include <linux/delay.h>
#include <linux/ktime.h>
#include <linux/math.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/percpu.h>

#include "compat.h"
#include "synth/synth.h"

static const struct synth_model *synth_model_of(const struct auxpmu_unit *unit)
{
	return &synth_of(unit->pmu)->model;
}

/* @bytes, rounded down to whole records. */
static u64 synth_whole(const struct auxpmu_unit *unit, u64 bytes)
{
	return rounddown(bytes, synth_stream_of(unit)->record);
}

/*
 * Where the unit interrupts, on the scale of its position. A unit that copies interrupts early for
 * a wake-up of the consumer, but apart from that knows only its RAM: like an ETB it runs on when
 * the buffer is full, and what does not fit is lost.
 */
static u64 synth_interrupt_at(const struct auxpmu_unit *unit)
{
	const struct auxpmu_window *window = &unit->window;
	u64 half = synth_whole(unit, synth_model_of(unit)->ram / 2);

	if (!unit->copies)
		return window->irq;
	if (window->irq == window->to)
		return half;
	return min(window->irq - window->from, half);
}

/* Nothing stops it at the end of its window: it begins there anew. */
static bool synth_goes_round(const struct auxpmu_unit *unit)
{
	return synth_model_of(unit)->polled && !unit->copies &&
	       unit->window.to != AUXPMU_NO_LIMIT;
}

/* Where its interrupt, which takes a while to be served, stops it. */
static u64 synth_served_at(const struct auxpmu_unit *unit)
{
	const struct synth_unit *hw = unit->private;
	u64 interrupt = synth_interrupt_at(unit);

	if (interrupt == AUXPMU_NO_LIMIT || hw->late == AUXPMU_NO_LIMIT || synth_goes_round(unit))
		return AUXPMU_NO_LIMIT;
	return interrupt + synth_whole(unit, synth_model_of(unit)->irq_delay + hw->late);
}

/* By how many bytes the interrupt of the window being armed will be late. */
static u64 synth_lateness(struct auxpmu_unit *unit)
{
	if (synth_fault(synth_of(unit->pmu), SYNTH_FAULT_LOST_IRQ))
		return AUXPMU_NO_LIMIT;
	return synth_fault(synth_of(unit->pmu), SYNTH_FAULT_LATE_IRQ) ? PAGE_SIZE : 0;
}

void synth_spurious_irq(struct synth *synth)
{
	if (synth_fault(synth, SYNTH_FAULT_SPURIOUS_IRQ))
		auxpmu_interrupt(synth->pmu);
}

/* Where its memory ends: trace from there on is lost. */
static u64 synth_stops_at(const struct auxpmu_unit *unit)
{
	if (unit->copies)
		return synth_whole(unit, synth_model_of(unit)->ram);
	if (unit->window.to == AUXPMU_NO_LIMIT)
		return AUXPMU_NO_LIMIT;
	return unit->window.to + synth_whole(unit, unit->rules.spare);
}

/* The memory at the unit's position; *@length is cut to the contiguous bytes there. */
static void *synth_memory_at(const struct synth_unit *hw, u64 *length)
{
	const struct auxpmu_unit *unit = hw->unit;
	void *data;
	u64 run;

	if (unit->copies)
		return hw->ram + hw->position;
	data = auxpmu_buffer_run(unit->buffer, hw->position, &run);
	*length = min(*length, run);
	return data;
}

/* How far the unit got, lost bytes included, on the scale of its position. */
static u64 synth_reached(const struct synth_unit *hw)
{
	return hw->position + hw->lost;
}

/* Write up to @bytes of records, but not past the interrupt. Returns the bytes written or lost. */
static u64 synth_write_some(struct synth_unit *hw, u64 bytes)
{
	struct auxpmu_unit *unit = hw->unit;
	struct synth_stream *stream = synth_stream_of(unit);
	u64 stop = synth_stops_at(unit);
	u64 length;
	void *data;

	bytes = min(bytes, synth_served_at(unit) - synth_reached(hw));
	if (hw->position >= stop && synth_goes_round(unit)) {
		hw->lost += stop - unit->window.from;
		hw->position = unit->window.from;
	}
	if (hw->position >= stop) {
		stream->seq += bytes / stream->record;
		stream->step += bytes / stream->record;
		hw->lost += bytes;
		return bytes;
	}
	length = min(bytes, stop - hw->position);
	data = synth_memory_at(hw, &length);
	synth_write_records(stream, data, length);
	hw->position += length;
	return length;
}

static bool synth_interrupting(const struct synth_unit *hw)
{
	return synth_reached(hw) >= synth_served_at(hw->unit);
}

/* --- filters ------------------------------------------------------------------------------- */

/* Is the address of a point in the block at @address, or the block's address in a range? */
static bool synth_at(const struct auxpmu_range *range, u64 address)
{
	if (range->what == AUXPMU_FILTER_START_AT || range->what == AUXPMU_FILTER_STOP_AT)
		return range->first - address < AUXPMU_PROGRAM_BLOCK;
	return range->first <= address && address <= range->last;
}

/* What filters do to the block at @address: bits. */
enum { SYNTH_LEFT_OUT = 1, SYNTH_STOPS = 2, SYNTH_STARTS_AT = 4, SYNTH_STOPS_AT = 8 };

static unsigned int synth_judge(const struct auxpmu_event *aux, u64 address)
{
	bool only = false, inside = false;
	unsigned int judgement = 0;
	unsigned int n;

	for (n = 0; n < aux->nr_ranges; n++) {
		const struct auxpmu_range *range = &aux->ranges[n];
		bool at = synth_at(range, address);

		switch (range->what) {
		case AUXPMU_FILTER_ONLY:
			only = true;
			inside |= at;
			break;
		case AUXPMU_FILTER_STOP:
			judgement |= at ? SYNTH_STOPS : 0;
			break;
		case AUXPMU_FILTER_START_AT:
			judgement |= at ? SYNTH_STARTS_AT : 0;
			break;
		case AUXPMU_FILTER_STOP_AT:
			judgement |= at ? SYNTH_STOPS_AT : 0;
			break;
		}
	}
	return judgement | (only && !inside ? SYNTH_LEFT_OUT : 0);
}

/* Does the trace begin only at an address? */
static bool synth_waits_for_start(const struct auxpmu_event *aux)
{
	unsigned int n;

	for (n = 0; n < aux->nr_ranges; n++)
		if (aux->ranges[n].what == AUXPMU_FILTER_START_AT)
			return true;
	return false;
}

static u64 synth_address_at(const struct synth_stream *stream, u64 step)
{
	return stream->program + step % AUXPMU_PROGRAM_BLOCKS * AUXPMU_PROGRAM_BLOCK;
}

/*
 * Execute the program for up to @bytes of records, until filters change between tracing it and not.
 * Returns the bytes; *@trace: they are traced.
 */
static u64 synth_run_program(struct synth_unit *hw, u64 bytes, bool *trace)
{
	const struct auxpmu_event *aux = auxpmu_unit_event(hw->unit);
	const struct synth_stream *stream = synth_stream_of(hw->unit);
	u64 step = stream->step;
	unsigned int first = synth_judge(aux, synth_address_at(stream, step));
	u64 done = stream->record;

	hw->halted |= first & SYNTH_STOPS;
	if (first & (SYNTH_STARTS_AT | SYNTH_STOPS_AT))
		hw->waiting = !(first & SYNTH_STARTS_AT);
	*trace = !(first & SYNTH_LEFT_OUT) && !hw->halted && !hw->waiting;
	if (hw->halted)
		return bytes;
	while (done < bytes && synth_judge(aux, synth_address_at(stream, ++step)) == first)
		done += stream->record;
	return done;
}

/* The same through a sink that units share; its interrupt is served on CPU 0. */
static u64 synth_write_to_sink(struct synth_unit *hw, u64 bytes)
{
	struct synth_sink *sink = synth_of(hw->unit->pmu)->sinks[hw->unit->cpu];
	bool interrupt;
	u64 done = synth_sink_write(sink, synth_stream_of(hw->unit), bytes, AUXPMU_RECORD_DATA,
				    &interrupt);

	if (interrupt && !synth_sink_send(sink))
		auxpmu_unit_handover(hw->unit);
	return done;
}

u64 synth_write(struct synth_unit *hw, u64 bytes)
{
	struct auxpmu_unit *unit = hw->unit;
	struct synth_stream *stream = synth_stream_of(unit);
	u64 left = bytes;

	while (left && auxpmu_unit_armed(unit)) {
		bool trace = true;
		u64 run = left;

		if (auxpmu_unit_event(unit)->nr_ranges)
			run = synth_run_program(hw, left, &trace);
		if (!trace) {
			stream->step += run / stream->record;
			left -= run;
			continue;
		}
		if (synth_shares(unit)) {
			left -= synth_write_to_sink(hw, run);
			continue;
		}
		left -= synth_write_some(hw, run);
		if (synth_interrupting(hw))
			auxpmu_unit_handover(unit);
	}
	return bytes - left;
}

/* Bytes of one tick at most: IRQs are off meanwhile, and other timers are late. */
#define SYNTH_TICK_MOST		(32u << 10)

/*
 * Write the credit, up to the limit of one tick. A late tick earns no more than one in time: the
 * rate is an upper bound. Returns the rest.
 */
static u64 synth_pay(struct synth_unit *hw)
{
	const struct synth_stream *stream = synth_stream_of(hw->unit);
	u64 most = max_t(u64, SYNTH_TICK_MOST, stream->record);
	u64 due, now;

	if (hw->due_in_full)
		hw->credit += stream->rate;
	due = min(hw->credit, most);
	now = due - due % stream->record;
	/* Do not make up later for what a full buffer prevented. */
	if (synth_write(hw, now) < now)
		hw->credit = 0;
	else
		hw->credit -= now;
	return hw->credit >= stream->record ? hw->credit : 0;
}

static enum hrtimer_restart synth_tick(struct hrtimer *timer)
{
	struct synth_unit *hw = container_of(timer, struct synth_unit, timer);
	struct auxpmu_unit *unit = hw->unit;
	u64 began = ktime_get_mono_fast_ns();
	u64 left = 0, period;

	synth_spurious_irq(synth_of(unit->pmu));
	if (auxpmu_unit_acquire(unit)) {
		if (auxpmu_unit_armed(unit))
			left = synth_pay(hw);
		auxpmu_unit_release(unit);
	}
	/* Leave half of the CPU to others, whatever the rate. */
	period = 2 * (ktime_get_mono_fast_ns() - began);
	hw->due_in_full = !left;
	hrtimer_forward_now(timer, ns_to_ktime(left ? period : max_t(u64, period, NSEC_PER_MSEC)));
	return HRTIMER_RESTART;
}

int synth_online(struct auxpmu_unit *unit)
{
	struct synth_unit *hw = unit->private;
	cpumask_var_t cpus;
	int ret;

	WARN_ON_ONCE(hw->online || unit->cpu != smp_processor_id());
	if (!alloc_cpumask_var(&cpus, GFP_KERNEL))
		return -ENOMEM;
	ret = cpulist_parse(synth_model_of(unit)->cpus, cpus);
	if (!ret && !cpumask_test_cpu(unit->cpu, cpus))
		ret = -ENODEV;
	free_cpumask_var(cpus);
	hw->online = !ret;
	return ret;
}

void synth_offline(struct auxpmu_unit *unit)
{
	struct synth_unit *hw = unit->private;

	WARN_ON_ONCE(!hw->online || unit->event || unit->cpu != smp_processor_id());
	hw->online = false;
}

/* Is the unit one that may be used, here and now? */
static bool synth_may_be_called(const struct auxpmu_unit *unit)
{
	const struct synth_model *model = synth_model_of(unit);
	const struct synth_unit *hw = unit->private;

	return (hw->online || !model->cpus[0]) &&
	       !(auxpmu_desc_of(unit->pmu)->no_nmi && in_nmi());
}

static int synth_unit_init(struct auxpmu_unit *unit)
{
	struct synth_unit *hw = unit->private;

	hw->unit = unit;
	hrtimer_setup(&hw->timer, synth_tick, CLOCK_MONOTONIC, HRTIMER_MODE_REL_PINNED_HARD);
	return 0;
}

static void synth_unit_exit(struct auxpmu_unit *unit)
{
	struct synth_unit *hw = unit->private;

	hrtimer_cancel(&hw->timer);
}

static int synth_add(struct auxpmu_unit *unit)
{
	struct synth_unit *hw = unit->private;

	hw->credit = 0;
	hw->due_in_full = true;
	if (!synth_stream_of(unit)->manual)
		hrtimer_start(&hw->timer, ns_to_ktime(NSEC_PER_MSEC), HRTIMER_MODE_REL_PINNED_HARD);
	return 0;
}

/* The timer is pinned and IRQs are off, so it is not running: no need to wait for it. */
static void synth_del(struct auxpmu_unit *unit)
{
	struct synth_unit *hw = unit->private;

	hrtimer_try_to_cancel(&hw->timer);
}

/* A unit that is given one address would run on into whatever lies behind the chunk. */
static bool synth_in_one_chunk(const struct auxpmu_unit *unit)
{
	const struct auxpmu_window *window = &unit->window;
	u64 run;

	if (!unit->rules.contiguous || window->to == AUXPMU_NO_LIMIT)
		return true;
	auxpmu_buffer_run(unit->buffer, window->from, &run);
	return window->to - window->from + unit->rules.spare <= run;
}

/* A basic block like any other, except that filters do not apply to it. */
static void synth_write_start(struct synth_unit *hw)
{
	struct synth_stream *stream = synth_stream_of(hw->unit);
	u64 length = stream->record;

	hw->halted = false;
	hw->waiting = synth_waits_for_start(auxpmu_unit_event(hw->unit));
	if (synth_shares(hw->unit)) {
		synth_sink_write(synth_of(hw->unit->pmu)->sinks[hw->unit->cpu], stream, length,
				 AUXPMU_RECORD_START, &hw->due);
		return;
	}
	synth_write_record(stream, synth_memory_at(hw, &length), AUXPMU_RECORD_START);
	hw->position += stream->record;
}

static int synth_arm(struct auxpmu_unit *unit)
{
	struct synth_unit *hw = unit->private;

	WARN_ON_ONCE(!synth_in_one_chunk(unit) || !synth_may_be_called(unit));
	hw->position = unit->copies ? 0 : unit->window.from;
	hw->lost = 0;
	hw->late = synth_lateness(unit);
	hw->due = false;
	if (unit->starting)
		synth_write_start(hw);
	return 0;
}

/* Nothing to do: the writer owns the session, so it is not writing now. */
static void synth_disarm(struct auxpmu_unit *unit)
{
	WARN_ON_ONCE(!synth_may_be_called(unit));
	if (synth_fault(synth_of(unit->pmu), SYNTH_FAULT_SLOW_STOP))
		mdelay(1);
}

static void synth_position(struct auxpmu_unit *unit, struct auxpmu_position *position)
{
	struct synth_unit *hw = unit->private;

	position->bytes = hw->position - (unit->copies ? 0 : unit->window.from);
	position->lost = hw->lost;
	/* As if it had gone round, which goes with a barrier. */
	position->gap = auxpmu_unit_event(unit)->needs.sink && position->bytes &&
			synth_fault(synth_of(unit->pmu), SYNTH_FAULT_WRAP);
	position->collision = synth_fault(synth_of(unit->pmu), SYNTH_FAULT_COLLIDE);
	if (synth_fault(synth_of(unit->pmu), SYNTH_FAULT_STUCK)) {
		position->lost += position->bytes;
		position->bytes = 0;
	}
	if (!unit->copies && hw->position == synth_stops_at(unit) &&
	    synth_fault(synth_of(unit->pmu), SYNTH_FAULT_OVERRUN))
		position->bytes += PAGE_SIZE;
}

static u64 synth_progress(struct auxpmu_unit *unit)
{
	const struct synth_unit *hw = unit->private;

	if (synth_model_of(unit)->polled == 2)
		return hw->position > unit->window.from ? U64_MAX : 0;
	return hw->lost + hw->position - unit->window.from;
}

static bool synth_irq_pending(struct auxpmu_unit *unit)
{
	struct synth_unit *hw = unit->private;

	if (synth_shares(unit))
		return hw->due;
	if (synth_fault(synth_of(unit->pmu), SYNTH_FAULT_BUSY)) {
		synth_write_some(hw, synth_stream_of(unit)->record);
		return true;
	}
	return synth_interrupting(hw) ||
	       synth_fault(synth_of(unit->pmu), SYNTH_FAULT_DUE);
}

static unsigned int synth_spans(struct auxpmu_unit *unit, struct auxpmu_span spans[2])
{
	struct synth_unit *hw = unit->private;

	spans[0] = (struct auxpmu_span){ .data = hw->ram, .length = hw->position };
	return 1;
}

const struct auxpmu_ops synth_ops = {
	.version = AUXPMU_OPS_VERSION,
	.unit_init = synth_unit_init,
	.unit_exit = synth_unit_exit,
	.event_init = synth_event_init,
	.event_destroy = synth_event_destroy,
	.buffer_init = synth_buffer_init,
	.add = synth_add,
	.del = synth_del,
	.arm = synth_arm,
	.disarm = synth_disarm,
	.position = synth_position,
	.spans = synth_spans,
	.irq_pending = synth_irq_pending,
	.progress = synth_progress,
	.pad = synth_pad,
	.put_barrier = synth_pad,
};
