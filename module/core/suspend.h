/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Suspend to memory and to disk: registers of trace units do not survive it, and the core does not
 * stop the events of the CPU that goes last (those that go before it go offline).
 */
#ifndef AUXPMU_SUSPEND_H
#define AUXPMU_SUSPEND_H

struct auxpmu;

/* May sleep: module_init, module_exit. */
void auxpmu_suspend_init(void);
void auxpmu_suspend_exit(void);

/* From here on @pmu is looked after, or no more. */
void auxpmu_suspend_add(struct auxpmu *pmu);
void auxpmu_suspend_remove(struct auxpmu *pmu);

#endif /* AUXPMU_SUSPEND_H */
