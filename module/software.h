/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * auxpmu: what a backend reads whose unit is made of software: a simulator, a model of hardware to
 * come, a synthetic source. The synthetic PMU is one.
 *
 * Such a unit writes its trace itself, and must not be interrupted in that by whoever wants it
 * disarmed. So it acquires the unit, writes while it is armed, hands the window over when that is
 * used up, and releases the unit:
 *
 *	if (!auxpmu_unit_acquire(unit))
 *		return;
 *	while (there is something to write && auxpmu_unit_armed(unit)) {
 *		write, but not beyond unit->window.irq;
 *		if (window.irq is reached)
 *			auxpmu_unit_handover(unit);
 *	}
 *	auxpmu_unit_release(unit);
 *
 * All of it on the unit's CPU, IRQs off or in NMI; from the first to the last call without leaving
 * that context.
 */
#ifndef AUXPMU_SOFTWARE_H
#define AUXPMU_SOFTWARE_H

#include <linux/atomic.h>

#include "auxpmu.h"

struct dentry;

/* The unit of @cpu, a possible one.  Any context. */
struct auxpmu_unit *auxpmu_unit_of(const struct auxpmu *pmu, int cpu);

/**
 * auxpmu_unit_acquire() - become the owner of the unit's session
 * @unit: the unit of this CPU
 *
 * Until it is released, arm, disarm and position are called by the owner only: from within
 * auxpmu_unit_handover() and auxpmu_unit_release().
 *
 * Return: false when this interrupted the owner: nothing may be written.
 */
bool auxpmu_unit_acquire(struct auxpmu_unit *unit);

/* May the unit write?  For its owner: until the next handover.  For others: it may have changed. */
bool auxpmu_unit_armed(const struct auxpmu_unit *unit);

/**
 * auxpmu_unit_handover() - the unit has reached window.irq
 * @unit: owned by the caller
 *
 * What auxpmu_interrupt() is to hardware: hands over what was written, and takes the next window.
 *
 * Return: true when the unit is armed again.
 */
bool auxpmu_unit_handover(struct auxpmu_unit *unit);

/**
 * auxpmu_unit_release() - let others have the session
 * @unit: owned by the caller
 *
 * Serves what was wanted meanwhile.
 */
void auxpmu_unit_release(struct auxpmu_unit *unit);

/*
 * Faults on request: each branch that handles a failure can be made to be taken, by debugfs
 * PMU/faults/NAME: how many times more.
 */

/* Shall the fault that is counted in @left happen now?  Any context. */
bool auxpmu_fault(atomic_t *left);

/*
 * Show @nr counters at @left, which live as long as @pmu, as faults/@names, static storage.  May
 * sleep.
 */
void auxpmu_faults_add(struct auxpmu *pmu, const char *const *names, atomic_t *left,
		       unsigned int nr);

/* debugfs folder of @pmu, as long as that is registered. */
struct dentry *auxpmu_debugfs_of(const struct auxpmu *pmu);

/**
 * auxpmu_step_attach() - have a function called at a step of all sessions
 * @pmu: whose
 * @step: request, begin, arm, disarm, end, full or sample: the trace event auxpmu:auxpmu_STEP
 * @fn: called in the middle of it, in the context that the step has, NMI included
 *
 * For tests that want something to happen right there.  May sleep.  One function for one PMU at a
 * time, at any number of steps.
 *
 * Return: 0, also when it is attached already; -EINVAL: no such step; -EBUSY: another function is
 * attached, or for another PMU; -EOPNOTSUPP: the kernel has no tracepoints.
 */
int auxpmu_step_attach(struct auxpmu *pmu, const char *step,
		       void (*fn)(const struct auxpmu_unit *unit));

/* Not called any more, at any step: waits for calls that are at work.  May sleep. */
void auxpmu_steps_detach(void);

/* Module parameter synth: is auxpmu_synth to be there? */
bool auxpmu_synth_wanted(void);

#endif /* AUXPMU_SOFTWARE_H */
