// SPDX-License-Identifier: GPL-2.0-only
/*
 * The synthetic PMU: a trace unit made of software, whose trace proves itself (record format in
 * uapi/auxpmu.h).
 *
 * A backend like any other: it sees windows, never a perf_output_handle. Its hardware is a timer
 * per CPU, or the debugfs file "emit"; being software, it takes the session while it writes. It
 * writes as each of the three kinds of hardware does.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/bitfield.h>
#include <linux/cpu.h>
#include <linux/crc32.h>
#include <linux/debugfs.h>
#include <linux/err.h>
#include <linux/irq_work.h>
#include <linux/ktime.h>
#include <linux/minmax.h>
#include <linux/mutex.h>
#include <linux/percpu.h>
#include <linux/sched/clock.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/smp.h>
#include <linux/uaccess.h>
#include <linux/vmalloc.h>

#include "uapi/auxpmu.h"

#include "compat.h"
#include "nmi.h"
#include "pmu.h"
#include "session.h"
#include "synth.h"

/* Trace RAM of a unit that copies, per CPU; it interrupts when half full. */
#define SYNTH_RAM		(64u << 10)

/* What emit writes with IRQs off at a time. */
#define SYNTH_EMIT_SLICE	(256u << 10)

#define SYNTH_BENCH_AREA	(256u << 10)

/*
 * What one event's trace is like, and how far it got. Written by the unit that traces for it, which
 * is one at a time.
 */
struct synth_stream {
	u64 id;
	u64 parent;
	u64 seq;
	u32 seed;
	u32 record;		/* bytes */
	u32 rate;		/* bytes per tick */
	u16 pattern;
	bool manual;
};

/* The unit of one CPU. */
struct synth_unit {
	struct auxpmu_session *session;
	struct hrtimer timer;
	u64 position;		/* next byte; for a unit that copies, bytes in @ram */
	u64 credit;		/* bytes the timer still owes */
	u8 *ram;
};

static struct auxpmu *synth;
static atomic64_t last_stream = ATOMIC64_INIT(0);

/* Guards the making of trace RAM, which stays until the module goes. */
static DEFINE_MUTEX(ram_lock);

static struct synth_stream *stream_of(const struct auxpmu_session *session)
{
	return auxpmu_session_event(session)->private;
}

static bool copies(const struct auxpmu_session *session)
{
	return auxpmu_session_event(session)->needs.output == AUXPMU_COPY;
}

/* Records. */

static void fill_counter(u64 *word, u64 *end, u64 base)
{
	for (; word < end; word += 8, base += 8) {
		word[0] = base;
		word[1] = base + 1;
		word[2] = base + 2;
		word[3] = base + 3;
		word[4] = base + 4;
		word[5] = base + 5;
		word[6] = base + 6;
		word[7] = base + 7;
	}
}

static void fill_constant(u64 *word, u64 *end, u64 base)
{
	for (; word < end; word += 8) {
		word[0] = base;
		word[1] = base;
		word[2] = base;
		word[3] = base;
		word[4] = base;
		word[5] = base;
		word[6] = base;
		word[7] = base;
	}
}

static void fill_random(u64 *word, u64 *end, u64 base)
{
	while (word < end)
		*word++ = auxpmu_mix64(base++);
}

static void seal(struct auxpmu_record *record)
{
	record->crc = ~crc32_le(~0, (const u8 *)record, offsetof(struct auxpmu_record, crc));
}

static void write_record(struct synth_stream *stream, void *data, enum auxpmu_record_kind kind)
{
	struct auxpmu_record *record = data;
	u64 base = auxpmu_record_base(stream->id, stream->seq, stream->seed);
	u64 *payload = data + sizeof(*record);
	u64 *end = data + stream->record;

	*record = (struct auxpmu_record){
		.magic = AUXPMU_RECORD_MAGIC,
		.size = stream->record,
		.kind = kind,
		.pattern = stream->pattern,
		.cpu = smp_processor_id(),
		.stream = stream->id,
		.parent = stream->parent,
		.seq = stream->seq++,
		.time = local_clock(),
		.seed = stream->seed,
	};
	seal(record);
	if (stream->pattern == AUXPMU_SYNTH_COUNTER)
		fill_counter(payload, end, base);
	else if (stream->pattern == AUXPMU_SYNTH_CONSTANT)
		fill_constant(payload, end, base);
	else
		fill_random(payload, end, base);
}

