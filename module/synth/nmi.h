/* SPDX-License-Identifier: GPL-2.0-only */
/* NMIs on request, for tests: the debugfs file "nmi", described in uapi/linux/auxpmu.h. */
#ifndef AUXPMU_SYNTH_NMI_H
#define AUXPMU_SYNTH_NMI_H

#include <linux/kconfig.h>

struct auxpmu;

#if IS_ENABLED(CONFIG_X86_LOCAL_APIC)
void synth_nmi_add(struct auxpmu *pmu);
#else
static inline void synth_nmi_add(struct auxpmu *pmu)
{
}
#endif

#endif /* AUXPMU_SYNTH_NMI_H */
