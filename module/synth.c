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
#include <linux/capability.h>
#include <linux/crc32poly.h>
#include <linux/delay.h>
#include <linux/err.h>
#include <linux/ktime.h>
#include <linux/log2.h>
#include <linux/math.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/percpu.h>
#include <linux/sched/clock.h>
#include <linux/slab.h>
#include <linux/smp.h>
#include <linux/string.h>

#include "compat.h"
#include "fault.h"
#include "synth.h"

/*
 * Nobody needs a synthetic unit in daily use, and AUX areas reach code of the core that most
 * machines have never run.
 */
static bool unprivileged;
module_param(unprivileged, bool, 0644);
MODULE_PARM_DESC(unprivileged, "may everybody open events of synthetic and modelled PMUs? (0: CAP_PERFMON)");

/* The PMU that is always there. */
static struct synth *first;
static atomic64_t last_stream = ATOMIC64_INIT(0);

static bool copies(const struct auxpmu_session *session)
{
	return auxpmu_session_event(session)->needs.output == AUXPMU_COPY;
}

static const struct synth_model *model_of(const struct auxpmu_session *session)
{
	return &synth_of(session->pmu)->model;
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

/*
 * The kernel's crc32_le() may use vector registers, and warns in NMI (7.2 and newer, x86), where a
 * unit is armed when the overflow of a counter resumes its event.  So this is the table method,
 * eight bytes at a step; table[n] advances a byte's remainder by n more bytes.
 */
static u32 crc_table[8][256] __ro_after_init;

static void __init crc_init(void)
{
	u32 n, byte, bit;

	for (byte = 0; byte < 256; byte++) {
		u32 crc = byte;

		for (bit = 0; bit < 8; bit++)
			crc = crc >> 1 ^ (crc & 1 ? CRC32_POLY_LE : 0);
		crc_table[0][byte] = crc;
	}
	for (n = 1; n < ARRAY_SIZE(crc_table); n++)
		for (byte = 0; byte < 256; byte++)
			crc_table[n][byte] = crc_table[n - 1][byte] >> 8 ^
					     crc_table[0][crc_table[n - 1][byte] & 0xff];
}

/* The CRC-32 of IEEE 802.3 over @length bytes, a multiple of four, at @data, aligned likewise. */
static u32 crc_of(const void *data, size_t length)
{
	const __le32 *word = data;
	u32 crc = ~0;

	for (; length >= 8; length -= 8, word += 2) {
		u32 low = crc ^ le32_to_cpu(word[0]), high = le32_to_cpu(word[1]);

		crc = crc_table[7][low & 0xff] ^ crc_table[6][low >> 8 & 0xff] ^
		      crc_table[5][low >> 16 & 0xff] ^ crc_table[4][low >> 24] ^
		      crc_table[3][high & 0xff] ^ crc_table[2][high >> 8 & 0xff] ^
		      crc_table[1][high >> 16 & 0xff] ^ crc_table[0][high >> 24];
	}
	if (length) {
		u32 last = crc ^ le32_to_cpu(word[0]);

		crc = crc_table[3][last & 0xff] ^ crc_table[2][last >> 8 & 0xff] ^
		      crc_table[1][last >> 16 & 0xff] ^ crc_table[0][last >> 24];
	}
	return ~crc;
}

static void seal(struct auxpmu_record *record)
{
	static_assert(offsetof(struct auxpmu_record, crc) % sizeof(u32) == 0);

	record->crc = crc_of(record, offsetof(struct auxpmu_record, crc));
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
		.ip = stream->step++ % AUXPMU_PROGRAM_BLOCKS * AUXPMU_PROGRAM_BLOCK,
	};
	seal(record);
	if (stream->pattern == AUXPMU_SYNTH_COUNTER)
		fill_counter(payload, end, base);
	else if (stream->pattern == AUXPMU_SYNTH_CONSTANT)
		fill_constant(payload, end, base);
	else
		fill_random(payload, end, base);
}

void synth_write_records(struct synth_stream *stream, void *data, u64 length)
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
	record->stream = synth_stream_of(session)->id;
	record->time = local_clock();
	seal(record);
}

/* The unit. */

