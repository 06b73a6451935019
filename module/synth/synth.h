/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The synthetic PMU and modelled trace units: what the files of this folder share.
 *
 * struct synth is one PMU with its model; struct synth_unit the unit of one CPU; struct
 * synth_stream what one event's trace is like.
 */
#ifndef AUXPMU_SYNTH_H
#define AUXPMU_SYNTH_H

#include <linux/hrtimer.h>
#include <linux/mutex.h>

#include "software.h"

#include "uapi/linux/auxpmu.h"

#define SYNTH_NAME_MAX		32

/* What every event may choose in its config unless the model says otherwise. */
#define SYNTH_OUTPUT_ANY	(-1)
#define SYNTH_RECORD_ANY	0

/**
 * struct synth_model - what a modelled trace unit is like
 * @name: of the PMU
 * @output: enum auxpmu_synth_output, or SYNTH_OUTPUT_ANY
 * @record: bytes of every record, or SYNTH_RECORD_ANY
 * @start_align: bytes, see struct auxpmu_window_rules; records raise it
 * @end_align: bytes
 * @spare: bytes it may write behind its limit before it stops
 * @irq_delay: bytes it writes between reaching its interrupt and being stopped by it
 * @ram: bytes of trace RAM per CPU of a unit that copies; it interrupts when half full
 * @rate: KiB per millisecond of an event that does not say
 * @filters: address filters it has
 * @limits: of its buffers
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
	struct auxpmu_limits limits;
};

extern const struct synth_model synth_default_model;

/* Why @model cannot be, in a few words, or NULL. */
const char *synth_model_wrong(const struct synth_model *model);

/* What a PMU whose name user space knows has to look like: see persona.c. */
struct synth_persona {
	const char *name;
	const struct attribute_group **groups;
	u64 config;		/* bits it takes, and does not act on */
	bool offset_heads;
};

const struct synth_persona *synth_persona_find(const char *name);

/* What can be made to go wrong with a unit of ours, beside what the framework has. */
enum synth_fault {
	SYNTH_FAULT_STUCK,		/* its pointer did not move: what it wrote is lost */
	SYNTH_FAULT_OVERRUN,		/* it wrote a page more than its window */
	SYNTH_FAULT_SPURIOUS_IRQ,	/* one interrupt more */
	SYNTH_FAULT_LATE_IRQ,		/* one a page of trace later */
	SYNTH_FAULT_LOST_IRQ,		/* one less: the unit runs into its limit */
	SYNTH_FAULT_DUE,		/* its interrupt is due as soon as it is armed */
	SYNTH_FAULT_BUSY,		/* the same, behind a record just written */
	SYNTH_FAULT_SLOW_STOP,		/* disarming takes a millisecond */
	SYNTH_FAULT_UNREGISTER,		/* the PMU goes while events are there */
	SYNTH_FAULTS
};

struct synth {
	struct auxpmu_desc desc;
	struct synth_model model;
	atomic_t faults[SYNTH_FAULTS];
	const struct synth_persona *persona;
	struct auxpmu *pmu;
	/* Guards trace RAM and how many use it. */
	struct mutex ram_lock;
	/* The last write to emit, see debugfs.c. */
	struct mutex emit_lock;
	int emitted_cpu;
	u64 emitted_bytes;
};

/* Make a PMU of @model.  An ERR_PTR if that does not go, the reason in the log.  May sleep. */
struct synth *synth_make(const struct synth_model *model);

/* The reverse; -EBUSY while it has events or buffers.  May sleep. */
int synth_try_destroy(struct synth *synth);

/* The reverse whatever it has; -EOPNOTSUPP where the core cannot do that.  May sleep. */
int synth_revoke(struct synth *synth);

/*
 * What one event's trace is like, and how far it got. Written by the unit that traces for it, which
 * is one at a time.
 */
struct synth_stream {
	u64 id;
	u64 parent;
	u64 seq;
	u64 program;		/* its address */
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
	u64 position;		/* next byte; for a unit that copies, bytes in @ram */
	u64 lost;		/* bytes it had nowhere to write, since it was armed */
	u64 late;		/* bytes the interrupt comes later this once */
	bool halted;		/* by a filter that stops */
	u64 credit;		/* bytes the timer still owes */
	bool due_in_full;	/* they were paid: the next tick owes a millisecond's worth */
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

/* Shall this go wrong now?  Any context. */
static inline bool synth_fault(struct synth *synth, enum synth_fault fault)
{
	return auxpmu_fault(&synth->faults[fault]);
}

static inline struct synth_stream *synth_stream_of(const struct auxpmu_unit *unit)
{
	return auxpmu_unit_event(unit)->private;
}

/* Whether its trace is in memory of its own, for the framework to copy. */
static inline bool synth_copies(const struct auxpmu_unit *unit)
{
	return auxpmu_unit_event(unit)->needs.output == AUXPMU_COPY;
}

/* record.c: tables that the others want. */
void synth_records_init(void);

/* One record of @stream, of its size, at @data.  Any context. */
void synth_write_record(struct synth_stream *stream, void *data, enum auxpmu_record_kind kind);

/* Padding that says so, as &auxpmu_ops.pad. */
void synth_pad(struct auxpmu_unit *unit, void *data, u64 length);

/* Write @length bytes of records, a multiple of the record size, to @data. */
void synth_write_records(struct synth_stream *stream, void *data, u64 length);

/* An interrupt that nothing asked for, if that is what shall go wrong.  IRQs off. */
void synth_spurious_irq(struct synth *synth);

/*
 * Write @bytes, a multiple of the record size, interrupting as hardware would. The caller owns
 * the session (auxpmu_unit_acquire()). Returns what was written: less when the buffer became full.
 */
u64 synth_write(struct synth_unit *hw, u64 bytes);

/* unit.c: what the framework calls. */
extern const struct auxpmu_ops synth_ops;

/* event.c: of those the two about events, and sysfs format/. */
int synth_event_init(struct perf_event *event, struct auxpmu_event *aux);
void synth_event_destroy(struct perf_event *event, struct auxpmu_event *aux);
extern const struct attribute_group *synth_groups[];

/* debugfs: trace on demand, how fast it is, and faults. */
void synth_debugfs_add(struct synth *synth);

/* configfs: units made and unmade at run time. */
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