/* @length bytes, a multiple of the record size. */
static void write_records(struct synth_stream *stream, void *data, u64 length)
{
	void *end = data + length;

	for (; data < end; data += stream->record)
		write_record(stream, data, AUXPMU_RECORD_DATA);
}

static void synth_pad(struct auxpmu_session *session, void *data, u64 length)
{
	struct auxpmu_record *record;
	u64 odd = length % AUXPMU_RECORD_MIN;

	memset(data, 0, length);
	if (length == odd)
		return;
	record = data + odd;
	record->magic = AUXPMU_RECORD_MAGIC;
	record->size = length - odd;
	record->kind = AUXPMU_RECORD_PAD;
	record->cpu = session->cpu;
	record->stream = stream_of(session)->id;
	record->time = local_clock();
	seal(record);
}

/* The unit. */

/*
 * Where the unit interrupts, on the scale of its position.  One that copies interrupts early for
 * the consumer's sake, but knows no more than its RAM of how much room there is: like an ETB it
 * runs on when the buffer is full, and what does not fit is lost.
 */
static u64 interrupt_at(const struct auxpmu_session *session)
{
	const struct auxpmu_window *window = &session->window;

	if (!copies(session))
		return window->irq;
	if (window->irq == window->to)
		return SYNTH_RAM / 2;
	return min_t(u64, window->irq - window->from, SYNTH_RAM / 2);
}

/* The memory at the unit's position, and how much of it there is. */
static void *memory_at(const struct synth_unit *unit, u64 *length)
{
	const struct auxpmu_session *session = unit->session;
	const struct auxpmu_buffer *buffer = session->buffer;

	if (copies(session)) {
		*length = SYNTH_RAM - unit->position;
		return unit->ram + unit->position;
	}
	if (auxpmu_session_event(session)->needs.map) {
		*length = session->window.to - unit->position;
		return buffer->base + (unit->position & (buffer->size - 1));
	}
	return auxpmu_buffer_run(buffer, unit->position, length);
}

/* Write up to @bytes of records, but not past the interrupt.  Returns what was written. */
static u64 write_some(struct synth_unit *unit, u64 bytes)
{
	struct synth_stream *stream = stream_of(unit->session);
	u64 length;
	void *data = memory_at(unit, &length);

	length = min3(length, bytes, interrupt_at(unit->session) - unit->position);
	write_records(stream, data, length);
	unit->position += length;
	return length;
}

static bool interrupting(const struct synth_unit *unit)
{
	return unit->position >= interrupt_at(unit->session);
}

/*
 * Write @bytes, a multiple of the record size, interrupting as hardware would. The caller has taken
 * the session. Returns what was written: less when the buffer became full.
 */
static u64 synth_write(struct synth_unit *unit, u64 bytes)
{
	struct auxpmu_session *session = unit->session;
	u64 left = bytes;

	while (left && auxpmu_session_armed(session)) {
		left -= write_some(unit, left);
		if (interrupting(unit))
			auxpmu_session_turn(session);
	}
	return bytes - left;
}

static enum hrtimer_restart synth_tick(struct hrtimer *timer)
{
	struct synth_unit *unit = container_of(timer, struct synth_unit, timer);
	struct auxpmu_session *session = unit->session;
	u64 began = ktime_get_mono_fast_ns();
	u64 period = NSEC_PER_MSEC;

