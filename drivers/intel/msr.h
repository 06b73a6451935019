/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Differences between kernels in registers and interrupts of x86; those that concern all
 * architectures are in module/compat.h. module/features.sh probes the features.
 */
#ifndef AUXPMU_INTEL_MSR_H
#define AUXPMU_INTEL_MSR_H

#include "compat.h"

#include <asm/msr.h>
#ifdef AUXPMU_HAS_CPUID_API
#include <asm/cpuid/api.h>
#endif
/* Up to 6.15 the accessors of 64-bit MSRs ended in l, since then in q. */
#ifndef rdmsrq
#define rdmsrq		rdmsrl
#define rdmsrq_safe	rdmsrl_safe
#define wrmsrq_safe	wrmsrl_safe
#endif
/*
 * Counts a PMI in /proc/interrupts; the user includes linux/hardirq.h. Older kernels have a member
 * for each count.
 */
#ifdef AUXPMU_HAS_IRQ_COUNTS
#define auxpmu_count_perf_interrupt()	inc_irq_stat(APIC_PERF)
#else
#define auxpmu_count_perf_interrupt()	inc_irq_stat(apic_perf_irqs)
#endif

#endif /* AUXPMU_INTEL_MSR_H */
