/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Suspend to memory and to disk: registers of trace units lose their contents, and the core does
 * not stop the events of the last CPU. (The others go offline before.)
 */
#ifndef AUXPMU_SUSPEND_H
#define AUXPMU_SUSPEND_H

struct auxpmu;

/* May sleep: module_init, module_exit. */
void auxpmu_suspend_init(void);
void auxpmu_suspend_exit(void);

/* Handle @pmu at suspend and resume from here on, or no longer. */
void auxpmu_suspend_add(struct auxpmu *pmu);
void auxpmu_suspend_remove(struct auxpmu *pmu);

#endif /* AUXPMU_SUSPEND_H */
