/* SPDX-License-Identifier: GPL-2.0-only */
/* NMIs on request, for tests: the debugfs file "nmi", described in uapi/auxpmu.h. */
#ifndef AUXPMU_NMI_H
#define AUXPMU_NMI_H

#include "internal.h"

#if IS_ENABLED(CONFIG_X86_LOCAL_APIC) && IS_ENABLED(CONFIG_TRACEPOINTS)
void auxpmu_nmi_debugfs_add(struct auxpmu *pmu);
#else
static inline void auxpmu_nmi_debugfs_add(struct auxpmu *pmu)
{
}
#endif

#endif /* AUXPMU_NMI_H */
