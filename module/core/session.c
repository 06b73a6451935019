// SPDX-License-Identifier: GPL-2.0-only
/*
 * The session: one perf AUX transaction after another on one CPU, between start() and stop().
 *
 * Owns the perf_output_handle, the position and the flags. Called by pmu.c (start, stop), by the
 * backend's interrupt and by units made of software, always with IRQs off on the session's CPU, NMI
 * included. state.c decides what is done next; this file does it. Never sleeps, allocates or takes
 * a lock.
 */
#include <linux/atomic.h>
#include <linux/minmax.h>
#include <linux/rcupdate.h>
#include <linux/string.h>

#include "compat.h"
#include "core/buffer.h"
#include "core/complaint.h"
#include "core/paranoid.h"
#include "core/session.h"
#include "inject/fault.h"
#include "internal.h"

#define CREATE_TRACE_POINTS
#include "core/trace.h"

/*
 * Bytes kept back when all room has been used, see session_renew().  Two would do: the core takes a
 * buffer with one byte free for full.
 */
#define AUXPMU_HOLD_BACK	64

/* Bytes written but not committed. */
static u64 session_uncommitted(const struct auxpmu_session *session)
{
	return session->position - session->head;
}

static u64 session_faulty_flags(struct auxpmu *pmu)
{
	u64 flags = 0;

	if (auxpmu_fault(pmu, AUXPMU_FAULT_TRUNCATED))
		flags |= PERF_AUX_FLAG_TRUNCATED;
	if (auxpmu_fault(pmu, AUXPMU_FAULT_PARTIAL))
		flags |= PERF_AUX_FLAG_PARTIAL;
	if (auxpmu_fault(pmu, AUXPMU_FAULT_COLLISION))
		flags |= PERF_AUX_FLAG_COLLISION;
	return flags;
}

/* Commit everything but the last @hold bytes and close the transaction. */
static void session_end(struct auxpmu_session *session, u64 hold)
{
	struct auxpmu_buffer *buffer = session->buffer;
	struct perf_event *event = session->event;
	u64 flags = session->flags | session_faulty_flags(session->pmu);
	u64 size = session_uncommitted(session) - hold;

	session->stats.committed += size;
	session->stats.ends++;
	session->head += size;
	session->flags = 0;
	trace_auxpmu_end(session, size, flags);
	session->buffer = NULL;
	if (buffer->overwrite) {
		buffer->head = session->head;
		session->handle.head = session->pmu->desc->offset_heads ?
				       auxpmu_buffer_offset(buffer, session->head) : session->head;
		size = min(size, buffer->size);
	}
	if (flags & PERF_AUX_FLAG_PARTIAL)
		session->stats.partials++;
	if (flags)
		perf_aux_output_flag(&session->handle, flags);

	/* The trace before aux_head, which user space reads with an acquire. */
	smp_wmb();
	perf_aux_output_end(&session->handle, size);

	if (flags & PERF_AUX_FLAG_TRUNCATED) {
		session->stats.truncations++;
		auxpmu_disable_inatomic(event);
	}
}

/*
 * Have the rules of @buffer for this event; those of the last transaction if it was of the same
 * two.  False when they do not suit each other.
 */
static bool session_have_rules(struct auxpmu_session *session, const struct auxpmu_buffer *buffer,
			       const struct auxpmu_event *aux)
{
	if (session->rules_buffer == buffer->id && session->rules_event == aux->serial)
		return true;
	session->rules_buffer = 0;
	session->window.irq = 0;
	if (!auxpmu_buffer_rules(buffer, aux, &session->rules))
		return false;
	session->rules_buffer = buffer->id;
	session->rules_event = aux->serial;
	return true;
}

/*
 * The buffer the core is going to hand out, if it may be used; NULL when it is not of this PMU or
 * does not suit.  IRQs are off, which RCU waits for, too.
 */
static struct auxpmu_buffer *session_expected_buffer(struct auxpmu_session *session)
{
	const struct auxpmu_event *aux = auxpmu_session_event(session);
	struct auxpmu_buffer *buffer = auxpmu_buffer_find(session->event);

