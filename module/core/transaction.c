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
#include "core/complaint.h"
#include "core/trace.h"
#include "core/transaction.h"
#include "inject/fault.h"

/*
 * Bytes that a handover keeps back when all room has been used, see auxpmu_transaction_renew(). Two
 * would do: the core sees a buffer with one free byte as full.
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
static void transaction_end(struct core_unit *unit, u64 hold)
{
	struct auxpmu_buffer *buffer = unit->pub.buffer;
	u64 size = auxpmu_transaction_uncommitted(unit) - hold;
	u64 flags = unit->flags | transaction_faulty_flags(unit->pub.pmu);

	/* Without trace there is no format, and the core writes no record unless a flag asks. */
	if (size)
		flags |= core_unit_event(unit)->pub.needs.format;
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

	/* Order the trace before aux_head, which user space reads with an acquire. */
	smp_wmb();
	perf_aux_output_end(&unit->handle, size);

	if (flags & PERF_AUX_FLAG_TRUNCATED) {
		unit->stats.truncations++;
		auxpmu_disable_inatomic(unit->pub.event);
	}
}

/* Children write into the area of their parent: the first event of a family speaks for all. */
static bool *transaction_area_known(const struct core_unit *unit)
{
	struct perf_event *event = unit->pub.event;

	return &core_event(auxpmu_event(event->parent ?: event))->area_known;
}

/*
 * A tool that knows the PMU as little as perf does (it maps AUX areas for names that it was built
 * with), or that counts, waits for what cannot come. Whoever unmaps an area needs no advice.
 */
static void transaction_unmapped(struct core_unit *unit)
{
	bool *known = transaction_area_known(unit);

	unit->stats.unmapped++;
	if (!READ_ONCE(*known))
		auxpmu_complain(unit->pub.pmu, AUXPMU_NO_AREA, "start", 0, 0);
	WRITE_ONCE(*known, true);
}

/*
 * Set up the rules of @buffer for this event, unless the last transaction had the same two. False
 * if buffer and event do not suit each other.
 */
static bool transaction_have_rules(struct core_unit *unit, const struct core_buffer *buffer,
				   const struct core_event *aux)
{
	if (unit->rules_buffer == buffer->id && unit->rules_event == aux->serial &&
	    unit->rules_shared == aux->shares)
		return true;
	unit->rules_buffer = 0;
	unit->broken = false;
	unit->pub.window.irq = 0;
	if (!auxpmu_buffer_rules(buffer, aux, &unit->pub.rules))
		return false;
	unit->rules_copy = auxpmu_buffer_copies(buffer, aux);
	unit->rules_shared = aux->shares;
	unit->rules_buffer = buffer->id;
	unit->rules_event = aux->serial;
	WRITE_ONCE(*transaction_area_known(unit), true);
	return true;
}

/*
 * The buffer that the core is about to hand out; NULL if it is not this PMU's or does not suit.
 * IRQs are off, which is a read-side critical section of RCU.
 */
static struct core_buffer *transaction_expected_buffer(struct core_unit *unit)
{
	const struct core_event *aux = core_unit_event(unit);
	struct core_buffer *buffer = auxpmu_buffer_find(unit->pub.event);

	if (!buffer) {
		transaction_unmapped(unit);
	} else if (buffer->pub.pmu != unit->pub.pmu) {
		unit->stats.wrong_pmu++;
		buffer = NULL;
	} else if (!transaction_have_rules(unit, buffer, aux)) {
		unit->stats.unsuited++;
		buffer = NULL;
	}
	return buffer;
}

/* The position of the first byte of the open transaction. */
static u64 transaction_first_byte(const struct core_unit *unit)
{
	struct auxpmu_buffer *buffer = unit->pub.buffer;

	return buffer->overwrite ? core_buffer(buffer)->head : unit->handle.head;
}

/*
 * Open a transaction in @buffer, which the core is about to hand out, or NULL. The caller sets the
 * position.
 */
static __always_inline enum auxpmu_result transaction_begin(struct core_unit *unit,
							    struct core_buffer *buffer)
{
	void *aux;

