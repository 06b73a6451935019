// SPDX-License-Identifier: GPL-2.0-only
/*
 * auxpmu_pt: Intel Processor Trace, beside the in-tree driver.
 *
 * config.c: what to trace; topa.c: where to; unit.c: the unit's registers; nmi.c: its interrupts.
 * The framework does everything else.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/err.h>
#include <linux/module.h>
#include <linux/perf_event.h>
#include <linux/sizes.h>
#include <linux/string.h>

#include "../intel/exclusion.h"
#include "../intel/nmi.h"
#include "auxpmu.h"
#include "caps.h"
#include "config.h"
#include "nmi.h"
#include "topa.h"
#include "unit.h"
#include "vmx.h"

/*
 * With one region per table, the interrupt comes before the region is full. The SDM gives no
 * distance; the in-tree driver allows for as much as this.
 */
#define EARLY_INTERRUPT	512

static char *name = "auxpmu_pt";
module_param(name, charp, 0444);
MODULE_PARM_DESC(name, "auxpmu_pt, or intel_pt where the kernel has no PMU of that name (clearcpuid=intel_pt)");

static struct auxpmu *pmu;

static int pt_pmu_unit_init(struct auxpmu_unit *unit)
{
	per_cpu(pt_units, unit->cpu).unit = unit;
	return 0;
}

static int pt_pmu_event_init(struct perf_event *event, struct auxpmu_event *aux)
{
	char why[PT_CONFIG_WHY];
	int ret = pt_config_check(&event->attr, why);

	if (ret) {
		auxpmu_notice(aux->pmu, "event refused: %s", why);
		return ret;
	}
	aux->needs.output = AUXPMU_SCATTER;
	aux->needs.pages = AUXPMU_PAGES_LARGE;
	aux->needs.regions = true;
	aux->private = (void *)(uintptr_t)pt_config_ctl(&event->attr);
	if (!pt_cap(PT_TOPA_MULTIPLE_ENTRIES))
		aux->needs.rules.early = EARLY_INTERRUPT;
	return 0;
}

static int pt_pmu_buffer_init(struct auxpmu_buffer *buffer, struct perf_event *event)
{
	/* With one region per table, the next region takes an interrupt. */
	if (!pt_cap(PT_TOPA_MULTIPLE_ENTRIES) && buffer->overwrite && buffer->chunks.nr > 1) {
		auxpmu_notice(buffer->pmu,
			      "AUX buffer refused: to overwrite it has to be one chunk on this processor (caps/topa_multiple_entries is 0), the allocator gave %u; use a smaller buffer",
			      buffer->chunks.nr);
		return -ENOMEM;
	}
	buffer->private = pt_topa_make(buffer);
	return buffer->private ? 0 : -ENOMEM;
}

static void pt_pmu_buffer_fini(struct auxpmu_buffer *buffer)
{
	pt_topa_free(buffer->private);
}

/* Not ours is a CPU whose unit somebody else took when it came online, or that can do less. */
static int pt_pmu_add(struct auxpmu_unit *unit)
{
	return this_cpu_read(pt_units.claimed) ? 0 : -ENODEV;
}

static const struct auxpmu_ops ops = {
	.version = AUXPMU_OPS_VERSION,
	.unit_init = pt_pmu_unit_init,
	.event_init = pt_pmu_event_init,
	.buffer_init = pt_pmu_buffer_init,
	.buffer_fini = pt_pmu_buffer_fini,
	.add = pt_pmu_add,
	.arm = pt_unit_arm,
	.disarm = pt_unit_disarm,
	.position = pt_unit_position,
	.invalidate = pt_unit_invalidate,
};

static struct auxpmu_claim claim = {
	.intree = "intel_pt",
	.handlers = intel_nmi_kernels,
	.begin = pt_nmi_register,
	.end = pt_nmi_unregister,
	.acquire = pt_unit_acquire,
	.release = pt_unit_release,
	.shutdown = pt_unit_shutdown,
	.crash = INTEL_CRASH,
};

static const struct attribute_group *groups[] = {
	&pt_format_group,
	&pt_caps_group,
	&pt_timing_group,
	&pt_errors_group,
	NULL
};

static struct auxpmu_desc desc = {
	.ops = &ops,
	.attr_groups = groups,
	.yields = AUXPMU_YIELDS_START,
	.claim = &claim,
	.filters_stop = true,
	.tell_once = true,
	/* The largest region of a ToPA entry. */
	.limits.max_chunk = SZ_128M,
};

static int __init pt_init(void)
{
	int ret = pt_caps_init();

	if (ret)
		return ret;
	if (strcmp(name, "auxpmu_pt") && strcmp(name, "intel_pt")) {
		pr_notice("name=%s refused: auxpmu_pt or intel_pt\n", name);
		return -EINVAL;
	}
	pt_config_init();
	pt_vmx_init();
	desc.name = name;
	if (intel_traces_exclude_each_other())
		claim.excludes = "intel_bts";
	desc.nr_addr_filters = pt_nr_ranges();
	/* Consumers of intel_pt expect aux_head to be an offset. */
	desc.offset_heads = !strcmp(name, "intel_pt");
	pmu = auxpmu_register(&desc);
	if (IS_ERR(pmu))
		return PTR_ERR(pmu);
	pt_vmx_watch(pmu, pt_unit_vmx_ended);
	return 0;
}

static void __exit pt_exit(void)
{
	pt_vmx_forget();
	auxpmu_unregister(pmu);
}

module_init(pt_init);
module_exit(pt_exit);
AUXPMU_IMPORT_NS();
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("Intel Processor Trace on auxpmu");
MODULE_AUTHOR("The auxpmu authors");
MODULE_VERSION(AUXPMU_VERSION);
