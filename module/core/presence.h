/* SPDX-License-Identifier: GPL-2.0-only */
/* Which CPUs have a unit: online() said so when the PMU was made, or when they came up. */
#ifndef AUXPMU_PRESENCE_H
#define AUXPMU_PRESENCE_H

struct auxpmu;

/* May sleep: module_init, module_exit. If it cannot be done, auxpmu_presence_add() will fail. */
void auxpmu_presence_init(void);
void auxpmu_presence_exit(void);

/*
 * Call the backend's online() on all CPUs that are online, now and whenever one comes up, and
 * offline() when it goes and at the end; nothing if it has no online(). May sleep. 0, or an errno:
 * then nothing has been called, or all undone.
 */
int auxpmu_presence_add(struct auxpmu *pmu);
void auxpmu_presence_remove(struct auxpmu *pmu);

#endif /* AUXPMU_PRESENCE_H */
