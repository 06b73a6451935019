/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * auxpmu: the interface for backends.
 *
 * A backend describes its PMU in a struct auxpmu_desc and registers it. The framework owns struct
 * pmu, the AUX buffers, the windows, the perf AUX transactions and the statistics, and calls the
 * backend's operations below. A backend never touches a perf_output_handle: nothing declared here
 * leads to one. The framework embeds these structures in private ones, which may change without a
 * new AUXPMU_OPS_VERSION.
 *
 * Sizes and positions are bytes unless said otherwise. A position is monotonic: the offset in the
 * buffer is the position modulo the buffer's size.
 */
#ifndef AUXPMU_H
#define AUXPMU_H

#include <linux/bits.h>
#include <linux/device.h>
#include <linux/module.h>
#include <linux/perf_event.h>
#include <linux/sizes.h>
#include <linux/types.h>

#include "chunks.h"
#include "window.h"

#ifndef CONFIG_64BIT
#error "auxpmu needs a 64-bit kernel: positions are 64-bit words read and written at once."
#endif

/*
 * Raised when a change of this header breaks backends that were built against the old one; checked
 * at registration.
 */
#define AUXPMU_OPS_VERSION	15

/* Every module that calls the framework needs this once, next to its MODULE_LICENSE(). */
#define AUXPMU_IMPORT_NS()	MODULE_INFO(import_ns, "AUXPMU")

struct auxpmu;
struct auxpmu_buffer;
struct auxpmu_event;
struct auxpmu_position;
struct auxpmu_sink;
struct auxpmu_span;
struct auxpmu_unit;

/**
 * enum auxpmu_output - how the unit writes trace
 * @AUXPMU_SCATTER: through descriptors over the whole buffer (ToPA, ETR-SG, CATU); zero-copy
 * @AUXPMU_WINDOW: into one contiguous window at a time (BTS, SPE, TRBE, flat ETR); zero-copy.
 *	With &auxpmu_needs.map, of virtual memory (SPE, TRBE), else of physical memory
 * @AUXPMU_COPY: into memory of its own (ETB, ETF, a fixed DMA area), which the framework copies
 *	into the buffer
 */
enum auxpmu_output { AUXPMU_SCATTER, AUXPMU_WINDOW, AUXPMU_COPY };

/**
 * enum auxpmu_pages - what a unit needs of the buffer's pages
 * @AUXPMU_PAGES_LARGE: large chunks where there are any, single pages elsewhere
 * @AUXPMU_PAGES_ANY: single pages; large chunks count as single pages
 * @AUXPMU_PAGES_HALF: each half of the buffer is one physically contiguous chunk, or the buffer is
 *	refused
 * @AUXPMU_PAGES_WHOLE: the buffer is one physically contiguous chunk, or the buffer is refused
 */
enum auxpmu_pages { AUXPMU_PAGES_LARGE, AUXPMU_PAGES_ANY, AUXPMU_PAGES_HALF, AUXPMU_PAGES_WHOLE };

/**
 * struct auxpmu_needs - what one event needs of the framework
 * @output: how the unit writes
 * @pages: the pages it needs
 * @fallback: with @pages HALF or WHOLE: accept any pages instead of refusing the buffer
 * @regions: the unit stops and interrupts only at region ends; the framework sets @rules.granule to
 *	the limits' granule, or else to max(page, buffer / 16), so that a free window practically
 *	always holds a region end
 * @map: map the buffer as one piece of kernel virtual memory, at auxpmu_buffer.base. With @output
 *	WINDOW, the unit writes through that mapping: then the whole buffer is one chunk, whatever
 *	its pages, and @pages and the limits of chunks mean nothing. With @rules.guarded one more
 *	page comes in front of it and one behind it, which are the unit's to spoil
 * @format: PERF_AUX_FLAG_* of the PMU's formats (PERF_AUX_FLAG_PMU_FORMAT_TYPE_MASK), which every
 *	record of trace says; 0 where there is only one
 * @barrier: where trace is missing in front of other trace, this many bytes that
 *	&auxpmu_ops.put_barrier writes come in between, so that a decoder finds its way again (the
 *	formatted frames of CoreSight); of a unit that writes into the buffer they replace its first
 *	bytes, which are lost. Whole atoms, or 0. Takes output COPY, or @sink
 * @sink: where the unit's trace goes, if other units' trace may go there, too, see struct
 *	auxpmu_sink; NULL if every unit has a sink of its own. Takes &auxpmu_desc.no_nmi. With
 *	another output than COPY: it writes into the buffer if it can, see &auxpmu_buffer.sink
 * @rules: of the unit's windows
 */
