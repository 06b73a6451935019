// SPDX-License-Identifier: GPL-2.0-only
/*
 * Events of synthetic units: checks their config, and derives their needs and their stream.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/bitfield.h>
#include <linux/capability.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/percpu.h>
#include <linux/slab.h>

#include "compat.h"
#include "synth/synth.h"

/*
 * Off by default: nobody needs synthetic units in daily use, and AUX areas reach code of the core
 * that most machines never run.
 */
static bool unprivileged;
module_param(unprivileged, bool, 0644);
MODULE_PARM_DESC(unprivileged, "may everybody open events of synthetic and modelled PMUs? (0: CAP_PERFMON)");

static atomic64_t last_stream = ATOMIC64_INIT(0);

#define SYNTH_FIELD(name)	GENMASK_ULL(AUXPMU_SYNTH_##name##_HI, AUXPMU_SYNTH_##name##_LO)
#define SYNTH_CONFIG		(SYNTH_FIELD(RATE) | SYNTH_FIELD(OUTPUT) | SYNTH_FIELD(RECORD) | \
				 SYNTH_FIELD(PATTERN) | SYNTH_FIELD(PAGES) | SYNTH_FIELD(MANUAL))
#define SYNTH_CONFIG1		SYNTH_FIELD(SEED)

/* What is wrong with the attr's config words, or NULL. */
static const char *synth_config_wrong(const struct perf_event_attr *attr,
				      const struct synth_model *model)
{
	u64 config = attr->config;
	u32 record = AUXPMU_RECORD_MIN << FIELD_GET(SYNTH_FIELD(RECORD), config);
	u32 output = FIELD_GET(SYNTH_FIELD(OUTPUT), config);

	if (config & ~SYNTH_CONFIG)
		return "config has bits outside the fields in sysfs format/";
	if (attr->config1 & ~SYNTH_CONFIG1)
		return "config1 has bits outside the fields in sysfs format/";
	if (auxpmu_config_behind_2(attr))
		return "config3 or config4 is not 0";
	if (FIELD_GET(SYNTH_FIELD(RATE), config) > AUXPMU_SYNTH_RATE_MAX)
		return "rate is above " __stringify(AUXPMU_SYNTH_RATE_MAX) " (KiB per millisecond)";
	if (record > AUXPMU_RECORD_MAX)
		return "record is above 6 (4096 bytes)";
	if (FIELD_GET(SYNTH_FIELD(PATTERN), config) > AUXPMU_SYNTH_RANDOM)
		return "pattern is none of 0 (counter), 1 (constant), 2 (random)";
	if ((config & SYNTH_FIELD(MANUAL)) && (config & SYNTH_FIELD(RATE)))
		return "manual and rate exclude each other";
	if (model->output != SYNTH_OUTPUT_ANY && output && output != model->output)
		return "this unit's output is fixed; leave output at 0";
	if (model->record && record != AUXPMU_RECORD_MIN && record != model->record)
		return "the size of this unit's records is fixed; leave record at 0";
	return NULL;
}

/* The same for a persona: its config has the fields of the PMU whose name it has. */
static const char *synth_persona_config_wrong(const struct perf_event_attr *attr,
					      const struct synth_persona *persona)
{
	if (attr->config & ~persona->config)
		return "config has bits outside the fields in sysfs format/";
	if (auxpmu_more_config(attr))
		return "config1, config2, config3 or config4 is not 0";
	return NULL;
}

/* The config that the synthetic unit follows; a persona ignores its config. */
static u64 synth_config_of(const struct perf_event *event)
{
	return synth_of(synth_pmu_of(event))->persona ? 0 : event->attr.config;
}

static u32 synth_record_of(const struct perf_event *event)
{
	u64 record = synth_of(synth_pmu_of(event))->model.record;

	return record ?: (u64)AUXPMU_RECORD_MIN
			 << FIELD_GET(SYNTH_FIELD(RECORD), synth_config_of(event));
}

