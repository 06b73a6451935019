// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The kernel's own driver of Intel PT as a module, so that tests can plant bugs into it: its source
 * as the kernel's package has it, and here what it takes from the kernel that modules do not get.
 * The driver that is built in has to be blind to the unit (clearcpuid=intel_pt).  There is no way
 * to unload it, for the driver has none.
 */
#include <linux/export.h>
#include <linux/init.h>
#include <linux/kprobes.h>
#include <linux/kvm_types.h>
#include <linux/module.h>
#include <linux/perf_event.h>

#include <asm/apic.h>
#include <asm/cpufeature.h>
#include <asm/msr.h>
#include <asm/nmi.h>
#include <asm/perf_event.h>

/* Before 6.16 they have another name. */
#ifndef rdmsrq
#define rdmsrq rdmsrl
#define wrmsrq wrmsrl
#endif

/* The kernel exports the same names for the driver that is built in. */
#undef EXPORT_SYMBOL_GPL
#define EXPORT_SYMBOL_GPL(_name)
#undef EXPORT_SYMBOL_FOR_KVM
#define EXPORT_SYMBOL_FOR_KVM(_name)

/* What it is to be begun by is called below, by the only init function that a module has. */
#undef arch_initcall
#define arch_initcall(_init) static const initcall_t begin __initconst = _init

/* From the driver that is built in alone the unit is hidden. */
static bool has_feature(unsigned int bit);
#undef boot_cpu_has
#define boot_cpu_has(_bit) has_feature(_bit)

#undef pr_fmt
#include "events/intel/pt.c"

static bool has_feature(unsigned int bit)
{
	if (bit == X86_FEATURE_INTEL_PT)
		return cpuid_ebx(7) & BIT(25);
	return cpu_has(&boot_cpu_data, bit);
}

/* LBR and BTS may be in use at once with it: tests do not ask for that. */
int x86_add_exclusive(unsigned int what)
{
	return 0;
}

void x86_del_exclusive(unsigned int what)
{
}

static void (*itrace_started)(struct perf_event *event);
static long (*copy_aux)(struct perf_output_handle *aux, struct perf_output_handle *handle,
			unsigned long from, unsigned long to);

void perf_event_itrace_started(struct perf_event *event)
{
	itrace_started(event);
}

long perf_output_copy_aux(struct perf_output_handle *aux, struct perf_output_handle *handle,
			  unsigned long from, unsigned long to)
{
	return copy_aux(aux, handle, from, to);
}

/* Where a function of the kernel's is that modules are not given; NULL: there is none. */
static void *__init find(const char *name)
{
	struct kprobe probe = { .symbol_name = name, .flags = KPROBE_FLAG_DISABLED };
	void *at;

	if (register_kprobe(&probe))
		return NULL;
	at = probe.addr;
	unregister_kprobe(&probe);
	return at;
}

/*
 * As intel_pmu_handle_irq() does where it acknowledges late: first the status, then the driver, and
 * when no interrupt is left the entry of the local APIC, which has masked itself.  The kernel's own
 * handler, which comes next, does not where it has no event.
 */
static int handle_nmi(unsigned int type, struct pt_regs *regs)
{
	int handled = NMI_DONE;
	u64 status;

	for (;;) {
		rdmsrq(MSR_CORE_PERF_GLOBAL_STATUS, status);
		if (!(status & GLOBAL_STATUS_TRACE_TOPAPMI))
			break;
		wrmsrq(MSR_CORE_PERF_GLOBAL_OVF_CTRL, GLOBAL_STATUS_TRACE_TOPAPMI);
		intel_pt_interrupt();
		handled = NMI_HANDLED;
	}
	if (handled == NMI_HANDLED)
		apic->write(APIC_LVTPC, APIC_DM_NMI);
	return handled;
}

static int __init intree_init(void)
{
	int ret;

	itrace_started = find("perf_event_itrace_started");
	copy_aux = find("perf_output_copy_aux");
	if (!itrace_started || !copy_aux)
		return -ENOENT;
	ret = register_nmi_handler(NMI_LOCAL, handle_nmi, NMI_FLAG_FIRST, "intree_pt");
	if (ret)
		return ret;
	ret = begin();
	if (ret)
		unregister_nmi_handler(NMI_LOCAL, "intree_pt");
	return ret;
}

module_init(intree_init);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("the kernel's own driver of Intel PT, for tests of the virtual trace hardware");