struct auxpmu_needs {
	enum auxpmu_output output;
	enum auxpmu_pages pages;
	bool fallback;
	bool regions;
	bool map;
	u64 format;
	u32 barrier;
	struct auxpmu_sink *sink;
	struct auxpmu_window_rules rules;
};

/* The most address filters that a PMU may have. */
#define AUXPMU_FILTERS_MAX	8

/**
 * enum auxpmu_filter - what an address filter does
 * @AUXPMU_FILTER_ONLY: only code in such ranges is traced
 * @AUXPMU_FILTER_STOP: reaching the range stops the trace until the unit is next armed with
 *	&auxpmu_unit.starting
 * @AUXPMU_FILTER_START_AT: the trace begins at this address; if there is such a filter, it does not
 *	begin before
 * @AUXPMU_FILTER_STOP_AT: the trace ends at this address, until one where it begins
 */
enum auxpmu_filter {
	AUXPMU_FILTER_ONLY,
	AUXPMU_FILTER_STOP,
	AUXPMU_FILTER_START_AT,
	AUXPMU_FILTER_STOP_AT,
};

/**
 * struct auxpmu_range - an address filter
 * @first: first address
 * @last: last address, included; below @first: the range is empty now (its file is not mapped).
 *	For one address the same as @first
 * @what: what it does
 */
struct auxpmu_range {
	u64 first;
	u64 last;
	enum auxpmu_filter what;
};

/**
 * struct auxpmu_event - an event of one of our PMUs, at event->pmu_private
 * @pmu: the PMU
 * @needs: filled by &auxpmu_ops.event_init, constant afterwards
 * @ranges: address filters in force; may change before a start, never between start and stop
 * @nr_ranges: number of @ranges; 0: everything is traced
 * @private: the backend's
 */
struct auxpmu_event {
	struct auxpmu *pmu;
	struct auxpmu_needs needs;
	struct auxpmu_range ranges[AUXPMU_FILTERS_MAX];
	unsigned int nr_ranges;
	void *private;
};

/* The framework's part of @event; valid from event_init to event_destroy. */
static inline struct auxpmu_event *auxpmu_event(const struct perf_event *event)
{
	return event->pmu_private;
}

/**
 * struct auxpmu_buffer - an AUX buffer, from the first mmap to the last munmap
 * @pmu: the PMU
 * @chunks: which of its pages lie together: physically, or for a WINDOW unit whose needs say map,
 *	at @base
 * @regions: its regions, if the event's needs ask for them, for units that stop and interrupt at
 *	region ends only. auxpmu_chunk_nth() tells where a region lies, auxpmu_chunk_index() which
 *	region holds an offset. In overwrite mode they are the chunks
 * @pages: kernel address of every page, @chunks.nr_pages of them; the core's array
 * @size: bytes, a power of two from one page to the largest buffer of the core: 2 GiB with pages of
 *	4 KiB, 64 GiB with 16 KiB, 4 TiB with 64 KiB
 * @base: the buffer as one piece of kernel virtual memory if the event's needs say map, else NULL
 * @overwrite: a flight recorder: the consumer maps it read-only
 * @sink: the sink that can write into it, set by &auxpmu_ops.buffer_init; NULL: none can. The trace
 *	of events with any other sink is copied into it, as if their output were COPY
 * @private: the backend's (descriptor tables)
 *
 * Read-only for backends, except @sink and @private. The buffer may outlive the event it was made
 * for, and holds references on the framework's module and the backend's.
 */
struct auxpmu_buffer {
	struct auxpmu *pmu;
	struct auxpmu_chunks chunks;
	struct auxpmu_chunks regions;
	void **pages;
	u64 size;
	void *base;
	bool overwrite;
	struct auxpmu_sink *sink;
	void *private;
};

/* The offset in the buffer of a position. */
static inline u64 auxpmu_buffer_offset(const struct auxpmu_buffer *buffer, u64 position)
{
	return position & (buffer->size - 1);
}

