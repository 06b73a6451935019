/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * auxpmu: what a vendor's backend reads.
 *
 * A backend describes its PMU in a struct auxpmu_desc and registers it; the framework owns struct
 * pmu, the AUX buffers, the windows, the perf AUX transactions and the statistics, and calls the
 * backend's operations below with all of that decided. A backend never touches a
 * perf_output_handle: none can be reached from what is declared here.  The framework embeds these
 * structures in its own, which may change without a new AUXPMU_OPS_VERSION.
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
 * Raised when a change of this header makes a backend built against the old one wrong; checked when
 * it registers.
 */
#define AUXPMU_OPS_VERSION	9

/* Every module that calls the framework says this once, next to its MODULE_LICENSE(). */
#define AUXPMU_IMPORT_NS()	MODULE_INFO(import_ns, "AUXPMU")

struct auxpmu;
struct auxpmu_buffer;
struct auxpmu_event;
struct auxpmu_unit;

/**
 * enum auxpmu_output - the three ways hardware writes trace
 * @AUXPMU_SCATTER: through descriptors over the whole buffer (ToPA, ETR-SG, CATU); zero-copy
 * @AUXPMU_WINDOW: into one contiguous window at a time (BTS, SPE, TRBE, flat ETR); zero-copy
 * @AUXPMU_COPY: into memory of its own (ETB, ETF, a fixed DMA area), which the framework copies
 *	into the buffer
 */
enum auxpmu_output { AUXPMU_SCATTER, AUXPMU_WINDOW, AUXPMU_COPY };

/**
 * enum auxpmu_pages - what a unit needs of the buffer's pages
 * @AUXPMU_PAGES_LARGE: large chunks are used as such, single pages do
 * @AUXPMU_PAGES_ANY: single pages; large chunks are treated as single pages
 * @AUXPMU_PAGES_HALF: each half of the buffer is one physically contiguous chunk, or the buffer is
 *	refused
 * @AUXPMU_PAGES_WHOLE: the buffer is one physically contiguous chunk, or the buffer is refused
 */
enum auxpmu_pages { AUXPMU_PAGES_LARGE, AUXPMU_PAGES_ANY, AUXPMU_PAGES_HALF, AUXPMU_PAGES_WHOLE };

/**
 * struct auxpmu_needs - what tracing for one event asks of the framework
 * @output: how the unit writes
 * @pages: what pages it needs
 * @fallback: with @pages HALF or WHOLE: take what there is instead of refusing the buffer
 * @regions: the unit stops and interrupts only at region ends; the framework sets @rules.granule to
 *	the limits' granule, or to max(page, buffer / 16), so that a free window practically always
 *	holds a region end
 * @map: map the buffer into kernel virtual memory as one piece, at auxpmu_buffer.base
 * @rules: of the unit's windows
 */
struct auxpmu_needs {
	enum auxpmu_output output;
	enum auxpmu_pages pages;
	bool fallback;
	bool regions;
	bool map;
	struct auxpmu_window_rules rules;
};

/* Address filters of any hardware, at most. */
#define AUXPMU_FILTERS_MAX	8

/**
 * struct auxpmu_range - an address filter
 * @first: address
 * @last: address, included; below @first: nothing is in the range now (its file is not mapped)
 * @stop: tracing stops there until the next start; else only what is in such ranges is traced
 */
struct auxpmu_range {
	u64 first;
	u64 last;
	bool stop;
};

/**
 * struct auxpmu_event - an event of a PMU of the framework's, at event->pmu_private
 * @pmu: whose
 * @needs: filled by &auxpmu_ops.event_init, constant afterwards
 * @ranges: address filters in force; may change before any start, never between start and stop
 * @nr_ranges: how many; none: everything is traced
 * @private: the backend's
 */
struct auxpmu_event {
	struct auxpmu *pmu;
	struct auxpmu_needs needs;
	struct auxpmu_range ranges[AUXPMU_FILTERS_MAX];
	unsigned int nr_ranges;
	void *private;
};

/* What the framework knows of @event; valid from event_init to event_destroy. */
static inline struct auxpmu_event *auxpmu_event(const struct perf_event *event)
{
	return event->pmu_private;
}

