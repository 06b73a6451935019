/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The synthetic PMU and modelled trace units: what the files of this folder share.
 *
 * struct synth is one PMU with its model, struct synth_unit the unit of one CPU, struct
 * synth_stream the trace of one event.
 */
#ifndef AUXPMU_SYNTH_H
#define AUXPMU_SYNTH_H

#include <linux/hrtimer.h>
#include <linux/mutex.h>

#include "software.h"

#include "uapi/linux/auxpmu.h"

#define SYNTH_NAME_MAX		32

/* Bytes of a list of CPUs, its NUL included. */
#define SYNTH_CPUS_MAX		64

/* The model leaves the choice to each event's config. */
#define SYNTH_OUTPUT_ANY	(-1)
#define SYNTH_RECORD_ANY	0

/**
 * struct synth_model - the description of a modelled trace unit
 * @name: the PMU's
 * @output: enum auxpmu_synth_output, or SYNTH_OUTPUT_ANY
 * @record: bytes of every record, or SYNTH_RECORD_ANY
 * @start_align: bytes, see struct auxpmu_window_rules; at least the record size is used
 * @end_align: bytes
 * @spare: bytes it may write behind its limit before it stops
 * @irq_delay: bytes it writes from its interrupt until it is stopped
 * @ram: for a unit that copies: bytes of trace RAM per CPU; it interrupts when that is half full
 * @rate: KiB per millisecond, if the event does not say
 * @filters: number of its address filters
 * @format: bits 8 to 15 of its records' flags, shifted down
 * @shared: the units of all CPUs write by one sink: with output copy, into its memory of @ram
 *	bytes; else one event at a time, into its area if that is not above @reach. 2: each CPU has
 *	a sink of its own
 * @polled: that does not interrupt; in an area it goes round in its window; 2: and cannot tell how
 *	much it has, or how far it is
 * @reach: bytes of the largest area that a shared sink writes into; 0: any
 * @least: bytes of the smallest window, but for regions
 * @continuous: that can be read while it takes more
 * @turning: of which there are two, one of which takes trace while the other is read
 * @lap_records: overwriting, a record of trace ends where the buffer does: 0 or 1
 * @no_nmi: its operations cannot be called in NMI: 0 or 1
 * @cpus: list of the CPUs that have a unit; empty: all
 * @limits: its limits
 */
struct synth_model {
	char name[SYNTH_NAME_MAX];
	int output;
	u64 record;
	u64 start_align;
	u64 end_align;
	u64 spare;
	u64 irq_delay;
	u64 ram;
	u64 rate;
	u64 filters;
	u64 format;
	u64 shared;
	u64 polled;
	u64 reach;
	u64 least;
	u64 continuous;
	u64 turning;
	u64 lap_records;
	u64 no_nmi;
	char cpus[SYNTH_CPUS_MAX];
	struct auxpmu_limits limits;
};

extern const struct synth_model synth_default_model;

/* Why @model is impossible, in a few words, or NULL. */
const char *synth_model_wrong(const struct synth_model *model);

/* How a PMU has to look whose name user space knows: see persona.c. */
struct synth_persona {
	const char *name;
	const struct attribute_group **groups;
	u64 config;		/* bits that it accepts and ignores */
	bool offset_heads;
};

const struct synth_persona *synth_persona_find(const char *name);

/* Faults of synthetic units, besides the framework's own. */
enum synth_fault {
	SYNTH_FAULT_STUCK,		/* its pointer did not move: its trace is lost */
	SYNTH_FAULT_OVERRUN,		/* it wrote a page more than its window */
	SYNTH_FAULT_SPURIOUS_IRQ,	/* one extra interrupt */
	SYNTH_FAULT_LATE_IRQ,		/* one interrupt comes a page of trace later */
	SYNTH_FAULT_LOST_IRQ,		/* one interrupt is missing: it runs into its limit */
	SYNTH_FAULT_DUE,		/* its interrupt is due as soon as it is armed */
	SYNTH_FAULT_BUSY,		/* the same, behind a record just written */
	SYNTH_FAULT_COLLIDE,		/* its position says that samples met each other */
	SYNTH_FAULT_SINK,		/* the sink that units share does not start */
	SYNTH_FAULT_WRAP,		/* that sink says that it has wrapped */
	SYNTH_FAULT_SLOW_STOP,		/* disarming takes a millisecond */
	SYNTH_FAULT_UNREGISTER,		/* the PMU is revoked while events are there */
	SYNTH_FAULTS
};

struct synth {
	struct auxpmu_desc desc;
	struct auxpmu_ops ops;
	struct synth_model model;
	atomic_t faults[SYNTH_FAULTS];
	const struct synth_persona *persona;
	struct auxpmu *pmu;
	struct synth_sink **sinks;	/* of each CPU; NULL unless shared */
	struct auxpmu_sink *sink;	/* of all CPUs, or it stands for these */
	/* Guards the trace RAM of its units and the number of users. */
	struct mutex ram_lock;
	/* The last write to emit, see debugfs.c. */
	struct mutex emit_lock;
	int emitted_cpu;
	u64 emitted_bytes;
};