/* Is @position in the first lap, in which the buffer is not yet full? */
static inline bool auxpmu_buffer_first_lap(const struct auxpmu_buffer *buffer, u64 position)
{
	return position < buffer->size;
}

/* Bytes from @offset to the end of the buffer. */
static inline u64 auxpmu_buffer_rest(const struct auxpmu_buffer *buffer, u64 offset)
{
	return buffer->size - offset;
}

/*
 * Bytes from one offset to another, in the direction of writing; @to may be the end of the buffer.
 * The caller knows that at least @least bytes lie between: if the offsets give fewer, a lap is
 * added.
 */
static inline u64 auxpmu_buffer_distance(const struct auxpmu_buffer *buffer, u64 from, u64 to,
					 u64 least)
{
	u64 bytes = to - from + (to < from ? buffer->size : 0);

	return bytes < least ? bytes + buffer->size : bytes;
}

/**
 * auxpmu_buffer_run() - the memory at a position
 * @buffer: the buffer
 * @position: monotonic
 * @length: set to the bytes from there to the end of the chunk
 *
 * Return: kernel address: of the page, or where the unit writes through the mapping, in that.  Any
 * context.
 */
void *auxpmu_buffer_run(const struct auxpmu_buffer *buffer, u64 position, u64 *length);

/**
 * auxpmu_buffer_abandon() - the hardware may write into a buffer for ever
 * @buffer: of the open transaction
 *
 * For a device that does not stop: nobody must get the buffer's pages when the consumer is through
 * with them, so they are never freed. Once for each buffer. Any context.
 */
void auxpmu_buffer_abandon(const struct auxpmu_buffer *buffer);

/**
 * struct auxpmu_position - how far the unit has got since it was armed
 * @bytes: written from the window's start on, up to rules.spare behind its end; for COPY: bytes
 *	that the unit's memory holds
 * @lost: bytes of trace that the unit knows it has dropped, in front of @bytes or behind; if not
 *	0, the record says PARTIAL
 * @gap: the unit lost trace and does not know how much; the record says PARTIAL
 * @collision: samples of the unit met each other, and some are missing; the record says COLLISION
 *
 * The framework zeroes it before it calls &auxpmu_ops.position. It takes numbers from
 * AUXPMU_POSITION_MAX on, which result from a difference taken the wrong way round, as 0 with
 * PARTIAL, and counts an overrun.
 */
struct auxpmu_position {
	u64 bytes;
	u64 lost;
	bool gap;
	bool collision;
};

#define AUXPMU_POSITION_MAX	BIT_ULL(60)

/**
 * struct auxpmu_span - a piece of the unit's own memory (COPY)
 * @data: kernel address
 * @length: bytes
 */
struct auxpmu_span {
	const void *data;
	u64 length;
};

