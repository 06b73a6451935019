/* SPDX-License-Identifier: GPL-2.0-only */
/* Statistics and the debugfs folder of a PMU.  Shared by the framework's own files only. */
#ifndef AUXPMU_DEBUGFS_H
#define AUXPMU_DEBUGFS_H

struct auxpmu;

/* debugfs is only an aid: a failure to create files is never an error. */
void auxpmu_debugfs_init(void);
void auxpmu_debugfs_exit(void);
void auxpmu_debugfs_add(struct auxpmu *pmu);
void auxpmu_debugfs_remove(struct auxpmu *pmu);

#endif /* AUXPMU_DEBUGFS_H */
