/* SPDX-License-Identifier: GPL-2.0-only */
/* CPUs that go offline and come back: registers of their trace units may lose their contents. */
#ifndef AUXPMU_HOTPLUG_H
#define AUXPMU_HOTPLUG_H

struct core_unit;

/* May sleep: module_init, module_exit.  0, or an errno. */
int auxpmu_hotplug_init(void);
void auxpmu_hotplug_exit(void);

/* The unit is new: its backend remembers nothing of it yet. */
void auxpmu_hotplug_note(struct core_unit *unit);

/*
 * Before an event is added: if the CPU was offline since the last one, call the backend's
 * invalidate(). On its CPU, IRQs off, disarmed.
 */
void auxpmu_hotplug_look(struct core_unit *unit);

#endif /* AUXPMU_HOTPLUG_H */
