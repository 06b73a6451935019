/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The session: what the rest of the framework may ask of it. IRQs off on the session's CPU, or NMI
 * there.
 */
#ifndef AUXPMU_SESSION_H
#define AUXPMU_SESSION_H

#include "auxpmu.h"
#include "core/state.h"

/* Note a wish and, unless this interrupted the session's owner (who then does it), serve it. */
void auxpmu_session_request(struct auxpmu_session *session, enum auxpmu_request request);

/*
 * A unit made of software writes its trace itself, and must not be interrupted in that by whoever
 * wants it disarmed: it takes the session, writes while armed, turns the window over when it is
 * used up, and gives the session back.
 */

/* Become the owner.  False when this interrupted the owner. */
bool auxpmu_session_take(struct auxpmu_session *session);

/* As the owner: the unit has reached window.irq.  True when it is armed again. */
bool auxpmu_session_turn(struct auxpmu_session *session);

/*
 * As the owner: switch the unit off until the session is given back, so that session->position is
 * where it got.  False when no transaction is open, and so no buffer is there.
 */
bool auxpmu_session_hold(struct auxpmu_session *session);

/* Give it back, having served what was wanted meanwhile. */
void auxpmu_session_give(struct auxpmu_session *session);

static inline bool auxpmu_session_armed(const struct auxpmu_session *session)
{
	return atomic_read(&session->word) & AUXPMU_ARMED;
}

/* Does a transaction stand open, or did it end for lack of space?  Else a start has failed. */
static inline bool auxpmu_session_started(const struct auxpmu_session *session)
{
	return atomic_read(&session->word) & (AUXPMU_OPEN | AUXPMU_FULL);
}

#endif /* AUXPMU_SESSION_H */
