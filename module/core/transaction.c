// SPDX-License-Identifier: GPL-2.0-only
/*
 * The transaction: what lies between perf_aux_output_begin() and perf_aux_output_end(), and the
 * windows in it.
 *
 * Owns the perf_output_handle, the position and the flags. Called by the owner of the session
 * (session.c, drain.c), IRQs off on the unit's CPU, NMI included. Never sleeps, allocates or takes
 * a lock.
 */
#include <linux/minmax.h>
#include <linux/string.h>

#include "compat.h"
#include "core/buffer.h"
#include "core/trace.h"
#include "core/transaction.h"
#include "inject/fault.h"

/*
 * Bytes kept back when all room has been used, see auxpmu_transaction_renew().  Two would do: the
 * core takes a buffer with one byte free for full.
 */
#define AUXPMU_KEPT_BACK	64

static u64 transaction_faulty_flags(struct auxpmu *pmu)
{
	u64 flags = 0;

	if (core_fault(pmu, CORE_FAULT_TRUNCATED))
		flags |= PERF_AUX_FLAG_TRUNCATED;
	if (core_fault(pmu, CORE_FAULT_PARTIAL))
		flags |= PERF_AUX_FLAG_PARTIAL;
	if (core_fault(pmu, CORE_FAULT_COLLISION))
		flags |= PERF_AUX_FLAG_COLLISION;
	return flags;
}

/* Commit everything but the last @hold bytes and close the transaction. */
void auxpmu_transaction_end(struct core_unit *unit, u64 hold)
{
	struct auxpmu_buffer *buffer = unit->pub.buffer;
	struct perf_event *event = unit->pub.event;
	u64 flags = unit->flags | transaction_faulty_flags(unit->pub.pmu);
	u64 size = auxpmu_transaction_uncommitted(unit) - hold;

	unit->stats.committed += size;
	unit->stats.ends++;
	unit->head += size;
	unit->flags = 0;
	trace_auxpmu_end(unit, size, flags);
	unit->pub.buffer = NULL;
	if (buffer->overwrite) {
		core_buffer(buffer)->head = unit->head;
		unit->handle.head = unit->pub.pmu->desc->offset_heads ?
				    auxpmu_buffer_offset(buffer, unit->head) : unit->head;
		size = min(size, buffer->size);
	}
	if (flags & PERF_AUX_FLAG_PARTIAL)
		unit->stats.partials++;
	if (flags)
		perf_aux_output_flag(&unit->handle, flags);

	/* The trace before aux_head, which user space reads with an acquire. */
	smp_wmb();
	perf_aux_output_end(&unit->handle, size);

	if (flags & PERF_AUX_FLAG_TRUNCATED) {
		unit->stats.truncations++;
		auxpmu_disable_inatomic(event);
	}
}

/*
 * Have the rules of @buffer for this event; those of the last transaction if it was of the same
 * two.  False when they do not suit each other.
 */
static bool transaction_have_rules(struct core_unit *unit, const struct core_buffer *buffer,
				   const struct core_event *aux)
{
	if (unit->rules_buffer == buffer->id && unit->rules_event == aux->serial)
		return true;
	unit->rules_buffer = 0;
	unit->pub.window.irq = 0;
	if (!auxpmu_buffer_rules(buffer, aux, &unit->pub.rules))
		return false;
	unit->rules_buffer = buffer->id;
	unit->rules_event = aux->serial;
	return true;
}

/*
 * The buffer the core is going to hand out, if it may be used; NULL when it is not of this PMU or
 * does not suit.  IRQs are off, which RCU waits for, too.
 */
static struct core_buffer *transaction_expected_buffer(struct core_unit *unit)
{
	const struct core_event *aux = core_unit_event(unit);
	struct core_buffer *buffer = auxpmu_buffer_find(unit->pub.event);

	if (!buffer) {
		unit->stats.unmapped++;
	} else if (buffer->pub.pmu != unit->pub.pmu) {
		unit->stats.wrong_pmu++;
		buffer = NULL;
	} else if (!transaction_have_rules(unit, buffer, aux)) {
		unit->stats.unsuited++;
		buffer = NULL;
	}
	return buffer;
}

/* The position of the first byte of the transaction that is open. */
static u64 transaction_first_byte(const struct core_unit *unit)
{
	struct auxpmu_buffer *buffer = unit->pub.buffer;

	return buffer->overwrite ? core_buffer(buffer)->head : unit->handle.head;
}

