// SPDX-License-Identifier: GPL-2.0-only
/*
 * auxpmu_etm: Arm trace units (ETMv4, ETE), whose trace goes into their PE's trace buffer (TRBE) or
 * by the trace bus to a sink that they share (TMC).
 *
 * devices.c, component.c: whose they are; config.c: what to trace; etm.c: the trace unit's
 * registers; trbe.c: the trace buffer's; bus.c, link.c: the way to a sink; tmc.c: a sink's;
 * sysfs.c: what decoders have to know. The framework does everything else.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/bitfield.h>
#include <linux/cpu.h>
#include <linux/cpumask.h>
#include <linux/err.h>
#include <linux/interrupt.h>
#include <linux/module.h>
#include <linux/perf_event.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "area.h"
#include "auxpmu.h"
#include "bus.h"
#include "compat.h"
#include "config.h"
#include "devices.h"
#include "end.h"
#include "etm.h"
#include "guest.h"
#include "idle.h"
#include "link.h"
#include "sysfs.h"
#include "tmc.h"
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

/* The first byte of a frame (IHI 0029, "Formatter"): ID 0 follows. */
#define FRAME_OF_NOBODY	1

/* A barrier: frame synchronization, of which decoders know that trace is missing in front of it. */
#define BARRIER_WORD		0x7fffffff

/* The path that this CPU's event has switched on. */
static DEFINE_PER_CPU(struct bus_path *, active_path);

/*
 * This CPU's trace unit has to be programmed anew before it starts: its registers have lost their
 * contents, or it holds the rest of trace whose beginning is lost.
 */
static DEFINE_PER_CPU(bool, lost);

/* The event that this CPU's trace unit was claimed for has the kernel traced. */
static DEFINE_PER_CPU(bool, traces_kernel);

/* This CPU's event goes on when the CPU is no longer idle. */
static DEFINE_PER_CPU(bool, parked);

/* The kernel goes away: nothing is to be switched on any more. */
static DEFINE_PER_CPU(bool, ended);

static struct auxpmu *pmu;

static struct auxpmu_sink *etm_pmu_sink_of_cpu(struct auxpmu_sink *own, unsigned int cpu)
{
	const struct bus_path *path = bus_path_to(cpu, NULL);

	return path ? path->sink->sink : NULL;
}

/* Of events on CPUs with sinks of their own: the best that each CPU reaches. */
static const struct auxpmu_sink_desc own_sinks_desc = {
	.of_cpu = etm_pmu_sink_of_cpu,
	.polled = true,
};

static struct auxpmu_sink *own_sinks;

/* Into the PE's trace buffer: by the kernel's virtual addresses, without frames. */
static void etm_pmu_need_buffer(struct auxpmu_needs *needs)
{
	needs->output = AUXPMU_WINDOW;
	needs->map = true;
	needs->format = PERF_AUX_FLAG_CORESIGHT_FORMAT_RAW;
	needs->rules.start_align = trbe_align();
	/* Its limit is a page of 4 KiB, but whatever lies behind has to be mapped, too. */
	needs->rules.end_align = PAGE_SIZE;
	needs->rules.guarded = trbe_strays();
	needs->rules.spare = needs->rules.guarded ? TRBE_STRAYS : 0;
	needs->rules.wraps = !needs->rules.guarded;
}

/* The TMC that gets an event's trace on @cpu, or NULL. */
static struct tmc *etm_pmu_tmc_of(const struct etm_config *config, int cpu)
{
	const struct bus_path *path = bus_path_to(cpu, config->sink);

	return path ? path->sink : NULL;
}

/*
 * Where ETR write into the AUX area themselves: pages of 4 KiB, of which tables consist (DDI 0461,
 * "Scatter-gather"). They go round in their windows.
 */
static void etm_pmu_need_area(struct auxpmu_needs *needs, const struct etm_config *config)
{
	int cpu;

	needs->output = AUXPMU_SCATTER;
	for_each_possible_cpu(cpu) {
		const struct tmc *tmc = etm_pmu_tmc_of(config, cpu);

		if (tmc && !tmc_has_tables(tmc))
			needs->output = AUXPMU_WINDOW;
	}
	needs->rules.start_align = SZ_4K;
	needs->rules.end_align = SZ_4K;
	needs->rules.least = AREA_WINDOW_LEAST;
}

