/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The session: what the rest of the framework may ask of it. IRQs off on the unit's CPU, or NMI
 * there.
 */
#ifndef AUXPMU_SESSION_H
#define AUXPMU_SESSION_H

#include "core/state.h"
#include "internal.h"

/* Note a wish and, unless this interrupted the session's owner (who then does it), serve it. */
void auxpmu_session_request(struct core_unit *unit, enum auxpmu_request request);

/* Become the owner.  False when this interrupted the owner. */
bool auxpmu_session_acquire(struct core_unit *unit);

/* As the owner: the unit has reached window.irq.  True when it is armed again. */
bool auxpmu_session_handover(struct core_unit *unit);

/*
 * As the owner: switch the unit off until the session is released, so that unit->position is where
 * it got.  False when no transaction is open, and so no buffer is there.
 */
bool auxpmu_session_quiesce(struct core_unit *unit);

/* Not its owner any more, having served what was wanted meanwhile. */
void auxpmu_session_release(struct core_unit *unit);

static inline bool auxpmu_session_armed(const struct core_unit *unit)
{
	return atomic_read(&unit->word) & AUXPMU_ARMED;
}

/* Started, and not stopped: what keeps it from tracing are pauses, or a full buffer. */
static inline bool auxpmu_session_runs(const struct core_unit *unit)
{
	return (atomic_read(&unit->word) & (AUXPMU_RUN | AUXPMU_STOPPED)) == AUXPMU_RUN;
}

/* Does a transaction stand open, or did it end for lack of space?  Else a start has failed. */
static inline bool auxpmu_session_started(const struct core_unit *unit)
{
	return atomic_read(&unit->word) & (AUXPMU_OPEN | AUXPMU_FULL);
}

#endif /* AUXPMU_SESSION_H */
