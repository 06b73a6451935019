// SPDX-License-Identifier: GPL-2.0-only
/*
 * The session: one perf AUX transaction after another on one CPU, between start() and stop().
 *
 * Called by pmu.c (start, stop), by the backend's interrupt and by units made of software, always
 * with IRQs off on the unit's CPU, NMI included. state.h decides on the next action; this file
 * performs it through transaction.c and drain.c. Never sleeps, allocates or takes a lock.
 */
#include <linux/atomic.h>
#include <linux/irq_work.h>
#include <linux/preempt.h>

#include "compat.h"
#include "core/complaint.h"
#include "core/drain.h"
#include "core/paranoid.h"
#include "core/session.h"
#include "core/sink.h"
#include "core/transaction.h"
#include "inject/fault.h"

#define CREATE_TRACE_POINTS
#include "core/trace.h"

/* The core may retry at each of its ticks: tell the consumer of the first failure only. */
static void session_arm_failed(struct core_unit *unit, enum auxpmu_complaint what,
			       const char *op, u64 a, u64 b)
{
	struct core_event *aux = core_unit_event(unit);

	unit->stats.arm_failures++;
	if (!aux->arm_failed) {
		unit->flags |= PERF_AUX_FLAG_PARTIAL;
		auxpmu_complain(unit->pub.pmu, what, op, a, b);
	}
	aux->arm_failed = true;
	auxpmu_transaction_end(unit);
}

/* A sink is on before a unit writes, and off after it. */
static int session_switch_on(struct core_unit *unit)
{
	int ret;

	unit->pub.copies = unit->rules_copy;
	ret = auxpmu_sink_arm(unit);
	if (ret)
		return ret;
	ret = unit->pub.pmu->ops->arm(&unit->pub);
	if (ret)
		auxpmu_sink_withdraw(unit);
	return ret;
}

/* Its event has come to share its sink since the transaction began. */
static bool session_rules_are_old(const struct core_unit *unit)
{
	return unit->rules_shared != core_unit_event(unit)->shares;
}

static enum auxpmu_result session_do_arm(struct core_unit *unit)
{
	int ret;

	/* Trace was lost for lack of room: the next handover writes the record that says so. */
	if (unit->flags & PERF_AUX_FLAG_TRUNCATED)
		return AUXPMU_USED_UP;
	/* The handover begins a transaction by other rules. */
	if (session_rules_are_old(unit))
		return AUXPMU_USED_UP;
	if (!auxpmu_transaction_goes_on(unit) && !auxpmu_transaction_window(unit)) {
		if (!unit->fresh)
			return AUXPMU_USED_UP;
		unit->flags |= PERF_AUX_FLAG_TRUNCATED;
		trace_auxpmu_full(unit);
		auxpmu_transaction_end(unit);
		return AUXPMU_NO_SPACE;
	}
	ret = core_fault(unit->pub.pmu, CORE_FAULT_ARM) ? -EIO : session_switch_on(unit);
	trace_auxpmu_arm(unit, ret);
	if (ret) {
		session_arm_failed(unit, AUXPMU_ARM_FAILED, "arm", ret, 0);
		return AUXPMU_FAILED;
	}
	core_unit_event(unit)->arm_failed = false;
	unit->fresh = false;
	unit->pub.starting = false;
	return AUXPMU_OK;
}

static __always_inline enum auxpmu_result session_do_disarm(struct core_unit *unit)
{
	enum auxpmu_result result;

	unit->pub.pmu->ops->disarm(&unit->pub);
	auxpmu_sink_stop(unit);
	result = auxpmu_drain(unit);
	auxpmu_sink_go_on(unit);
	return result;
}

/*
 * The window is used up, or the consumer is waiting.
 *
 * In overwrite mode there is always room: nobody reads before the stop, and a record for every
 * chunk would only flood the data ring.
 */
static enum auxpmu_result session_do_handover(struct core_unit *unit)
{
	if (unit->pub.buffer->overwrite && !session_rules_are_old(unit)) {
		unit->fresh = true;
		return AUXPMU_OK;
	}
	if (unit->flags & PERF_AUX_FLAG_TRUNCATED) {
		auxpmu_transaction_end(unit);
		return AUXPMU_NO_SPACE;
	}
	return auxpmu_transaction_renew(unit);
}

/*
 * Note the result of an action in the word, which an NMI may change meanwhile. @word: as last seen.
 * Returns the new word.
 */
static __always_inline int session_note(struct core_unit *unit, int word,
					enum auxpmu_action action, enum auxpmu_result result)
{
	int done;

