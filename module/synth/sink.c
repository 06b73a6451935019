// SPDX-License-Identifier: GPL-2.0-only
/*
 * A sink that the synthetic units of all CPUs share, as the ETM of several CPUs share an ETR or
 * ETB: one memory, into which records come in the order in which they are written. When it is full
 * it drops what comes, and so it does while it is stopped. It interrupts when it is half full, on
 * CPU 0, or not at all. If the model is continuous, it goes round and round while it is read; if it
 * is turning, there are two memories, and it goes on in the other one. Or each CPU has such a sink,
 * as ETR of their own.
 */
#include <linux/cpumask.h>
#include <linux/err.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/smp.h>
#include <linux/spinlock.h>

#include "compat.h"
#include "synth/synth.h"

/**
 * struct synth_sink - the sink
 * @sink: what the framework made of it
 * @desc: its description
 * @synth: whose it is
 * @irq: its interrupt, on its way to CPU 0
 * @bus: units of several CPUs write at once; guards what follows
 * @on: it takes trace
 * @interrupting: it has interrupted since it was started
 * @head: bytes written since it was started
 * @tail: bytes consumed since then
 * @held: bytes of which the last position has told
 * @now: which of the memories it writes into
 * @held_in: which of them has these bytes
 * @lost: bytes dropped that no position has told of yet
 * @told: bytes dropped of which the last position has told
 * @ram: its memories
 */
struct synth_sink {
	struct auxpmu_sink *sink;
	struct auxpmu_sink_desc desc;
	struct synth *synth;
	call_single_data_t irq;
	raw_spinlock_t bus;
	bool on;
	bool interrupting;
	u64 head;
	u64 tail;
	u64 held;
	unsigned int now;
	unsigned int held_in;
	u64 lost;
	u64 told;
	u8 *ram[2];
};

/* What the last position has told of is not lost once more. */
static void synth_sink_forget_told(struct synth_sink *sink)
{
	sink->lost -= sink->told;
	sink->told = 0;
}

static void synth_sink_run(struct synth_sink *sink)
{
	sink->on = true;
	sink->interrupting = false;
	sink->head = 0;
	sink->tail = 0;
	synth_sink_forget_told(sink);
}

static int synth_sink_start(struct auxpmu_sink *pub)
{
	struct synth_sink *sink = pub->private;

	if (synth_fault(sink->synth, SYNTH_FAULT_SINK))
		return -EIO;
	raw_spin_lock(&sink->bus);
	synth_sink_run(sink);
	raw_spin_unlock(&sink->bus);
	return 0;
}

static void synth_sink_halt(struct synth_sink *sink)
{
	sink->on = false;
	synth_sink_forget_told(sink);
	sink->held = sink->head - sink->tail;
	sink->held_in = sink->now;
}

static void synth_sink_stop(struct auxpmu_sink *pub)
{
	struct synth_sink *sink = pub->private;

	raw_spin_lock(&sink->bus);
	synth_sink_halt(sink);
	raw_spin_unlock(&sink->bus);
}

static int synth_sink_turn(struct auxpmu_sink *pub)
{
	struct synth_sink *sink = pub->private;
	bool fails = synth_fault(sink->synth, SYNTH_FAULT_SINK);

	raw_spin_lock(&sink->bus);
	synth_sink_halt(sink);
	if (!fails) {
		sink->now ^= 1;
		synth_sink_run(sink);
	}
	raw_spin_unlock(&sink->bus);
	return fails ? -EIO : 0;
}

static u64 synth_sink_progress(struct auxpmu_sink *pub)
{
	struct synth_sink *sink = pub->private;
	u64 bytes;

	if (sink->synth->model.polled == 2)
		return U64_MAX;
	raw_spin_lock(&sink->bus);
	bytes = sink->head - sink->tail;
	raw_spin_unlock(&sink->bus);
	return bytes;
}