/* Nobody else can want the event's sinks: it is everywhere alone, or its CPU's units are. */
static bool etm_pmu_is_alone(const struct etm_config *config, int event_cpu)
{
	int cpu;

	for_each_possible_cpu(cpu) {
		const struct tmc *tmc = etm_pmu_tmc_of(config, cpu);

		if (tmc && !tmc_reaches_areas(tmc))
			return false;
	}
	return event_cpu == -1 || bus_reached_by_one(config->sink);
}

/* By the trace bus, in frames: into a sink's memory, or the AUX area. */
static void etm_pmu_need_sink(struct auxpmu_needs *needs, const struct etm_config *config, int cpu)
{
	needs->output = AUXPMU_COPY;
	if (etm_pmu_is_alone(config, cpu))
		etm_pmu_need_area(needs, config);
	needs->sink = config->sink ? config->sink->sink : own_sinks;
	needs->format = PERF_AUX_FLAG_CORESIGHT_FORMAT_CORESIGHT;
	needs->rules.atom = TMC_FRAME;
	needs->barrier = TMC_FRAME;
}

/* Has @cpu, or if that is -1 every CPU that can be traced, a trace buffer? */
static bool etm_pmu_has_buffers(int cpu, struct cpumask *traced)
{
	bool all = true;

	if (cpu != -1)
		return trbe_there(cpu);
	for_each_possible_cpu(cpu) {
		if (!etm_of(cpu)->there)
			continue;
		cpumask_set_cpu(cpu, traced);
		all &= trbe_there(cpu);
	}
	return all;
}

/*
 * The sink that the event asks for; or the trace buffer, or else the best sink of all its CPUs, or
 * of each.
 */
static int etm_pmu_choose_sink(const struct perf_event *event, struct etm_config *config, char *why)
{
	u32 id = FIELD_GET(CONFIG2_SINK, event->attr.config2);
	cpumask_var_t traced;
	bool has_buffers;

	if (!zalloc_cpumask_var(&traced, GFP_KERNEL))
		return -ENOMEM;
	has_buffers = etm_pmu_has_buffers(event->cpu, traced);
	if (id || !has_buffers) {
		config->sink = bus_paths_choose_sink(id, event->cpu, traced);
		config->own_sinks = !id && !config->sink && !cpumask_empty(traced) &&
				    bus_from_all(traced, NULL);
	}
	free_cpumask_var(traced);
	if (config->sink || config->own_sinks || (!id && has_buffers))
		return 0;
	if (event->cpu == -1)
		scnprintf(why, ETM_CONFIG_WHY,
			  "%s; open an event on each CPU that does",
			  id ? "not all CPUs reach the sink of that number (config2)" :
			       "not all CPUs reach a sink");
	else
		scnprintf(why, ETM_CONFIG_WHY, "CPU %d reaches no sink%s", event->cpu,
			  id ? " of that number (config2)" : "");
	return -EINVAL;
}

static int etm_pmu_configure(const struct perf_event *event, struct etm_config *config, char *why)
{
	int ret = etm_config_make(&event->attr, config, why);

	return ret ?: etm_pmu_choose_sink(event, config, why);
}

static int etm_pmu_event_init(struct perf_event *event, struct auxpmu_event *aux)
{
	char why[ETM_CONFIG_WHY] = "out of memory";
	struct etm_config *config;
	int ret;

	config = kzalloc(sizeof(*config), GFP_KERNEL);
	if (!config)
		return -ENOMEM;
	ret = etm_pmu_configure(event, config, why);
	if (ret) {
		auxpmu_notice(aux->pmu, "event refused: %s", why);
		kfree(config);
		return ret;
	}
	if (config->sink || config->own_sinks)
		etm_pmu_need_sink(&aux->needs, config, event->cpu);
	else
		etm_pmu_need_buffer(&aux->needs);
	aux->private = config;
	return 0;
}

static void etm_pmu_event_destroy(struct perf_event *event, struct auxpmu_event *aux)
{
	kfree(aux->private);
}