/**
 * struct auxpmu_ops - the operations of a backend
 * @version: AUXPMU_OPS_VERSION
 *
 * @unit_init: prepare the unit of unit->cpu, before the PMU is visible. May sleep. 0 or an errno.
 *	Optional.
 * @unit_exit: undo unit_init, after the PMU is gone. May sleep. Optional; called for every CPU for
 *	which unit_init was called.
 * @event_init: check the event's attr and fill aux->needs (zeroed, except start_align, end_align
 *	and atom, which are 1). May sleep. 0, or the errno for perf_event_open(). Called for
 *	inherited children, too: event->parent is set then.
 * @event_destroy: undo event_init. May sleep. The event's buffer may live on.
 * @suit: adapt @rules, a copy of an event's rules, to the size, mode and chunks of @buffer. Must
 *	not touch the buffer's pages nor what buffer_init made: they may be gone, since the event in
 *	question need not hold the buffer. Any context. Optional.
 * @buffer_init: prepare @buffer (descriptor tables) for @event. May sleep. 0, or an errno: then
 *	mmap fails, and the framework logs the errno. Optional.
 * @buffer_fini: undo buffer_init. May sleep. The pages may be gone already: buffer->pages is NULL
 *	then. If it needs their addresses, buffer_init has to note them. Optional.
 * @add: the event comes to this CPU: get what arm needs but cannot get in NMI. IRQs off. 0 or an
 *	errno: the event is not scheduled then. Optional.
 * @del: the event leaves this CPU; the unit is disarmed.  IRQs off.  Optional.
 * @arm: let the unit write unit->window. Any context, NMI included; must not sleep, allocate or
 *	spin. 0 or an errno: then tracing ends with a PARTIAL record.
 * @disarm: stop the unit, and return when every byte it wrote is visible in memory. Context as arm.
 *	With needs.sink and output COPY, the sink is started before and stopped after.
 * @position: say how far the unit got. Called after disarm, before the next arm; context as arm.
 *	Has to answer the same when called again.
 * @spans: required for COPY, unused otherwise: say where the bytes are that @position counted,
 *	oldest first, in at most two pieces. Returns the number of pieces. Must never name a byte
 *	that the unit did not write since it was armed: that would be somebody else's trace.
 * @irq_pending: has the unit already passed unit->window.irq? Called right after arm. Optional.
 * @progress: how many bytes the unit, which is armed, has written into its window so far; if it
 *	goes round there, at least the window's bytes from the first lap on. U64_MAX: some, but it
 *	cannot tell how many. Needed by units that write into the buffer by a sink which is polled;
 *	unused otherwise, and in overwrite mode.
 * @online: this CPU comes up, or the PMU is being registered: look for the CPU's unit and prepare
 *	it. On its CPU; may sleep. 0, or an errno: no event comes to this CPU until it has come up
 *	anew. -ENODEV: it has no unit; any other errno is logged. Optional. sysfs caps/cpus has
 *	the CPUs that have a unit.
 * @offline: undo online, if that returned 0: this CPU goes down, or the PMU is gone. The CPU's
 *	event has been taken off it, by del. On its CPU; may sleep. Optional.
 * @invalidate: the machine was suspended, or this CPU was off: the unit's registers may have lost
 *	their contents. On its CPU, IRQs off, disarmed; if it was tracing, arm follows. Optional.
 * @pad: write the trace format's padding over @length bytes at @data, which the unit steps over;
 *	context as arm. Optional; without it the framework writes zeros.
 * @put_barrier: write the trace format's barrier over @length bytes at @data, whole atoms of
 *	needs.barrier; context as arm. Required for needs.barrier, unused otherwise.
 *
 * Where &auxpmu_desc.no_nmi is set no operation is called in NMI, and all may take raw spinlocks
 * and wait for hardware.
 *
 * An operation returns with IRQs and preemption as they were when it was called. An errno is
 * negative; a positive number is a failure, too. With paranoid=1 the framework checks each
 * operation as far as it can: docs/writing-a-backend.md.
 */
struct auxpmu_ops {
	unsigned int version;

	int (*unit_init)(struct auxpmu_unit *unit);
	void (*unit_exit)(struct auxpmu_unit *unit);
	int (*event_init)(struct perf_event *event, struct auxpmu_event *aux);
	void (*event_destroy)(struct perf_event *event, struct auxpmu_event *aux);
	void (*suit)(const struct auxpmu_buffer *buffer, struct auxpmu_window_rules *rules);
	int (*buffer_init)(struct auxpmu_buffer *buffer, struct perf_event *event);
	void (*buffer_fini)(struct auxpmu_buffer *buffer);
	int (*add)(struct auxpmu_unit *unit);
	void (*del)(struct auxpmu_unit *unit);
	int (*arm)(struct auxpmu_unit *unit);
	void (*disarm)(struct auxpmu_unit *unit);
	void (*position)(struct auxpmu_unit *unit, struct auxpmu_position *position);
	unsigned int (*spans)(struct auxpmu_unit *unit, struct auxpmu_span spans[2]);
	bool (*irq_pending)(struct auxpmu_unit *unit);
	u64 (*progress)(struct auxpmu_unit *unit);
	int (*online)(struct auxpmu_unit *unit);
	void (*offline)(struct auxpmu_unit *unit);
	void (*invalidate)(struct auxpmu_unit *unit);
	void (*pad)(struct auxpmu_unit *unit, void *data, u64 length);
	void (*put_barrier)(struct auxpmu_unit *unit, void *data, u64 length);
};

/* The most bytes of a sink's memory. */
#define AUXPMU_SINK_MAX		SZ_8G

