/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * VMX operation, on processors that cannot trace in it (IA32_VMX_MISC[14] is clear: Broadwell).
 * There VMXON clears TraceEn, and until VMXOFF IA32_RTIT_CTL must not be written (SDM volume 3,
 * "VMX Capability Reporting Facility", "Miscellaneous Data").
 *
 * Who does VMXON sets CR4.VMXE first, and clears it after VMXOFF: so a unit is never switched on
 * where that is set.  That VMX operation has ended is told by the function that KVM calls then for
 * the kernel's own driver.
 */
#ifndef AUXPMU_PT_VMX_H
#define AUXPMU_PT_VMX_H

#include <linux/types.h>

#include <asm/processor-flags.h>
#include <asm/special_insns.h>

struct auxpmu;

/* VMXON ends traces here.  Constant once the module is loaded. */
extern bool pt_vmx_ends_traces;

/* IA32_RTIT_CTL of this CPU must not be written.  Preemption off. */
static inline bool pt_vmx_forbids(void)
{
	return pt_vmx_ends_traces && (native_read_cr4() & X86_CR4_VMXE);
}

/* What this processor does; before units are used. */
void pt_vmx_init(void);

/* @ended is called when VMX operation has ended, on that CPU, IRQs off.  May sleep. */
void pt_vmx_watch(struct auxpmu *pmu, void (*ended)(struct auxpmu *pmu));
void pt_vmx_forget(void);

#endif /* AUXPMU_PT_VMX_H */