	if (!buffer)
		return AUXPMU_FAILED;

	/*
	 * perf_aux_output_begin() sets the size to 0 if the buffer is full, and leaves it alone if
	 * it fails for another reason.
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
	 * The core's reference now keeps the buffer. It is ours only if it is the one found above.
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

/* The transaction is open: the unit begins there, whatever it did before. */
static void transaction_start_afresh(struct core_unit *unit)
{
	unit->head = transaction_first_byte(unit);
	unit->position = unit->head;
	unit->stats.sessions++;
	unit->pub.starting = true;
}

/* While others had its sink, the event was not traced. */
static void transaction_say_refused(struct core_unit *unit)
{
	struct core_event *aux = core_unit_event(unit);

	if (aux->refused)
		auxpmu_transaction_gap(unit);
	aux->refused = false;
}

enum auxpmu_result auxpmu_transaction_begin(struct core_unit *unit)
{
	enum auxpmu_result result = transaction_begin(unit, transaction_expected_buffer(unit));

	if (result == AUXPMU_OK) {
		transaction_start_afresh(unit);
		trace_auxpmu_begin(unit);
		transaction_say_refused(unit);
	}
	return result;
}

/*
 * Pad the bytes up to @to, which the unit steps over. They lie in free space, in at most two
 * chunks.
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
 * The least bytes of a transaction that follows another without a stop in between. A consumer may
 * ask to be woken at every byte, and may give space back byte by byte; each wake-up and each window
 * costs an interrupt, and no user may cause those at will.
 */
static u64 transaction_least_handover(const struct auxpmu_buffer *buffer)
{
	return min_t(u64, PAGE_SIZE, buffer->size / 4);
}

/*
 * Right after another transaction: is there too little room for a new one? (The core holds one byte
 * back.) For a unit with memory of its own, little room costs no interrupts: it does not know of
 * windows.
 */
static bool transaction_too_little(const struct core_unit *unit, u64 space)
{
	return unit->fresh && !unit->pub.starting && !unit->pub.buffer->overwrite &&
	       !unit->rules_copy && space + 1 < transaction_least_handover(unit->pub.buffer);
}

/* Behind what a handover has kept back; a wake-up is not sooner than the least of a transaction. */
static struct auxpmu_window_request transaction_request(const struct core_unit *unit)
{
	u64 least = transaction_least_handover(unit->pub.buffer);

