// SPDX-License-Identifier: GPL-2.0-only
/*
 * A backend that makes one mistake, named by a module parameter, for the tests of how the framework
 * answers mistakes of vendors (selftests/tests/contract/vendor.cc).
 *
 * The unit writes one record when it is armed, and nothing more. Most mistakes would destroy memory
 * or hang the machine if nobody caught them, so the backend only names memory that is not its own,
 * and does not use it.
 */
#include <linux/atomic.h>
#include <linux/err.h>
#include <linux/irqflags.h>
#include <linux/kernel.h>
#include <linux/minmax.h>
#include <linux/module.h>
#include <linux/percpu.h>
#include <linux/preempt.h>
#include <linux/smp.h>
#include <linux/string.h>

#include <auxpmu.h>

#define RECORD		64
#define RAM		1024
#define PADDING		0xee

/* Not canonical on any machine. */
#define NOWHERE		((void *)0x1234567800000000)

enum mistake {
	NONE,
	/* Refused when it registers. */
	VERSION, NO_OPS, NO_ARM, FILTERS, LIMIT, UNIT_HUGE, YIELDS, HALF_A_CLAIM, GROUPS,
	GROUP_TWICE, CAPS_TAKEN, CAPS_VISIBLE, CORE_ATTR, UNIT_INIT_POSITIVE,
	/* When an event is opened. */
	OUTPUT, PAGES, NO_SPANS, COPY_MAPPED, WINDOW_REGIONS, FORMAT, BARRIER, SINK, NO_PROGRESS,
	START_ALIGN, END_ALIGN, UNIT, EARLY, EVENT_INIT_POSITIVE,
	/* When its buffer is mapped. */
	SUIT, SPARE, BUFFER_INIT_POSITIVE,
	/* When it traces. */
	ARM_FAILS, ARM_POSITIVE, NEGATIVE, NEGATIVE_LOST, BEYOND, NEGATIVE_COPY, SPANS_LONG,
	SPANS_SHORT, SPANS_THREE, SPANS_NONE, SPANS_NULL, SPANS_NEGATIVE, SINK_BEYOND,
	/* Seen with paranoid=1. */
	MOVES, BEHIND, UNIT_NONE, UNIT_BEFORE, UNIT_BEHIND, NO_INTERRUPT, IRQS, PREEMPT,
	SPAN_ADDRESS, IRQS_ON, IRQS_OFF, SINK_MOVES, SINK_ADDRESS, SINK_IRQS, SINK_PREEMPT,
	MISTAKES
};

static const char *const names[MISTAKES] = {
	[NONE] = "none",
	[VERSION] = "version",
	[NO_OPS] = "no-ops",
	[NO_ARM] = "no-arm",
	[FILTERS] = "filters",
	[LIMIT] = "limit",
	[UNIT_HUGE] = "unit-huge",
	[YIELDS] = "yields",
	[HALF_A_CLAIM] = "half-a-claim",
	[GROUPS] = "groups",
	[GROUP_TWICE] = "group-twice",
	[CAPS_TAKEN] = "caps-taken",
	[CAPS_VISIBLE] = "caps-visible",
	[CORE_ATTR] = "core-attr",
	[UNIT_INIT_POSITIVE] = "unit-init-positive",
	[OUTPUT] = "output",
	[PAGES] = "pages",
	[NO_SPANS] = "no-spans",
	[COPY_MAPPED] = "copy-mapped",
	[FORMAT] = "format",
	[BARRIER] = "barrier",
	[SINK] = "sink",
	[NO_PROGRESS] = "no-progress",
	[WINDOW_REGIONS] = "window-regions",
	[START_ALIGN] = "start-align",
	[END_ALIGN] = "end-align",
	[UNIT] = "unit",
	[EARLY] = "early",
	[EVENT_INIT_POSITIVE] = "event-init-positive",
	[SUIT] = "suit",
	[SPARE] = "spare",
	[BUFFER_INIT_POSITIVE] = "buffer-init-positive",
	[ARM_FAILS] = "arm-fails",
	[ARM_POSITIVE] = "arm-positive",
	[NEGATIVE] = "negative",
	[NEGATIVE_LOST] = "negative-lost",
	[BEYOND] = "beyond",
	[NEGATIVE_COPY] = "negative-copy",
	[SPANS_LONG] = "spans-long",
	[SPANS_SHORT] = "spans-short",
	[SPANS_THREE] = "spans-three",
	[SPANS_NONE] = "spans-none",
	[SPANS_NULL] = "spans-null",
	[SPANS_NEGATIVE] = "spans-negative",
	[MOVES] = "moves",
	[BEHIND] = "behind",
	[UNIT_NONE] = "unit-none",
	[UNIT_BEFORE] = "unit-before",
	[UNIT_BEHIND] = "unit-behind",
	[NO_INTERRUPT] = "no-interrupt",
	[IRQS] = "irqs",
	[PREEMPT] = "preempt",
	[SPAN_ADDRESS] = "span-address",
	[IRQS_ON] = "irqs-on",
	[IRQS_OFF] = "irqs-off",
	[SINK_BEYOND] = "sink-beyond",
	[SINK_MOVES] = "sink-moves",
	[SINK_ADDRESS] = "sink-address",
	[SINK_IRQS] = "sink-irqs",
	[SINK_PREEMPT] = "sink-preempt",
};