/* CPUs that share an ETR have one area. */
static struct area *etm_pmu_make_area(const struct etm_config *config, int cpu,
				      const struct auxpmu_buffer *buffer)
{
	struct area *const *areas = buffer->private;
	const struct tmc *tmc = etm_pmu_tmc_of(config, cpu);
	int before;

	for_each_possible_cpu(before) {
		if (before == cpu)
			break;
		if (etm_pmu_tmc_of(config, before) == tmc)
			return areas[before];
	}
	return tmc_make_area(tmc, buffer);
}

static void etm_pmu_free_areas(struct auxpmu_buffer *buffer)
{
	struct area **areas = buffer->private;
	int cpu, other;

	if (!areas)
		return;
	for_each_possible_cpu(cpu) {
		struct area *area = areas[cpu];

		for_each_possible_cpu(other)
			if (areas[other] == area)
				areas[other] = NULL;
		area_free(area);
	}
	kfree(areas);
	buffer->private = NULL;
}

/* Let all ETR that the event may come to write into the buffer, or none. */
static int etm_pmu_buffer_init(struct auxpmu_buffer *buffer, struct perf_event *event)
{
	const struct auxpmu_event *aux = auxpmu_event(event);
	struct area **areas;
	int cpu;

	if (!aux->needs.sink || aux->needs.output == AUXPMU_COPY)
		return 0;
	areas = kcalloc(nr_cpu_ids, sizeof(*areas), GFP_KERNEL);
	if (!areas)
		return -ENOMEM;
	buffer->private = areas;
	for_each_possible_cpu(cpu) {
		if (!etm_pmu_tmc_of(aux->private, cpu))
			continue;
		areas[cpu] = etm_pmu_make_area(aux->private, cpu, buffer);
		if (!areas[cpu]) {
			etm_pmu_free_areas(buffer);
			return 0;
		}
	}
	buffer->sink = aux->needs.sink;
	return 0;
}

static void etm_pmu_buffer_fini(struct auxpmu_buffer *buffer)
{
	etm_pmu_free_areas(buffer);
}

/* Its trace buffer, if it has one that can be used; else, why not. */
static int etm_pmu_find_buffer(int cpu, const char **why)
{
	int ret = etm_devices_have_buffer(cpu) ? trbe_detect(why) : -ENODEV;

	if (ret)
		return ret;
	trbe_reset();
	etm_devices_enable_interrupt();
	return 0;
}

static int etm_pmu_online(struct auxpmu_unit *unit)
{
	const char *why = NULL;
	int ret = -ENODEV;

	preempt_disable();
	if (etm_devices_have_unit(unit->cpu))
		ret = etm_detect();
	if (!ret)
		ret = etm_pmu_find_buffer(unit->cpu, &why);
	preempt_enable();
	if (why)
		pr_notice("CPU %d has no trace buffer: %s\n", unit->cpu, why);
	return etm_of(unit->cpu)->there && bus_path_to(unit->cpu, NULL) ? 0 : ret;
}

static void etm_pmu_offline(struct auxpmu_unit *unit)
{
	unsigned long flags;

	if (!trbe_there(unit->cpu))
		return;
	local_irq_save(flags);
	etm_devices_disable_interrupt();
	trbe_reset();
	local_irq_restore(flags);
}

/* The path to the event's sink, if that is one; else there has to be a trace buffer. */
static int etm_pmu_enable_path(struct auxpmu_unit *unit)
{
	const struct etm_config *config = auxpmu_unit_event(unit)->private;
	struct bus_path *path;
	int ret;

	if (!config->sink && !config->own_sinks) {
		if (!trbe_there(unit->cpu))
			return -ENODEV;
		guest_trace_buffer_may_be_on(true);
		return 0;
	}
	path = bus_path_to(unit->cpu, config->sink);
	ret = path ? bus_path_enable(path) : -ENODEV;
	if (!ret)
		__this_cpu_write(active_path, path);
	return ret;
}

static int etm_pmu_add(struct auxpmu_unit *unit)
{
	const struct etm_config *config = auxpmu_unit_event(unit)->private;
	int ret = etm_claim();

	if (ret)
		return ret;
	__this_cpu_write(traces_kernel, config->kernel);
	ret = etm_pmu_enable_path(unit);
	if (ret)
		etm_release();
	return ret;
}