/* Whole records of @bytes. */
static u64 whole(const struct auxpmu_session *session, u64 bytes)
{
	return rounddown(bytes, synth_stream_of(session)->record);
}

/*
 * Where the unit interrupts, on the scale of its position.  One that copies interrupts early for
 * the consumer's sake, but knows no more than its RAM of how much room there is: like an ETB it
 * runs on when the buffer is full, and what does not fit is lost.
 */
static u64 interrupt_at(const struct auxpmu_session *session)
{
	const struct auxpmu_window *window = &session->window;
	u64 half = whole(session, model_of(session)->ram / 2);

	if (!copies(session))
		return window->irq;
	if (window->irq == window->to)
		return half;
	return min(window->irq - window->from, half);
}

/* Where it is stopped by its interrupt, which takes a while to be served. */
static u64 served_at(const struct auxpmu_session *session)
{
	const struct synth_unit *unit = session->unit;
	u64 interrupt = interrupt_at(session);

	if (interrupt == AUXPMU_NO_LIMIT || unit->late == AUXPMU_NO_LIMIT)
		return AUXPMU_NO_LIMIT;
	return interrupt + whole(session, model_of(session)->irq_delay + unit->late);
}

/* By how much the interrupt of the window that is being armed is to be late. */
static u64 lateness(struct auxpmu_session *session)
{
	if (auxpmu_fault(session->pmu, AUXPMU_FAULT_LOST_IRQ))
		return AUXPMU_NO_LIMIT;
	return auxpmu_fault(session->pmu, AUXPMU_FAULT_LATE_IRQ) ? PAGE_SIZE : 0;
}

void synth_spurious_irq(struct auxpmu *pmu)
{
	if (auxpmu_fault(pmu, AUXPMU_FAULT_SPURIOUS_IRQ))
		auxpmu_interrupt(pmu);
}

/* Where it has no memory left: what it makes from there on is lost. */
static u64 stops_at(const struct auxpmu_session *session)
{
	if (copies(session))
		return whole(session, model_of(session)->ram);
	if (session->window.to == AUXPMU_NO_LIMIT)
		return AUXPMU_NO_LIMIT;
	return session->window.to + whole(session, session->rules.spare);
}

/* The memory at the unit's position; *@length becomes less where it does not lie together. */
static void *memory_at(const struct synth_unit *unit, u64 *length)
{
	const struct auxpmu_session *session = unit->session;
	const struct auxpmu_buffer *buffer = session->buffer;
	void *data;
	u64 run;

	if (copies(session))
		return unit->ram + unit->position;
	if (auxpmu_session_event(session)->needs.map)
		return buffer->base + auxpmu_buffer_offset(buffer, unit->position);
	data = auxpmu_buffer_run(buffer, unit->position, &run);
	*length = min(*length, run);
	return data;
}

/* What the unit made since it was armed, on the scale of its position. */
static u64 reached(const struct synth_unit *unit)
{
	return unit->position + unit->lost;
}

/* Write up to @bytes of records, but not past the interrupt.  Returns what was written. */
static u64 write_some(struct synth_unit *unit, u64 bytes)
{
	struct auxpmu_session *session = unit->session;
	struct synth_stream *stream = synth_stream_of(session);
	u64 stop = stops_at(session);
	u64 length;
	void *data;

	bytes = min(bytes, served_at(session) - reached(unit));
	if (unit->position >= stop) {
		stream->seq += bytes / stream->record;
		stream->step += bytes / stream->record;
		unit->lost += bytes;
		return bytes;
	}
	length = min(bytes, stop - unit->position);
	data = memory_at(unit, &length);
	synth_write_records(stream, data, length);
	unit->position += length;
	return length;
}

static bool interrupting(const struct synth_unit *unit)
{
	return reached(unit) >= served_at(unit->session);
}

/* Filters. */

enum verdict { TRACED, LEFT_OUT, STOPS };

static enum verdict judge(const struct auxpmu_event *aux, u64 address)
{
	bool only = false, inside = false;
	unsigned int n;

	for (n = 0; n < aux->nr_ranges; n++) {
		const struct auxpmu_range *range = &aux->ranges[n];
		bool within = range->first <= address && address <= range->last;

		if (range->stop && within)
			return STOPS;
		if (!range->stop) {
			only = true;
			inside |= within;
		}
	}
	return inside || !only ? TRACED : LEFT_OUT;
}