	if (!buffer) {
		session->stats.unmapped++;
	} else if (buffer->pmu != session->pmu) {
		session->stats.foreign++;
		buffer = NULL;
	} else if (!session_have_rules(session, buffer, aux)) {
		session->stats.unsuited++;
		buffer = NULL;
	}
	return buffer;
}

/* The position of the first byte of the transaction that is open. */
static u64 session_first_byte(const struct auxpmu_session *session)
{
	return session->buffer->overwrite ? session->buffer->head : session->handle.head;
}

/* Open a transaction.  The position stays where it was, for the caller to set. */
static enum auxpmu_result session_begin(struct auxpmu_session *session)
{
	struct auxpmu_buffer *buffer = session_expected_buffer(session);
	void *aux;

	if (!buffer)
		return AUXPMU_FAILED;

	/*
	 * The core leaves the size alone when it fails early, and sets it to 0 when the buffer is
	 * full.
	 */
	session->handle.size = ULONG_MAX;
	aux = perf_aux_output_begin(&session->handle, session->event);
	if (!aux) {
		session->stats.begin_failures++;
		if (session->handle.size)
			return AUXPMU_FAILED;
		auxpmu_disable_inatomic(session->event);
		return AUXPMU_NO_SPACE;
	}
	session->stats.begins++;
	/*
	 * The reference the core now holds keeps @buffer; that it is the one found above is all
	 * that makes it ours.
	 */
	if (aux != buffer) {
		session->stats.foreign++;
		perf_aux_output_end(&session->handle, 0);
		session->stats.ends++;
		return AUXPMU_FAILED;
	}
	session->buffer = buffer;
	session->fresh = true;
	if (!buffer->begun) {
		buffer->begun = true;
		buffer->first = session_first_byte(session);
	}
	return AUXPMU_OK;
}

/* The transaction is open: the unit is to begin there, whatever it did before. */
static void session_start_afresh(struct auxpmu_session *session)
{
	session->head = session_first_byte(session);
	session->position = session->head;
	session->stats.sessions++;
	session->starting = true;
}

static enum auxpmu_result session_do_begin(struct auxpmu_session *session)
{
	enum auxpmu_result result = session_begin(session);

	if (result == AUXPMU_OK) {
		session_start_afresh(session);
		trace_auxpmu_begin(session);
	}
	return result;
}

/*
 * The unit steps over the bytes up to @to; they lie in the space that is free, and in one chunk or
 * the beginning of the next.
 */
static noinline void session_pad(struct auxpmu_session *session, u64 to)
{
	u64 position = session->position, run;

	for (; position < to; position += run) {
		void *data = auxpmu_buffer_run(session->buffer, position, &run);

		run = min(run, to - position);
		if (session->pmu->ops->pad)
			session->pmu->ops->pad(session, data, run);
		else
			memset(data, 0, run);
	}
}

/*
 * What a transaction that follows another without a stop in between has to be worth, in bytes.  A
 * consumer may ask to be woken at every byte, and may give room back byte by byte; each wake-up
 * and each window costs an interrupt, which no user may have at will.
 */
static u64 session_least_turn(const struct auxpmu_buffer *buffer)
{
	return min_t(u64, PAGE_SIZE, buffer->size / 4);
}

/* The core has room for trace up to here. */
static u64 session_limit(const struct auxpmu_session *session)
{
	return session->head + session->handle.size;
}

/*
 * Right after another transaction: is the room not worth one?  (The core holds a byte of it back.)
 * A unit with memory of its own is not told of room, so that none of it costs an interrupt.
 */
static bool session_too_little(const struct auxpmu_session *session, u64 space)
{
	return session->fresh && !session->starting && !session->buffer->overwrite &&
	       auxpmu_session_event(session)->needs.output != AUXPMU_COPY &&
	       space + 1 < session_least_turn(session->buffer);
}

/*
 * Take the next window of the open transaction, and pad up to it.  False when there is no room.
 */