static char *mistake_name = "none";
module_param_named(mistake, mistake_name, charp, 0444);
static char *name = "auxpmu_mistakes";
module_param(name, charp, 0444);

/* No mistakes: filters, which can stop the trace or not, starts far apart, own memory, a sink. */
static unsigned int filters;
module_param(filters, uint, 0444);
static bool filters_stop;
module_param(filters_stop, bool, 0444);
static bool filters_points;
module_param(filters_points, bool, 0444);
static unsigned int align = RECORD;
module_param(align, uint, 0444);
static bool copy;
module_param(copy, bool, 0444);
static bool sink;
module_param(sink, bool, 0444);

/* What there is of: events, buffers, sessions on a CPU; how often a unit was armed, invalidated. */
static atomic_t events, buffers, added, armed, invalidated;
module_param_named(events, events.counter, int, 0444);
module_param_named(buffers, buffers.counter, int, 0444);
module_param_named(added, added.counter, int, 0444);
module_param_named(armed, armed.counter, int, 0444);
module_param_named(invalidated, invalidated.counter, int, 0444);

static enum mistake mistake;
static struct auxpmu *pmu;

/* The unit's memory; some mistakes leave it, or use it without having it. */
struct mine {
	u64 bytes;
	u8 ram[RAM];
};

static DEFINE_PER_CPU(struct mine, units);

static struct mine *unit_of(const struct auxpmu_unit *unit)
{
	return per_cpu_ptr(&units, unit->cpu);
}

static bool has_sink(void)
{
	switch (mistake) {
	case SINK_BEYOND:
	case SINK_MOVES ... SINK_PREEMPT:
		return true;
	default:
		return sink;
	}
}

static bool copies(void)
{
	switch (mistake) {
	case NO_SPANS:
	case COPY_MAPPED:
	case NEGATIVE_COPY ... SPANS_NEGATIVE:
	case SPAN_ADDRESS:
		return true;
	default:
		return copy || has_sink();
	}
}

/* Of an event that is refused it is never used. */
static const struct auxpmu_sink_desc polled_desc = { .polled = true };
static struct auxpmu_sink polled_sink = { .desc = &polled_desc };

/* --- a sink: of CPU 0, where the tests are ---------------------------------------------------- */

static struct mine in_sink;

static int mistakes_sink_start(struct auxpmu_sink *pub)
{
	if (mistake == SINK_PREEMPT)
		preempt_disable();
	in_sink.bytes = 0;
	return 0;
}

static void mistakes_sink_stop(struct auxpmu_sink *pub)
{
	if (mistake == SINK_IRQS)
		raw_local_irq_enable();
}

static void mistakes_sink_position(struct auxpmu_sink *pub, struct auxpmu_position *position)
{
	position->bytes = mistake == SINK_BEYOND ? RAM + RECORD : in_sink.bytes;
	if (mistake == SINK_MOVES)
		in_sink.bytes += RECORD;
}

static unsigned int mistakes_sink_spans(struct auxpmu_sink *pub, struct auxpmu_span spans[2])
{
	spans[0] = (struct auxpmu_span){ .data = in_sink.ram, .length = in_sink.bytes };
	if (mistake == SINK_ADDRESS)
		spans[0].data = NOWHERE;
	return 1;
}