static void synth_make_needs(struct auxpmu_needs *needs, const struct perf_event *event)
{
	static const enum auxpmu_pages pages[] = {
		[AUXPMU_SYNTH_PAGES_LARGE] = AUXPMU_PAGES_LARGE,
		[AUXPMU_SYNTH_PAGES_ANY] = AUXPMU_PAGES_ANY,
		[AUXPMU_SYNTH_PAGES_HALF] = AUXPMU_PAGES_HALF,
		[AUXPMU_SYNTH_PAGES_WHOLE] = AUXPMU_PAGES_WHOLE,
	};
	const struct synth_model *model = &synth_of(synth_pmu_of(event))->model;
	u64 config = synth_config_of(event);
	u32 record = synth_record_of(event);
	int output = model->output;

	if (output == SYNTH_OUTPUT_ANY)
		output = FIELD_GET(SYNTH_FIELD(OUTPUT), config);
	needs->pages = pages[FIELD_GET(SYNTH_FIELD(PAGES), config)];
	needs->format = model->format << 8;
	needs->rules.start_align = max_t(u32, record, model->start_align);
	needs->rules.end_align = model->end_align;
	needs->rules.atom = record;
	if (model->shared) {
		needs->sink = synth_of(synth_pmu_of(event))->sink;
		needs->barrier = record;
	}
	switch (output) {
	case AUXPMU_SYNTH_VIRTUAL:
		needs->map = true;
		fallthrough;
	case AUXPMU_SYNTH_WINDOW:
		needs->output = AUXPMU_WINDOW;
		needs->rules.spare = model->spare;
		/* One that goes round in its window does so in a flight recorder of one chunk. */
		needs->rules.wraps = model->polled;
		break;
	case AUXPMU_SYNTH_COPY:
		needs->output = AUXPMU_COPY;
		break;
	default:
		needs->output = AUXPMU_SCATTER;
		/* One that goes round in its window has no regions to stop at. */
		needs->regions = !model->shared;
		needs->rules.spare = model->spare;
	}
	if (!needs->regions && output != AUXPMU_SYNTH_COPY)
		needs->rules.least = model->least;
}

/* Can the unit of @event, which has a sink, write into @buffer? */
static bool synth_reaches(const struct auxpmu_buffer *buffer, const struct perf_event *event)
{
	const struct synth_model *model = &synth_of(buffer->pmu)->model;
	const struct auxpmu_window_rules *rules = &auxpmu_event(event)->needs.rules;

	if (buffer->overwrite && rules->wraps && buffer->chunks.nr > 1)
		return false;
	return !model->reach || buffer->size <= model->reach;
}

int synth_buffer_init(struct auxpmu_buffer *buffer, struct perf_event *event)
{
	struct auxpmu_sink *sink = auxpmu_event(event)->needs.sink;

	if (sink && synth_reaches(buffer, event))
		buffer->sink = sink;
	return 0;
}

static void synth_make_stream(struct synth_stream *stream, const struct perf_event *event)
{
	const struct synth_model *model = &synth_of(synth_pmu_of(event))->model;
	u64 config = synth_config_of(event);
	u32 rate = FIELD_GET(SYNTH_FIELD(RATE), config) ?: model->rate;

	stream->id = atomic64_inc_return(&last_stream);
	if (event->parent)
		stream->parent = ((struct synth_stream *)auxpmu_event(event->parent)->private)->id;
	stream->seed = FIELD_GET(SYNTH_CONFIG1, event->attr.config1);
	stream->program = event->attr.config2;
	stream->record = synth_record_of(event);
	stream->rate = rate << 10;
	stream->pattern = FIELD_GET(SYNTH_FIELD(PATTERN), config);
	stream->manual = config & SYNTH_FIELD(MANUAL);
}

/* May the event come to that CPU? */
static bool synth_comes_to(const struct perf_event *event, int cpu)
{
	return event->cpu == -1 || event->cpu == cpu;
}

/* Drop one user of the unit's RAM, and free it with the last one. With ram_lock held. */
static void synth_put_unit_ram(struct synth_unit *hw)
{
	if (--hw->ram_users)
		return;
	kvfree(hw->ram);
	hw->ram = NULL;
}

/* Drop the event's use of the trace RAM of the CPUs below @end. */
static void synth_put_ram(const struct perf_event *event, int end)
{
	struct synth *synth = synth_of(synth_pmu_of(event));
	int cpu;

	mutex_lock(&synth->ram_lock);
	for_each_possible_cpu(cpu)
		if (cpu < end && synth_comes_to(event, cpu))
			synth_put_unit_ram(auxpmu_unit_of(synth_pmu_of(event), cpu)->private);
	mutex_unlock(&synth->ram_lock);
}

