// SPDX-License-Identifier: GPL-2.0-only
/*
 * Draining: the unit is disarmed, and what it wrote becomes part of the transaction.
 *
 * Trace that lies in the buffer is only counted; the trace of a unit with memory of its own is
 * copied. Whatever the backend reports is checked against the window: the consumer never gets bytes
 * that the unit did not write, and bytes that the consumer does not get are counted as lost. Called
 * by the owner of the session, IRQs off on the unit's CPU, NMI included. Never sleeps, allocates or
 * takes a lock.
 */
#include <linux/math.h>
#include <linux/minmax.h>
#include <linux/string.h>

#include "compat.h"
#include "core/complaint.h"
#include "core/drain.h"
#include "core/sink.h"
#include "core/trace.h"
#include "core/transaction.h"

/* Let a decoder find its way, though trace is missing in front of @position. */
static void drain_put_barrier(struct core_unit *unit, u64 position, u64 length)
{
	u64 at, run;

	for (at = 0; at < length; at += run) {
		void *data = auxpmu_buffer_run(unit->pub.buffer, position + at, &run);

		run = min(run, length - at);
		unit->pub.pmu->ops->put_barrier(&unit->pub, data, run);
	}
	unit->stats.padded += length;
}

/*
 * Trace is missing in front of @bytes in the window: the first of them, which are lost, give way to
 * a barrier. Returns how many.
 */
static u64 drain_put_barrier_within(struct core_unit *unit, u64 bytes)
{
	u64 barrier = core_unit_event(unit)->pub.needs.barrier;

	/* Of a lap, the first bytes are not there any more. */
	if (!barrier || bytes < barrier || bytes > unit->pub.buffer->size)
		return 0;
	auxpmu_transaction_lost(unit, barrier);
	drain_put_barrier(unit, unit->pub.window.from, barrier);
	return barrier;
}

/* Zero-copy: the trace is in the buffer already. @gap: some is missing in front of it. */
static void drain_window(struct core_unit *unit, u64 bytes, bool gap)
{
	const struct auxpmu_window *window = &unit->pub.window;
	u64 most = window->to - window->from + unit->pub.rules.spare;

	/*
	 * The space behind the window may be the consumer's: do not commit what the unit wrote
	 * there; PARTIAL says that trace is missing.
	 */
	if (window->to != AUXPMU_NO_LIMIT && bytes > most) {
		unit->stats.overruns++;
		auxpmu_complain(unit->pub.pmu, AUXPMU_OVERRUN, "position", bytes, most);
		auxpmu_transaction_lost(unit, bytes - most);
		bytes = most;
	}
	if (!bytes)
		return;
	unit->stats.produced += bytes - (gap ? drain_put_barrier_within(unit, bytes) : 0);
	unit->stats.padded += window->from - unit->position;
	auxpmu_transaction_advance(unit, window->from + bytes);
}

/*
 * A unit that interrupts early leaves the end of its window empty. The next window begins behind
 * that, where there may be no room yet, so pad now.
 */
static void drain_fill_up(struct core_unit *unit)
{
	u64 end = unit->pub.window.irq, rest = end - unit->position;

	if (!rest || rest > unit->pub.rules.early)
		return;
	auxpmu_transaction_pad(unit, end);
	unit->stats.padded += rest;
	auxpmu_transaction_advance(unit, end);
}

/* Copy @length bytes to @position, around the end of the buffer and across chunks. */
static void drain_copy_in(struct auxpmu_buffer *buffer, u64 position, const void *data, u64 length)
{
	while (length) {
		u64 run;
		void *to = auxpmu_buffer_run(buffer, position, &run);

		run = min(run, length);
		memcpy(to, data, run);
		data += run;
		position += run;
		length -= run;
	}
}

/* A COPY unit holds its trace in two pieces; either may be empty. */
#define SPANS	2

static u64 drain_length_of(const struct auxpmu_span *spans)
{
	return min_t(u64, spans[0].length, AUXPMU_POSITION_MAX) +
	       min_t(u64, spans[1].length, AUXPMU_POSITION_MAX);
}

/*
 * Ask where the unit holds the @bytes of its position, and cut the answer to @bytes: what lies
 * behind is somebody else's trace. Returns the bytes named; if they are fewer, the rest is lost.
 */
static u64 drain_find_spans(struct core_unit *unit, struct auxpmu_span *spans, u64 bytes)
{
	unsigned int nr = auxpmu_sink_collects(unit) ?
			  auxpmu_sink_spans(unit, spans) :
			  unit->pub.pmu->ops->spans(&unit->pub, spans);
	unsigned int n;
	u64 named;

	if (nr > SPANS)
		auxpmu_complain(unit->pub.pmu, AUXPMU_NR_SPANS, "spans", nr, 0);
	for (n = 0; n < SPANS; n++)
		if (n >= nr || !spans[n].data)
			spans[n].length = 0;
	named = drain_length_of(spans);
	if (named != bytes)
		auxpmu_complain(unit->pub.pmu, AUXPMU_BAD_SPANS, "spans", named, bytes);
	if (nr > SPANS || named > bytes)
		auxpmu_transaction_gap(unit);
	spans[0].length = min(spans[0].length, bytes);
	spans[1].length = min(spans[1].length, bytes - spans[0].length);
	named = drain_length_of(spans);
	auxpmu_transaction_lost(unit, bytes - named);
	return named;
}

