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

#include "auxpmu.h"
#include "core/session.h"
#include "internal.h"

#include "uapi/auxpmu.h"

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

/* What a PMU whose name user space knows has to look like: see guise.c. */
struct synth_guise {
	const char *name;
	const struct attribute_group **groups;
	u64 config;		/* bits it takes, and does not act on */
	bool offset_heads;
};

const struct synth_guise *synth_guise_find(const char *name);

struct synth {
	struct auxpmu_desc desc;
	struct synth_model model;
	const struct synth_guise *guise;
	struct auxpmu *pmu;
	/* Guards trace RAM and how many use it. */
	struct mutex ram_lock;
	/* The last write to emit, see emit.c. */
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
	struct auxpmu_session *session;
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
	return container_of(pmu->desc, struct synth, desc);
}

static inline struct synth_stream *synth_stream_of(const struct auxpmu_session *session)
{
	return auxpmu_session_event(session)->private;
}

/* Whether its trace is in memory of its own, for the framework to copy. */
static inline bool synth_copies(const struct auxpmu_session *session)
{
	return auxpmu_session_event(session)->needs.output == AUXPMU_COPY;
}

/* record.c: tables that the others want. */
void synth_records_init(void);

/* One record of @stream, of its size, at @data.  Any context. */
void synth_write_record(struct synth_stream *stream, void *data, enum auxpmu_record_kind kind);

/* Padding that says so, as &auxpmu_ops.pad. */
void synth_pad(struct auxpmu_session *session, void *data, u64 length);

/* Write @length bytes of records, a multiple of the record size, to @data. */
void synth_write_records(struct synth_stream *stream, void *data, u64 length);

/* An interrupt that nothing asked for, if that is what shall go wrong.  IRQs off. */
void synth_spurious_irq(struct auxpmu *pmu);

/*
 * Write @bytes, a multiple of the record size, interrupting as hardware would. The caller has taken
 * the session. Returns what was written: less when the buffer became full.
 */
u64 synth_write(struct synth_unit *unit, u64 bytes);

/* unit.c: what the framework calls. */
extern const struct auxpmu_ops synth_ops;

/* event.c: of those the two about events, and sysfs format/. */
int synth_event_init(struct perf_event *event, struct auxpmu_event *aux);
void synth_event_destroy(struct perf_event *event, struct auxpmu_event *aux);
extern const struct attribute_group *synth_groups[];

/* debugfs: trace on demand, and how fast it is. */
void synth_emit_add(struct synth *synth);

int auxpmu_synth_init(void);
void auxpmu_synth_exit(void);

/* configfs: units made and unmade at run time. */
#if IS_ENABLED(CONFIG_CONFIGFS_FS)
int auxpmu_model_init(void);
void auxpmu_model_exit(void);
#else
static inline int auxpmu_model_init(void)
{
	return 0;
}

static inline void auxpmu_model_exit(void)
{
}
#endif

#endif /* AUXPMU_SYNTH_H */