	do {
		done = auxpmu_state_done(word, action, result);
	} while (!atomic_try_cmpxchg(&unit->word, &word, done));
	return done;
}

/* Note a request, and become the owner if there is none. @word: the new word. */
static __always_inline bool session_request_word(struct core_unit *unit,
						 enum auxpmu_request request, u32 *word)
{
	int old = atomic_read(&unit->word);

	trace_auxpmu_request(unit, request, old);
	do {
		*word = auxpmu_state_request(old, request) | AUXPMU_BUSY;
	} while (!atomic_try_cmpxchg(&unit->word, &old, *word));
	return !(old & AUXPMU_BUSY);
}

/*
 * Limits for one visit of the owner. A unit whose interrupt is due as soon as it is armed, again
 * and again, would keep this CPU here for ever, with IRQs off or in NMI.
 */
#define AUXPMU_HANDOVERS		64	/* windows used up at once */
#define AUXPMU_EMPTY_HANDOVERS	2	/* of those, in a row and without a byte of trace */

struct visit {
	bool due;		/* the interrupt was due when the unit had just been armed */
	unsigned int handovers;
	unsigned int empty;
};

/* The unit may have passed its interrupt between being armed and now.  Returns the new word. */
static int session_check_irq_pending(struct core_unit *unit, int word, struct visit *visit)
{
	const struct auxpmu_ops *ops = unit->pub.pmu->ops;
	u32 wanted;

	visit->due = ops->irq_pending && ops->irq_pending(&unit->pub);
	if (!visit->due)
		return word;
	local64_inc(&unit->stats.interrupts);
	session_request_word(unit, AUXPMU_REQ_HANDOVER, &wanted);
	return wanted;
}

/* Such a unit does not trace: treat it as if arm() had failed. */
static noinline enum auxpmu_result session_give_up(struct core_unit *unit, struct visit visit)
{
	trace_auxpmu_gap(unit);
	unit->stats.gaps++;
	session_arm_failed(unit, AUXPMU_ALWAYS_DUE, "irq_pending", visit.handovers, visit.empty);
	return AUXPMU_FAILED;
}

static __always_inline int session_arm_and_look(struct core_unit *unit, int word,
						struct visit *visit)
{
	bool over = visit->handovers >= AUXPMU_HANDOVERS || visit->empty >= AUXPMU_EMPTY_HANDOVERS;
	enum auxpmu_result result = unlikely(over) ?
				    session_give_up(unit, *visit) : session_do_arm(unit);

	word = session_note(unit, word, AUXPMU_DO_ARM, result);
	return result == AUXPMU_OK ? session_check_irq_pending(unit, word, visit) : word;
}

static __always_inline enum auxpmu_result session_disarm_and_count(struct core_unit *unit,
								   struct visit *visit)
{
	u64 before = unit->position;
	enum auxpmu_result result = session_do_disarm(unit);

	if (visit->due) {
		visit->due = false;
		visit->handovers++;
		visit->empty = unit->position == before ? visit->empty + 1 : 0;
	}
	return result;
}

/* As the owner: perform actions until all requests are served. Returns the word that says so. */
static int session_settle(struct core_unit *unit)
{
	int word = atomic_read(&unit->word);
	struct visit visit = {};

	for (;;) {
		switch (auxpmu_state_next(word)) {
		case AUXPMU_DO_NOTHING:
			return word;
		case AUXPMU_DO_BEGIN:
			word = session_note(unit, word, AUXPMU_DO_BEGIN,
					    auxpmu_transaction_begin(unit));
			break;
		case AUXPMU_DO_ARM:
			word = session_arm_and_look(unit, word, &visit);
			break;
		case AUXPMU_DO_DISARM:
			word = session_note(unit, word, AUXPMU_DO_DISARM,
					    session_disarm_and_count(unit, &visit));
			break;
		case AUXPMU_DO_HANDOVER:
			word = session_note(unit, word, AUXPMU_DO_HANDOVER,
					    session_do_handover(unit));
			break;
		case AUXPMU_DO_END:
			auxpmu_transaction_end(unit);
			word = session_note(unit, word, AUXPMU_DO_END, AUXPMU_OK);
			break;
		case AUXPMU_DO_RESET:
			word = session_note(unit, word, AUXPMU_DO_RESET, AUXPMU_OK);
			break;
		}
	}
}