	if (auxpmu_session_take(session)) {
		if (auxpmu_session_armed(session)) {
			struct synth_stream *stream = stream_of(session);

			unit->credit += stream->rate;
			synth_write(unit, unit->credit - unit->credit % stream->record);
			/* What a full buffer kept it from writing is not owed later. */
			unit->credit %= stream->record;
		}
		auxpmu_session_give(session);
	}
	/* Whatever rate was asked for, half of the CPU is left to others. */
	period = max(period, 2 * (ktime_get_mono_fast_ns() - began));
	hrtimer_forward_now(timer, ns_to_ktime(period));
	return HRTIMER_RESTART;
}

static int synth_unit_init(struct auxpmu_session *session)
{
	struct synth_unit *unit = session->unit;

	unit->session = session;
	hrtimer_setup(&unit->timer, synth_tick, CLOCK_MONOTONIC, HRTIMER_MODE_REL_PINNED_HARD);
	return 0;
}

static void synth_unit_exit(struct auxpmu_session *session)
{
	struct synth_unit *unit = session->unit;

	vfree(unit->ram);
}

static int synth_add(struct auxpmu_session *session)
{
	struct synth_unit *unit = session->unit;

	unit->credit = 0;
	if (!stream_of(session)->manual)
		hrtimer_start(&unit->timer, ns_to_ktime(NSEC_PER_MSEC),
			      HRTIMER_MODE_REL_PINNED_HARD);
	return 0;
}

/* The timer is pinned and IRQs are off, so it is not running, and need not be waited for. */
static void synth_del(struct auxpmu_session *session)
{
	struct synth_unit *unit = session->unit;

	hrtimer_try_to_cancel(&unit->timer);
}

static int synth_arm(struct auxpmu_session *session)
{
	struct synth_stream *stream = stream_of(session);
	struct synth_unit *unit = session->unit;
	u64 length;

	unit->position = copies(session) ? 0 : session->window.from;
	if (session->starting) {
		write_record(stream, memory_at(unit, &length), AUXPMU_RECORD_START);
		unit->position += stream->record;
	}
	return 0;
}

/* Nothing to do: who writes has taken the session, so it is not writing now. */
static void synth_disarm(struct auxpmu_session *session)
{
}

static void synth_position(struct auxpmu_session *session, struct auxpmu_position *position)
{
	struct synth_unit *unit = session->unit;

	position->bytes = unit->position - (copies(session) ? 0 : session->window.from);
}

static bool synth_irq_pending(struct auxpmu_session *session)
{
	return interrupting(session->unit);
}

static unsigned int synth_spans(struct auxpmu_session *session, struct auxpmu_span spans[2])
{
	struct synth_unit *unit = session->unit;

	spans[0] = (struct auxpmu_span){ .data = unit->ram, .length = unit->position };
	return 1;
}

/* Events. */

#define SYNTH_FIELD(name)	GENMASK_ULL(AUXPMU_SYNTH_##name##_HI, AUXPMU_SYNTH_##name##_LO)
#define SYNTH_CONFIG		(SYNTH_FIELD(RATE) | SYNTH_FIELD(OUTPUT) | SYNTH_FIELD(RECORD) | \
				 SYNTH_FIELD(PATTERN) | SYNTH_FIELD(PAGES) | SYNTH_FIELD(MANUAL))
#define SYNTH_CONFIG1		SYNTH_FIELD(SEED)