static bool session_take_window(struct auxpmu_session *session)
{
	struct auxpmu_buffer *buffer = session->buffer;
	u64 least = session_least_turn(buffer);
	struct auxpmu_window_request request = {
		.head = session->position,
		.wakeup = max_t(u64, session->handle.wakeup, session->head + least),
		.overwrite = buffer->overwrite,
	};

	/* Bytes kept back by a turn may be more than the core now says are free. */
	if (!buffer->overwrite && session->handle.size < session_uncommitted(session))
		return false;
	request.space = session->handle.size - session_uncommitted(session);
	if (session_too_little(session, request.space))
		return false;
	session->window = auxpmu_window_next(&buffer->chunks, &session->rules, &request);
	session->window_limit = session_limit(session);
	session->window_wakeup = session->handle.wakeup;
	if (session->window.full)
		return false;
	/* What is behind the interrupt would not be worth a turn. */
	if (session->window.to - session->window.irq < least)
		session->window.irq = session->window.to;
	if (session->window.from != session->position)
		session_pad(session, session->window.from);
	return true;
}

/*
 * The unit was stopped inside the window that it has: for a sample, or because its task left the
 * CPU and has come back.
 */
static bool session_goes_on(struct auxpmu_session *session)
{
	if (!session->buffer->overwrite && (session->window_limit != session_limit(session) ||
					    session->window_wakeup != session->handle.wakeup))
		return false;
	return session->position >= session->window.from &&
	       auxpmu_window_rest(&session->rules, &session->window, session->position);
}

/* The core may try again at each of its ticks: the consumer is told of the first failure only. */
static void session_arm_failed(struct auxpmu_session *session, enum auxpmu_complaint what,
			       const char *op, u64 a, u64 b)
{
	struct auxpmu_event *aux = auxpmu_session_event(session);

	session->stats.arm_failures++;
	if (!aux->arm_failed) {
		session->flags |= PERF_AUX_FLAG_PARTIAL;
		auxpmu_complain(session->pmu, what, op, a, b);
	}
	aux->arm_failed = true;
	session_end(session, 0);
}

static enum auxpmu_result session_do_arm(struct auxpmu_session *session)
{
	int ret;

	/* Trace has been lost for lack of room, and the record about it is still to come. */
	if (session->flags & PERF_AUX_FLAG_TRUNCATED)
		return AUXPMU_USED_UP;
	if (!session_goes_on(session) && !session_take_window(session)) {
		if (!session->fresh)
			return AUXPMU_USED_UP;
		session->flags |= PERF_AUX_FLAG_TRUNCATED;
		trace_auxpmu_full(session);
		session_end(session, 0);
		return AUXPMU_NO_SPACE;
	}
	ret = auxpmu_fault(session->pmu, AUXPMU_FAULT_ARM) ?
	      -EIO : session->pmu->ops->arm(session);
	trace_auxpmu_arm(session, ret);
	if (ret) {
		session_arm_failed(session, AUXPMU_ARM_FAILED, "arm", ret, 0);
		return AUXPMU_FAILED;
	}
	auxpmu_session_event(session)->arm_failed = false;
	session->fresh = false;
	session->starting = false;
	return AUXPMU_OK;
}

/* Bytes below @position of which newer ones have taken the place. */
static u64 session_overwritten_below(const struct auxpmu_buffer *buffer, u64 position)
{
	return position > buffer->size ? position - buffer->size : 0;
}

/* @to is how far the trace now reaches. */
static void session_advance(struct auxpmu_session *session, u64 to)
{
	struct auxpmu_buffer *buffer = session->buffer;

	if ((to ^ session->position) & ~(buffer->size - 1))
		session->stats.wraps += to / buffer->size - session->position / buffer->size;
	if (buffer->overwrite)
		session->stats.overwritten += session_overwritten_below(buffer, to) -
					      session_overwritten_below(buffer, session->position);
	session->position = to;
}

