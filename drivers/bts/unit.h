/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The branch trace store of one CPU (SDM volume 3, "Branch Trace Store (BTS)" and "BTS and DS Save
 * Area"): the first four fields of its DS area, the bits of IA32_DEBUGCTL that switch it, and what
 * the framework does with them.  All of it on that CPU with IRQs off, NMI included.
 */
#ifndef AUXPMU_BTS_UNIT_H
#define AUXPMU_BTS_UNIT_H

#include <linux/percpu.h>
#include <linux/sysfs.h>
#include <linux/types.h>

#include "auxpmu.h"

struct debug_store;

/* From, to, flags: 64 bits each. */
#define BTS_RECORD	24

/* What of the DS area is ours; the rest is PEBS's.  Linear addresses. */
struct bts_fields {
	u64 base;		/* of the buffer */
	u64 index;		/* where the next record goes */
	u64 maximum;		/* its end */
	u64 threshold;		/* where it interrupts */
};

/* What went wrong. */
struct bts_errors {
	u64 full;		/* at its end nobody had come in time: it drops records there */
	u64 fault;		/* a register took a value not */
};

/**
 * struct bts_unit - one CPU's
 * @session: the framework's side
 * @claimed: it is ours
 * @on: it may be writing
 * @latched: it was switched off by the NMI handler that comes first
 * @off_in_nmi: it was switched off in an NMI since its event came to this CPU
 * @pmi: which has seen an interrupt that the second one has still to serve
 * @own_area: IA32_DS_AREA was 0, so that it is ours to set, and to clear
 * @area: the DS area
 * @level: bits of IA32_DEBUGCTL: the levels that are not recorded
 * @window: where records of the window go, in memory
 * @first_lap: of its end this lap has not written yet, see unit.c
 * @others_ctl: what of IA32_DEBUGCTL says how to store, as somebody left it before it was claimed
 * @errors: counted since the module was loaded
 * @saved: what the fields were before they were claimed
 */
struct bts_unit {
	struct auxpmu_unit *unit;
	bool claimed;
	bool on;
	bool latched;
	bool off_in_nmi;
	bool pmi;
	bool own_area;
	bool first_lap;
	struct debug_store *area;
	u64 level;
	u64 window;
	u64 others_ctl;
	struct bts_errors errors;
	struct bts_fields saved;
};

DECLARE_PER_CPU(struct bts_unit, bts_units);

/* Operations of the framework. */
int bts_unit_add(struct auxpmu_unit *unit);
void bts_unit_del(struct auxpmu_unit *unit);
int bts_unit_arm(struct auxpmu_unit *unit);
void bts_unit_disarm(struct auxpmu_unit *unit);
void bts_unit_position(struct auxpmu_unit *unit, struct auxpmu_position *position);
void bts_unit_invalidate(struct auxpmu_unit *unit);
void bts_unit_leave_buffer(struct auxpmu_buffer *buffer);

/* Has it got to where it interrupts? */
bool bts_unit_is_due(const struct bts_unit *bts);

/* Switches it off; whoever disarms it then finds it so. */
void bts_unit_latch(struct bts_unit *bts);

/*
 * The claim: saves the fields, which takes that nobody records; puts them back; switches it off for
 * good.
 */
int bts_unit_acquire(const char **why);
void bts_unit_release(void);
void bts_unit_shutdown(void);

/* sysfs errors/: the errors of all units, counted. */
extern const struct attribute_group bts_errors_group;

#endif /* AUXPMU_BTS_UNIT_H */