/* What is wrong with the attr's config words, or NULL. */
static const char *config_wrong(const struct perf_event_attr *attr)
{
	u64 config = attr->config;

	if (config & ~SYNTH_CONFIG)
		return "config has bits outside the fields in sysfs format/";
	if (attr->config1 & ~SYNTH_CONFIG1)
		return "config1 has bits outside the fields in sysfs format/";
	if (attr->config2)
		return "config2 is not 0";
	if (FIELD_GET(SYNTH_FIELD(RATE), config) > AUXPMU_SYNTH_RATE_MAX)
		return "rate is above " __stringify(AUXPMU_SYNTH_RATE_MAX) " (KiB per millisecond)";
	if (FIELD_GET(SYNTH_FIELD(OUTPUT), config) > AUXPMU_SYNTH_COPY)
		return "output is none of 0 (scatter), 1 (window), 2 (copy)";
	if (FIELD_GET(SYNTH_FIELD(RECORD), config) > ilog2(AUXPMU_RECORD_MAX / AUXPMU_RECORD_MIN))
		return "record is above 6 (4096 bytes)";
	if (FIELD_GET(SYNTH_FIELD(PATTERN), config) > AUXPMU_SYNTH_RANDOM)
		return "pattern is none of 0 (counter), 1 (constant), 2 (random)";
	if ((config & SYNTH_FIELD(MANUAL)) && (config & SYNTH_FIELD(RATE)))
		return "manual and rate exclude each other";
	return NULL;
}

static void make_needs(struct auxpmu_needs *needs, u64 config, u32 record)
{
	static const enum auxpmu_pages pages[] = {
		[AUXPMU_SYNTH_PAGES_LARGE] = AUXPMU_PAGES_LARGE,
		[AUXPMU_SYNTH_PAGES_ANY] = AUXPMU_PAGES_ANY,
		[AUXPMU_SYNTH_PAGES_HALF] = AUXPMU_PAGES_HALF,
		[AUXPMU_SYNTH_PAGES_WHOLE] = AUXPMU_PAGES_WHOLE,
	};

	needs->pages = pages[FIELD_GET(SYNTH_FIELD(PAGES), config)];
	needs->rules.start_align = record;
	needs->rules.unit = record;
	switch (FIELD_GET(SYNTH_FIELD(OUTPUT), config)) {
	case AUXPMU_SYNTH_WINDOW:
		needs->output = AUXPMU_WINDOW;
		needs->map = true;
		break;
	case AUXPMU_SYNTH_COPY:
		needs->output = AUXPMU_COPY;
		break;
	default:
		needs->output = AUXPMU_SCATTER;
		needs->regions = true;
	}
}

static void make_stream(struct synth_stream *stream, const struct perf_event *event, u32 record)
{
	u64 config = event->attr.config;
	u32 rate = FIELD_GET(SYNTH_FIELD(RATE), config) ?: AUXPMU_SYNTH_RATE_DEFAULT;

	stream->id = atomic64_inc_return(&last_stream);
	if (event->parent)
		stream->parent = ((struct synth_stream *)auxpmu_event(event->parent)->private)->id;
	stream->seed = FIELD_GET(SYNTH_CONFIG1, event->attr.config1);
	stream->record = record;
	stream->rate = rate << 10;
	stream->pattern = FIELD_GET(SYNTH_FIELD(PATTERN), config);
	stream->manual = config & SYNTH_FIELD(MANUAL);
}

/* Trace RAM for the CPUs the event may come to. */
static int make_ram(const struct perf_event *event)
{
	int ret = 0;
	int cpu;

	mutex_lock(&ram_lock);
	for_each_possible_cpu(cpu) {
		struct synth_unit *unit = per_cpu_ptr(auxpmu_of(event)->sessions, cpu)->unit;

		if (unit->ram || (event->cpu != -1 && event->cpu != cpu))
			continue;
		unit->ram = vmalloc_node(SYNTH_RAM, cpu_to_node(cpu));
		if (!unit->ram)
			ret = -ENOMEM;
	}
	mutex_unlock(&ram_lock);
	return ret;
}

static int synth_event_init(struct perf_event *event, struct auxpmu_event *aux)
{
	u64 config = event->attr.config;
	u32 record = AUXPMU_RECORD_MIN << FIELD_GET(SYNTH_FIELD(RECORD), config);
	const char *wrong = config_wrong(&event->attr);
	struct synth_stream *stream;
	int ret;

	if (wrong) {
		auxpmu_notice(auxpmu_of(event), "event refused: %s", wrong);
		return -EINVAL;
	}
	make_needs(&aux->needs, config, record);
	if (aux->needs.output == AUXPMU_COPY) {
		ret = make_ram(event);
		if (ret)
			return ret;
	}
	stream = kzalloc(sizeof(*stream), GFP_KERNEL);
	if (!stream)
		return -ENOMEM;
	make_stream(stream, event, record);
	aux->private = stream;
	return 0;
}

