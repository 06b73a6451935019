/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The state of a session, in one word.
 *
 * Whoever wants something of a session (start, stop, interrupt, pause) says so by setting bits of
 * the word, in any context, NMI included. Who finds BUSY clear sets it in the same cmpxchg and
 * becomes the owner: it asks auxpmu_state_next() what to do, does it, and tells auxpmu_state_done()
 * how it went, until nothing is left to do; then it clears BUSY, by cmpxchg, so that a wish that
 * came in meanwhile is seen. Who finds BUSY set has interrupted the owner on this CPU, and returns:
 * the owner does it. So an action is never interrupted by another, nothing spins, and a wish is
 * never lost.
 *
 * Pure C, compiled unchanged into the host's unit tests, which enumerate every interleaving;
 * session.c does the atomics, and has the actions done.
 */
#ifndef AUXPMU_STATE_H
#define AUXPMU_STATE_H

#include <linux/types.h>

/* What is: somebody owns the session. */
#define AUXPMU_BUSY		0x01u
/* A perf AUX transaction is open: between begin and end. */
#define AUXPMU_OPEN		0x02u
/* The hardware may write; implies OPEN. */
#define AUXPMU_ARMED		0x04u
/* Ended for lack of space; only a stop leads out. */
#define AUXPMU_FULL		0x08u

/* What is wanted: start(): trace; until stop(UPDATE) or del(). */
#define AUXPMU_RUN		0x10u
/* stop(0): do not write, but keep the transaction; until start(). */
#define AUXPMU_STOPPED		0x20u
/* aux_pause: the same; until aux_resume. */
#define AUXPMU_PAUSED		0x40u
/* Hand over what there is and take a new window: an interrupt, or the window is used up. */
#define AUXPMU_HANDOVER		0x80u

/*
 * The phases that people speak of: idle is neither OPEN nor FULL; armed is ARMED; parked is OPEN
 * and RUN, but not ARMED; full is FULL and RUN; closing is OPEN or FULL, but not RUN.
 */

/* What somebody may want. */
enum auxpmu_request {
	AUXPMU_REQ_START,	/* start(): RUN, not STOPPED */
	AUXPMU_REQ_PARK,	/* stop(0): STOPPED, if RUN */
	AUXPMU_REQ_CLOSE,	/* stop(UPDATE), del(): not RUN, not STOPPED, not HANDOVER */
	/*
	 * Interrupt: HANDOVER, if ARMED, or if OPEN and BUSY, for the owner may just be arming;
	 * else it is spurious and changes nothing.
	 */
	AUXPMU_REQ_HANDOVER,
	AUXPMU_REQ_PAUSE,	/* PAUSED */
	AUXPMU_REQ_RESUME,	/* not PAUSED */
	AUXPMU_NR_REQUESTS
};

/* The word after @request has been noted; BUSY is left alone. */
static inline u32 auxpmu_state_request(u32 word, enum auxpmu_request request)
{
	switch (request) {
	case AUXPMU_REQ_START:
		return (word | AUXPMU_RUN) & ~AUXPMU_STOPPED;
	case AUXPMU_REQ_PARK:
		return word & AUXPMU_RUN ? word | AUXPMU_STOPPED : word;
	case AUXPMU_REQ_CLOSE:
		return word & ~(AUXPMU_RUN | AUXPMU_STOPPED | AUXPMU_HANDOVER);
	case AUXPMU_REQ_HANDOVER:
		/*
		 * Between the hardware coming on and the owner noting ARMED, an interrupt finds
		 * OPEN and BUSY only.
		 */
		if ((word & AUXPMU_ARMED) || ((word & AUXPMU_OPEN) && (word & AUXPMU_BUSY)))
			return word | AUXPMU_HANDOVER;
		return word;
	case AUXPMU_REQ_PAUSE:
		return word | AUXPMU_PAUSED;
	case AUXPMU_REQ_RESUME:
		return word & ~AUXPMU_PAUSED;
	default:
		return word;
	}
}