static void synth_sink_position(struct auxpmu_sink *pub, struct auxpmu_position *position)
{
	struct synth_sink *sink = pub->private;

	raw_spin_lock(&sink->bus);
	if (sink->synth->model.continuous)
		sink->held = sink->head - sink->tail;
	position->bytes = sink->held;
	position->lost = sink->lost;
	sink->told = sink->lost;
	/* As if it had gone round and overwritten nobody knows how much. */
	position->gap = sink->held && synth_fault(sink->synth, SYNTH_FAULT_WRAP);
	raw_spin_unlock(&sink->bus);
}

static unsigned int synth_sink_spans(struct auxpmu_sink *pub, struct auxpmu_span spans[2])
{
	const struct synth_sink *sink = pub->private;
	const u8 *ram = sink->ram[sink->held_in];
	u64 from = 0, first;

	if (sink->synth->model.continuous)
		div64_u64_rem(sink->tail, sink->desc.size, &from);
	first = min(sink->held, sink->desc.size - from);
	spans[0] = (struct auxpmu_span){ .data = ram + from, .length = first };
	spans[1] = (struct auxpmu_span){ .data = ram, .length = sink->held - first };
	return 2;
}

static void synth_sink_consume(struct auxpmu_sink *pub, u64 bytes)
{
	struct synth_sink *sink = pub->private;

	raw_spin_lock(&sink->bus);
	sink->tail += bytes;
	synth_sink_forget_told(sink);
	sink->interrupting = false;
	raw_spin_unlock(&sink->bus);
}

static const struct auxpmu_sink_ops sink_ops = {
	.start = synth_sink_start,
	.stop = synth_sink_stop,
	.progress = synth_sink_progress,
	.position = synth_sink_position,
	.spans = synth_sink_spans,
};

static const struct auxpmu_sink_ops turning_ops = {
	.start = synth_sink_start,
	.stop = synth_sink_stop,
	.turn = synth_sink_turn,
	.progress = synth_sink_progress,
	.position = synth_sink_position,
	.spans = synth_sink_spans,
};

static const struct auxpmu_sink_ops continuous_ops = {
	.start = synth_sink_start,
	.stop = synth_sink_stop,
	.progress = synth_sink_progress,
	.position = synth_sink_position,
	.spans = synth_sink_spans,
	.consume = synth_sink_consume,
};

/* One record, or its bytes are lost. */
static void synth_sink_take(struct synth_sink *sink, struct synth_stream *stream,
			    enum auxpmu_record_kind kind)
{
	u64 at;

	if (sink->on && sink->head - sink->tail + stream->record <= sink->desc.size) {
		div64_u64_rem(sink->head, sink->desc.size, &at);
		synth_write_record(stream, sink->ram[sink->now] + at, kind);
		sink->head += stream->record;
		return;
	}
	stream->seq++;
	stream->step++;
	sink->lost += stream->record;
}

/* Does it interrupt now? */
static bool synth_sink_interrupts(struct synth_sink *sink)
{
	if (!sink->on || sink->interrupting || sink->desc.polled ||
	    sink->head - sink->tail < sink->desc.size / 2)
		return false;
	sink->interrupting = true;
	return true;
}

u64 synth_sink_write(struct synth_sink *sink, struct synth_stream *stream, u64 bytes,
		     enum auxpmu_record_kind kind, bool *interrupt)
{
	unsigned long flags;
	u64 done = 0;

	*interrupt = false;
	raw_spin_lock_irqsave(&sink->bus, flags);
	while (done < bytes && !*interrupt) {
		synth_sink_take(sink, stream, kind);
		done += stream->record;
		*interrupt = synth_sink_interrupts(sink);
	}
	raw_spin_unlock_irqrestore(&sink->bus, flags);
	return done;
}

static void synth_sink_handle(void *data)
{
	struct synth_sink *sink = data;

	auxpmu_sink_interrupt(sink->synth->pmu, sink->sink);
}

