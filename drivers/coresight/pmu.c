// SPDX-License-Identifier: GPL-2.0-only
/*
 * auxpmu_etm: Arm trace units (ETE) that write by their PE's trace buffer (TRBE).
 *
 * devices.c: whose they are; config.c: what to trace; etm.c: the trace unit's registers; trbe.c:
 * the trace buffer's; sysfs.c: what decoders have to know. The framework does everything else.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/bitfield.h>
#include <linux/cpu.h>
#include <linux/err.h>
#include <linux/interrupt.h>
#include <linux/module.h>
#include <linux/perf_event.h>
#include <linux/slab.h>
#include <linux/string.h>

#include <asm/mmu.h>

#include "auxpmu.h"
#include "compat.h"
#include "config.h"
#include "devices.h"
#include "etm.h"
#include "sysfs.h"
#include "trbe.h"

static char *name = "auxpmu_etm";
module_param(name, charp, 0444);
MODULE_PARM_DESC(name, "auxpmu_etm, or cs_etm where the kernel has no PMU of that name (coresight.ko is not loaded)");

/* A byte of trace that decoders skip (DDI 0487, "Ignore packet"). */
#define ETE_IGNORE	0x70

/*
 * PERF_RECORD_AUX_OUTPUT_HW_ID of CoreSight (linux/coresight-pmu.h), version 0.1: the ID that the
 * trace carries, and that of its sink, of which each CPU has its own.
 */
#define HW_ID_TRACE_ID		GENMASK_ULL(7, 0)
#define HW_ID_SINK_ID		GENMASK_ULL(39, 8)
#define HW_ID_MINOR_VERSION	GENMASK_ULL(59, 56)

/* The registers of this CPU's trace unit have lost their contents since it was programmed. */
static DEFINE_PER_CPU(bool, lost);

static struct auxpmu *pmu;

static int etm_pmu_event_init(struct perf_event *event, struct auxpmu_event *aux)
{
	struct etm_config *config;
	char why[ETM_CONFIG_WHY];
	int ret;

	config = kzalloc(sizeof(*config), GFP_KERNEL);
	if (!config)
		return -ENOMEM;
	ret = etm_config_make(&event->attr, config, why);
	if (ret) {
		auxpmu_notice(aux->pmu, "event refused: %s", why);
		kfree(config);
		return ret;
	}
	aux->needs.output = AUXPMU_WINDOW;
	aux->needs.map = true;
	aux->needs.format = PERF_AUX_FLAG_CORESIGHT_FORMAT_RAW;
	aux->needs.rules.start_align = trbe_align();
	/* Its limit is a page of 4 KiB, but whatever lies behind has to be mapped, too. */
	aux->needs.rules.end_align = PAGE_SIZE;
	aux->needs.rules.wraps = true;
	aux->private = config;
	return 0;
}

static void etm_pmu_event_destroy(struct perf_event *event, struct auxpmu_event *aux)
{
	kfree(aux->private);
}

static int etm_pmu_online(struct auxpmu_unit *unit)
{
	const char *why = NULL;
	int ret = -ENODEV;

	preempt_disable();
	if (etm_devices_have(unit->cpu))
		ret = etm_detect() ?: trbe_detect(&why);
	if (!ret) {
		trbe_reset();
		etm_devices_enable_interrupt();
	}
	preempt_enable();
	if (why)
		pr_notice("CPU %d is not traced: %s\n", unit->cpu, why);
	return ret;
}

static void etm_pmu_offline(struct auxpmu_unit *unit)
{
	unsigned long flags;

	local_irq_save(flags);
	etm_devices_disable_interrupt();
	trbe_reset();
	local_irq_restore(flags);
}

static int etm_pmu_add(struct auxpmu_unit *unit)
{
	return etm_claim();
}

static void etm_pmu_del(struct auxpmu_unit *unit)
{
	etm_release();
}

/* Tell decoders which trace is this CPU's. */
static void etm_pmu_tell_id(struct auxpmu_unit *unit)
{
#ifdef AUXPMU_HAS_AUX_OUTPUT_ID
	perf_report_aux_output_id(unit->event,
				  FIELD_PREP(HW_ID_TRACE_ID, etm_trace_id(unit->cpu)) |
				  FIELD_PREP(HW_ID_SINK_ID, unit->cpu + 1) |
				  FIELD_PREP(HW_ID_MINOR_VERSION, 1));
#endif
}

