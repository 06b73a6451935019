// SPDX-License-Identifier: GPL-2.0-only
/* VMX operation: see vmx.h. */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/bits.h>
#include <linux/irqflags.h>
#include <linux/kprobes.h>
#include <linux/printk.h>

#include <asm/cpufeature.h>
#include <asm/msr-index.h>
#include <asm/ptrace.h>

#include "../intel/msr.h"
#include "auxpmu.h"
#include "vmx.h"

#define VMX_MISC_PT	BIT_ULL(14)

bool pt_vmx_ends_traces;

static struct auxpmu *watched;
static void (*watcher)(struct auxpmu *pmu);

/* The probed function is called on its CPU: before VMXON with 1, after VMXOFF with 0. */
static int pt_vmx_changes(struct kprobe *self, struct pt_regs *regs)
{
	unsigned long flags;

	if ((int)regs_get_kernel_argument(regs, 0))
		return 0;
	local_irq_save(flags);
	watcher(watched);
	local_irq_restore(flags);
	return 0;
}

static struct kprobe probe = {
	.symbol_name = "intel_pt_handle_vmx",
	.pre_handler = pt_vmx_changes,
};

void pt_vmx_init(void)
{
	u64 misc;

	pt_vmx_ends_traces = boot_cpu_has(X86_FEATURE_VMX) &&
			     (rdmsrq_safe(MSR_IA32_VMX_MISC, &misc) || !(misc & VMX_MISC_PT));
}

void pt_vmx_watch(struct auxpmu *pmu, void (*ended)(struct auxpmu *pmu))
{
	int ret;

	if (!pt_vmx_ends_traces)
		return;
	watched = pmu;
	watcher = ended;
	ret = register_kprobe(&probe);
	if (!ret)
		return;
	watched = NULL;
	pr_notice("what VMXON ends goes on at the next start only: no probe of %s() (error %d)\n",
		  probe.symbol_name, ret);
}

void pt_vmx_forget(void)
{
	if (watched)
		unregister_kprobe(&probe);
}
