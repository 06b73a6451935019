/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Differences between kernels in CPUID and interrupts of x86; others are in module/compat.h and
 * kernels.h. module/features.sh probes the features.
 */
#ifndef AUXPMU_INTEL_MSR_H
#define AUXPMU_INTEL_MSR_H

#include "compat.h"

#include <asm/msr.h>
#ifdef AUXPMU_HAS_CPUID_API
#include <asm/cpuid/api.h>
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