/**
 * struct auxpmu_sink_ops - the operations of a sink that has memory of its own
 * @start: let it take trace, into empty memory. 0, or an errno: then arming fails
 * @stop: flush it and stop it, and return when every byte is visible in memory
 * @turn: as @stop, and take trace into other, empty memory at once; what was taken so far stays
 *	where it is until the next of these calls. 0, or an errno: it takes no trace. Optional:
 *	without it, @start comes only when all has been copied
 * @progress: how many bytes its memory holds by now, while it takes trace, without what has not
 *	come there yet; at least its size once that is full. U64_MAX: some, but it cannot tell how
 *	many. Only for a sink that is polled. Optional: without it, each poll collects
 * @position: how many bytes its memory holds, as &auxpmu_ops.position, not more than its size; of
 *	what was stopped each time the same. What units wrote while it was stopped is lost, too:
 *	counted in the first position after that, or a gap
 * @spans: where they are, as &auxpmu_ops.spans. Must never name a byte from before @start: that
 *	would be somebody else's trace
 * @consume: the first @bytes of these are not needed any more. Optional: only for a sink whose
 *	trace can be read while it takes more; then @position flushes it first
 *
 * Raw spinlock held, IRQs off, on any CPU, not in NMI. The framework starts the sink before the
 * first unit is armed, and collects its trace when the last one has been disarmed; before that,
 * when it interrupts or a poll finds enough, always by the same unit, and for a sample. Then it
 * copies all of it, of whichever unit, into the area of that unit. Meanwhile the sink is stopped,
 * and started again if other units are armed; with @turn or @consume it is stopped only when no
 * other unit is armed.
 */
struct auxpmu_sink_ops {
	int (*start)(struct auxpmu_sink *sink);
	void (*stop)(struct auxpmu_sink *sink);
	int (*turn)(struct auxpmu_sink *sink);
	u64 (*progress)(struct auxpmu_sink *sink);
	void (*position)(struct auxpmu_sink *sink, struct auxpmu_position *position);
	unsigned int (*spans)(struct auxpmu_sink *sink, struct auxpmu_span spans[2]);
	void (*consume)(struct auxpmu_sink *sink, u64 bytes);
};

/**
 * struct auxpmu_sink_desc - a sink as its backend describes it
 * @ops: its operations
 * @size: bytes of its memory, at most AUXPMU_SINK_MAX
 * @of_cpu: it stands for a sink of each CPU, which CPUs may share: returns that of @cpu, or NULL,
 *	and then events do not come there. Nothing else is needed of it but @polled. Any context.
 *	NULL: it is a sink itself
 * @polled: it does not interrupt: the framework looks at it by a timer, often enough that it is
 *	half full at the fastest rate of late. It collects the trace if the sink is a quarter full,
 *	or has enough for the reader to be woken; and what little there is after a number of looks.
 *	Of a unit that writes into the buffer by it, the timer looks whether it has reached its
 *	interrupt, or half of its window
 */
struct auxpmu_sink_desc {
	const struct auxpmu_sink_ops *ops;
	u64 size;
	struct auxpmu_sink *(*of_cpu)(struct auxpmu_sink *sink, unsigned int cpu);
	bool polled;
};

/**
 * struct auxpmu_sink - where trace goes, of one unit or of several
 * @desc: constant while it lives
 * @private: the backend's
 *
 * An event that says it in its needs uses it between add and del. With output COPY, the events of
 * several CPUs share it: those that one process opened with the same rights, that hide the same
 * (exclude_kernel and the like), and that trace the same task unless the process has CAP_PERFMON.
 * With another output an event has it for itself. Its unit writes into the AUX area by it, and not
 * the sink's operations are called, but the unit's; or if that area's buffer is not the sink's, the
 * trace goes through the sink's memory and is copied. When another event comes to a CPU that may
 * share the sink, the trace of both is copied from then on. Who may not is refused (-EBUSY;
 * statistics: sink_busy), and the next record says PARTIAL.
 */
struct auxpmu_sink {
	const struct auxpmu_sink_desc *desc;
	void *private;
};