static void etm_pmu_del(struct auxpmu_unit *unit)
{
	struct bus_path *path = __this_cpu_read(active_path);

	if (!path) {
		etm_release();
		guest_trace_buffer_may_be_on(false);
		return;
	}
	link_hold();
	etm_release();
	link_release();
	bus_path_disable(path);
	__this_cpu_write(active_path, NULL);
}

/* The TMC that this CPU's trace goes to; NULL: into its trace buffer. */
static struct tmc *etm_pmu_tmc_here(void)
{
	const struct bus_path *path = __this_cpu_read(active_path);

	return path ? path->sink : NULL;
}

/* Tell decoders which trace is this CPU's. */
static void etm_pmu_tell_id(struct auxpmu_unit *unit)
{
#ifdef AUXPMU_HAS_AUX_OUTPUT_ID
	const struct tmc *tmc = etm_pmu_tmc_here();

	perf_report_aux_output_id(unit->event,
				  FIELD_PREP(HW_ID_TRACE_ID, etm_trace_id(unit->cpu)) |
				  FIELD_PREP(HW_ID_SINK_ID, tmc ? tmc->id : unit->cpu + 1) |
				  FIELD_PREP(HW_ID_MINOR_VERSION, 1));
#endif
}

static noinline int etm_pmu_program(struct auxpmu_unit *unit)
{
	const struct auxpmu_event *aux = auxpmu_unit_event(unit);
	int ret = etm_program(aux, aux->private);

	if (ret)
		return ret;
	__this_cpu_write(lost, false);
	etm_pmu_tell_id(unit);
	return 0;
}

static int etm_pmu_arm(struct auxpmu_unit *unit)
{
	struct tmc *tmc = etm_pmu_tmc_here();
	int ret = 0;

	if (__this_cpu_read(ended))
		return -ESHUTDOWN;
	if (unit->starting || __this_cpu_read(lost))
		ret = etm_pmu_program(unit);
	if (ret)
		return ret;
	if (!tmc)
		trbe_start(unit);
	else if (!unit->copies)
		ret = tmc_start_in_area(tmc, unit);
	if (!ret)
		etm_start(auxpmu_unit_event(unit)->private);
	return ret;
}

static void etm_pmu_disarm(struct auxpmu_unit *unit)
{
	struct tmc *tmc = etm_pmu_tmc_here();

	if (tmc) {
		link_hold();
		etm_stop();
		if (!unit->copies)
			tmc_stop_in_area(tmc, unit);
		link_release();
		return;
	}
	etm_stop();
	if (!trbe_stop())
		__this_cpu_write(lost, true);
}

static void etm_pmu_position(struct auxpmu_unit *unit, struct auxpmu_position *position)
{
	const struct tmc *tmc = etm_pmu_tmc_here();

	if (tmc)
		tmc_position_in_area(tmc, position);
	else
		trbe_position(unit, position);
}

static u64 etm_pmu_progress(struct auxpmu_unit *unit)
{
	return tmc_progress_in_area(etm_pmu_tmc_here());
}

/* The registers of this CPU's trace unit may be anything. */
static void etm_pmu_forget(void)
{
	__this_cpu_write(lost, true);
	etm_restore();
}

static void etm_pmu_invalidate(struct auxpmu_unit *unit)
{
	const struct bus_path *path = __this_cpu_read(active_path);

	etm_pmu_forget();
	if (path)
		bus_path_restore(path);
}

static void etm_pmu_pad(struct auxpmu_unit *unit, void *data, u64 length)
{
	bool framed = auxpmu_unit_event(unit)->needs.sink;
	u64 rest = length % TMC_FRAME;

	memset(data, framed ? 0 : ETE_IGNORE, length);
	/*
	 * The first whole frame changes to ID 0, which is nobody's, and so are the zeros behind it.
	 * What a unit without frames left may end within one.
	 */
	if (framed && rest < length)
		*(u8 *)(data + rest) = FRAME_OF_NOBODY;
}

static void etm_pmu_put_barrier(struct auxpmu_unit *unit, void *data, u64 length)
{
	memset32(data, BARRIER_WORD, length / sizeof(u32));
}

