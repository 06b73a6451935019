// SPDX-License-Identifier: GPL-2.0-only
/*
 * paranoid=1, see paranoid.h: wraps the operations of sinks, as paranoid.c does those of units. The
 * sink's lock is held, so the count of preemption shows a lock that an operation leaves held.
 */
#include <linux/cpumask.h>
#include <linux/delay.h>

#include "core/paranoid.h"
#include "core/paranoid_checks.h"

static int paranoid_sink_start(struct auxpmu_sink *pub)
{
	struct paranoid_context before = auxpmu_paranoid_enter();
	int ret = pub->desc->ops->start(pub);

	auxpmu_paranoid_leave(core_sink(pub)->pmu, "sink.start", before);
	return ret;
}

static void paranoid_sink_stop(struct auxpmu_sink *pub)
{
	struct paranoid_context before = auxpmu_paranoid_enter();

	pub->desc->ops->stop(pub);
	auxpmu_paranoid_leave(core_sink(pub)->pmu, "sink.stop", before);
}

static int paranoid_sink_turn(struct auxpmu_sink *pub)
{
	struct paranoid_context before = auxpmu_paranoid_enter();
	int ret = pub->desc->ops->turn(pub);

	auxpmu_paranoid_leave(core_sink(pub)->pmu, "sink.turn", before);
	return ret;
}

/* May its position change between two looks? Only of one that is read while it takes trace. */
static bool paranoid_sink_runs(const struct core_sink *sink)
{
	return sink->pub.desc->ops->consume && !cpumask_empty(sink->armed);
}

/* What was stopped or turned away from lies still: position() says the same a moment later. */
static bool paranoid_sink_moved(struct core_sink *sink, u64 bytes)
{
	struct auxpmu_position again = {};

	if (paranoid_sink_runs(sink))
		return false;
	udelay(PARANOID_MOMENT);
	sink->pub.desc->ops->position(&sink->pub, &again);
	if (again.bytes == bytes)
		return false;
	auxpmu_complain(sink->pmu, AUXPMU_MOVED,
			cpumask_empty(sink->armed) || !sink->pub.desc->ops->turn ?
			"sink.stop" : "sink.turn", bytes, again.bytes);
	return true;
}

static void paranoid_sink_position(struct auxpmu_sink *pub, struct auxpmu_position *position)
{
	struct paranoid_context before = auxpmu_paranoid_enter();
	struct core_sink *sink = core_sink(pub);

	pub->desc->ops->position(pub, position);
	position->gap |= paranoid_sink_moved(sink, position->bytes);
	auxpmu_paranoid_leave(sink->pmu, "sink.position", before);
}

static u64 paranoid_sink_progress(struct auxpmu_sink *pub)
{
	struct paranoid_context before = auxpmu_paranoid_enter();
	u64 bytes = pub->desc->ops->progress(pub);

	auxpmu_paranoid_leave(core_sink(pub)->pmu, "sink.progress", before);
	return bytes;
}

static unsigned int paranoid_sink_spans(struct auxpmu_sink *pub, struct auxpmu_span spans[2])
{
	struct paranoid_context before = auxpmu_paranoid_enter();
	struct auxpmu *pmu = core_sink(pub)->pmu;
	unsigned int nr = pub->desc->ops->spans(pub, spans);

	auxpmu_paranoid_leave(pmu, "sink.spans", before);
	return auxpmu_paranoid_spans(pmu, "sink.spans", spans, nr);
}

static void paranoid_sink_consume(struct auxpmu_sink *pub, u64 bytes)
{
	struct paranoid_context before = auxpmu_paranoid_enter();

	pub->desc->ops->consume(pub, bytes);
	auxpmu_paranoid_leave(core_sink(pub)->pmu, "sink.consume", before);
}

/* Which a sink leaves out its description says (desc->ops): these are not called then. */
static const struct auxpmu_sink_ops paranoid_sink_ops = {
	.start = paranoid_sink_start,
	.stop = paranoid_sink_stop,
	.turn = paranoid_sink_turn,
	.progress = paranoid_sink_progress,
	.position = paranoid_sink_position,
	.spans = paranoid_sink_spans,
	.consume = paranoid_sink_consume,
};

const struct auxpmu_sink_ops *auxpmu_paranoid_sink_ops(const struct auxpmu *pmu)
{
	return pmu->paranoid ? &paranoid_sink_ops : NULL;
}
