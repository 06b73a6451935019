/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The branch trace store of one CPU (SDM volume 3, "Branch Trace Store (BTS)" and "BTS and DS Save
 * Area"): the first four fields of its DS area, the bits of IA32_DEBUGCTL that control it, and the
 * backend's operations on them. All of it on that CPU with IRQs off, NMI included.
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

/* The fields of the DS area for BTS; the others are for PEBS. Linear addresses. */
struct bts_fields {
	u64 base;		/* of the buffer */
	u64 index;		/* where the next record goes */
	u64 maximum;		/* its end */
	u64 threshold;		/* where it interrupts */
};

/* What went wrong. */
struct bts_errors {
	u64 full;		/* it reached its end, where it drops records, unserved */
	u64 fault;		/* a register refused a value */
};

/**
 * struct bts_unit - the branch trace store of one CPU
 * @unit: the framework's side
 * @claimed: it is ours
 * @on: it may be writing
 * @latched: the first NMI handler has switched it off
 * @off_in_nmi: an NMI has switched it off since its event came to this CPU
 * @pmi: the first NMI handler has seen an interrupt that the second has yet to serve
 * @own_area: IA32_DS_AREA was 0: this driver has set it, and has to clear it
 * @area: the DS area
 * @level: bits of IA32_DEBUGCTL: the levels that are not recorded
 * @window: address at which the window begins
 * @first_lap: when it was armed, the first lap had not ended, see unit.c
 * @others_ctl: the bits of IA32_DEBUGCTL for BTS before it was claimed
 * @errors: counted since the module was loaded
 * @saved: the fields before it was claimed
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

/* Is the index at or behind the threshold? */
bool bts_unit_is_due(const struct bts_unit *bts);

/* Switch it off; disarm then finds it latched. */
void bts_unit_latch(struct bts_unit *bts);

/*
 * The claim: acquire saves the fields, if nobody uses the store; release restores them; shutdown
 * switches the store off for good.
 */
int bts_unit_acquire(const char **why);
void bts_unit_release(void);
void bts_unit_shutdown(void);

/* sysfs errors/: the errors of all units, counted. */
extern const struct attribute_group bts_errors_group;

#endif /* AUXPMU_BTS_UNIT_H */
