// SPDX-License-Identifier: GPL-2.0-only
/*
 * auxpmu_bts: Intel Branch Trace Store, beside the in-tree driver.
 *
 * unit.c: the store's registers; nmi.c: its interrupts. The framework does everything else.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/bits.h>
#include <linux/err.h>
#include <linux/math.h>
#include <linux/minmax.h>
#include <linux/module.h>
#include <linux/perf_event.h>
#include <linux/string.h>

#include <asm/cpufeature.h>
#include <asm/processor.h>

#include "../intel/exclusion.h"
#include "../intel/msr.h"
#include "../intel/nmi.h"
#include "auxpmu.h"
#include "nmi.h"
#include "unit.h"

/*
 * Room for what is recorded between the interrupt and the handler: 170 records, as in the in-tree
 * driver.
 */
#define SKID	(170 * BTS_RECORD)

static char *name = "auxpmu_bts";
module_param(name, charp, 0444);
MODULE_PARM_DESC(name, "auxpmu_bts, or intel_bts where the kernel has no PMU of that name (clearcpuid=bts)");

static struct auxpmu *pmu;
/* The processor can leave out privilege levels (DS-CPL). */
static bool tells_levels;

static int bts_pmu_unit_init(struct auxpmu_unit *unit)
{
	per_cpu(bts_units, unit->cpu).unit = unit;
	return 0;
}

/*
 * Even with exclude_kernel, records of branches between user space and the kernel hold kernel
 * addresses, and the core does not check then whether the user may see them.
 */
static int bts_pmu_allow(const struct auxpmu_event *aux)
{
	int ret = auxpmu_allow_kernel();

	if (ret)
		auxpmu_notice(aux->pmu,
			      "event refused: records hold addresses of the kernel, with exclude_kernel, too; it takes CAP_PERFMON, or (not on 6.1) perf_event_paranoid of 1 at most");
	return ret;
}

static int bts_pmu_event_init(struct perf_event *event, struct auxpmu_event *aux)
{
	const struct perf_event_attr *attr = &event->attr;

	if (attr->config || auxpmu_more_config(attr)) {
		auxpmu_notice(aux->pmu,
			      "event refused: config, config1, config2, config3 or config4 is not 0; there is nothing to configure");
		return -EINVAL;
	}
	if ((attr->exclude_kernel || attr->exclude_user) && !tells_levels) {
		auxpmu_notice(aux->pmu,
			      "event refused: this processor has no DS-CPL, and records all levels; leave exclude_kernel and exclude_user at 0");
		return -EOPNOTSUPP;
	}
	aux->needs.output = AUXPMU_WINDOW;
	aux->needs.pages = AUXPMU_PAGES_LARGE;
	aux->needs.rules.atom = BTS_RECORD;
	aux->needs.rules.grid = true;
	aux->needs.rules.wraps = true;
	aux->needs.rules.spare = SKID;
	/* An inherited event has passed its parent's check, and ends before its parent. */
	if (event->parent)
		return 0;
	return attr->exclude_kernel ? bts_pmu_allow(aux) : bts_nmi_first_get();
}

static void bts_pmu_event_destroy(struct perf_event *event, struct auxpmu_event *aux)
{
	if (!event->parent && !event->attr.exclude_kernel)
		bts_nmi_first_put();
}

/* Keep less spare in small chunks: each has to hold two windows, wherever the grid lies in it. */
static void bts_pmu_suit(const struct auxpmu_buffer *buffer, struct auxpmu_window_rules *rules)
{
	u32 chunk = PAGE_SIZE << buffer->chunks.order;

	rules->spare = min_t(u32, SKID, rounddown(chunk / 2 - 2 * BTS_RECORD, BTS_RECORD));
}

static const struct auxpmu_ops ops = {
	.version = AUXPMU_OPS_VERSION,
	.unit_init = bts_pmu_unit_init,
	.event_init = bts_pmu_event_init,
	.event_destroy = bts_pmu_event_destroy,
	.suit = bts_pmu_suit,
	.add = bts_unit_add,
	.del = bts_unit_del,
	.arm = bts_unit_arm,
	.disarm = bts_unit_disarm,
	.position = bts_unit_position,
	.invalidate = bts_unit_invalidate,
	.buffer_fini = bts_unit_leave_buffer,
};

static struct auxpmu_claim claim = {
	.intree = "intel_bts",
	.handlers = intel_nmi_kernels,
	.begin = bts_nmi_register,
	.end = bts_nmi_unregister,
	.acquire = bts_unit_acquire,
	.release = bts_unit_release,
	.shutdown = bts_unit_shutdown,
	.crash = INTEL_CRASH,
};

static const struct attribute_group *groups[] = {
	&bts_errors_group,
	NULL
};

static struct auxpmu_desc desc = {
	.ops = &ops,
	.attr_groups = groups,
	.yields = AUXPMU_YIELDS_START,
	.claim = &claim,
	.tell_once = true,
};

static int bts_pmu_refused(const char *why)
{
	pr_notice("no BTS here: %s\n", why);
	return -ENODEV;
}

/*
 * Reads CPUID leaf 1 itself, since the kernel may have been told to ignore its bits: DS, DTES64,
 * DS-CPL. There is BTS unless IA32_MISC_ENABLE says otherwise.
 */
static int bts_pmu_check_processor(void)
{
	u64 enables;

	if (boot_cpu_data.x86_vendor != X86_VENDOR_INTEL || !(cpuid_edx(1) & BIT(21)) ||
	    rdmsrq_safe(MSR_IA32_MISC_ENABLE, &enables) ||
	    (enables & MSR_IA32_MISC_ENABLE_BTS_UNAVAIL))
		return bts_pmu_refused("this processor has none");
	if (!(cpuid_ecx(1) & BIT(2)))
		return bts_pmu_refused("its records have no addresses of 64 bits (DTES64)");
	/* The store writes to kernel addresses, also in user mode: PTI does not map them there. */
	if (boot_cpu_has(X86_FEATURE_PTI))
		return bts_pmu_refused("page table isolation is on; boot with pti=off");
	tells_levels = cpuid_ecx(1) & BIT(4);
	return 0;
}

static int __init bts_init(void)
{
	int ret = bts_pmu_check_processor();

	if (ret)
		return ret;
	if (strcmp(name, "auxpmu_bts") && strcmp(name, "intel_bts")) {
		pr_notice("name=%s refused: auxpmu_bts or intel_bts\n", name);
		return -EINVAL;
	}
	desc.name = name;
	if (intel_traces_exclude_each_other())
		claim.excludes = "intel_pt";
	/* Consumers of intel_bts expect aux_head to be an offset. */
	desc.offset_heads = !strcmp(name, "intel_bts");
	pmu = auxpmu_register(&desc);
	return PTR_ERR_OR_ZERO(pmu);
}

static void __exit bts_exit(void)
{
	auxpmu_unregister(pmu);
}

module_init(bts_init);
module_exit(bts_exit);
AUXPMU_IMPORT_NS();
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("Intel Branch Trace Store on auxpmu");
MODULE_AUTHOR("The auxpmu authors");
MODULE_VERSION(AUXPMU_VERSION);