/* What the owner has to do next. */
enum auxpmu_action {
	AUXPMU_DO_NOTHING,	/* the word is as wanted: clear BUSY */
	AUXPMU_DO_BEGIN,	/* open a transaction */
	AUXPMU_DO_ARM,		/* take a window of it and switch the hardware on */
	AUXPMU_DO_DISARM,	/* switch the hardware off and learn how far it got */
	AUXPMU_DO_HANDOVER,	/* end the transaction and begin the next */
	AUXPMU_DO_END,		/* end the transaction */
	AUXPMU_DO_RESET,	/* was full, is no longer wanted: leave FULL */
};

static inline bool auxpmu_state_inhibited(u32 word)
{
	return word & (AUXPMU_STOPPED | AUXPMU_PAUSED);
}

static inline enum auxpmu_action auxpmu_state_next(u32 word)
{
	bool run = word & AUXPMU_RUN;

	if (word & AUXPMU_ARMED)
		return run && !auxpmu_state_inhibited(word) && !(word & AUXPMU_HANDOVER) ?
		       AUXPMU_DO_NOTHING : AUXPMU_DO_DISARM;
	if (!run) {
		if (word & AUXPMU_OPEN)
			return AUXPMU_DO_END;
		return word & AUXPMU_FULL ? AUXPMU_DO_RESET : AUXPMU_DO_NOTHING;
	}
	if (word & AUXPMU_FULL)
		return AUXPMU_DO_NOTHING;
	if (!(word & AUXPMU_OPEN))
		return AUXPMU_DO_BEGIN;
	/*
	 * A used-up window is turned over even while parked: the consumer shall not wait for its
	 * data until the unit resumes.
	 */
	if (word & AUXPMU_HANDOVER)
		return AUXPMU_DO_HANDOVER;
	return auxpmu_state_inhibited(word) ? AUXPMU_DO_NOTHING : AUXPMU_DO_ARM;
}

/* How the action went. */
enum auxpmu_result {
	AUXPMU_OK,
	AUXPMU_NO_SPACE,	/* any but END: the buffer is full; the transaction is ended */
	/*
	 * ARM: the window is used up, another may be had: HANDOVER.  DISARM: the interrupt is due,
	 * and may not have been heard: HANDOVER, if the unit stays off.
	 */
	AUXPMU_USED_UP,
	AUXPMU_FAILED,		/* any but END: not to be had; the transaction is ended */
};

/*
 * Where a transaction that could not go on leaves the session; a stop that came in meanwhile is
 * still to be served.
 */
static inline u32 auxpmu_state_ended(u32 word, enum auxpmu_result result)
{
	word &= ~(AUXPMU_OPEN | AUXPMU_ARMED | AUXPMU_HANDOVER);
	if (result == AUXPMU_NO_SPACE)
		return word | AUXPMU_FULL;
	return word & ~(AUXPMU_RUN | AUXPMU_STOPPED);
}

/*
 * The word after @action ended with @result; wishes noted meanwhile are kept, but for a start:
 * FAILED is the answer to that, too.
 */
static inline u32 auxpmu_state_done(u32 word, enum auxpmu_action action, enum auxpmu_result result)
{
	if (action == AUXPMU_DO_ARM && result == AUXPMU_USED_UP)
		return word | AUXPMU_HANDOVER;
	if (action == AUXPMU_DO_DISARM && result == AUXPMU_USED_UP) {
		word &= ~AUXPMU_ARMED;
		/* What is armed again will see; what is parked would not be heard. */
		return auxpmu_state_inhibited(word) ? word | AUXPMU_HANDOVER : word;
	}
	if (result != AUXPMU_OK)
		return auxpmu_state_ended(word, result);

	switch (action) {
	case AUXPMU_DO_BEGIN:
		return word | AUXPMU_OPEN;
	case AUXPMU_DO_ARM:
		return word | AUXPMU_ARMED;
	case AUXPMU_DO_DISARM:
		return word & ~AUXPMU_ARMED;
	case AUXPMU_DO_HANDOVER:
		return word & ~AUXPMU_HANDOVER;
	case AUXPMU_DO_END:
		return word & ~(AUXPMU_OPEN | AUXPMU_HANDOVER);
	case AUXPMU_DO_RESET:
		return word & ~AUXPMU_FULL;
	default:
		return word;
	}
}

#endif /* AUXPMU_STATE_H */