/**
 * struct auxpmu_buffer - an AUX buffer, from the first mmap to the last munmap
 * @pmu: whose it is
 * @chunks: which of its pages lie together
 * @regions: the same of its regions, when the event's needs say so: what a unit that stops and
 *	interrupts at region ends only has to be told of. auxpmu_chunk_nth() and
 *	auxpmu_chunk_index() tell where one lies, and which one holds an offset.  When overwriting
 *	they are the chunks
 * @pages: kernel address of every page, @chunks.nr_pages of them; the core's array
 * @size: bytes, a power of two from one page to what the core can hand out: 2 GiB with pages of
 *	4 KiB, 64 GiB with 16 KiB, 4 TiB with 64 KiB
 * @base: the buffer in one piece of kernel virtual memory if the event's needs say map, else NULL
 * @overwrite: a flight recorder: mapped read-only by the consumer
 * @private: the backend's (descriptor tables)
 *
 * Read-only for backends, except @private. It outlives the event it was made for, and holds
 * references on the framework's module and the backend's.
 */
struct auxpmu_buffer {
	struct auxpmu *pmu;
	struct auxpmu_chunks chunks;
	struct auxpmu_chunks regions;
	void **pages;
	u64 size;
	void *base;
	bool overwrite;
	void *private;
};

/* The offset in the buffer of a position. */
static inline u64 auxpmu_buffer_offset(const struct auxpmu_buffer *buffer, u64 position)
{
	return position & (buffer->size - 1);
}

/* Is that a position of the first lap, before which the buffer was not filled? */
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
 * If they are known to be @least or more, they may be a lap more than the offsets tell.
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
 * @length: set to the bytes from there to the end of the chunk, physically contiguous
 *
 * Return: kernel address.  Any context.
 */
void *auxpmu_buffer_run(const struct auxpmu_buffer *buffer, u64 position, u64 *length);

/**
 * struct auxpmu_position - how far the unit got since it was armed
 * @bytes: written, from the window's start on, rules.spare at most behind its end; for COPY: held
 *	in the unit's memory, in all
 * @lost: bytes of trace the unit had to drop, as far as it knows; the record says PARTIAL then
 * @gap: it lost trace, and does not know how much: PARTIAL, too
 *
 * Zeroed before @position of the ops is called.  Numbers from AUXPMU_POSITION_MAX on, which only a
 * difference taken the wrong way round yields, are taken for 0, with PARTIAL, and counted as
 * overruns.
 */
struct auxpmu_position {
	u64 bytes;
	u64 lost;
	bool gap;
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
 * struct auxpmu_ops - what a backend does
 * @version: AUXPMU_OPS_VERSION
 *
 * @unit_init: prepare the unit of unit->cpu, before the PMU can be seen. May sleep. 0 or an
 *	errno. Optional.
 * @unit_exit: undo unit_init, after the PMU is gone. May sleep. Optional; called for every CPU
 *	unit_init was called for.
 * @event_init: check the event's attr and say what it needs: fill aux->needs (zeroed, but for
 *	start_align, end_align and atom, which are 1). May sleep. 0, or the errno perf_event_open()
 *	shall return. Called for inherited children, too: event->parent is set then.
 * @event_destroy: undo event_init.  May sleep.  The buffer may live on.
 * @suit: change @rules, which are those of an event's needs, to suit @buffer: its size, mode and
 *	chunks are known.  Its pages, and what buffer_init made of it, may be gone: the event that
 *	asks need not be one that keeps it.  Any context. Optional.
 * @buffer_init: prepare @buffer (descriptor tables) for @event. May sleep. 0, or an errno: then
 *	mmap fails, and the framework logs @buffer_init's errno. Optional.
 * @buffer_fini: undo buffer_init.  May sleep.  The pages may be gone already: then @pages of the
 *	buffer is NULL; what has to be undone to them is noted by buffer_init.  Optional.
 * @add: the event comes to this CPU: take what arming needs but may not get in NMI. IRQs off. 0 or
 *	an errno: the event is not scheduled then. Optional.
 * @del: the event leaves this CPU; the unit is disarmed.  IRQs off.  Optional.
 * @arm: let the unit write unit->window. Any context, NMI included; must not sleep, allocate or
 *	spin. 0 or an errno: then tracing ends with a PARTIAL record.
 * @disarm: stop the unit and return when every byte it wrote is visible in memory. Any context, as
 *	arm.
 * @position: how far it got.  Called after disarm, before the next arm; same context. Has to answer
 *	the same when asked again.
 * @spans: COPY only, which cannot do without: where those bytes are, oldest first, at most two
 *	pieces of @position's bytes in all. Returns how many pieces. Must never name a byte the unit
 *	did not write since it was armed: that would be somebody else's trace.
 * @irq_pending: did the unit pass unit->window.irq already?  Called right after arm.  Optional.
 * @invalidate: the machine was suspended, or this CPU was off, so the unit may hold nothing of what
 *	it was told.  On its CPU, IRQs off, disarmed; if it was at work, arm follows. Optional.
 * @pad: write the format's own padding over @length bytes at @data, which the unit steps over;
 *	context as arm. Zeros when missing.
 *
 * An operation returns with IRQs and preemption as it was called.  An errno is negative; a positive
 * number fails, too.  With paranoid=1 the framework looks at what each does, as far as that can be
 * seen: docs/writing-a-backend.md.
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
	void (*invalidate)(struct auxpmu_unit *unit);
	void (*pad)(struct auxpmu_unit *unit, void *data, u64 length);
};