static void synth_event_destroy(struct perf_event *event, struct auxpmu_event *aux)
{
	kfree(aux->private);
}

static const struct auxpmu_ops synth_ops = {
	.version = AUXPMU_OPS_VERSION,
	.unit_init = synth_unit_init,
	.unit_exit = synth_unit_exit,
	.event_init = synth_event_init,
	.event_destroy = synth_event_destroy,
	.add = synth_add,
	.del = synth_del,
	.arm = synth_arm,
	.disarm = synth_disarm,
	.position = synth_position,
	.spans = synth_spans,
	.irq_pending = synth_irq_pending,
	.pad = synth_pad,
};

/* sysfs format/: from the numbers in uapi/auxpmu.h. */

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

static struct attribute *format_attrs[] = {
	&format_attr_rate.attr,
	&format_attr_output.attr,
	&format_attr_record.attr,
	&format_attr_pattern.attr,
	&format_attr_pages.attr,
	&format_attr_manual.attr,
	&format_attr_seed.attr,
	NULL
};

static const struct attribute_group format_group = {
	.name = "format",
	.attrs = format_attrs,
};

static const struct attribute_group *synth_groups[] = {
	&format_group,
	NULL
};

static const struct auxpmu_desc synth_desc = {
	.name = AUXPMU_SYNTH_NAME,
	.ops = &synth_ops,
	.attr_groups = synth_groups,
	.unit_size = sizeof(struct synth_unit),
};

/* debugfs: trace on demand, and how fast it is. */

struct synth_emit {
	u64 bytes;
	u64 done;
	int ret;
};

/* The last write to emit. */
static DEFINE_MUTEX(emit_lock);
static int emitted_cpu;
static u64 emitted_bytes;

/* On the unit's CPU, IRQs off. */
static void emit_here(void *data)
{
	struct auxpmu_session *session = this_cpu_ptr(synth->sessions);
	struct synth_emit *emit = data;
	u32 record;

	emit->done = 0;
	emit->ret = -ENXIO;
	if (!auxpmu_session_take(session))
		return;
	if (auxpmu_session_armed(session)) {
		record = stream_of(session)->record;
		emit->bytes = DIV_ROUND_UP(emit->bytes, record) * record;
		emit->done = synth_write(session->unit, emit->bytes);
		emit->ret = emit->done < emit->bytes ? -ENOSPC : 0;
	}
	auxpmu_session_give(session);
	/*
	 * The core disables an event whose buffer is full in an irq_work.  It is run before emit
	 * returns, or the caller could ENABLE an event that is only then disabled.
	 */
	irq_work_run();
}

static int emit_on(int cpu, u64 bytes)
{
	struct synth_emit emit;
	int ret = 0;

	do {
		emit.bytes = min_t(u64, bytes, SYNTH_EMIT_SLICE);
		emit.ret = -ENXIO;
		if (smp_call_function_single(cpu, emit_here, &emit, 1))
			return -ENXIO;
		emitted_bytes += emit.done;
		bytes -= min(bytes, emit.done);
		ret = emit.ret;
		cond_resched();
	} while (!ret && bytes && !fatal_signal_pending(current));
	/* Full just as a slice ended: the next one found nobody tracing. */
	return ret == -ENXIO && emitted_bytes ? -ENOSPC : ret;
}

/* A line of text from user space, without its newline; to be freed. */
static char *user_line(const char __user *from, size_t count)
{
	char *line;

	if (count > 64)
		return ERR_PTR(-EINVAL);
	line = memdup_user_nul(from, count);
	return IS_ERR(line) ? line : strim(line);
}

