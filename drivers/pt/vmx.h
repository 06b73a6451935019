/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * VMX operation, on processors that cannot trace in it (IA32_VMX_MISC[14] is clear: Broadwell). On
 * these, VMXON clears TraceEn, and IA32_RTIT_CTL must not be written until VMXOFF (SDM volume 3,
 * "VMX Capability Reporting Facility", "Miscellaneous Data").
 *
 * A hypervisor sets CR4.VMXE before VMXON and clears it after VMXOFF, so a unit is never switched
 * on while that bit is set. A probe of the function that KVM calls for the in-tree driver tells
 * when VMX operation has ended.
 */
#ifndef AUXPMU_PT_VMX_H
#define AUXPMU_PT_VMX_H

#include <linux/types.h>

#include <asm/processor-flags.h>
#include <asm/special_insns.h>

struct auxpmu;

/* VMXON ends traces on this processor. Constant once the module is loaded. */
extern bool pt_vmx_ends_traces;

/* IA32_RTIT_CTL of this CPU must not be written.  Preemption off. */
static inline bool pt_vmx_forbids(void)
{
	return pt_vmx_ends_traces && (native_read_cr4() & X86_CR4_VMXE);
}

/* Set pt_vmx_ends_traces; before units are used. */
void pt_vmx_init(void);

/* Call @ended when VMX operation has ended, on that CPU, IRQs off. May sleep. */
void pt_vmx_watch(struct auxpmu *pmu, void (*ended)(struct auxpmu *pmu));
void pt_vmx_forget(void);

#endif /* AUXPMU_PT_VMX_H */
