// SPDX-License-Identifier: GPL-2.0-only
/*
 * The session's state word: see state.h.  Pure C: a part of session.c, and compiled alone for the
 * host's unit tests.
 */
#include <linux/types.h>

#include "state.h"

static bool inhibited(u32 word)
{
	return word & (AUXPMU_STOPPED | AUXPMU_PAUSED);
}

inline u32 auxpmu_state_request(u32 word, enum auxpmu_request request)
{
	switch (request) {
	case AUXPMU_REQ_START:
		return (word | AUXPMU_RUN) & ~AUXPMU_STOPPED;
	case AUXPMU_REQ_PARK:
		return word & AUXPMU_RUN ? word | AUXPMU_STOPPED : word;
	case AUXPMU_REQ_CLOSE:
		return word & ~(AUXPMU_RUN | AUXPMU_STOPPED | AUXPMU_TURN);
	case AUXPMU_REQ_TURN:
		/*
		 * Between the hardware coming on and the owner noting ARMED, an interrupt finds
		 * OPEN and BUSY only.
		 */
		if ((word & AUXPMU_ARMED) || ((word & AUXPMU_OPEN) && (word & AUXPMU_BUSY)))
			return word | AUXPMU_TURN;
		return word;
	case AUXPMU_REQ_PAUSE:
		return word | AUXPMU_PAUSED;
	case AUXPMU_REQ_RESUME:
		return word & ~AUXPMU_PAUSED;
	default:
		return word;
	}
}

inline enum auxpmu_action auxpmu_state_next(u32 word)
{
	bool run = word & AUXPMU_RUN;

	if (word & AUXPMU_ARMED)
		return run && !inhibited(word) && !(word & AUXPMU_TURN) ?
		       AUXPMU_DO_NOTHING : AUXPMU_DO_DISARM;
	if (!run) {
		if (word & AUXPMU_OPEN)
			return AUXPMU_DO_END;
		return word & AUXPMU_FULL ? AUXPMU_DO_FORGET : AUXPMU_DO_NOTHING;
	}
	if (word & AUXPMU_FULL)
		return AUXPMU_DO_NOTHING;
	if (!(word & AUXPMU_OPEN))
		return AUXPMU_DO_BEGIN;
	/*
	 * A used-up window is turned over even while parked: the consumer shall not wait for its
	 * data until the unit resumes.
	 */
	if (word & AUXPMU_TURN)
		return AUXPMU_DO_TURN;
	return inhibited(word) ? AUXPMU_DO_NOTHING : AUXPMU_DO_ARM;
}

/*
 * Where a transaction that could not go on leaves the session; a stop that came in meanwhile is
 * still to be served.
 */
static u32 ended(u32 word, enum auxpmu_result result)
{
	word &= ~(AUXPMU_OPEN | AUXPMU_ARMED | AUXPMU_TURN);
	if (result == AUXPMU_NO_SPACE)
		return word | AUXPMU_FULL;
	return word & ~(AUXPMU_RUN | AUXPMU_STOPPED);
}

inline u32 auxpmu_state_done(u32 word, enum auxpmu_action action, enum auxpmu_result result)
{
	if (action == AUXPMU_DO_ARM && result == AUXPMU_USED_UP)
		return word | AUXPMU_TURN;
	if (action == AUXPMU_DO_DISARM && result == AUXPMU_USED_UP) {
		word &= ~AUXPMU_ARMED;
		/* What is armed again will see; what is parked would not be heard. */
		return inhibited(word) ? word | AUXPMU_TURN : word;
	}
	if (result != AUXPMU_OK)
		return ended(word, result);

	switch (action) {
	case AUXPMU_DO_BEGIN:
		return word | AUXPMU_OPEN;
	case AUXPMU_DO_ARM:
		return word | AUXPMU_ARMED;
	case AUXPMU_DO_DISARM:
		return word & ~AUXPMU_ARMED;
	case AUXPMU_DO_TURN:
		return word & ~AUXPMU_TURN;
	case AUXPMU_DO_END:
		return word & ~(AUXPMU_OPEN | AUXPMU_TURN);
	case AUXPMU_DO_FORGET:
		return word & ~AUXPMU_FULL;
	default:
		return word;
	}
}