/*
 * In an NMI, or in what interrupts the user of a sink, and the backend cannot be called there? Then
 * a request is only noted in the word, for the owner that was interrupted, or for
 * auxpmu_session_serve().
 */
static bool session_must_wait(const struct core_unit *unit)
{
	return unit->pub.pmu->desc->no_nmi && (in_nmi() || __this_cpu_read(auxpmu_sink_held));
}

static __always_inline void session_release(struct core_unit *unit)
{
	int settled;

	do {
		settled = session_settle(unit);
	} while (!atomic_try_cmpxchg(&unit->word, &settled, settled & ~AUXPMU_BUSY));
}

void auxpmu_session_release(struct core_unit *unit)
{
	session_release(unit);
}

bool auxpmu_session_acquire(struct core_unit *unit)
{
	if (session_must_wait(unit))
		return false;
	return !(atomic_fetch_or(AUXPMU_BUSY, &unit->word) & AUXPMU_BUSY);
}

bool auxpmu_session_quiesce(struct core_unit *unit)
{
	int word = atomic_read(&unit->word);

	if (word & AUXPMU_ARMED)
		word = session_note(unit, word, AUXPMU_DO_DISARM, session_do_disarm(unit));
	return word & AUXPMU_OPEN;
}

/* Returns the new word. */
static u32 session_request_later(struct core_unit *unit, enum auxpmu_request request)
{
	int old = atomic_read(&unit->word);
	u32 word;

	trace_auxpmu_request(unit, request, old);
	do {
		word = auxpmu_state_request(old, request);
	} while (!atomic_try_cmpxchg(&unit->word, &old, word));
	irq_work_queue(&unit->serve);
	return word;
}

void auxpmu_session_serve(struct irq_work *work)
{
	struct core_unit *unit = container_of(work, struct core_unit, serve);

	if (auxpmu_session_acquire(unit))
		auxpmu_session_release(unit);
}

void auxpmu_session_request(struct core_unit *unit, enum auxpmu_request request)
{
	u32 word;

	if (session_must_wait(unit))
		session_request_later(unit, request);
	else if (session_request_word(unit, request, &word))
		auxpmu_session_release(unit);
}

bool auxpmu_session_handover(struct core_unit *unit)
{
	u32 word;

	local64_inc(&unit->stats.interrupts);
	session_request_word(unit, AUXPMU_REQ_HANDOVER, &word);
	session_settle(unit);
	return auxpmu_session_armed(unit);
}

bool auxpmu_interrupt(struct auxpmu *pmu)
{
	struct core_unit *unit;
	bool owner = false;
	u32 word;

	if (auxpmu_paranoid_refuses(pmu, __func__))
		return false;
	unit = this_cpu_ptr(pmu->units);
	local64_inc(&unit->stats.interrupts);
	if (session_must_wait(unit))
		word = session_request_later(unit, AUXPMU_REQ_HANDOVER);
	else
		owner = session_request_word(unit, AUXPMU_REQ_HANDOVER, &word);
	if (!(word & AUXPMU_HANDOVER))
		local64_inc(&unit->stats.spurious);
	if (owner)
		session_release(unit);
	return word & AUXPMU_HANDOVER;
}
EXPORT_SYMBOL_NS_GPL(auxpmu_interrupt, AUXPMU_NS);

bool auxpmu_suspend(struct auxpmu *pmu, bool idle)
{
	struct core_unit *unit = this_cpu_ptr(pmu->units);
	bool runs;

	/*
	 * Only the owner may touch the flags. This fails only in an NMI that has interrupted the
	 * owner.
	 */
	if (!auxpmu_session_acquire(unit))
		return false;
	/* Park a paused unit, too: a counter may resume it before the machine is down. */
	runs = auxpmu_session_runs(unit);
	if (runs) {
		bool armed = auxpmu_session_armed(unit);

		unit->suspended = true;
		auxpmu_session_request(unit, AUXPMU_REQ_PARK);
		if (auxpmu_session_quiesce(unit) && armed && !idle)
			auxpmu_transaction_gap(unit);
	}
	auxpmu_session_release(unit);
	return runs;
}
EXPORT_SYMBOL_NS_GPL(auxpmu_suspend, AUXPMU_NS);

void auxpmu_resume(struct auxpmu *pmu)
{
	struct core_unit *unit = this_cpu_ptr(pmu->units);

	if (!unit->suspended)
		return;
	unit->suspended = false;
	auxpmu_session_request(unit, AUXPMU_REQ_START);
}
EXPORT_SYMBOL_NS_GPL(auxpmu_resume, AUXPMU_NS);