/* The unit dropped trace, and said so. */
static void session_lost_in_unit(struct auxpmu_session *session, u64 lost)
{
	if (!lost)
		return;
	trace_auxpmu_lost(session, lost, 0);
	session->stats.produced += lost;
	session->stats.lost_unit += lost;
	session->flags |= PERF_AUX_FLAG_PARTIAL;
}

/* Trace is missing here, and nobody knows how much. */
static void session_gap(struct auxpmu_session *session)
{
	trace_auxpmu_gap(session);
	session->stats.gaps++;
	session->flags |= PERF_AUX_FLAG_PARTIAL;
}

/* Zero-copy: the trace is where it belongs. */
static void session_drain_window(struct auxpmu_session *session, u64 bytes)
{
	const struct auxpmu_window *window = &session->window;
	u64 most = window->to - window->from + session->rules.spare;

	/*
	 * The bytes may be the consumer's already: what lies behind the window is not handed over,
	 * and the flag says so.
	 */
	if (window->to != AUXPMU_NO_LIMIT && bytes > most) {
		session->stats.overruns++;
		auxpmu_complain(session->pmu, AUXPMU_OVERRUN, "position", bytes, most);
		session_lost_in_unit(session, bytes - most);
		bytes = most;
	}
	if (!bytes)
		return;
	session->stats.produced += bytes;
	session->stats.padded += window->from - session->position;
	session_advance(session, window->from + bytes);
}

/*
 * A unit that interrupts early leaves the end of its window empty: the next one begins behind that,
 * where there may be no room yet.
 */
static void session_fill_up(struct auxpmu_session *session)
{
	u64 end = session->window.irq, rest = end - session->position;

	if (!rest || rest > session->rules.early)
		return;
	session_pad(session, end);
	session->stats.padded += rest;
	session_advance(session, end);
}

/* Copy @length bytes to @position, around the end of the buffer and across chunks. */
static void session_copy_in(struct auxpmu_buffer *buffer, u64 position, const void *data,
			    u64 length)
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

/*
 * The transaction that was to go on is in another buffer: an inherited event writes to its parent's
 * ring, and the core stops only the parent's event when that is redirected.
 */