static u64 address_at(const struct synth_stream *stream, u64 step)
{
	return stream->program + step % AUXPMU_PROGRAM_BLOCKS * AUXPMU_PROGRAM_BLOCK;
}

/*
 * Execute up to @bytes of the program, in records, as far as it is all traced or all not.  Returns
 * how far that is; *@trace says which.
 */
static u64 run_program(struct synth_unit *unit, u64 bytes, bool *trace)
{
	const struct auxpmu_event *aux = auxpmu_session_event(unit->session);
	const struct synth_stream *stream = synth_stream_of(unit->session);
	u64 step = stream->step;
	enum verdict first = judge(aux, address_at(stream, step));
	u64 done = stream->record;

	if (first == STOPS)
		unit->halted = true;
	*trace = first == TRACED && !unit->halted;
	if (unit->halted)
		return bytes;
	while (done < bytes && judge(aux, address_at(stream, ++step)) == first)
		done += stream->record;
	return done;
}

u64 synth_write(struct synth_unit *unit, u64 bytes)
{
	struct auxpmu_session *session = unit->session;
	struct synth_stream *stream = synth_stream_of(session);
	u64 left = bytes;

	while (left && auxpmu_session_armed(session)) {
		bool trace = true;
		u64 run = left;

		if (auxpmu_session_event(session)->nr_ranges)
			run = run_program(unit, left, &trace);
		if (!trace) {
			stream->step += run / stream->record;
			left -= run;
			continue;
		}
		left -= write_some(unit, run);
		if (interrupting(unit))
			auxpmu_session_turn(session);
	}
	return bytes - left;
}

/* With IRQs off for more than that nobody else's timer is served in time. */
#define SYNTH_TICK_MOST		(32u << 10)

/*
 * Write what is owed by now, as far as one tick may.  A tick that comes late owes no more than one
 * that comes in time: the rate is what the unit makes at most.  Returns what is left.
 */
static u64 synth_pay(struct synth_unit *unit)
{
	const struct synth_stream *stream = synth_stream_of(unit->session);
	u64 most = max_t(u64, SYNTH_TICK_MOST, stream->record);
	u64 due, now;

	if (unit->due_in_full)
		unit->credit += stream->rate;
	due = min(unit->credit, most);
	now = due - due % stream->record;
	/* What a full buffer kept it from writing is not owed later. */
	if (synth_write(unit, now) < now)
		unit->credit = 0;
	else
		unit->credit -= now;
	return unit->credit >= stream->record ? unit->credit : 0;
}

static enum hrtimer_restart synth_tick(struct hrtimer *timer)
{
	struct synth_unit *unit = container_of(timer, struct synth_unit, timer);
	struct auxpmu_session *session = unit->session;
	u64 began = ktime_get_mono_fast_ns();
	u64 left = 0, period;

	synth_spurious_irq(session->pmu);
	if (auxpmu_session_take(session)) {
		if (auxpmu_session_armed(session))
			left = synth_pay(unit);
		auxpmu_session_give(session);
	}
	/* Whatever rate was asked for, half of the CPU is left to others. */
	period = 2 * (ktime_get_mono_fast_ns() - began);
	unit->due_in_full = !left;
	hrtimer_forward_now(timer, ns_to_ktime(left ? period : max_t(u64, period, NSEC_PER_MSEC)));
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

	hrtimer_cancel(&unit->timer);
}