bool synth_sink_send(struct synth_sink *sink)
{
	return smp_processor_id() && !smp_call_function_single_async(0, &sink->irq);
}

static void synth_sink_free(struct synth_sink *sink)
{
	if (!IS_ERR_OR_NULL(sink->sink))
		auxpmu_sink_free(sink->sink);
	kvfree(sink->ram[0]);
	kfree(sink);
}

static struct synth_sink *synth_sink_make(struct synth *synth)
{
	struct synth_sink *sink = kzalloc(sizeof(*sink), GFP_KERNEL);

	if (!sink)
		return ERR_PTR(-ENOMEM);
	raw_spin_lock_init(&sink->bus);
	INIT_CSD(&sink->irq, synth_sink_handle, sink);
	sink->synth = synth;
	sink->desc = (struct auxpmu_sink_desc){
		.ops = synth->model.continuous ? &continuous_ops :
		       synth->model.turning ? &turning_ops : &sink_ops,
		.size = synth->model.ram,
		.polled = synth->model.polled,
	};
	sink->ram[0] = kvmalloc(2 * sink->desc.size, GFP_KERNEL);
	sink->ram[1] = sink->ram[0] + sink->desc.size;
	sink->sink = sink->ram[0] ? auxpmu_sink_make(&sink->desc, sink) : ERR_PTR(-ENOMEM);
	if (IS_ERR(sink->sink)) {
		struct synth_sink *error = ERR_CAST(sink->sink);

		synth_sink_free(sink);
		return error;
	}
	return sink;
}

/* --- that of each CPU ----------------------------------------------------------------------- */

static struct auxpmu_sink *synth_sink_of_cpu(struct auxpmu_sink *pub, unsigned int cpu)
{
	struct synth *synth = pub->private;

	return synth->sinks[cpu]->sink;
}

/* What stands for the sinks of all CPUs, in events' needs. */
static const struct auxpmu_sink_desc each_desc = { .of_cpu = synth_sink_of_cpu };
static const struct auxpmu_sink_desc polled_desc = { .of_cpu = synth_sink_of_cpu, .polled = true };

static int synth_sinks_make_each(struct synth *synth)
{
	unsigned int cpu;

	for_each_possible_cpu(cpu) {
		struct synth_sink *sink = synth_sink_make(synth);

		if (IS_ERR(sink))
			return PTR_ERR(sink);
		synth->sinks[cpu] = sink;
	}
	synth->sink = auxpmu_sink_make(synth->model.polled ? &polled_desc : &each_desc, synth);
	return PTR_ERR_OR_ZERO(synth->sink);
}

int synth_sinks_make(struct synth *synth)
{
	struct synth_sink *sink;
	unsigned int cpu;

	synth->sinks = kcalloc(nr_cpu_ids, sizeof(*synth->sinks), GFP_KERNEL);
	if (!synth->sinks)
		return -ENOMEM;
	if (synth->model.shared == 2)
		return synth_sinks_make_each(synth);
	sink = synth_sink_make(synth);
	if (IS_ERR(sink))
		return PTR_ERR(sink);
	for_each_possible_cpu(cpu)
		synth->sinks[cpu] = sink;
	synth->sink = sink->sink;
	return 0;
}

static void synth_sink_nothing(void *unused)
{
}

void synth_sinks_free(struct synth *synth)
{
	bool each = synth->model.shared == 2;
	unsigned int cpu;

	if (!synth->sinks)
		return;
	/* Calls of one CPU are served in their order. */
	smp_call_function_single(0, synth_sink_nothing, NULL, 1);
	if (each && !IS_ERR_OR_NULL(synth->sink))
		auxpmu_sink_free(synth->sink);
	for_each_possible_cpu(cpu) {
		if (synth->sinks[cpu])
			synth_sink_free(synth->sinks[cpu]);
		if (!each)
			break;
	}
	kfree(synth->sinks);
}