static int synth_get_unit_ram(struct synth_unit *hw, u64 bytes, int cpu)
{
	if (!hw->ram_users)
		hw->ram = kvmalloc_node(bytes, GFP_KERNEL_ACCOUNT, cpu_to_node(cpu));
	if (!hw->ram)
		return -ENOMEM;
	hw->ram_users++;
	return 0;
}

/*
 * Allocate trace RAM for the CPUs the event may come to, on its user's account; it lives as long as
 * events need it. Inherited events use their parent's.
 */
static int synth_get_ram(const struct perf_event *event)
{
	struct synth *synth = synth_of(synth_pmu_of(event));
	int cpu, ret = 0;

	mutex_lock(&synth->ram_lock);
	for_each_possible_cpu(cpu) {
		if (synth_comes_to(event, cpu))
			ret = synth_get_unit_ram(auxpmu_unit_of(synth_pmu_of(event), cpu)->private,
						 synth->model.ram, cpu);
		if (ret)
			break;
	}
	mutex_unlock(&synth->ram_lock);
	if (ret)
		synth_put_ram(event, cpu);
	return ret;
}

static bool synth_needs_ram(const struct perf_event *event, const struct auxpmu_event *aux)
{
	return aux->needs.output == AUXPMU_COPY && !aux->needs.sink && !event->parent;
}

static const char *synth_attr_wrong(const struct perf_event *event)
{
	const struct synth *synth = synth_of(synth_pmu_of(event));

	return synth->persona ? synth_persona_config_wrong(&event->attr, synth->persona) :
				synth_config_wrong(&event->attr, &synth->model);
}

int synth_event_init(struct perf_event *event, struct auxpmu_event *aux)
{
	const char *wrong = synth_attr_wrong(event);
	struct synth_stream *stream;
	int ret;

	if (wrong) {
		auxpmu_notice(synth_pmu_of(event), "event refused: %s", wrong);
		return -EINVAL;
	}
	if (!event->parent && !READ_ONCE(unprivileged) && !perfmon_capable()) {
		auxpmu_notice(synth_pmu_of(event), "event refused: synthetic units take CAP_PERFMON, unless root allows them to everybody: echo 1 > /sys/module/auxpmu_synth/parameters/unprivileged");
		return -EACCES;
	}
	synth_make_needs(&aux->needs, event);
	stream = kzalloc(sizeof(*stream), GFP_KERNEL);
	if (!stream)
		return -ENOMEM;
	ret = synth_needs_ram(event, aux) ? synth_get_ram(event) : 0;
	if (ret) {
		kfree(stream);
		return ret;
	}
	synth_make_stream(stream, event);
	aux->private = stream;
	return 0;
}

void synth_event_destroy(struct perf_event *event, struct auxpmu_event *aux)
{
	if (synth_needs_ram(event, aux))
		synth_put_ram(event, nr_cpu_ids);
	kfree(aux->private);
}

/* sysfs format/: from the numbers in uapi/linux/auxpmu.h. */

#define SYNTH_FORMAT(_name, _NAME, _word)				\
	PMU_FORMAT_ATTR(_name, _word ":"				\
			__stringify(AUXPMU_SYNTH_##_NAME##_LO) "-"	\
			__stringify(AUXPMU_SYNTH_##_NAME##_HI))

SYNTH_FORMAT(rate, RATE, "config");
SYNTH_FORMAT(output, OUTPUT, "config");
SYNTH_FORMAT(record, RECORD, "config");
SYNTH_FORMAT(pattern, PATTERN, "config");
SYNTH_FORMAT(pages, PAGES, "config");
PMU_FORMAT_ATTR(manual, "config:" __stringify(AUXPMU_SYNTH_MANUAL_LO));
SYNTH_FORMAT(seed, SEED, "config1");
SYNTH_FORMAT(program, PROGRAM, "config2");

static struct attribute *format_attrs[] = {
	&format_attr_rate.attr,
	&format_attr_output.attr,
	&format_attr_record.attr,
	&format_attr_pattern.attr,
	&format_attr_pages.attr,
	&format_attr_manual.attr,
	&format_attr_seed.attr,
	&format_attr_program.attr,
	NULL
};

static const struct attribute_group format_group = {
	.name = "format",
	.attrs = format_attrs,
};

const struct attribute_group *synth_groups[] = {
	&format_group,
	NULL
};
