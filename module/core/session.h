/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The session, for the rest of the framework. Call all of it on the unit's CPU, IRQs off or in NMI.
 */
#ifndef AUXPMU_SESSION_H
#define AUXPMU_SESSION_H

#include "core/state.h"
#include "internal.h"

/*
 * Note a request and serve it, unless this interrupted the session's owner, which then serves it.
 */
void auxpmu_session_request(struct core_unit *unit, enum auxpmu_request request);

/* Serve what was requested in an NMI in which the backend could not be called. In an interrupt. */
void auxpmu_session_serve(struct irq_work *work);

/*
 * Become the owner. False if this interrupted the owner, or the backend cannot be called in this
 * NMI.
 */
bool auxpmu_session_acquire(struct core_unit *unit);

/* As the owner: the unit has reached window.irq. True if it is armed again. */
bool auxpmu_session_handover(struct core_unit *unit);

/*
 * As the owner: switch the unit off until the session is released, and bring unit->position up to
 * date. False if no transaction is open: there is no buffer then.
 */
bool auxpmu_session_quiesce(struct core_unit *unit);

/* Serve the requests that came in meanwhile, and stop being the owner. */
void auxpmu_session_release(struct core_unit *unit);

static inline bool auxpmu_session_armed(const struct core_unit *unit)
{
	return atomic_read(&unit->word) & AUXPMU_ARMED;
}

/* Started, and not stopped: only a pause or a full buffer can keep it from tracing. */
static inline bool auxpmu_session_runs(const struct core_unit *unit)
{
	return (atomic_read(&unit->word) & (AUXPMU_RUN | AUXPMU_STOPPED)) == AUXPMU_RUN;
}

/* Is a transaction open, or did it end for lack of space? Right after a start: did it succeed? */
static inline bool auxpmu_session_started(const struct core_unit *unit)
{
	return atomic_read(&unit->word) & (AUXPMU_OPEN | AUXPMU_FULL);
}

#endif /* AUXPMU_SESSION_H */