static int synth_add(struct auxpmu_session *session)
{
	struct synth_unit *unit = session->unit;

	unit->credit = 0;
	unit->due_in_full = true;
	if (!synth_stream_of(session)->manual)
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

/* Hardware that is told one address would write on into whatever lies behind the block. */
static bool in_one_block(const struct auxpmu_session *session)
{
	const struct auxpmu_window *window = &session->window;
	u64 run;

	if (!session->rules.contiguous || window->to == AUXPMU_NO_LIMIT)
		return true;
	auxpmu_buffer_run(session->buffer, window->from, &run);
	return window->to - window->from + session->rules.spare <= run;
}

static int synth_arm(struct auxpmu_session *session)
{
	struct synth_stream *stream = synth_stream_of(session);
	struct synth_unit *unit = session->unit;
	u64 length = stream->record;

	WARN_ON_ONCE(!in_one_block(session));
	unit->position = copies(session) ? 0 : session->window.from;
	unit->lost = 0;
	unit->late = lateness(session);
	if (session->starting) {
		unit->halted = false;
		/* A block like any other, but that the filters do not apply to it. */
		write_record(stream, memory_at(unit, &length), AUXPMU_RECORD_START);
		unit->position += stream->record;
	}
	return 0;
}

/* Nothing to do: who writes has taken the session, so it is not writing now. */
static void synth_disarm(struct auxpmu_session *session)
{
	if (auxpmu_fault(session->pmu, AUXPMU_FAULT_SLOW_STOP))
		mdelay(1);
}

static void synth_position(struct auxpmu_session *session, struct auxpmu_position *position)
{
	struct synth_unit *unit = session->unit;

	position->bytes = unit->position - (copies(session) ? 0 : session->window.from);
	position->lost = unit->lost;
	if (auxpmu_fault(session->pmu, AUXPMU_FAULT_STUCK)) {
		position->lost += position->bytes;
		position->bytes = 0;
	}
	if (!copies(session) && unit->position == stops_at(session) &&
	    auxpmu_fault(session->pmu, AUXPMU_FAULT_OVERRUN))
		position->bytes += PAGE_SIZE;
}

static bool synth_irq_pending(struct auxpmu_session *session)
{
	if (auxpmu_fault(session->pmu, AUXPMU_FAULT_BUSY)) {
		write_some(session->unit, synth_stream_of(session)->record);
		return true;
	}
	return interrupting(session->unit) || auxpmu_fault(session->pmu, AUXPMU_FAULT_DUE);
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
static const char *config_wrong(const struct perf_event_attr *attr, const struct synth_model *model)
{
	u64 config = attr->config;
	u32 record = AUXPMU_RECORD_MIN << FIELD_GET(SYNTH_FIELD(RECORD), config);
	u32 output = FIELD_GET(SYNTH_FIELD(OUTPUT), config);

	if (config & ~SYNTH_CONFIG)
		return "config has bits outside the fields in sysfs format/";
	if (attr->config1 & ~SYNTH_CONFIG1)
		return "config1 has bits outside the fields in sysfs format/";
	if (FIELD_GET(SYNTH_FIELD(RATE), config) > AUXPMU_SYNTH_RATE_MAX)
		return "rate is above " __stringify(AUXPMU_SYNTH_RATE_MAX) " (KiB per millisecond)";
	if (output > AUXPMU_SYNTH_COPY)
		return "output is none of 0 (scatter), 1 (window), 2 (copy)";
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

/* The same of a PMU that bears another's name: its config is that of the other. */
static const char *guise_config_wrong(const struct perf_event_attr *attr,
				      const struct synth_guise *guise)
{
	if (attr->config & ~guise->config)
		return "config has bits outside the fields in sysfs format/";
	if (attr->config1 || attr->config2)
		return "config1 or config2 is not 0";
	return NULL;
}

/* The config as it is acted on; a guise's says nothing of how the synthetic unit is to trace. */
static u64 config_of(const struct perf_event *event)
{
	return synth_of(auxpmu_of(event))->guise ? 0 : event->attr.config;
}

static u32 record_of(const struct perf_event *event)
{
	return synth_of(auxpmu_of(event))->model.record ?:
	       (u64)AUXPMU_RECORD_MIN << FIELD_GET(SYNTH_FIELD(RECORD), config_of(event));
}

static void make_needs(struct auxpmu_needs *needs, const struct perf_event *event)
{
	static const enum auxpmu_pages pages[] = {
		[AUXPMU_SYNTH_PAGES_LARGE] = AUXPMU_PAGES_LARGE,
		[AUXPMU_SYNTH_PAGES_ANY] = AUXPMU_PAGES_ANY,
		[AUXPMU_SYNTH_PAGES_HALF] = AUXPMU_PAGES_HALF,
		[AUXPMU_SYNTH_PAGES_WHOLE] = AUXPMU_PAGES_WHOLE,
	};
	const struct synth_model *model = &synth_of(auxpmu_of(event))->model;
	u64 config = config_of(event);
	u32 record = record_of(event);
	int output = model->output;

	if (output == SYNTH_OUTPUT_ANY)
		output = FIELD_GET(SYNTH_FIELD(OUTPUT), config);
	needs->pages = pages[FIELD_GET(SYNTH_FIELD(PAGES), config)];
	needs->rules.start_align = max_t(u32, record, model->start_align);
	needs->rules.end_align = model->end_align;
	needs->rules.unit = record;
	switch (output) {
	case AUXPMU_SYNTH_WINDOW:
		needs->output = AUXPMU_WINDOW;
		needs->map = true;
		needs->rules.spare = model->spare;
		break;
	case AUXPMU_SYNTH_COPY:
		needs->output = AUXPMU_COPY;
		break;
	default:
		needs->output = AUXPMU_SCATTER;
		needs->regions = true;
		needs->rules.spare = model->spare;
	}
}

static void make_stream(struct synth_stream *stream, const struct perf_event *event)
{
	const struct synth_model *model = &synth_of(auxpmu_of(event))->model;
	u64 config = config_of(event);
	u32 rate = FIELD_GET(SYNTH_FIELD(RATE), config) ?: model->rate;

	stream->id = atomic64_inc_return(&last_stream);
	if (event->parent)
		stream->parent = ((struct synth_stream *)auxpmu_event(event->parent)->private)->id;
	stream->seed = FIELD_GET(SYNTH_CONFIG1, event->attr.config1);
	stream->program = event->attr.config2;
	stream->record = record_of(event);
	stream->rate = rate << 10;
	stream->pattern = FIELD_GET(SYNTH_FIELD(PATTERN), config);
	stream->manual = config & SYNTH_FIELD(MANUAL);
}

/* May the event come to that CPU? */
static bool comes_to(const struct perf_event *event, int cpu)
{
	return event->cpu == -1 || event->cpu == cpu;
}

/* With the lock held: one user of the unit's RAM less; the last one has it freed. */
static void put_unit_ram(struct synth_unit *unit)
{
	if (--unit->ram_users)
		return;
	kvfree(unit->ram);
	unit->ram = NULL;
}

/* Gives back the trace RAM of the CPUs below @end. */
static void put_ram(const struct perf_event *event, int end)
{
	struct synth *synth = synth_of(auxpmu_of(event));
	int cpu;

	mutex_lock(&synth->ram_lock);
	for_each_possible_cpu(cpu)
		if (cpu < end && comes_to(event, cpu))
			put_unit_ram(per_cpu_ptr(auxpmu_of(event)->sessions, cpu)->unit);
	mutex_unlock(&synth->ram_lock);
}

static int get_unit_ram(struct synth_unit *unit, u64 bytes, int cpu)
{
	if (!unit->ram_users)
		unit->ram = kvmalloc_node(bytes, GFP_KERNEL_ACCOUNT, cpu_to_node(cpu));
	if (!unit->ram)
		return -ENOMEM;
	unit->ram_users++;
	return 0;
}

/*
 * Trace RAM for the CPUs the event may come to, on its user's account, as long as there are events
 * that need it.  Inherited events live on their parent's.
 */
static int get_ram(const struct perf_event *event)
{
	struct synth *synth = synth_of(auxpmu_of(event));
	int cpu, ret = 0;

	mutex_lock(&synth->ram_lock);
	for_each_possible_cpu(cpu) {
		if (comes_to(event, cpu))
			ret = get_unit_ram(per_cpu_ptr(auxpmu_of(event)->sessions, cpu)->unit,
					   synth->model.ram, cpu);
		if (ret)
			break;
	}
	mutex_unlock(&synth->ram_lock);
	if (ret)
		put_ram(event, cpu);
	return ret;
}

static bool needs_ram(const struct perf_event *event, const struct auxpmu_event *aux)
{
	return aux->needs.output == AUXPMU_COPY && !event->parent;
}

static const char *attr_wrong(const struct perf_event *event)
{
	const struct synth *synth = synth_of(auxpmu_of(event));

	return synth->guise ? guise_config_wrong(&event->attr, synth->guise) :
			      config_wrong(&event->attr, &synth->model);
}

static int synth_event_init(struct perf_event *event, struct auxpmu_event *aux)
{
	const char *wrong = attr_wrong(event);
	struct synth_stream *stream;
	int ret;

	if (wrong) {
		auxpmu_notice(auxpmu_of(event), "event refused: %s", wrong);
		return -EINVAL;
	}
	if (!event->parent && !READ_ONCE(unprivileged) && !perfmon_capable()) {
		auxpmu_notice(auxpmu_of(event), "event refused: synthetic units take CAP_PERFMON, unless root allows them to everybody: echo 1 > /sys/module/auxpmu/parameters/unprivileged");
		return -EACCES;
	}
	make_needs(&aux->needs, event);
	stream = kzalloc(sizeof(*stream), GFP_KERNEL);
	if (!stream)
		return -ENOMEM;
	ret = needs_ram(event, aux) ? get_ram(event) : 0;
	if (ret) {
		kfree(stream);
		return ret;
	}
	make_stream(stream, event);
	aux->private = stream;
	return 0;
}

static void synth_event_destroy(struct perf_event *event, struct auxpmu_event *aux)
{
	if (needs_ram(event, aux))
		put_ram(event, nr_cpu_ids);
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

static const struct attribute_group *synth_groups[] = {
	&format_group,
	NULL
};

/* PMUs. */

const struct synth_model synth_default_model = {
	.name = AUXPMU_SYNTH_NAME,
	.output = SYNTH_OUTPUT_ANY,
	.record = SYNTH_RECORD_ANY,
	.start_align = 1,
	.end_align = 1,
	.ram = 64u << 10,
	.rate = AUXPMU_SYNTH_RATE_DEFAULT,
	.filters = 4,
};

const char *synth_model_wrong(const struct synth_model *model)
{
	u64 record = model->record ?: (u64)AUXPMU_RECORD_MAX;

	if (model->ram < 2 * record)
		return "ram holds less than two records";
	if (model->irq_delay % AUXPMU_RECORD_MIN || model->spare % AUXPMU_RECORD_MIN)
		return "irq_delay or spare is no multiple of 64";
	return NULL;
}

static void synth_release(const struct auxpmu_desc *desc)
{
	kfree(container_of(desc, struct synth, desc));
}

struct synth *synth_make(const struct synth_model *model)
{
	const char *wrong = synth_model_wrong(model);
	struct synth *synth;

	if (wrong) {
		pr_notice("PMU %s refused: %s\n", model->name, wrong);
		return ERR_PTR(-EINVAL);
	}
	synth = kzalloc(sizeof(*synth), GFP_KERNEL);
	if (!synth)
		return ERR_PTR(-ENOMEM);
	mutex_init(&synth->ram_lock);
	mutex_init(&synth->emit_lock);
	synth->model = *model;
	synth->guise = synth_guise_find(model->name);
	synth->desc = (struct auxpmu_desc){
		.name = synth->model.name,
		.ops = &synth_ops,
		.attr_groups = synth->guise ? synth->guise->groups : synth_groups,
		.unit_size = sizeof(struct synth_unit),
		.yields = AUXPMU_YIELDS_START,
		.nr_addr_filters = synth->guise ? 0 : model->filters,
		.filters_stop = true,
		.limits = model->limits,
		.offset_heads = synth->guise && synth->guise->offset_heads,
		.release = synth_release,
	};
	synth->pmu = auxpmu_register(&synth->desc);
	if (IS_ERR(synth->pmu)) {
		struct synth *error = ERR_CAST(synth->pmu);

		kfree(synth);
		return error;
	}
	synth_emit_add(synth);
	return synth;
}

int synth_try_destroy(struct synth *synth)
{
	return auxpmu_try_unregister(synth->pmu);
}

int synth_revoke(struct synth *synth)
{
	return auxpmu_revoke(synth->pmu);
}

int __init auxpmu_synth_init(void)
{
	crc_init();
	first = synth_make(&synth_default_model);
	return PTR_ERR_OR_ZERO(first);
}

void auxpmu_synth_exit(void)
{
	WARN_ON(synth_try_destroy(first));
}
