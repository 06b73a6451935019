/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What differs between kernels in the registers and interrupts of x86; what any backend may need is
 * in module/compat.h.  The feature words are those of module/features.sh.
 */
#ifndef AUXPMU_INTEL_MSR_H
#define AUXPMU_INTEL_MSR_H

#include "compat.h"

#include <asm/msr.h>
#ifdef AUXPMU_HAS_CPUID_API
#include <asm/cpuid/api.h>
#endif
/* Registers of 64 bits were l up to 6.15, and are q. */
#ifndef rdmsrq
#define rdmsrq		rdmsrl
#define rdmsrq_safe	rdmsrl_safe
#define wrmsrq_safe	wrmsrl_safe
#endif
/* PMI in /proc/interrupts, which takes linux/hardirq.h.  Members of their own on older kernels. */
#ifdef AUXPMU_HAS_IRQ_COUNTS
#define auxpmu_count_perf_interrupt()	inc_irq_stat(APIC_PERF)
#else
#define auxpmu_count_perf_interrupt()	inc_irq_stat(apic_perf_irqs)
#endif

#endif /* AUXPMU_INTEL_MSR_H */