	return (struct auxpmu_window_request){
		.head = unit->position,
		.space = unit->handle.size - auxpmu_transaction_uncommitted(unit),
		.wakeup = max_t(u64, unit->handle.wakeup, unit->head + least),
		.overwrite = unit->pub.buffer->overwrite,
	};
}

/*
 * A unit that is only looked at now and then does not begin in what it would fill meanwhile, at the
 * end of a chunk, if there is more room behind.
 */
static noinline void transaction_find_window(struct core_unit *unit)
{
	const struct auxpmu_window_request request = transaction_request(unit);
	const struct auxpmu_chunks *chunks = &unit->pub.buffer->chunks;

	if (unit->window_least > unit->pub.rules.least) {
		struct auxpmu_window_rules rules = unit->pub.rules;

		rules.least = unit->window_least;
		unit->pub.window = auxpmu_window_next(chunks, &rules, &request);
		if (!unit->pub.window.full)
			return;
	}
	unit->pub.window = auxpmu_window_next(chunks, &unit->pub.rules, &request);
}

/*
 * Take the next window of the open transaction, and pad up to it.  False when there is no room.
 */
bool auxpmu_transaction_window(struct core_unit *unit)
{
	const struct auxpmu_window_request request = transaction_request(unit);
	const struct auxpmu_buffer *buffer = unit->pub.buffer;

	/* A handover may have kept back more bytes than are free now. */
	if (!buffer->overwrite && unit->handle.size < auxpmu_transaction_uncommitted(unit))
		return false;
	if (transaction_too_little(unit, request.space))
		return false;
	if (unit->window_least || !auxpmu_window_next_plain(&buffer->chunks, &unit->pub.rules,
							    &request, &unit->pub.window))
		transaction_find_window(unit);
	unit->window_limit = auxpmu_transaction_limit(unit);
	unit->window_wakeup = unit->handle.wakeup;
	if (unit->pub.window.full)
		return false;
	/* The rest behind the interrupt would be too little for a transaction. */
	if (unit->pub.window.to - unit->pub.window.irq < transaction_least_handover(buffer))
		unit->pub.window.irq = unit->pub.window.to;
	if (unit->pub.window.from != unit->position)
		auxpmu_transaction_pad(unit, unit->pub.window.from);
	return true;
}

/* Bytes below @position that newer ones have overwritten. */
static u64 transaction_overwritten_below(const struct auxpmu_buffer *buffer, u64 position)
{
	return position > buffer->size ? position - buffer->size : 0;
}

/* The trace now reaches up to @to. */
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

/* The unit dropped @lost bytes of trace. */
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
 * The next transaction is in another buffer. An inherited event writes to its parent's ring, and
 * when the parent is redirected, the core stops only the parent.
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

/* Nothing has to be looked up: @before is still the event's, and for it the same rules hold. */
static bool transaction_same_again(const struct core_unit *unit, const struct core_buffer *before)
{
	return auxpmu_buffer_is_of(before, unit->pub.event) &&
	       unit->rules_shared == core_unit_event(unit)->shares;
}

/*
 * Right behind the end of a transaction in @before, which may be freed meanwhile, but RCU keeps its
 * address from being reused while IRQs are off. If it fails (the buffer is being unmapped, or
 * aux_tail is nonsense), the bytes that were kept back are lost, and counted.
 */
static __always_inline enum auxpmu_result transaction_reopen(struct core_unit *unit,
							     struct auxpmu_buffer *before)
{
	struct core_buffer *next = transaction_same_again(unit, core_buffer(before)) ?
				   core_buffer(before) : transaction_expected_buffer(unit);
	enum auxpmu_result result = transaction_begin(unit, next);

	if (result != AUXPMU_OK) {
		unit->stats.lost_space += auxpmu_transaction_uncommitted(unit);
		return result;
	}
	if (unit->pub.buffer != before || transaction_first_byte(unit) != unit->head)
		transaction_change_buffer(unit);
	return result;
}

/*
 * In overwrite mode, of a PMU whose records end where the buffer does: the bytes behind that, if
 * others lie before it, else 0.
 */
static u64 transaction_behind_lap(const struct core_unit *unit)
{
	const struct auxpmu_buffer *buffer = unit->pub.buffer;
	u64 behind = auxpmu_buffer_offset(buffer, unit->position);

	if (!buffer->overwrite || !unit->pub.pmu->desc->lap_records)
		return 0;
	return behind < auxpmu_transaction_uncommitted(unit) ? behind : 0;
}

void auxpmu_transaction_end(struct core_unit *unit)
{
	struct auxpmu_buffer *before = unit->pub.buffer;
	u64 behind = transaction_behind_lap(unit);

	if (behind) {
		transaction_end(unit, behind);
		if (transaction_reopen(unit, before) != AUXPMU_OK)
			return;
	}
	transaction_end(unit, 0);
}

/*
 * Commit what there is, and see how far the consumer has read meanwhile.
 *
 * If all room has been used, the core refuses to begin again and switches the event off, and no
 * record would say TRUNCATED. So keep the last bytes back: if there is still no room behind them,
 * session_do_arm() has them committed with TRUNCATED.
 */
enum auxpmu_result auxpmu_transaction_renew(struct core_unit *unit)
{
	u64 uncommitted = auxpmu_transaction_uncommitted(unit);
	bool brim = uncommitted >= unit->handle.size;
	struct auxpmu_buffer *before = unit->pub.buffer;
	enum auxpmu_result result;

	transaction_end(unit, brim ? min_t(u64, uncommitted, AUXPMU_KEPT_BACK) : 0);
	result = transaction_reopen(unit, before);
	if (result == AUXPMU_OK)
		trace_auxpmu_begin(unit);
	return result;
}
