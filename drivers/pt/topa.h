/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * ToPA: the tables of physical addresses that tell the unit where the regions of a buffer lie (SDM
 * volume 3, "Table of Physical Addresses").  Made when the buffer is, from the framework's map of
 * regions; afterwards only markers move, in any context.  Knows no MSR.
 *
 * A buffer that is overwritten has the same tables twice: those of the first lap lead to those of
 * all others, so that where output is tells whether the buffer was ever filled.
 */
#ifndef AUXPMU_PT_TOPA_H
#define AUXPMU_PT_TOPA_H

#include <linux/types.h>

#include "auxpmu.h"

/* Where output goes, as the registers say it, taken apart. */
struct pt_output {
	phys_addr_t base;	/* of the table */
	u32 index;		/* of the entry in it */
	u32 offset;		/* in the entry's region */
};

/* The same as seen from the buffer. */
struct pt_reached {
	u64 offset;		/* the end of the region included */
	u32 region;
	bool full;		/* it is, and the next one not begun: there was a STOP */
	bool lapped;		/* overwriting: the first lap has ended */
};

/**
 * struct pt_topa - the tables of one buffer
 * @nr_tables: how many
 * @lap: how many hold all regions, once
 * @loop: the only table of a lap that leads to itself, if there is such: output stays in it
 * @stop: the entry that is marked STOP, or NULL
 * @irq: an entry before it that is marked INT, or NULL
 * @to, @irq_at: the window that they are for
 * @telltale: bytes that are not all zeros when the unit has passed its interrupt; NULL: it has none
 * @watched: the interrupt that is so
 * @single_entry: there is one table, of one region: the one that is written
 * @tables: a page each: entries, and behind the END entry, where the unit does not read, the number
 *	of the table
 */
struct pt_topa {
	u32 nr_tables;
	u32 lap;
	phys_addr_t loop;
	u64 *stop;
	u64 *irq;
	u64 to;
	u64 irq_at;
	u64 *telltale;
	u64 watched;
	bool single_entry;
	u64 *tables[];
};

/* For a buffer just made.  NULL: no memory.  May sleep. */
struct pt_topa *pt_topa_make(const struct auxpmu_buffer *buffer);
void pt_topa_free(struct pt_topa *topa);

/*
 * Where output begins at @position, and, where a table holds one region only, that region put into
 * it.  @region: its number.
 */
struct pt_output pt_topa_place(const struct auxpmu_buffer *buffer, u64 position, u32 *region);

/* Stop at the end of the region that ends at @window->to, interrupt at that which does at irq. */
void pt_topa_mark(const struct auxpmu_buffer *buffer, const struct auxpmu_window *window);

/*
 * Memory is to tell when the unit has passed @window->irq, or is @early bytes before it.  The bytes
 * that will tell become zeros; they are the unit's to write.
 */
void pt_topa_watch(const struct auxpmu_buffer *buffer, const struct auxpmu_window *window,
		   u32 early);

/*
 * It has, as far as memory tells: the unit gathers bytes before it writes them.  A user who writes
 * to the buffer meanwhile has his own trace handed over early.
 */
bool pt_topa_passed(const struct auxpmu_buffer *buffer);

/* What the registers say; @begun: the region begun in. */
struct pt_reached pt_topa_reached(const struct auxpmu_buffer *buffer, struct pt_output output,
				  u32 begun);

#endif /* AUXPMU_PT_TOPA_H */
