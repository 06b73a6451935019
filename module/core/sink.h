/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Sinks: memory that the units of several CPUs write into. Shared by the framework's own files
 * only; auxpmu.h has what a backend sees.
 *
 * Except for auxpmu_sink_note_sharer(), call all of it on the unit's CPU, IRQs off, as the owner of
 * the session, not in NMI; for a unit without a sink it does nothing.
 */
#ifndef AUXPMU_SINK_H
#define AUXPMU_SINK_H

#include "internal.h"

/*
 * This CPU holds a sink's lock. A sample, pause or resume that interrupts it, by a tracepoint or a
 * probe, is treated as one in NMI: if it took another sink's lock, two CPUs could wait for each
 * other.
 */
DECLARE_PER_CPU(bool, auxpmu_sink_held);

/* Armed, or disarmed right now: is the unit's trace in a sink's memory, to be copied? */
static inline bool auxpmu_sink_collects(const struct core_unit *unit)
{
	return unit->pub.copies && core_unit_event(unit)->pub.needs.sink;
}

/* In event_init: note whose event this is, for auxpmu_sink_attach(). May sleep. */
void auxpmu_sink_note_sharer(struct perf_event *event);
void auxpmu_sink_forget_sharer(struct core_event *aux);

/*
 * In add: the unit's event wants to write into its sink. 0, or -EBUSY (counted) if the sink is used
 * by events whose trace must not get into this event's area.
 */
int auxpmu_sink_attach(struct core_unit *unit);
void auxpmu_sink_detach(struct core_unit *unit);

/* Of a unit whose trace the sink's memory has. */
int auxpmu_sink_switch_on(struct core_unit *unit);
void auxpmu_sink_hold(struct core_unit *unit);
void auxpmu_sink_let_go(struct core_unit *unit);

/* The unit is about to be armed: switch the sink on unless it is. 0, or the backend's errno. */
static inline int auxpmu_sink_arm(struct core_unit *unit)
{
	return auxpmu_sink_collects(unit) ? auxpmu_sink_switch_on(unit) : 0;
}

/* The unit could not be armed after that. */
void auxpmu_sink_withdraw(struct core_unit *unit);

/*
 * The unit, armed, says that its sink interrupts: does it have to hand over? If it is up to another
 * one, that is told.
 */
bool auxpmu_sink_hands_over(struct core_unit *unit);

/* The unit is to be disarmed for a sample: it collects, whoever else does. */
void auxpmu_sink_sampled(struct core_unit *unit);

/*
 * The unit is disarmed: keep everybody else from the sink until it is through. If it is the one
 * that collects, stop the sink if need be, until the trace of all units has been copied; then it
 * goes on, for the other units. Else there is nothing to copy.
 */
static inline void auxpmu_sink_stop(struct core_unit *unit)
{
	if (auxpmu_sink_collects(unit))
		auxpmu_sink_hold(unit);
}

static inline void auxpmu_sink_go_on(struct core_unit *unit)
{
	if (auxpmu_sink_collects(unit))
		auxpmu_sink_let_go(unit);
}

/*
 * Between the two: as the operations of a unit with memory of its own. The position's bytes are not
 * checked; returns how many the sink's memory has.
 */
u64 auxpmu_sink_position(struct core_unit *unit, struct auxpmu_position *position);
unsigned int auxpmu_sink_spans(const struct core_unit *unit, struct auxpmu_span spans[2]);

/* A unit is new, and will be freed. */
void auxpmu_sink_unit_init(struct core_unit *unit);
void auxpmu_sink_unit_exit(struct core_unit *unit);

#endif /* AUXPMU_SINK_H */