/**
 * struct auxpmu_limits - what the hardware can do, whatever the event
 * @min_chunk: bytes of the smallest physically contiguous chunk it takes; a buffer that has smaller
 *	ones is refused
 * @max_chunk: bytes of the largest chunk it takes; larger ones are used as several
 * @min_buffer: bytes of the smallest buffer
 * @max_buffer: bytes of the largest
 * @granule: bytes of the regions of a unit that stops at region ends only
 * @no_overwrite: it cannot write round and round without being stopped: no flight recorder
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
 * struct auxpmu_counter - a counter of a backend's own, as a sysfs attribute
 * @attr: for an attribute group
 * @counts: one for each CPU, changed on it alone; their sum is shown
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
 * struct auxpmu_claim - units that somebody else may be using: how they become ours
 * @intree: name of the kernel's own PMU of these units.  While they are ours it is held, by
 *	an event on every CPU that is never switched on; where there is none of that name nothing
 *	is held
 * @handlers: PMUs of the kernel's, NULL at the end, one of which must be there, for its interrupt
 *	handler serves ours, too.  Where there is no @intree a counter of cycles keeps it at work
 * @excludes: name of the kernel's PMU of those units that this processor does not have at work
 *	beside ours, NULL if there are none.  The kernel counts who has which; where there is no
 *	@intree to be counted by, an event of this one is held, which keeps out what both exclude
 * @begin: before any unit is acquired: make interrupt handlers known.  @intree: it is there,
 *	and held. May sleep. 0 or an errno.
 * @end: undo it.  May sleep.
 * @acquire: make this CPU's unit ours, and note what others left in it. On it, IRQs off. 0;
 *	or an errno, and in *@why, unless it has no unit at all, a few words (static storage).
 * @release: the reverse: this CPU's unit is disarmed, and gets what @acquire noted. On it,
 *	IRQs off.
 * @shutdown: switch this CPU's unit off for good, if it is ours: the kernel is going away. On it,
 *	IRQs off, or in NMI; a session may be at work.
 * @crash: name of a function of the kernel's that each CPU calls, in NMI but for the one that
 *	crashes, when kdump is about to boot another kernel.  @shutdown comes with it, so that the
 *	trace that is dumped ends there; NULL: there is none, and units go on
 *
 * None of the functions may be missing.  The units are ours on all CPUs that are online while
 * there are events, and only then; sysfs claim tells.
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
 * enum auxpmu_yields - what an event without filters is bound to yield
 * @AUXPMU_YIELDS_WORK: a CPU that is busy for 50 ms has trace
 * @AUXPMU_YIELDS_START: so has a start, even when a stop comes right after it
 * @AUXPMU_YIELDS_NOTHING: neither; for units that trace what is rare
 */
enum auxpmu_yields { AUXPMU_YIELDS_WORK, AUXPMU_YIELDS_START, AUXPMU_YIELDS_NOTHING };

/* Characters of a PMU's name, and bytes of a unit's memory, at most. */
#define AUXPMU_NAME_MAX		63
#define AUXPMU_UNIT_MAX		SZ_1M