/**
 * struct auxpmu_limits - limits of the hardware, the same for all events
 * @min_chunk: bytes of the smallest physically contiguous chunk it takes; a buffer with smaller
 *	ones is refused
 * @max_chunk: bytes of the largest chunk it takes; a larger one counts as several
 * @min_buffer: bytes of the smallest buffer
 * @max_buffer: bytes of the largest buffer
 * @granule: bytes of the regions of a unit that stops at region ends only
 * @no_overwrite: it cannot go round and round by itself: no flight recorder
 *
 * Sizes are powers of two, chunks and @granule at least a page; 0 means no limit.  In sysfs caps/
 * user space sees granule, max_order (of max_chunk, and of what the machine has) and overwrite.
 */
struct auxpmu_limits {
	u64 min_chunk;
	u64 max_chunk;
	u64 min_buffer;
	u64 max_buffer;
	u64 granule;
	bool no_overwrite;
};

/**
 * struct auxpmu_counter - a backend's own counter, as a sysfs attribute
 * @attr: for an attribute group
 * @counts: one for each CPU, incremented on that CPU only; sysfs shows the sum
 */
struct auxpmu_counter {
	struct device_attribute attr;
	u64 __percpu *counts;
};

#define AUXPMU_COUNTER(_name, _counts)						\
	{									\
		.attr = __ATTR(_name, 0444, auxpmu_counter_show, NULL),		\
		.counts = (u64 __percpu *)&(_counts),				\
	}
ssize_t auxpmu_counter_show(struct device *dev, struct device_attribute *attr, char *page);

/**
 * struct auxpmu_claim - how units that somebody else may be using become ours
 * @intree: name of the in-tree PMU of these units. While they are ours, the framework holds it by
 *	an event on every CPU that is never switched on; if there is no PMU of that name, it holds
 *	nothing
 * @handlers: names of in-tree PMUs, terminated by NULL. One of them must be there: its interrupt
 *	handler serves our units, too. If there is no @intree, a counter of cycles keeps that
 *	handler at work
 * @excludes: name of the in-tree PMU whose units this processor cannot run beside ours, NULL if
 *	there are none. The kernel counts users of both kinds by their events; if there is no
 *	@intree, the framework holds an event of @excludes, which keeps out everything that excludes
 *	either
 * @begin: called before any unit is acquired: register interrupt handlers. @intree: the in-tree PMU
 *	exists and will be held. May sleep. 0 or an errno.
 * @end: undo it.  May sleep.
 * @acquire: make this CPU's unit ours, and note what others left in it. On that CPU, IRQs off. 0,
 *	or an errno and a few words in *@why (static storage); without them: it has no unit.
 * @release: the reverse: give this CPU's unit, which is disarmed, what @acquire noted. On that CPU,
 *	IRQs off.
 * @shutdown: switch this CPU's unit off for good, if it is ours: the kernel is going away. On that
 *	CPU, IRQs off, or in NMI; a session may be at work.
 * @crash: name of a kernel function that each CPU calls when kdump is about to boot another kernel
 *	(in NMI, except on the CPU that crashes). The framework calls @shutdown there, so that the
 *	dumped trace ends at the crash. NULL: there is none, and units go on
 *
 * None of the functions may be missing. The units of all online CPUs are ours while there are
 * events or buffers, and for auxpmu.release_delay after that; sysfs claim tells.
 */
struct auxpmu_claim {
	const char *intree;
	const char *const *handlers;
	const char *excludes;
	int (*begin)(bool intree);
	void (*end)(void);
	int (*acquire)(const char **why);
	void (*release)(void);
	void (*shutdown)(void);
	const char *crash;
};

/**
 * enum auxpmu_yields - trace that an event without filters is bound to have
 * @AUXPMU_YIELDS_WORK: a CPU that is busy for 50 ms has trace
 * @AUXPMU_YIELDS_START: so has a start, even when a stop comes right after it
 * @AUXPMU_YIELDS_NOTHING: neither; for units that trace rare things
 */
enum auxpmu_yields { AUXPMU_YIELDS_WORK, AUXPMU_YIELDS_START, AUXPMU_YIELDS_NOTHING };

/* The most characters of a PMU's name, and bytes of a unit's memory. */
#define AUXPMU_NAME_MAX		63
#define AUXPMU_UNIT_MAX		SZ_1M