static const struct auxpmu_sink_ops sink_ops = {
	.start = mistakes_sink_start,
	.stop = mistakes_sink_stop,
	.position = mistakes_sink_position,
	.spans = mistakes_sink_spans,
};

static const struct auxpmu_sink_desc sink_desc = { .ops = &sink_ops, .size = RAM };
static struct auxpmu_sink *its_sink;

/* --- units ------------------------------------------------------------------------------------ */

static int mistakes_unit_init(struct auxpmu_unit *unit)
{
	return mistake == UNIT_INIT_POSITIVE ? 5 : 0;
}

static void make_rules(struct auxpmu_window_rules *rules)
{
	rules->start_align = mistake == START_ALIGN ? 48 : align;
	rules->end_align = mistake == END_ALIGN ? 3 : 1;
	rules->atom = mistake == UNIT ? 0 : RECORD;
	/* So that a window does not end where its chunk does. */
	if (mistake == BEHIND)
		rules->atom = 3 * RECORD;
	rules->early = mistake == EARLY ? PAGE_SIZE : 0;
	rules->spare = mistake == SPARE ? 1u << 30 : 0;
}

static int mistakes_event_init(struct perf_event *event, struct auxpmu_event *aux)
{
	struct auxpmu_needs *needs = &aux->needs;

	needs->output = copies() ? AUXPMU_COPY : AUXPMU_WINDOW;
	if (mistake == OUTPUT)
		needs->output = (enum auxpmu_output)7;
	if (mistake == PAGES)
		needs->pages = (enum auxpmu_pages)-1;
	needs->map = mistake == COPY_MAPPED;
	needs->format = mistake == FORMAT ? PERF_AUX_FLAG_PARTIAL : 0;
	needs->barrier = mistake == BARRIER ? 16 : 0;
	/* Of a descriptor that does not say no_nmi it is never looked at. */
	needs->sink = mistake == SINK ? (struct auxpmu_sink *)needs : NULL;
	if (mistake == NO_PROGRESS)
		needs->sink = &polled_sink;
	if (has_sink())
		needs->sink = its_sink;
	needs->regions = mistake == WINDOW_REGIONS;
	make_rules(&needs->rules);
	/* Nobody is traced, but this is what a threaded handler would do. */
	if (mistake == IRQS_ON)
		auxpmu_interrupt(pmu);
	if (mistake == IRQS_OFF)
		raw_local_irq_disable();
	if (mistake == EVENT_INIT_POSITIVE)
		return 5;
	atomic_inc(&events);
	return 0;
}

static void mistakes_event_destroy(struct perf_event *event, struct auxpmu_event *aux)
{
	atomic_dec(&events);
}

static void mistakes_suit(const struct auxpmu_buffer *buffer, struct auxpmu_window_rules *rules)
{
	if (mistake == SUIT)
		rules->atom = 0;
}

static int mistakes_buffer_init(struct auxpmu_buffer *buffer, struct perf_event *event)
{
	if (mistake == BUFFER_INIT_POSITIVE)
		return 5;
	atomic_inc(&buffers);
	return 0;
}

static void mistakes_buffer_fini(struct auxpmu_buffer *buffer)
{
	atomic_dec(&buffers);
}

static int mistakes_add(struct auxpmu_unit *unit)
{
	atomic_inc(&added);
	return 0;
}

static void mistakes_invalidate(struct auxpmu_unit *unit)
{
	atomic_inc(&invalidated);
}

static void mistakes_del(struct auxpmu_unit *unit)
{
	atomic_dec(&added);
}

static void mistakes_pad(struct auxpmu_unit *unit, void *data, u64 length)
{
	memset(data, PADDING, length);
}

/* The window's first bytes, or those behind it, in the chunk or not: where the unit writes. */
static void write_at(const struct auxpmu_unit *unit, u64 position)
{
	u64 run;
	void *data = auxpmu_buffer_run(unit->buffer, position, &run);

	memset(data, 0xa5, min_t(u64, run, RECORD));
}

static void write_trace(struct auxpmu_unit *unit)
{
	const struct auxpmu_window *window = &unit->window;
	struct mine *mine = has_sink() ? &in_sink : unit_of(unit);

	mine->bytes = RECORD;
	if (copies()) {
		memset(mine->ram, 0xa5, RECORD);
		return;
	}
	write_at(unit, window->from);
	if (mistake == NO_INTERRUPT)
		mine->bytes = window->irq - window->from;
	if (mistake == BEHIND)
		write_at(unit, window->to);
}