/* Copy the spans, without their first @drop bytes, to @position. */
static void drain_copy_spans(struct core_unit *unit, const struct auxpmu_span *spans, u64 position,
			     u64 drop)
{
	unsigned int n;

	for (n = 0; n < SPANS; n++) {
		u64 skip = min(drop, spans[n].length);

		drop -= skip;
		drain_copy_in(unit->pub.buffer, position, spans[n].data + skip,
			      spans[n].length - skip);
		unit->stats.copied += spans[n].length - skip;
		position += spans[n].length - skip;
	}
}

/*
 * In overwrite mode there is room for all; bytes that would be overwritten at once are not copied,
 * nor is a barrier.
 */
static void drain_copy_overwrite(struct core_unit *unit, const struct auxpmu_span *spans, u64 bytes,
				 u64 barrier)
{
	u64 size = unit->pub.buffer->size;
	u64 drop = bytes > size ? bytes - size : 0;
	u64 from = unit->pub.window.from;

	if (bytes + barrier > size)
		barrier = 0;
	unit->stats.padded += from - unit->position;
	auxpmu_transaction_advance(unit, from + barrier + bytes);
	drain_put_barrier(unit, from, barrier);
	drain_copy_spans(unit, spans, from + barrier + drop, drop);
}

/*
 * The trace is in the unit's own memory, and there may be more of it than room, since the unit does
 * not know of windows. So renew the transaction: the consumer may have read on. If that is not
 * enough, drop the oldest bytes: the newest show what led to where the traced program is now. @gap:
 * trace is missing in front of them.
 */
static enum auxpmu_result drain_copy(struct core_unit *unit, u64 bytes, bool gap)
{
	u64 room = unit->pub.window.to - unit->pub.window.from;
	const u32 whole = core_unit_event(unit)->pub.needs.barrier;
	struct auxpmu_span spans[SPANS] = {};
	u64 barrier, drop = 0;

	unit->broken |= gap;
	if (bytes)
		bytes = drain_find_spans(unit, spans, bytes);
	if (!bytes)
		return AUXPMU_OK;
	barrier = unit->broken ? whole : 0;
	unit->broken = false;
	unit->stats.produced += bytes;
	if (unit->pub.buffer->overwrite) {
		drain_copy_overwrite(unit, spans, bytes, barrier);
		return AUXPMU_OK;
	}
	if (bytes + barrier > room) {
		/* What is missing is missing in front of the record that is to come. */
		u64 flags = unit->flags & (PERF_AUX_FLAG_PARTIAL | PERF_AUX_FLAG_COLLISION);
		enum auxpmu_result result;

		unit->flags &= ~flags;
		result = auxpmu_transaction_renew(unit);
		unit->flags |= flags;
		if (result != AUXPMU_OK) {
			unit->stats.lost_space += bytes;
			unit->broken = true;
			return result;
		}
		room = auxpmu_transaction_window(unit) ?
		       unit->pub.window.to - unit->pub.window.from : 0;
	}
	if (bytes + barrier > room) {
		barrier = whole;
		drop = min(bytes, roundup(bytes + barrier - room, (u64)unit->pub.rules.atom));
		trace_auxpmu_lost(unit, 0, drop);
		unit->stats.lost_space += drop;
		unit->flags |= PERF_AUX_FLAG_TRUNCATED;
		unit->broken = drop == bytes;
	}
	if (bytes > drop) {
		u64 from = unit->pub.window.from;

		unit->stats.padded += from - unit->position;
		auxpmu_transaction_advance(unit, from + barrier + bytes - drop);
		drain_put_barrier(unit, from, barrier);
		drain_copy_spans(unit, spans, from + barrier, drop);
	}
	return AUXPMU_OK;
}

/*
 * The backend has taken a difference the wrong way round, or says that a sink holds more than it
 * can: keep such numbers out of the counters.
 */
static noinline void drain_bad_position(struct core_unit *unit, struct auxpmu_position *position)
{
	auxpmu_complain(unit->pub.pmu, AUXPMU_BAD_POSITION, "position", position->bytes,
			position->lost);
	unit->stats.overruns++;
	*position = (struct auxpmu_position){ .gap = true };
}

enum auxpmu_result auxpmu_drain(struct core_unit *unit)
{
	struct auxpmu_position position = {};
	u64 most = AUXPMU_POSITION_MAX - 1;
	enum auxpmu_result result;

	if (auxpmu_sink_collects(unit))
		most = auxpmu_sink_position(unit, &position);
	else
		unit->pub.pmu->ops->position(&unit->pub, &position);
	trace_auxpmu_disarm(unit, &position);
	if (position.bytes > most || position.lost >= AUXPMU_POSITION_MAX)
		drain_bad_position(unit, &position);
	if (position.lost)
		auxpmu_transaction_lost(unit, position.lost);
	if (position.gap)
		auxpmu_transaction_gap(unit);
	if (position.collision)
		unit->flags |= PERF_AUX_FLAG_COLLISION;
	if (unit->pub.copies) {
		result = drain_copy(unit, position.bytes, position.gap || position.lost);
		unit->broken |= position.lost;
		return result;
	}
	drain_window(unit, position.bytes, position.gap);
	drain_fill_up(unit);
	return unit->position >= unit->pub.window.irq ? AUXPMU_USED_UP : AUXPMU_OK;
}
