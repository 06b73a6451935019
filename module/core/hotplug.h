/* SPDX-License-Identifier: GPL-2.0-only */
/* CPUs that go and come back: registers of their trace units need not survive it. */
#ifndef AUXPMU_HOTPLUG_H
#define AUXPMU_HOTPLUG_H

struct core_unit;

/* May sleep: module_init, module_exit.  0, or an errno. */
int auxpmu_hotplug_init(void);
void auxpmu_hotplug_exit(void);

/* The unit is new, and so is all that its backend believes. */
void auxpmu_hotplug_note(struct core_unit *unit);

/*
 * Before the first event after its CPU came back: have the backend believe nothing of what it knows
 * of the unit.  On its CPU, IRQs off, disarmed.
 */
void auxpmu_hotplug_look(struct core_unit *unit);

#endif /* AUXPMU_HOTPLUG_H */
