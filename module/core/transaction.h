/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The transaction and its windows, for the owner of a session: IRQs off on the unit's CPU, NMI
 * included.  Shared by the framework's own files only.
 */
#ifndef AUXPMU_TRANSACTION_H
#define AUXPMU_TRANSACTION_H

#include "core/state.h"
#include "internal.h"

/* Bytes written but not committed. */
static inline u64 auxpmu_transaction_uncommitted(const struct core_unit *unit)
{
	return unit->position - unit->head;
}

/* Open a transaction; the unit begins anew. */
enum auxpmu_result auxpmu_transaction_begin(struct core_unit *unit);

/*
 * Commit everything and close the transaction; with &auxpmu_desc.lap_records it may become two.
 */
void auxpmu_transaction_end(struct core_unit *unit);

/* Close the transaction and open the next; AUXPMU_NO_SPACE or AUXPMU_FAILED if that fails. */
enum auxpmu_result auxpmu_transaction_renew(struct core_unit *unit);

/* Position up to which the core has room for trace. */
static inline u64 auxpmu_transaction_limit(const struct core_unit *unit)
{
	return unit->head + unit->handle.size;
}

/*
 * Can the unit go on in its present window? It was stopped inside of it: for a sample, or until its
 * task came back to this CPU.
 */
static inline bool auxpmu_transaction_goes_on(struct core_unit *unit)
{
	if (!unit->pub.buffer->overwrite && (unit->window_limit != auxpmu_transaction_limit(unit) ||
					     unit->window_wakeup != unit->handle.wakeup))
		return false;
	return unit->position >= unit->pub.window.from &&
	       auxpmu_window_rest(&unit->pub.rules, &unit->pub.window, unit->position);
}

/* Take the next window, and pad up to it.  False when there is no room. */
bool auxpmu_transaction_window(struct core_unit *unit);

/* Pad the bytes up to @to, which the unit steps over. */
void auxpmu_transaction_pad(struct core_unit *unit, u64 to);

/* The trace now reaches up to @to. */
void auxpmu_transaction_advance(struct core_unit *unit, u64 to);

/* The unit dropped @lost bytes of trace. */
void auxpmu_transaction_lost(struct core_unit *unit, u64 lost);

/* Trace is missing here, and nobody knows how much. */
void auxpmu_transaction_gap(struct core_unit *unit);

#endif /* AUXPMU_TRANSACTION_H */
