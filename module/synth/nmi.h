/* SPDX-License-Identifier: GPL-2.0-only */
/* NMIs on request, for tests: the debugfs file "nmi", described in uapi/linux/auxpmu.h. */
#ifndef AUXPMU_SYNTH_NMI_H
#define AUXPMU_SYNTH_NMI_H

#include <linux/kconfig.h>
#include <linux/types.h>

struct auxpmu;

#if IS_ENABLED(CONFIG_X86_LOCAL_APIC) || \
	(IS_ENABLED(CONFIG_ARM64) && IS_ENABLED(CONFIG_TRACEPOINTS))
void synth_nmi_add(struct auxpmu *pmu);
#else
static inline void synth_nmi_add(struct auxpmu *pmu)
{
}
#endif

/*
 * The architecture's part, in nmi_x86.c and nmi_arm64.c. Between synth_nmi_begin() and
 * synth_nmi_end(), which may sleep, synth_nmi_raise() sends one to an online CPU: 0 or an errno.
 * IRQs off or on. synth_nmi_kind() is a line: what they are.
 */
int synth_nmi_begin(void);
void synth_nmi_end(void);
int synth_nmi_raise(int cpu);
const char *synth_nmi_kind(void);

/* For that part: one came to this CPU, in its context. Was it sent? */
bool synth_nmi_came(void);
/* Sends so many to that CPU, each when the one before has come. May sleep. */
int synth_nmi_send_many(int cpu, unsigned int count);
/* Waits until none is on its way. May sleep. */
void synth_nmi_settle(void);

#endif /* AUXPMU_SYNTH_NMI_H */
