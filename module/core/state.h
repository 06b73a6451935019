/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The state of a session, in one word.
 *
 * A request (start, stop, interrupt, pause) sets bits of the word, in any context, NMI included. A
 * requester that finds BUSY clear sets it in the same cmpxchg and becomes the owner: it asks
 * auxpmu_state_next() for an action, performs it and reports the result to auxpmu_state_done(),
 * until no action is left. It then clears BUSY by cmpxchg, which fails if another request came in
 * meanwhile. A requester that finds BUSY set has interrupted the owner on this CPU and returns: the
 * owner serves its request. So no action interrupts another, nothing spins, and no request is lost.
 *
 * Pure C, compiled unchanged into the host's unit tests, which enumerate every interleaving.
 * session.c does the atomics and performs the actions.
 */
#ifndef AUXPMU_STATE_H
#define AUXPMU_STATE_H

#include <linux/types.h>

/* Status bits. The session has an owner. */
#define AUXPMU_BUSY		0x01u
/* A perf AUX transaction is open: between begin and end. */
#define AUXPMU_OPEN		0x02u
/* The hardware may write; implies OPEN. */
#define AUXPMU_ARMED		0x04u
/* The transaction ended for lack of space; only a stop clears this. */
#define AUXPMU_FULL		0x08u

/* Request bits. start(): trace until stop(UPDATE) or del(). */
#define AUXPMU_RUN		0x10u
/* stop(0): keep the unit off and the transaction open until start(). */
#define AUXPMU_STOPPED		0x20u
/* aux_pause: the same until aux_resume. */
#define AUXPMU_PAUSED		0x40u
/* The unit interrupted, or its window is used up: commit, and take a new window. */
#define AUXPMU_HANDOVER		0x80u

/*
 * Names of the phases: idle is neither OPEN nor FULL; armed is ARMED; parked is OPEN and RUN, but
 * not ARMED; full is FULL and RUN; closing is OPEN or FULL, but not RUN.
 */

/* Requests, and the bits that each sets or clears. */
enum auxpmu_request {
	AUXPMU_REQ_START,	/* start(): RUN, not STOPPED */
	AUXPMU_REQ_PARK,	/* stop(0): STOPPED, if RUN */
	AUXPMU_REQ_CLOSE,	/* stop(UPDATE), del(): not RUN, not STOPPED, not HANDOVER */
	/*
	 * Interrupt: HANDOVER, if ARMED, or if OPEN and BUSY (the owner may be arming); otherwise
	 * it is spurious and changes nothing.
	 */
	AUXPMU_REQ_HANDOVER,
	AUXPMU_REQ_PAUSE,	/* PAUSED */
	AUXPMU_REQ_RESUME,	/* not PAUSED */
	AUXPMU_NR_REQUESTS
};

/* The word with @request noted; BUSY stays as it is. */
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
		 * The unit may interrupt before the owner has noted ARMED: the word then says OPEN
		 * and BUSY only.
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
	AUXPMU_DO_NOTHING,	/* every request is served: clear BUSY */
	AUXPMU_DO_BEGIN,	/* open a transaction */
	AUXPMU_DO_ARM,		/* take a window of it and switch the unit on */
	AUXPMU_DO_DISARM,	/* switch the unit off and read its position */
	AUXPMU_DO_HANDOVER,	/* end the transaction and begin the next */
	AUXPMU_DO_END,		/* end the transaction */
	AUXPMU_DO_RESET,	/* stopped while full: clear FULL */
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
	 * Commit a used-up window even while parked: the consumer must not wait for its data until
	 * the unit is armed again.
	 */
	if (word & AUXPMU_HANDOVER)
		return AUXPMU_DO_HANDOVER;
	return auxpmu_state_inhibited(word) ? AUXPMU_DO_NOTHING : AUXPMU_DO_ARM;
}

/* How the action went. */
enum auxpmu_result {
	AUXPMU_OK,
	AUXPMU_NO_SPACE,	/* any but END: the buffer is full, the transaction has ended */
	/*
	 * ARM: the window is used up, there may be another: HANDOVER. DISARM: the interrupt is due,
	 * but may not have been delivered: HANDOVER, if the unit stays off.
	 */
	AUXPMU_USED_UP,
	AUXPMU_FAILED,		/* any but END: an error, the transaction has ended */
};

/*
 * The word after an action could not go on and has ended the transaction. A stop noted meanwhile
 * stays pending.
 */
static inline u32 auxpmu_state_ended(u32 word, enum auxpmu_result result)
{
	word &= ~(AUXPMU_OPEN | AUXPMU_ARMED | AUXPMU_HANDOVER);
	if (result == AUXPMU_NO_SPACE)
		return word | AUXPMU_FULL;
	return word & ~(AUXPMU_RUN | AUXPMU_STOPPED);
}

/*
 * The word after @action ended with @result. Requests noted meanwhile stay, except a start: FAILED
 * answers that, too.
 */
static inline u32 auxpmu_state_done(u32 word, enum auxpmu_action action, enum auxpmu_result result)
{
	if (action == AUXPMU_DO_ARM && result == AUXPMU_USED_UP)
		return word | AUXPMU_HANDOVER;
	if (action == AUXPMU_DO_DISARM && result == AUXPMU_USED_UP) {
		word &= ~AUXPMU_ARMED;
		/* Arming again finds the window used up; a parked unit needs the request. */
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