static ssize_t emit_write(struct file *file, const char __user *from, size_t count, loff_t *pos)
{
	char *line = user_line(from, count);
	u64 bytes;
	int cpu, ret;

	if (IS_ERR(line))
		return PTR_ERR(line);
	ret = sscanf(line, "%d %llu", &cpu, &bytes);
	kfree(line);
	if (ret != 2 || cpu < 0 || cpu >= nr_cpu_ids || !bytes)
		return -EINVAL;

	mutex_lock(&emit_lock);
	emitted_cpu = cpu;
	emitted_bytes = 0;
	ret = emit_on(cpu, bytes);
	mutex_unlock(&emit_lock);
	return ret ?: count;
}

static const struct file_operations emit_fops = {
	.owner = THIS_MODULE,
	.open = simple_open,
	.write = emit_write,
};

static int emitted_show(struct seq_file *seq, void *unused)
{
	mutex_lock(&emit_lock);
	seq_printf(seq, "%d %llu\n", emitted_cpu, emitted_bytes);
	mutex_unlock(&emit_lock);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(emitted);

static DEFINE_MUTEX(bench_lock);
static u64 bench_bytes, bench_records_ns, bench_memset_ns;

/* Records and memset() over the same bytes by turns, so that both see the same machine. */
static void bench(struct synth_stream *stream, void *area, u64 bytes)
{
	u64 began;

	bench_bytes = 0;
	bench_records_ns = 0;
	bench_memset_ns = 0;
	while (bench_bytes < bytes && !fatal_signal_pending(current)) {
		preempt_disable();
		began = ktime_get_ns();
		write_records(stream, area, SYNTH_BENCH_AREA);
		bench_records_ns += ktime_get_ns() - began;
		began = ktime_get_ns();
		memset(area, (u8)bench_bytes, SYNTH_BENCH_AREA);
		bench_memset_ns += ktime_get_ns() - began;
		preempt_enable();
		bench_bytes += SYNTH_BENCH_AREA;
		cond_resched();
	}
}

static ssize_t bench_write(struct file *file, const char __user *from, size_t count, loff_t *pos)
{
	struct synth_stream stream = { .id = 1, .record = AUXPMU_RECORD_MAX };
	u64 bytes;
	void *area;
	int ret;

	ret = kstrtoull_from_user(from, count, 0, &bytes);
	if (ret)
		return ret;
	area = kvmalloc(SYNTH_BENCH_AREA, GFP_KERNEL);
	if (!area)
		return -ENOMEM;
	mutex_lock(&bench_lock);
	bench(&stream, area, bytes);
	mutex_unlock(&bench_lock);
	kvfree(area);
	return count;
}

static int bench_show(struct seq_file *seq, void *unused)
{
	mutex_lock(&bench_lock);
	seq_printf(seq, "%llu %llu %llu\n", bench_bytes, bench_records_ns, bench_memset_ns);
	mutex_unlock(&bench_lock);
	return 0;
}

static int bench_open(struct inode *inode, struct file *file)
{
	return single_open(file, bench_show, NULL);
}

static const struct file_operations bench_fops = {
	.owner = THIS_MODULE,
	.open = bench_open,
	.read = seq_read,
	.write = bench_write,
	.llseek = seq_lseek,
	.release = single_release,
};

int __init auxpmu_synth_init(void)
{
	synth = auxpmu_register(&synth_desc);
	if (IS_ERR(synth))
		return PTR_ERR(synth);
	debugfs_create_file("emit", 0200, synth->debugfs, NULL, &emit_fops);
	debugfs_create_file("emitted", 0400, synth->debugfs, NULL, &emitted_fops);
	debugfs_create_file("bench", 0600, synth->debugfs, NULL, &bench_fops);
	auxpmu_nmi_debugfs_add(synth);
	return 0;
}

void auxpmu_synth_exit(void)
{
	auxpmu_unregister(synth);
}
