/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * sysfs: cpuN/, where perf reads what it has to know of a trace unit to decode its trace, and
 * sinks/, where it reads the number of a sink that it is asked for.
 */
#ifndef ETM_SYSFS_H
#define ETM_SYSFS_H

struct auxpmu;

/* For all CPUs that have a trace unit now. May sleep. 0 or an errno: then nothing is left. */
int etm_sysfs_add(struct auxpmu *pmu);
void etm_sysfs_remove(void);

#endif /* ETM_SYSFS_H */
