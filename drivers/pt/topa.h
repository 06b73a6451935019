/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * ToPA: the tables of physical addresses that tell the unit where the regions of a buffer lie (SDM
 * volume 3, "Table of Physical Addresses"). Made with the buffer, from the framework's map of
 * regions; afterwards only markers move, in any context. Accesses no MSR.
 *
 * In overwrite mode a buffer has its tables twice: the tables of the first lap lead to those of all
 * later laps, so that the table in use tells whether the buffer was ever filled.
 */
#ifndef AUXPMU_PT_TOPA_H
#define AUXPMU_PT_TOPA_H

#include <linux/types.h>

#include "auxpmu.h"

/* The output registers, split into fields. */
struct pt_output {
	phys_addr_t base;	/* of the table */
	u32 index;		/* of the entry in it */
	u32 offset;		/* in the entry's region */
};

/* The same in terms of the buffer. */
struct pt_reached {
	u64 offset;		/* may be the end of the region */
	u32 region;
	bool full;		/* the region is, and the unit stopped at its end: STOP */
	bool lapped;		/* overwrite mode: the first lap has ended */
};

/**
 * struct pt_topa - the tables of one buffer
 * @nr_tables: number of @tables
 * @lap: number of tables that hold every region once
 * @loop: address of the last table if a lap has one table only: it leads to itself, and output
 *	stays in it
 * @stop: the entry that is marked STOP, or NULL
 * @irq: an entry before it that is marked INT, or NULL
 * @to, @irq_at: the ends of the window that @stop and @irq are for
 * @telltale: bytes that are not all zeros once the unit has passed its interrupt; NULL: no
 *	interrupt
 * @watched: the window.irq that @telltale is for
 * @single_entry: the unit takes one region per table: there is one table, for the region being
 *	written
 * @tables: a page each: entries, and in the last word, which the unit does not read, the number of
 *	the table
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

/* Make the tables of a new buffer. NULL: no memory. May sleep. */
struct pt_topa *pt_topa_make(const struct auxpmu_buffer *buffer);
void pt_topa_free(struct pt_topa *topa);

/*
 * The output registers for @position; @region is set to the number of the region. If a table holds
 * one region only, puts that region into it.
 */
struct pt_output pt_topa_place(const struct auxpmu_buffer *buffer, u64 position, u32 *region);

/*
 * Mark the region that ends at @window->to to stop, the region that ends at @window->irq to
 * interrupt.
 */
void pt_topa_mark(const struct auxpmu_buffer *buffer, const struct auxpmu_window *window);

/*
 * Prepare pt_topa_passed() for @window->irq, or for @early bytes before it: zero the last bytes
 * before that position, which the unit is to write.
 */
void pt_topa_watch(const struct auxpmu_buffer *buffer, const struct auxpmu_window *window,
		   u32 early);

/*
 * Has the unit passed its interrupt, as far as memory shows? The unit gathers bytes before it
 * writes them. A user who writes to the buffer meanwhile only gets his own trace early.
 */
bool pt_topa_passed(const struct auxpmu_buffer *buffer);

/* Where output got, by the registers; @begun: the region in which it began. */
struct pt_reached pt_topa_reached(const struct auxpmu_buffer *buffer, struct pt_output output,
				  u32 begun);

#endif /* AUXPMU_PT_TOPA_H */