/* Make a PMU of @model, or return an ERR_PTR, with the reason in the log. May sleep. */
struct synth *synth_make(const struct synth_model *model);

/* Undo synth_make(); -EBUSY while it has events or buffers. May sleep. */
int synth_try_destroy(struct synth *synth);

/* The same even if it has events or buffers; -EOPNOTSUPP if the core cannot do that. May sleep. */
int synth_revoke(struct synth *synth);

/* The trace of one event, and how far it got. Written by the one unit that traces for it. */
struct synth_stream {
	u64 id;
	u64 parent;
	u64 seq;
	u64 program;		/* address of the program */
	u64 step;		/* blocks executed */
	u32 seed;
	u32 record;		/* bytes */
	u32 rate;		/* bytes per tick */
	u16 pattern;
	bool manual;
};

/* The unit of one CPU. */
struct synth_unit {
	struct auxpmu_unit *unit;
	struct hrtimer timer;
	u64 position;		/* of the next byte; for a unit that copies: bytes in @ram */
	u64 lost;		/* bytes without room, or overwritten, since it was armed */
	u64 late;		/* by these bytes the next interrupt is late */
	bool halted;		/* by a filter that stops it */
	bool waiting;		/* for an address that starts it */
	u64 credit;		/* bytes that the timer still has to write */
	bool due_in_full;	/* the next tick adds a millisecond's worth to it */
	bool online;		/* its CPU is */
	bool due;		/* the sink's interrupt came when it was armed */
	u8 *ram;
	unsigned int ram_users;	/* events that may come to this CPU and need @ram */
};

static inline struct synth *synth_of(const struct auxpmu *pmu)
{
	return container_of(auxpmu_desc_of(pmu), struct synth, desc);
}

static inline struct auxpmu *synth_pmu_of(const struct perf_event *event)
{
	return auxpmu_event(event)->pmu;
}

/* Shall this fault happen now?  Any context. */
static inline bool synth_fault(struct synth *synth, enum synth_fault fault)
{
	return auxpmu_fault(&synth->faults[fault]);
}

static inline struct synth_stream *synth_stream_of(const struct auxpmu_unit *unit)
{
	return auxpmu_unit_event(unit)->private;
}

/* Does the unit write into the memory of a sink that all share, for the framework to copy? */
static inline bool synth_shares(const struct auxpmu_unit *unit)
{
	return auxpmu_unit_event(unit)->needs.sink && unit->copies;
}

/* record.c: make the tables that its other functions need. */
void synth_records_init(void);

/* Write one record of @stream to @data. Any context. */
void synth_write_record(struct synth_stream *stream, void *data, enum auxpmu_record_kind kind);

/* Write a record of padding: &auxpmu_ops.pad. */
void synth_pad(struct auxpmu_unit *unit, void *data, u64 length);

/* Write @length bytes of records, a multiple of the record size, to @data. */
void synth_write_records(struct synth_stream *stream, void *data, u64 length);

/* If the fault spurious_irq is due: interrupt without a reason. IRQs off. */
void synth_spurious_irq(struct synth *synth);

/*
 * Write @bytes, a multiple of the record size, and interrupt as hardware would. The caller owns the
 * session (auxpmu_unit_acquire()). Returns the bytes written: fewer if the buffer became full.
 */
u64 synth_write(struct synth_unit *hw, u64 bytes);

/* unit.c: the operations of the backend. */
extern const struct auxpmu_ops synth_ops;

/* Besides these, for a model that has units on some CPUs only. */
int synth_online(struct auxpmu_unit *unit);
void synth_offline(struct auxpmu_unit *unit);

/* sink.c: the sink that all units of @synth share, or each CPU's. May sleep. 0 or an errno. */
int synth_sinks_make(struct synth *synth);
void synth_sinks_free(struct synth *synth);

/*
 * Write up to @bytes of records of @kind, until the sink interrupts: then *@interrupt. IRQs off.
 * Returns the bytes written or lost.
 */
u64 synth_sink_write(struct synth_sink *sink, struct synth_stream *stream, u64 bytes,
		     enum auxpmu_record_kind kind, bool *interrupt);

/* Send that interrupt to CPU 0. False if this is CPU 0, or it is offline. IRQs off. */
bool synth_sink_send(struct synth_sink *sink);

/* event.c: the two operations about events, and sysfs format/. */
int synth_event_init(struct perf_event *event, struct auxpmu_event *aux);
void synth_event_destroy(struct perf_event *event, struct auxpmu_event *aux);
int synth_buffer_init(struct auxpmu_buffer *buffer, struct perf_event *event);
extern const struct attribute_group *synth_groups[];

/* debugfs: trace on demand, how fast it is, and faults. */
void synth_debugfs_add(struct synth *synth);

/* configfs: units modelled at run time. */
#if IS_ENABLED(CONFIG_CONFIGFS_FS)
int synth_models_init(void);
void synth_models_exit(void);
#else
static inline int synth_models_init(void)
{
	return 0;
}

static inline void synth_models_exit(void)
{
}
#endif

#endif /* AUXPMU_SYNTH_H */