/**
 * struct auxpmu_desc - a PMU as its backend describes it
 * @name: under /sys/bus/event_source/devices; not yet taken. At most AUXPMU_NAME_MAX letters,
 *	digits, _, - and .; the first is a letter or digit
 * @ops: its operations
 * @attr_groups: sysfs attributes (format, caps, ...), or NULL; at most 14 groups, no two of one
 *	name. The framework adds its own attributes to the group caps
 * @unit_size: bytes of zeroed memory that the framework keeps per CPU for the backend:
 *	auxpmu_unit.private, which is NULL if this is 0; at most AUXPMU_UNIT_MAX
 * @yields: what the contract tests may expect; user space finds it in sysfs caps/yields
 * @nr_addr_filters: address filters of the hardware, at most AUXPMU_FILTERS_MAX; 0 if none
 * @filters_stop: ranges can also stop the trace: AUXPMU_FILTER_STOP
 * @filters_points: single addresses can start and stop it: AUXPMU_FILTER_START_AT, _STOP_AT
 * @limits: of the hardware
 * @claim: how its units become ours; NULL if they are nobody else's
 * @no_nmi: the operations must not be called in NMI, since they take locks or wait for hardware. An
 *	aux_pause or aux_resume by an NMI takes effect right behind it, and a sample that an NMI
 *	takes has no trace
 * @offset_heads: in overwrite mode aux_head is an offset, not a position, as consumers of the
 *	in-tree PMU of this name expect
 * @lap_records: in overwrite mode a record of trace ends where the buffer does, and another one has
 *	the rest. perf decodes only such records of CoreSight that lie wholly in what it has read,
 *	which at first begins where the buffer does
 * @tell_once: the core writes PERF_RECORD_ITRACE_START for an event's first start only, as with
 *	in-tree drivers; if false, for every start
 * @release: called when nobody uses the PMU or @desc any more. May sleep. Optional
 */
struct auxpmu_desc {
	const char *name;
	const struct auxpmu_ops *ops;
	const struct attribute_group **attr_groups;
	size_t unit_size;
	enum auxpmu_yields yields;
	unsigned int nr_addr_filters;
	bool filters_stop;
	bool filters_points;
	struct auxpmu_limits limits;
	const struct auxpmu_claim *claim;
	bool no_nmi;
	bool offset_heads;
	bool lap_records;
	bool tell_once;
	void (*release)(const struct auxpmu_desc *desc);
};

/**
 * struct auxpmu_unit - the trace unit of one CPU; lives as long as its PMU
 * @pmu: the PMU
 * @cpu: whose unit it is
 * @private: the backend's memory, desc->unit_size bytes; NULL for none
 * @event: the event it traces for, between add and del; one at a time
 * @buffer: the buffer of the open transaction, from arm to the transaction's end; else NULL
 * @window: as last armed
 * @rules: that @window follows: those of the event's needs, adapted to @buffer
 * @starting: set until arm has succeeded once since the event was started, or since its buffer
 *	changed: anything the unit was told before is void
 * @copies: it writes into memory of its own or of its sink, from where its trace is copied; as of
 *	the last arm, from then on
 *
 * Read-only for backends, except what @private points to.
 */
struct auxpmu_unit {
	struct auxpmu *pmu;
	int cpu;
	void *private;
	struct perf_event *event;
	struct auxpmu_buffer *buffer;
	struct auxpmu_window window;
	struct auxpmu_window_rules rules;
	bool starting;
	bool copies;
};

/* The event that @unit traces for; between add and del. */
static inline struct auxpmu_event *auxpmu_unit_event(const struct auxpmu_unit *unit)
{
	return auxpmu_event(unit->event);
}

/* What @pmu was registered with.  Any context. */
const struct auxpmu_desc *auxpmu_desc_of(const struct auxpmu *pmu);

/*
 * The PMU's folder in sysfs, for folders of the backend's own, which have to be gone before @pmu
 * is. From auxpmu_register() on.
 */
struct kobject *auxpmu_kobject(const struct auxpmu *pmu);