/* Open a transaction.  The position stays where it was, for the caller to set. */
static enum auxpmu_result transaction_begin(struct core_unit *unit)
{
	struct core_buffer *buffer = transaction_expected_buffer(unit);
	void *aux;

	if (!buffer)
		return AUXPMU_FAILED;

	/*
	 * The core leaves the size alone when it fails early, and sets it to 0 when the buffer is
	 * full.
	 */
	unit->handle.size = ULONG_MAX;
	aux = perf_aux_output_begin(&unit->handle, unit->pub.event);
	if (!aux) {
		unit->stats.begin_failures++;
		if (unit->handle.size)
			return AUXPMU_FAILED;
		auxpmu_disable_inatomic(unit->pub.event);
		return AUXPMU_NO_SPACE;
	}
	unit->stats.begins++;
	/*
	 * The reference the core now holds keeps @buffer; that it is the one found above is all
	 * that makes it ours.
	 */
	if (aux != buffer) {
		unit->stats.wrong_pmu++;
		perf_aux_output_end(&unit->handle, 0);
		unit->stats.ends++;
		return AUXPMU_FAILED;
	}
	unit->pub.buffer = &buffer->pub;
	unit->fresh = true;
	if (!buffer->begun) {
		buffer->begun = true;
		buffer->first = transaction_first_byte(unit);
	}
	return AUXPMU_OK;
}

/* The transaction is open: the unit is to begin there, whatever it did before. */
static void transaction_start_afresh(struct core_unit *unit)
{
	unit->head = transaction_first_byte(unit);
	unit->position = unit->head;
	unit->stats.sessions++;
	unit->pub.starting = true;
}

enum auxpmu_result auxpmu_transaction_begin(struct core_unit *unit)
{
	enum auxpmu_result result = transaction_begin(unit);

	if (result == AUXPMU_OK) {
		transaction_start_afresh(unit);
		trace_auxpmu_begin(unit);
	}
	return result;
}

/*
 * The unit steps over the bytes up to @to; they lie in the space that is free, and in one chunk or
 * the beginning of the next.
 */
noinline void auxpmu_transaction_pad(struct core_unit *unit, u64 to)
{
	u64 position = unit->position, run;

	for (; position < to; position += run) {
		void *data = auxpmu_buffer_run(unit->pub.buffer, position, &run);

		run = min(run, to - position);
		if (unit->pub.pmu->ops->pad)
			unit->pub.pmu->ops->pad(&unit->pub, data, run);
		else
			memset(data, 0, run);
	}
}

/*
 * What a transaction that follows another without a stop in between has to be worth, in bytes.  A
 * consumer may ask to be woken at every byte, and may give room back byte by byte; each wake-up
 * and each window costs an interrupt, which no user may have at will.
 */
static u64 transaction_least_handover(const struct auxpmu_buffer *buffer)
{
	return min_t(u64, PAGE_SIZE, buffer->size / 4);
}

/* The core has room for trace up to here. */
static u64 transaction_limit(const struct core_unit *unit)
{
	return unit->head + unit->handle.size;
}

/*
 * Right after another transaction: is the room not worth one?  (The core holds a byte of it back.)
 * A unit with memory of its own is not told of room, so that none of it costs an interrupt.
 */
static bool transaction_too_little(const struct core_unit *unit, u64 space)
{
	return unit->fresh && !unit->pub.starting && !unit->pub.buffer->overwrite &&
	       auxpmu_unit_event(&unit->pub)->needs.output != AUXPMU_COPY &&
	       space + 1 < transaction_least_handover(unit->pub.buffer);
}

/*
 * Take the next window of the open transaction, and pad up to it.  False when there is no room.
 */
bool auxpmu_transaction_window(struct core_unit *unit)
{
	struct auxpmu_buffer *buffer = unit->pub.buffer;
	u64 least = transaction_least_handover(buffer);
	struct auxpmu_window_request request = {
		.head = unit->position,
		.wakeup = max_t(u64, unit->handle.wakeup, unit->head + least),
		.overwrite = buffer->overwrite,
	};

	/* Bytes kept back by a handover may be more than the core now says are free. */
	if (!buffer->overwrite && unit->handle.size < auxpmu_transaction_uncommitted(unit))
		return false;
	request.space = unit->handle.size - auxpmu_transaction_uncommitted(unit);
	if (transaction_too_little(unit, request.space))
		return false;
	unit->pub.window = auxpmu_window_next(&buffer->chunks, &unit->pub.rules, &request);
	unit->window_limit = transaction_limit(unit);
	unit->window_wakeup = unit->handle.wakeup;
	if (unit->pub.window.full)
		return false;
	/* What is behind the interrupt would not be worth a handover. */
	if (unit->pub.window.to - unit->pub.window.irq < least)
		unit->pub.window.irq = unit->pub.window.to;
	if (unit->pub.window.from != unit->position)
		auxpmu_transaction_pad(unit, unit->pub.window.from);
	return true;
}