static void session_change_buffer(struct auxpmu_session *session)
{
	u64 kept_back = session_uncommitted(session);

	if (kept_back) {
		trace_auxpmu_lost(session, 0, kept_back);
		session->stats.lost_space += kept_back;
		session->flags |= PERF_AUX_FLAG_PARTIAL;
	}
	session_start_afresh(session);
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
static enum auxpmu_result session_renew(struct auxpmu_session *session)
{
	bool brim = session_uncommitted(session) >= session->handle.size;
	const struct auxpmu_buffer *before = session->buffer;
	enum auxpmu_result result;

	session_end(session, brim ? min_t(u64, session_uncommitted(session), AUXPMU_HOLD_BACK) : 0);
	result = session_begin(session);
	if (result != AUXPMU_OK) {
		session->stats.lost_space += session_uncommitted(session);
		return result;
	}
	if (session->buffer != before || session_first_byte(session) != session->head)
		session_change_buffer(session);
	trace_auxpmu_begin(session);
	return result;
}

/* What a COPY unit holds: two pieces, of which both may be empty. */
#define SPANS	2

static u64 session_length_of(const struct auxpmu_span *spans)
{
	return min_t(u64, spans[0].length, AUXPMU_POSITION_MAX) +
	       min_t(u64, spans[1].length, AUXPMU_POSITION_MAX);
}

/*
 * Where the unit holds the @bytes of its position. Never more than those: what lies behind them is
 * another's. Returns how many there are; where the backend has named less, the rest is lost.
 */
static u64 session_find_spans(struct auxpmu_session *session, struct auxpmu_span *spans, u64 bytes)
{
	unsigned int nr = session->pmu->ops->spans(session, spans), n;
	u64 named;

	if (nr > SPANS)
		auxpmu_complain(session->pmu, AUXPMU_NR_SPANS, "spans", nr, 0);
	for (n = 0; n < SPANS; n++)
		if (n >= nr || !spans[n].data)
			spans[n].length = 0;
	named = session_length_of(spans);
	if (named != bytes)
		auxpmu_complain(session->pmu, AUXPMU_BAD_SPANS, "spans", named, bytes);
	if (nr > SPANS || named > bytes)
		session_gap(session);
	spans[0].length = min(spans[0].length, bytes);
	spans[1].length = min(spans[1].length, bytes - spans[0].length);
	named = session_length_of(spans);
	session_lost_in_unit(session, bytes - named);
	return named;
}

/* Spans of the unit's memory, without their first @drop bytes, to @position. */
static void session_copy_spans(struct auxpmu_session *session, const struct auxpmu_span *spans,
			       u64 position, u64 drop)
{
	unsigned int n;

	for (n = 0; n < SPANS; n++) {
		u64 skip = min(drop, spans[n].length);

		drop -= skip;
		session_copy_in(session->buffer, position, spans[n].data + skip,
				spans[n].length - skip);
		position += spans[n].length - skip;
	}
}

/* A flight recorder takes all; what would be overwritten at once is not copied first. */
static void session_drain_copy_overwrite(struct auxpmu_session *session,
					 const struct auxpmu_span *spans, u64 bytes)
{
	u64 size = session->buffer->size;
	u64 drop = bytes > size ? bytes - size : 0;
	u64 from = session->window.from;

	session->stats.padded += from - session->position;
	session_advance(session, from + bytes);
	session_copy_spans(session, spans, from + drop, drop);
}

/*
 * The trace is in the unit's own memory, of which there may be more than room.  The unit does not
 * know of windows, so the consumer is given a chance to have read on; if that is not enough, the
 * newest is kept, since that is what led to where the traced program now is.
 */
static enum auxpmu_result session_drain_copy(struct auxpmu_session *session, u64 bytes)
{
	u64 room = session->window.to - session->window.from;
	struct auxpmu_span spans[SPANS] = {};
	u64 drop = 0;

	if (bytes)
		bytes = session_find_spans(session, spans, bytes);
	if (!bytes)
		return AUXPMU_OK;
	session->stats.produced += bytes;
	if (session->buffer->overwrite) {
		session_drain_copy_overwrite(session, spans, bytes);
		return AUXPMU_OK;
	}
	if (bytes > room) {
		enum auxpmu_result result = session_renew(session);

		if (result != AUXPMU_OK) {
			session->stats.lost_space += bytes;
			return result;
		}
		room = session_take_window(session) ? session->window.to - session->window.from : 0;
	}
	if (bytes > room) {
		drop = min(bytes, roundup(bytes - room, (u64)session->rules.unit));
		trace_auxpmu_lost(session, 0, drop);
		session->stats.lost_space += drop;
		session->flags |= PERF_AUX_FLAG_TRUNCATED;
	}
	if (bytes > drop) {
		u64 from = session->window.from;

		session->stats.padded += from - session->position;
		session_advance(session, from + bytes - drop);
		session_copy_spans(session, spans, from, drop);
	}
	return AUXPMU_OK;
}

/* A backend has taken a difference the wrong way round: no counter may learn of that. */
static noinline void session_bad_position(struct auxpmu_session *session,
					  struct auxpmu_position *position)
{
	auxpmu_complain(session->pmu, AUXPMU_BAD_POSITION, "position", position->bytes,
			position->lost);
	session->stats.overruns++;
	*position = (struct auxpmu_position){ .gap = true };
}

static enum auxpmu_result session_do_disarm(struct auxpmu_session *session)
{
	const struct auxpmu_ops *ops = session->pmu->ops;
	struct auxpmu_position position = {};

	ops->disarm(session);
	ops->position(session, &position);
	trace_auxpmu_disarm(session, &position);
	if (position.bytes >= AUXPMU_POSITION_MAX || position.lost >= AUXPMU_POSITION_MAX)
		session_bad_position(session, &position);
	session_lost_in_unit(session, position.lost);
	if (position.gap)
		session_gap(session);
	if (auxpmu_session_event(session)->needs.output == AUXPMU_COPY)
		return session_drain_copy(session, position.bytes);
	session_drain_window(session, position.bytes);
	session_fill_up(session);
	return session->position >= session->window.irq ? AUXPMU_USED_UP : AUXPMU_OK;
}

/*
 * The window is used up, or the consumer is waiting.
 *
 * A flight recorder has room without asking: nobody reads it before it is stopped, and a record
 * for every chunk it passes would only drown the data ring.
 */
static enum auxpmu_result session_do_turn(struct auxpmu_session *session)
{
	if (session->buffer->overwrite) {
		session->fresh = true;
		return AUXPMU_OK;
	}
	if (session->flags & PERF_AUX_FLAG_TRUNCATED) {
		session_end(session, 0);
		return AUXPMU_NO_SPACE;
	}
	return session_renew(session);
}

/*
 * Note how an action went in a word that an NMI may be changing; @word: as it was last seen.
 * Returns what it is then.
 */
static __always_inline int session_note(struct auxpmu_session *session, int word,
					enum auxpmu_action action, enum auxpmu_result result)
{
	int done;

	do {
		done = auxpmu_state_done(word, action, result);
	} while (!atomic_try_cmpxchg(&session->word, &word, done));
	return done;
}

/* Note a wish and become the owner, if there is none.  @word: as it is then. */
static __always_inline bool session_request_word(struct auxpmu_session *session,
						 enum auxpmu_request request, u32 *word)
{
	int old = atomic_read(&session->word);

	trace_auxpmu_request(session, request, old);
	do {
		*word = auxpmu_state_request(old, request) | AUXPMU_BUSY;
	} while (!atomic_try_cmpxchg(&session->word, &old, *word));
	return !(old & AUXPMU_BUSY);
}

/*
 * What one visit of the owner may do.  A unit whose interrupt is due as soon as it is armed, again
 * and again, would keep this CPU here for ever: with IRQs off, or in NMI.
 */
#define AUXPMU_TURNS		64	/* windows that were used up at once */
#define AUXPMU_EMPTY_TURNS	2	/* of those, one after the other without a byte of trace */

struct visit {
	bool due;		/* the interrupt was, when the unit had just been armed */
	unsigned int turns;
	unsigned int empty;
};

/* The unit may have passed its interrupt between being armed and now.  Returns the new word. */
static int session_check_irq_pending(struct auxpmu_session *session, int word, struct visit *visit)
{
	const struct auxpmu_ops *ops = session->pmu->ops;
	u32 wanted;

	visit->due = ops->irq_pending && ops->irq_pending(session);
	if (!visit->due)
		return word;
	session->stats.interrupts++;
	session_request_word(session, AUXPMU_REQ_TURN, &wanted);
	return wanted;
}

/* What such a unit does is no tracing: as if it could not be armed. */
static noinline enum auxpmu_result session_give_up(struct auxpmu_session *session,
						   const struct visit *visit)
{
	trace_auxpmu_gap(session);
	session->stats.gaps++;
	session_arm_failed(session, AUXPMU_ALWAYS_DUE, "irq_pending", visit->turns, visit->empty);
	return AUXPMU_FAILED;
}

static __always_inline int session_arm_and_look(struct auxpmu_session *session, int word,
						struct visit *visit)
{
	bool over = visit->turns >= AUXPMU_TURNS || visit->empty >= AUXPMU_EMPTY_TURNS;
	enum auxpmu_result result = unlikely(over) ?
				    session_give_up(session, visit) : session_do_arm(session);

	word = session_note(session, word, AUXPMU_DO_ARM, result);
	return result == AUXPMU_OK ? session_check_irq_pending(session, word, visit) : word;
}

static __always_inline enum auxpmu_result session_disarm_and_count(struct auxpmu_session *session,
								   struct visit *visit)
{
	u64 before = session->position;
	enum auxpmu_result result = session_do_disarm(session);

	if (visit->due) {
		visit->due = false;
		visit->turns++;
		visit->empty = session->position == before ? visit->empty + 1 : 0;
	}
	return result;
}

/* As the owner: do what is wanted, until all is as wanted.  Returns the word that says so. */
static int session_settle(struct auxpmu_session *session)
{
	int word = atomic_read(&session->word);
	struct visit visit = {};

	for (;;) {
		switch (auxpmu_state_next(word)) {
		case AUXPMU_DO_NOTHING:
			return word;
		case AUXPMU_DO_BEGIN:
			word = session_note(session, word, AUXPMU_DO_BEGIN,
					    session_do_begin(session));
			break;
		case AUXPMU_DO_ARM:
			word = session_arm_and_look(session, word, &visit);
			break;
		case AUXPMU_DO_DISARM:
			word = session_note(session, word, AUXPMU_DO_DISARM,
					    session_disarm_and_count(session, &visit));
			break;
		case AUXPMU_DO_TURN:
			word = session_note(session, word, AUXPMU_DO_TURN,
					    session_do_turn(session));
			break;
		case AUXPMU_DO_END:
			session_end(session, 0);
			word = session_note(session, word, AUXPMU_DO_END, AUXPMU_OK);
			break;
		case AUXPMU_DO_FORGET:
			word = session_note(session, word, AUXPMU_DO_FORGET, AUXPMU_OK);
			break;
		}
	}
}

void auxpmu_session_give(struct auxpmu_session *session)
{
	int settled;

	do {
		settled = session_settle(session);
	} while (!atomic_try_cmpxchg(&session->word, &settled, settled & ~AUXPMU_BUSY));
}

bool auxpmu_session_take(struct auxpmu_session *session)
{
	return !(atomic_fetch_or(AUXPMU_BUSY, &session->word) & AUXPMU_BUSY);
}

bool auxpmu_session_hold(struct auxpmu_session *session)
{
	int word = atomic_read(&session->word);

	if (word & AUXPMU_ARMED)
		word = session_note(session, word, AUXPMU_DO_DISARM, session_do_disarm(session));
	return word & AUXPMU_OPEN;
}

void auxpmu_session_request(struct auxpmu_session *session, enum auxpmu_request request)
{
	u32 word;

	if (session_request_word(session, request, &word))
		auxpmu_session_give(session);
}

bool auxpmu_session_turn(struct auxpmu_session *session)
{
	u32 word;

	session->stats.interrupts++;
	session_request_word(session, AUXPMU_REQ_TURN, &word);
	session_settle(session);
	return auxpmu_session_armed(session);
}

bool auxpmu_interrupt(struct auxpmu *pmu)
{
	struct auxpmu_session *session;
	bool owner;
	u32 word;

	if (auxpmu_paranoid_refuses(pmu, __func__))
		return false;
	session = this_cpu_ptr(pmu->sessions);
	session->stats.interrupts++;
	owner = session_request_word(session, AUXPMU_REQ_TURN, &word);
	if (!(word & AUXPMU_TURN))
		session->stats.spurious++;
	if (owner)
		auxpmu_session_give(session);
	return word & AUXPMU_TURN;
}
EXPORT_SYMBOL_NS_GPL(auxpmu_interrupt, AUXPMU_NS);

void auxpmu_suspend(struct auxpmu *pmu)
{
	struct auxpmu_session *session = this_cpu_ptr(pmu->sessions);

	/* The flags are the owner's; with IRQs off none but an NMI can have been interrupted. */
	if (!auxpmu_session_armed(session) || !auxpmu_session_take(session))
		return;
	session->suspended = true;
	auxpmu_session_request(session, AUXPMU_REQ_PARK);
	if (auxpmu_session_hold(session))
		session_gap(session);
	auxpmu_session_give(session);
}
EXPORT_SYMBOL_NS_GPL(auxpmu_suspend, AUXPMU_NS);

void auxpmu_resume(struct auxpmu *pmu)
{
	struct auxpmu_session *session = this_cpu_ptr(pmu->sessions);

	if (!session->suspended)
		return;
	session->suspended = false;
	auxpmu_session_request(session, AUXPMU_REQ_START);
}
EXPORT_SYMBOL_NS_GPL(auxpmu_resume, AUXPMU_NS);