/* Log a user's mistake, in one sentence; rate limited, since any user can make it. */
#define auxpmu_notice(_pmu, _fmt, ...) \
	pr_notice_ratelimited("%s: " _fmt "\n", auxpmu_desc_of(_pmu)->name, ##__VA_ARGS__)

/**
 * auxpmu_register() - make a PMU
 * @desc: constant while the PMU lives
 *
 * From module_init; may sleep.  When it returns, events may already be open.
 *
 * Return: the PMU, or an ERR_PTR: -EINVAL (ops incomplete or of another version, name unusable),
 * -EEXIST, -ENOMEM, or what unit_init returned.  -EINVAL and -EEXIST are explained in the log.
 */
#define auxpmu_register(desc)	__auxpmu_register(desc, THIS_MODULE)
struct auxpmu *__auxpmu_register(const struct auxpmu_desc *desc, struct module *owner);

/**
 * auxpmu_unregister() - undo auxpmu_register()
 * @pmu: from auxpmu_register()
 *
 * From module_exit only: events and buffers hold references on the module, so that none is left
 * then. May sleep.
 */
void auxpmu_unregister(struct auxpmu *pmu);

/**
 * auxpmu_try_unregister() - take a PMU away while the module stays
 * @pmu: from auxpmu_register()
 *
 * For units that come and go.  May sleep.
 *
 * Return: 0: @pmu is gone; -EBUSY: events or buffers of it live, nothing has changed.
 */
int auxpmu_try_unregister(struct auxpmu *pmu);

/**
 * auxpmu_revoke() - take a PMU away from the events that are there
 * @pmu: from auxpmu_register()
 *
 * For hardware that has gone. May sleep. User space keeps its descriptors, which do nothing any
 * more, and its mappings with the trace; the framework calls &auxpmu_desc.release when the last is
 * gone.
 *
 * Return: 0; -EOPNOTSUPP if the core cannot do that (before 6.15) or the PMU has a claim: nothing
 * has changed then.
 */
int auxpmu_revoke(struct auxpmu *pmu);

/**
 * auxpmu_sink_make() - make a sink
 * @desc: constant while it lives
 * @private: the backend's
 *
 * May sleep.
 *
 * Return: the sink, or an ERR_PTR: -EINVAL (operations or the size are missing), -ENOMEM.
 */
struct auxpmu_sink *auxpmu_sink_make(const struct auxpmu_sink_desc *desc, void *private);

/**
 * auxpmu_sink_free() - undo auxpmu_sink_make()
 * @sink: of no event any more: its PMU is gone, or &auxpmu_desc.release was called
 *
 * May sleep.
 */
void auxpmu_sink_free(struct auxpmu_sink *sink);

/**
 * auxpmu_sink_interrupt() - a sink interrupted
 * @pmu: of the events that use it
 * @sink: the sink
 *
 * In a hard interrupt on any CPU. Has its trace collected: at once if that is up to this CPU's
 * unit, else by another CPU, which is sent an interrupt.
 *
 * Return: false if no unit was armed (a late or spurious interrupt).
 */
bool auxpmu_sink_interrupt(struct auxpmu *pmu, struct auxpmu_sink *sink);

/**
 * auxpmu_interrupt() - the unit of this CPU interrupted
 * @pmu: the PMU
 *
 * IRQs off, on the unit's CPU, NMI included. Commits what was written and arms the next window.
 *
 * Return: false if the unit was not armed (a late or spurious interrupt; counted).
 */
bool auxpmu_interrupt(struct auxpmu *pmu);

/**
 * auxpmu_suspend() - the unit of this CPU is about to lose its state, or to be taken away
 * @pmu: the PMU
 * @idle: the CPU executes nothing until auxpmu_resume(), which comes as the first of all (CPU_PM)
 *
 * IRQs off. Disarms the unit and commits nothing yet. Unless @idle the next record says PARTIAL,
 * since what the CPU executes from here on is not traced. Until auxpmu_resume() the unit is armed
 * only if the core starts the event anew.
 *
 * Return: true if an event is to go on at auxpmu_resume(); false if none was running, or it is
 * suspended already, and then that one's auxpmu_resume() is waited for.
 */
bool auxpmu_suspend(struct auxpmu *pmu, bool idle);

/**
 * auxpmu_resume() - the unit of this CPU is there again
 * @pmu: the PMU
 *
 * IRQs off. Arms it again if auxpmu_suspend() interrupted its event.
 */
void auxpmu_resume(struct auxpmu *pmu);

#endif /* AUXPMU_H */