static int etm_pmu_arm(struct auxpmu_unit *unit)
{
	const struct auxpmu_event *aux = auxpmu_unit_event(unit);
	int ret;

	if (unit->starting || __this_cpu_read(lost)) {
		ret = etm_program(aux, aux->private);
		if (ret)
			return ret;
		__this_cpu_write(lost, false);
		etm_pmu_tell_id(unit);
	}
	trbe_start(unit);
	etm_start(aux->private);
	return 0;
}

static void etm_pmu_disarm(struct auxpmu_unit *unit)
{
	etm_stop();
	trbe_stop();
}

static void etm_pmu_invalidate(struct auxpmu_unit *unit)
{
	__this_cpu_write(lost, true);
}

static void etm_pmu_pad(struct auxpmu_unit *unit, void *data, u64 length)
{
	memset(data, ETE_IGNORE, length);
}

static const struct auxpmu_ops ops = {
	.version = AUXPMU_OPS_VERSION,
	.event_init = etm_pmu_event_init,
	.event_destroy = etm_pmu_event_destroy,
	.online = etm_pmu_online,
	.offline = etm_pmu_offline,
	.add = etm_pmu_add,
	.del = etm_pmu_del,
	.arm = etm_pmu_arm,
	.disarm = etm_pmu_disarm,
	.position = trbe_position,
	.invalidate = etm_pmu_invalidate,
	.pad = etm_pmu_pad,
};

static irqreturn_t etm_pmu_interrupt(int irq, void *cookie)
{
	if (!trbe_interrupted())
		return IRQ_NONE;
	auxpmu_interrupt(pmu);
	return IRQ_HANDLED;
}

static const struct attribute_group *groups[] = {
	&etm_format_group,
	NULL
};

static struct auxpmu_desc desc = {
	.ops = &ops,
	.attr_groups = groups,
	.yields = AUXPMU_YIELDS_START,
	.tell_once = true,
};

static void etm_pmu_detect_here(void *unused)
{
	if (etm_devices_have(smp_processor_id()))
		etm_detect();
}

static int etm_pmu_register(void)
{
	int ret;

	desc.name = name;
	/* Consumers of cs_etm expect aux_head to be an offset. */
	desc.offset_heads = !strcmp(name, "cs_etm");
	desc.nr_addr_filters = min_t(unsigned int, etm_nr_pairs(), AUXPMU_FILTERS_MAX);
	pmu = auxpmu_register(&desc);
	if (IS_ERR(pmu))
		return PTR_ERR(pmu);
	ret = etm_sysfs_add(pmu);
	if (ret)
		auxpmu_unregister(pmu);
	return ret;
}

static int __init etm_pmu_init(void)
{
	int ret;

	if (strcmp(name, "auxpmu_etm") && strcmp(name, "cs_etm")) {
		pr_notice("name=%s refused: auxpmu_etm or cs_etm\n", name);
		return -EINVAL;
	}
	if (arm64_kernel_unmapped_at_el0()) {
		pr_notice("refused: KPTI hides the kernel from user code, and its memory from a trace buffer; boot with kpti=off if that is acceptable\n");
		return -EOPNOTSUPP;
	}
	ret = etm_devices_get(etm_pmu_interrupt);
	if (ret)
		return ret;
	on_each_cpu(etm_pmu_detect_here, NULL, 1);
	etm_detected();
	ret = etm_pmu_register();
	if (ret)
		etm_devices_put();
	return ret;
}

static void __exit etm_pmu_exit(void)
{
	etm_sysfs_remove();
	auxpmu_unregister(pmu);
	etm_devices_put();
}

module_init(etm_pmu_init);
module_exit(etm_pmu_exit);
AUXPMU_IMPORT_NS();
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("Arm trace units (ETE with TRBE) on auxpmu");
MODULE_AUTHOR("The auxpmu authors");
MODULE_VERSION(AUXPMU_VERSION);