/**
 * struct auxpmu_desc - a PMU as its backend describes it
 * @name: under /sys/bus/event_source/devices; not yet taken. Letters, digits, _, - and ., of which
 *	the first is a letter or digit; at most AUXPMU_NAME_MAX
 * @ops: what it does
 * @attr_groups: sysfs attributes (format, caps, ...), or NULL; at most 14, each of another name. To
 *	the group caps those of the framework are added
 * @unit_size: bytes of zeroed memory the framework keeps per CPU for the backend:
 *	auxpmu_unit.private, which is NULL if this is 0; at most AUXPMU_UNIT_MAX
 * @yields: what the contract tests may ask of it; user space finds it in sysfs caps/yields
 * @nr_addr_filters: address filters of the hardware, at most AUXPMU_FILTERS_MAX; 0 if none
 * @filters_stop: they can also stop the trace
 * @limits: of the hardware's buffers
 * @claim: how its units become ours; NULL if they are nobody else's
 * @offset_heads: aux_head of an overwriting buffer is an offset, as consumers of a known PMU expect
 *	whose name this one bears, and not monotonic
 * @tell_once: PERF_RECORD_ITRACE_START tells of an event's first start only, as the kernel's own
 *	drivers have it; else of every one
 * @release: nobody uses the PMU, or @desc, any more.  May sleep.  Optional
 */
struct auxpmu_desc {
	const char *name;
	const struct auxpmu_ops *ops;
	const struct attribute_group **attr_groups;
	size_t unit_size;
	enum auxpmu_yields yields;
	unsigned int nr_addr_filters;
	bool filters_stop;
	struct auxpmu_limits limits;
	const struct auxpmu_claim *claim;
	bool offset_heads;
	bool tell_once;
	void (*release)(const struct auxpmu_desc *desc);
};

/**
 * struct auxpmu_unit - the trace unit of one CPU, as long as its PMU is registered
 * @pmu: the PMU
 * @cpu: whose unit it is
 * @private: the backend's memory, desc->unit_size bytes; NULL for none
 * @event: tracing for, between add and del; one at a time
 * @buffer: tracing into; valid while a transaction is open, that is from arm to the end
 * @window: as last armed
 * @rules: that this window follows: those of the event's needs, as they suit @buffer
 * @starting: set while arm is called for the first time since the event was started, or since its
 *	trace goes into another buffer: what the unit was told before is void
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
};

/* The event that @unit traces for; between add and del. */
static inline struct auxpmu_event *auxpmu_unit_event(const struct auxpmu_unit *unit)
{
	return auxpmu_event(unit->event);
}

/* What @pmu was registered with.  Any context. */
const struct auxpmu_desc *auxpmu_desc_of(const struct auxpmu *pmu);

/* A user's mistake, in one sentence; rate limited, for any user may make it. */
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
 * auxpmu_unregister() - the reverse
 * @pmu: from auxpmu_register()
 *
 * From module_exit only: the references that events and buffers hold on the module are what makes
 * it safe. May sleep.
 */
void auxpmu_unregister(struct auxpmu *pmu);

/**
 * auxpmu_try_unregister() - take a PMU away while the module stays
 * @pmu: from auxpmu_register()
 *
 * For units that come and go.  May sleep.
 *
 * Return: 0, and @pmu is gone; -EBUSY while events or buffers of it live: nothing has changed then.
 */
int auxpmu_try_unregister(struct auxpmu *pmu);

/**
 * auxpmu_revoke() - take a PMU away from the events that are there
 * @pmu: from auxpmu_register()
 *
 * For hardware that has gone.  May sleep.  Their owners keep descriptors that do nothing any more,
 * and their mappings with what was traced; &auxpmu_desc.release is called when the last is gone.
 *
 * Return: 0; -EOPNOTSUPP where the core cannot do that (before 6.15), and for a PMU with a claim:
 * nothing has changed then.
 */
int auxpmu_revoke(struct auxpmu *pmu);

/**
 * auxpmu_interrupt() - the unit of this CPU interrupted
 * @pmu: the PMU
 *
 * IRQs off, on the unit's CPU, NMI included.  Hands over what was written and arms the next window.
 *
 * Return: false when the unit was not armed (a late or spurious interrupt; counted).
 */
bool auxpmu_interrupt(struct auxpmu *pmu);

/**
 * auxpmu_suspend() - the unit of this CPU is about to lose its state, or to be taken away
 * @pmu: the PMU
 *
 * IRQs off.  Disarms it and hands nothing over yet; the record that comes says PARTIAL, for what
 * happens from here on is not traced.  Until auxpmu_resume() the unit is armed only if the core
 * starts the event anew.
 */
void auxpmu_suspend(struct auxpmu *pmu);

/**
 * auxpmu_resume() - it is there again
 * @pmu: the PMU
 *
 * IRQs off.  Goes on with what auxpmu_suspend() interrupted.
 */
void auxpmu_resume(struct auxpmu *pmu);

#endif /* AUXPMU_H */