static void leave_unit(struct auxpmu_unit *unit)
{
	u8 *memory = unit->private;

	if (mistake == UNIT_NONE || mistake == UNIT_BEHIND)
		memory[mistake == UNIT_NONE ? 0 : RECORD] = 1;
	if (mistake == UNIT_BEFORE)
		memory[-1] = 1;
}

static int mistakes_arm(struct auxpmu_unit *unit)
{
	if (mistake == ARM_FAILS)
		return -EIO;
	if (mistake == ARM_POSITIVE)
		return 5;
	/* Raw: lockdep would tell of it, which is not what is tested. */
	if (mistake == IRQS)
		raw_local_irq_enable();
	if (mistake == PREEMPT)
		preempt_disable();
	write_trace(unit);
	leave_unit(unit);
	atomic_inc(&armed);
	return 0;
}

static void mistakes_disarm(struct auxpmu_unit *unit)
{
}

static void mistakes_position(struct auxpmu_unit *unit, struct auxpmu_position *position)
{
	struct mine *mine = unit_of(unit);

	position->bytes = mine->bytes;
	if (mistake == MOVES)
		mine->bytes += RECORD;
	if (mistake == NEGATIVE || mistake == NEGATIVE_COPY)
		position->bytes = -position->bytes;
	if (mistake == NEGATIVE_LOST)
		position->lost = -position->bytes;
	if (mistake == BEYOND)
		position->bytes += unit->window.to - unit->window.from;
}

static unsigned int mistakes_spans(struct auxpmu_unit *unit, struct auxpmu_span spans[2])
{
	struct mine *mine = unit_of(unit);

	spans[0] = (struct auxpmu_span){ .data = mine->ram, .length = mine->bytes };
	switch (mistake) {
	case SPANS_LONG:
		spans[1] = (struct auxpmu_span){ .data = mine->ram, .length = RAM };
		return 2;
	case SPANS_SHORT:
		spans[0].length /= 2;
		return 1;
	case SPANS_THREE:
		return 3;
	case SPANS_NONE:
		return 0;
	case SPANS_NULL:
		spans[0].data = NULL;
		return 1;
	case SPANS_NEGATIVE:
		spans[0].length = -RECORD;
		return 1;
	case SPAN_ADDRESS:
		spans[0].data = NOWHERE;
		return 1;
	default:
		return 1;
	}
}

static struct auxpmu_ops ops = {
	.version = AUXPMU_OPS_VERSION,
	.unit_init = mistakes_unit_init,
	.event_init = mistakes_event_init,
	.event_destroy = mistakes_event_destroy,
	.suit = mistakes_suit,
	.buffer_init = mistakes_buffer_init,
	.buffer_fini = mistakes_buffer_fini,
	.add = mistakes_add,
	.del = mistakes_del,
	.invalidate = mistakes_invalidate,
	.arm = mistakes_arm,
	.disarm = mistakes_disarm,
	.position = mistakes_position,
	.spans = mistakes_spans,
	.pad = mistakes_pad,
};

static struct attribute nothing_attr = { .name = "nothing", .mode = 0444 };
static struct attribute overwrite_attr = { .name = "overwrite", .mode = 0444 };
static struct attribute type_attr = { .name = "type", .mode = 0444 };
static struct attribute *nothing[] = { &nothing_attr, NULL };
static struct attribute *overwrite[] = { &overwrite_attr, NULL };
static struct attribute *type[] = { &type_attr, NULL };

static umode_t visible(struct kobject *kobj, struct attribute *attr, int n)
{
	return 0;
}

static const struct attribute_group unnamed = { .attrs = nothing };
static const struct attribute_group format = { .name = "format", .attrs = nothing };
static const struct attribute_group taken = { .name = "caps", .attrs = overwrite };
static const struct attribute_group hidden = {
	.name = "caps",
	.attrs = nothing,
	.is_visible = visible,
};

static const struct attribute_group core_group = { .attrs = type };

static const struct attribute_group *fifteen[] = {
	&unnamed, &unnamed, &unnamed, &unnamed, &unnamed, &unnamed, &unnamed, &unnamed, &unnamed,
	&unnamed, &unnamed, &unnamed, &unnamed, &unnamed, &unnamed, NULL
};

