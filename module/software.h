/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * auxpmu: the interface for backends whose unit is made of software: a simulator, a model of future
 * hardware, a synthetic source such as the synthetic PMU.
 *
 * Such a backend writes the trace itself, and a request to disarm must not come in the middle of
 * it. So it acquires the unit, writes while the unit is armed, hands over when the window is used
 * up, and releases the unit:
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
 * All of it runs on the unit's CPU, with IRQs off or in NMI, and never leaves that context in
 * between.
 */
#ifndef AUXPMU_SOFTWARE_H
#define AUXPMU_SOFTWARE_H

#include <linux/atomic.h>

#include "auxpmu.h"

struct dentry;

/* The unit of @cpu, which must be possible. Any context. */
struct auxpmu_unit *auxpmu_unit_of(const struct auxpmu *pmu, int cpu);

/**
 * auxpmu_unit_acquire() - become the owner of the unit's session
 * @unit: the unit of this CPU
 *
 * Until the owner releases it, arm, disarm and position are called only from within the owner's
 * auxpmu_unit_handover() and auxpmu_unit_release().
 *
 * Return: false if the caller has interrupted the owner: it may not write.
 */
bool auxpmu_unit_acquire(struct auxpmu_unit *unit);

/*
 * May the unit write? The owner may rely on it until the next handover; for others it may have
 * changed already.
 */
bool auxpmu_unit_armed(const struct auxpmu_unit *unit);

/**
 * auxpmu_unit_handover() - the unit has reached window.irq
 * @unit: owned by the caller
 *
 * The counterpart of auxpmu_interrupt(): commits what was written, and takes the next window.
 *
 * Return: true if the unit is armed again.
 */
bool auxpmu_unit_handover(struct auxpmu_unit *unit);

/**
 * auxpmu_unit_release() - stop being the owner of the unit's session
 * @unit: owned by the caller
 *
 * Serves the requests that came in meanwhile.
 */
void auxpmu_unit_release(struct auxpmu_unit *unit);

/*
 * Faults on request: debugfs PMU/faults/NAME says how many more times a failure is to happen, so
 * that tests reach every branch that handles one.
 */

/* Shall the fault happen now whose remaining count is @left? Any context. */
bool auxpmu_fault(atomic_t *left);

/*
 * Show @nr counts at @left, which live as long as @pmu, as faults/@names (static storage). May
 * sleep.
 */
void auxpmu_faults_add(struct auxpmu *pmu, const char *const *names, atomic_t *left,
		       unsigned int nr);

/* The debugfs folder of @pmu, valid while @pmu is registered. */
struct dentry *auxpmu_debugfs_of(const struct auxpmu *pmu);

/**
 * auxpmu_step_attach() - have a function called at a step of a PMU's sessions
 * @pmu: the PMU
 * @step: request, begin, arm, disarm, end, full or sample: the trace event auxpmu:auxpmu_STEP
 * @fn: called within the step, in its context, NMI included
 *
 * For tests that need something to happen right there. May sleep. One function for one PMU at a
 * time, at any number of steps.
 *
 * Return: 0, also when it is attached already; -EINVAL: no such step; -EBUSY: another function is
 * attached, or for another PMU; -EOPNOTSUPP: the kernel has no tracepoints.
 */
int auxpmu_step_attach(struct auxpmu *pmu, const char *step,
		       void (*fn)(const struct auxpmu_unit *unit));

/* Detach the function from all steps, and wait for calls that are running. May sleep. */
void auxpmu_steps_detach(void);

/* Module parameter synth: may auxpmu_synth be loaded? */
bool auxpmu_synth_wanted(void);

#endif /* AUXPMU_SOFTWARE_H */