/*
 * The unit was stopped inside the window that it has: for a sample, or because its task left the
 * CPU and has come back.
 */
bool auxpmu_transaction_goes_on(struct core_unit *unit)
{
	if (!unit->pub.buffer->overwrite && (unit->window_limit != transaction_limit(unit) ||
					     unit->window_wakeup != unit->handle.wakeup))
		return false;
	return unit->position >= unit->pub.window.from &&
	       auxpmu_window_rest(&unit->pub.rules, &unit->pub.window, unit->position);
}

/* Bytes below @position of which newer ones have taken the place. */
static u64 transaction_overwritten_below(const struct auxpmu_buffer *buffer, u64 position)
{
	return position > buffer->size ? position - buffer->size : 0;
}

/* @to is how far the trace now reaches. */
void auxpmu_transaction_advance(struct core_unit *unit, u64 to)
{
	struct auxpmu_buffer *buffer = unit->pub.buffer;

	if ((to ^ unit->position) & ~(buffer->size - 1))
		unit->stats.wraps += to / buffer->size - unit->position / buffer->size;
	if (buffer->overwrite)
		unit->stats.overwritten += transaction_overwritten_below(buffer, to) -
					   transaction_overwritten_below(buffer, unit->position);
	unit->position = to;
}

/* The unit dropped trace, and said so. */
void auxpmu_transaction_lost(struct core_unit *unit, u64 lost)
{
	if (!lost)
		return;
	trace_auxpmu_lost(unit, lost, 0);
	unit->stats.produced += lost;
	unit->stats.lost_unit += lost;
	unit->flags |= PERF_AUX_FLAG_PARTIAL;
}

/* Trace is missing here, and nobody knows how much. */
void auxpmu_transaction_gap(struct core_unit *unit)
{
	trace_auxpmu_gap(unit);
	unit->stats.gaps++;
	unit->flags |= PERF_AUX_FLAG_PARTIAL;
}

/*
 * The transaction that was to go on is in another buffer: an inherited event writes to its parent's
 * ring, and the core stops only the parent's event when that is redirected.
 */
static void transaction_change_buffer(struct core_unit *unit)
{
	u64 kept_back = auxpmu_transaction_uncommitted(unit);

	if (kept_back) {
		trace_auxpmu_lost(unit, 0, kept_back);
		unit->stats.lost_space += kept_back;
		unit->flags |= PERF_AUX_FLAG_PARTIAL;
	}
	transaction_start_afresh(unit);
}

/*
 * Hand over what there is, and see how far the consumer has read meanwhile.
 *
 * When all of the room has been used, the core would refuse to begin again, switch the event off,
 * and no record would say TRUNCATED.  So the last bytes are kept back until it is known whether
 * there is room behind them; session_do_arm() hands them over with TRUNCATED if not.
 *
 * When it fails, what was kept back is lost, and counted: the buffer is being unmapped, or
 * aux_tail is nonsense.  @before may be gone then, but nothing else is at its address as
 * long as IRQs are off.
 */
enum auxpmu_result auxpmu_transaction_renew(struct core_unit *unit)
{
	u64 uncommitted = auxpmu_transaction_uncommitted(unit);
	bool brim = uncommitted >= unit->handle.size;
	const struct auxpmu_buffer *before = unit->pub.buffer;
	enum auxpmu_result result;

	auxpmu_transaction_end(unit, brim ? min_t(u64, uncommitted, AUXPMU_KEPT_BACK) : 0);
	result = transaction_begin(unit);
	if (result != AUXPMU_OK) {
		unit->stats.lost_space += auxpmu_transaction_uncommitted(unit);
		return result;
	}
	if (unit->pub.buffer != before || transaction_first_byte(unit) != unit->head)
		transaction_change_buffer(unit);
	trace_auxpmu_begin(unit);
	return result;
}