static const struct attribute_group *twice[] = { &format, &format, NULL };
static const struct attribute_group *taken_groups[] = { &taken, NULL };
static const struct attribute_group *hidden_groups[] = { &hidden, NULL };
static const struct attribute_group *core_groups[] = { &core_group, NULL };

static const char *const handlers[] = { "cpu", NULL };
static const struct auxpmu_claim half_a_claim = { .intree = "nobody", .handlers = handlers };

static struct auxpmu_desc desc = {
	.ops = &ops,
	.unit_size = RECORD,
	.yields = AUXPMU_YIELDS_START,
};

static void make_ops(void)
{
	if (mistake == VERSION)
		ops.version--;
	if (mistake == NO_ARM)
		ops.arm = NULL;
	if (mistake == NO_SPANS)
		ops.spans = NULL;
}

static void make_groups(void)
{
	switch (mistake) {
	case GROUPS:
		desc.attr_groups = fifteen;
		break;
	case GROUP_TWICE:
		desc.attr_groups = twice;
		break;
	case CAPS_TAKEN:
		desc.attr_groups = taken_groups;
		break;
	case CAPS_VISIBLE:
		desc.attr_groups = hidden_groups;
		break;
	case CORE_ATTR:
		desc.attr_groups = core_groups;
		break;
	default:
		break;
	}
}

static void make_desc(void)
{
	/* "none" stands for no name at all. */
	desc.name = strcmp(name, "none") ? name : NULL;
	if (mistake == NO_OPS)
		desc.ops = NULL;
	desc.nr_addr_filters = filters;
	desc.filters_stop = filters_stop;
	desc.filters_points = filters_points;
	if (mistake == FILTERS)
		desc.nr_addr_filters = AUXPMU_FILTERS_MAX + 1;
	if (mistake == LIMIT)
		desc.limits.min_chunk = 3000;
	if (mistake == UNIT_HUGE)
		desc.unit_size = 2 * AUXPMU_UNIT_MAX;
	if (mistake == UNIT_NONE)
		desc.unit_size = 0;
	desc.no_nmi = mistake == NO_PROGRESS || has_sink();
	if (mistake == YIELDS)
		desc.yields = (enum auxpmu_yields)9;
	if (mistake == HALF_A_CLAIM)
		desc.claim = &half_a_claim;
}

/* Suspend or resume the unit of CPU 0, as a backend does when somebody else needs the unit. */
static bool suspended;

static void suspend_here(void *data)
{
	if (suspended)
		auxpmu_suspend(pmu, false);
	else
		auxpmu_resume(pmu);
}

static int set_suspended(const char *text, const struct kernel_param *param)
{
	int ret;

	if (IS_ERR_OR_NULL(pmu))
		return -ENODEV;
	ret = param_set_bool(text, param);
	return ret ?: smp_call_function_single(0, suspend_here, NULL, 1);
}

static const struct kernel_param_ops suspended_ops = {
	.set = set_suspended,
	.get = param_get_bool,
};
module_param_cb(suspended, &suspended_ops, &suspended, 0644);

static int __init mistakes_init(void)
{
	int n = match_string(names, MISTAKES, mistake_name);

	if (n < 0)
		return -ENOENT;
	mistake = n;
	/* Without the count nobody could see it. */
	if ((mistake == PREEMPT || mistake == SINK_PREEMPT) && !IS_ENABLED(CONFIG_PREEMPT_COUNT))
		return -EOPNOTSUPP;
	make_ops();
	make_groups();
	make_desc();
	if (has_sink()) {
		its_sink = auxpmu_sink_make(&sink_desc, NULL);
		if (IS_ERR(its_sink))
			return PTR_ERR(its_sink);
	}
	pmu = auxpmu_register(&desc);
	if (IS_ERR(pmu) && has_sink())
		auxpmu_sink_free(its_sink);
	return PTR_ERR_OR_ZERO(pmu);
}

static void __exit mistakes_exit(void)
{
	auxpmu_unregister(pmu);
	if (has_sink())
		auxpmu_sink_free(its_sink);
}

module_init(mistakes_init);
module_exit(mistakes_exit);
AUXPMU_IMPORT_NS();
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("an auxpmu backend that makes mistakes");