static const struct auxpmu_ops ops = {
	.version = AUXPMU_OPS_VERSION,
	.event_init = etm_pmu_event_init,
	.event_destroy = etm_pmu_event_destroy,
	.buffer_init = etm_pmu_buffer_init,
	.buffer_fini = etm_pmu_buffer_fini,
	.online = etm_pmu_online,
	.offline = etm_pmu_offline,
	.add = etm_pmu_add,
	.del = etm_pmu_del,
	.arm = etm_pmu_arm,
	.disarm = etm_pmu_disarm,
	.position = etm_pmu_position,
	.progress = etm_pmu_progress,
	.invalidate = etm_pmu_invalidate,
	.pad = etm_pmu_pad,
	.put_barrier = etm_pmu_put_barrier,
};

static irqreturn_t etm_pmu_interrupt(int irq, void *cookie)
{
	if (!trbe_interrupted())
		return IRQ_NONE;
	auxpmu_interrupt(pmu);
	return IRQ_HANDLED;
}

/* The user code of an idle CPU has no gap. */
static void etm_pmu_enter_idle(void)
{
	__this_cpu_write(parked, auxpmu_suspend(pmu, !__this_cpu_read(traces_kernel)));
}

/* The bus is of no CPU, and keeps what it is told. */
static void etm_pmu_exit_idle(void)
{
	etm_pmu_forget();
	if (__this_cpu_read(parked))
		auxpmu_resume(pmu);
	__this_cpu_write(parked, false);
}

/* Without locks, one of which this CPU may hold. What a debugger has is not touched. */
static void etm_pmu_end_here(void)
{
	int cpu = smp_processor_id();

	__this_cpu_write(ended, true);
	if (!etm_of(cpu)->claimed)
		return;
	etm_release();
	if (trbe_there(cpu))
		trbe_stop();
}

static const struct attribute_group *groups[] = {
	&etm_format_group,
	&etm_events_group,
	NULL
};

static struct auxpmu_desc desc = {
	.ops = &ops,
	.attr_groups = groups,
	.yields = AUXPMU_YIELDS_START,
	.tell_once = true,
	.filters_points = true,
};

static void etm_pmu_detect_here(void *unused)
{
	if (etm_devices_have_unit(smp_processor_id()))
		etm_detect();
}

static int etm_pmu_register(void)
{
	int ret;

	desc.name = name;
	/* Consumers of cs_etm want that. */
	desc.lap_records = !strcmp(name, "cs_etm");
	/* Sinks take locks, and are waited for. */
	desc.no_nmi = bus_paths_exist();
	desc.nr_addr_filters = min_t(unsigned int, etm_nr_pairs(), AUXPMU_FILTERS_MAX);
	own_sinks = auxpmu_sink_make(&own_sinks_desc, NULL);
	if (IS_ERR(own_sinks))
		return PTR_ERR(own_sinks);
	pmu = auxpmu_register(&desc);
	if (IS_ERR(pmu)) {
		auxpmu_sink_free(own_sinks);
		return PTR_ERR(pmu);
	}
	etm_idle_watch(etm_pmu_enter_idle, etm_pmu_exit_idle);
	etm_end_watch(etm_pmu_end_here);
	/* Somebody may have opened an event by now, so there is no way back. */
	ret = etm_sysfs_add(pmu);
	if (ret)
		pr_notice("perf will not be able to decode: no folders in sysfs, error %d\n", ret);
	return 0;
}

static int __init etm_pmu_init(void)
{
	int ret;

	if (strcmp(name, "auxpmu_etm") && strcmp(name, "cs_etm")) {
		pr_notice("name=%s refused: auxpmu_etm or cs_etm\n", name);
		return -EINVAL;
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
	etm_end_unwatch();
	etm_idle_unwatch();
	auxpmu_unregister(pmu);
	auxpmu_sink_free(own_sinks);
	etm_devices_put();
}

module_init(etm_pmu_init);
module_exit(etm_pmu_exit);
AUXPMU_IMPORT_NS();
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("Arm trace units (ETMv4 and ETE, with TRBE and TMC) on auxpmu");
MODULE_AUTHOR("The auxpmu authors");
MODULE_VERSION(AUXPMU_VERSION);
