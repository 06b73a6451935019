// SPDX-License-Identifier: GPL-2.0-only
/* Tables of physical addresses: see topa.h. */
#include <linux/bits.h>
#include <linux/compiler.h>
#include <linux/err.h>
#include <linux/gfp.h>
#include <linux/log2.h>
#include <linux/overflow.h>
#include <linux/slab.h>

#include <asm/io.h>

#include "caps.h"
#include "topa.h"

/* SDM volume 3, "ToPA Table Entry Layout": a region of 4 KiB << SIZE, or the address of a table. */
#define TOPA_END		BIT_ULL(0)
#define TOPA_INT		BIT_ULL(2)
#define TOPA_STOP		BIT_ULL(4)
#define TOPA_SIZE_SHIFT		6
#define TOPA_ENTRY_SHIFT	12

/* Of a page's 512 entries one links to the next table, and one holds the number of the table. */
#define TOPA_REGIONS		510u
#define TOPA_NUMBER		(TOPA_REGIONS + 1)

static u64 pt_topa_region_entry(const struct auxpmu_buffer *buffer, u32 region)
{
	struct auxpmu_chunk at = auxpmu_chunk_nth(&buffer->regions, region);
	u64 run;

	return virt_to_phys(auxpmu_buffer_run(buffer, at.offset, &run)) |
	       (u64)(ilog2(at.length) - TOPA_ENTRY_SHIFT) << TOPA_SIZE_SHIFT;
}

static u64 *pt_topa_entry_of(const struct pt_topa *topa, u32 region)
{
	if (topa->lap == 1)
		return &topa->tables[0][region];
	return &topa->tables[region / TOPA_REGIONS][region % TOPA_REGIONS];
}

/* The region whose last byte is the one before @position. */
static u32 pt_topa_region_before(const struct auxpmu_buffer *buffer, u64 position)
{
	return auxpmu_chunk_index(&buffer->regions, auxpmu_buffer_offset(buffer, position - 1));
}

void pt_topa_free(struct pt_topa *topa)
{
	u32 n;

	for (n = 0; n < topa->nr_tables; n++)
		free_page((unsigned long)topa->tables[n]);
	kvfree(topa);
}

/* Such hardware takes one region per table, and the END entry has to point to the table itself. */
static void pt_topa_fill_single_entry(struct pt_topa *topa)
{
	topa->tables[0][1] = virt_to_phys(topa->tables[0]) | TOPA_END;
}

static void pt_topa_fill(struct pt_topa *topa, const struct auxpmu_buffer *buffer)
{
	u32 nr = buffer->regions.nr, n;

	for (n = 0; n < topa->nr_tables; n++) {
		u32 first = n % topa->lap * TOPA_REGIONS, end = min(nr - first, TOPA_REGIONS);
		u32 next = n + 1 < topa->nr_tables ? n + 1 : n + 1 - topa->lap;
		u32 region;

		for (region = 0; region < end; region++)
			topa->tables[n][region] = pt_topa_region_entry(buffer, first + region);
		topa->tables[n][end] = virt_to_phys(topa->tables[next]) | TOPA_END;
		topa->tables[n][TOPA_NUMBER] = n;
	}
}

struct pt_topa *pt_topa_make(const struct auxpmu_buffer *buffer)
{
	bool single_entry = !pt_cap(PT_TOPA_MULTIPLE_ENTRIES);
	u32 lap = single_entry ? 1 : DIV_ROUND_UP(buffer->regions.nr, TOPA_REGIONS);
	u32 nr = single_entry || !buffer->overwrite ? lap : 2 * lap;
	struct pt_topa *topa = kvzalloc(struct_size(topa, tables, nr), GFP_KERNEL_ACCOUNT);

	if (!topa)
		return NULL;
	topa->single_entry = single_entry;
	topa->lap = lap;
	while (topa->nr_tables < nr) {
		u64 *table = (u64 *)get_zeroed_page(GFP_KERNEL_ACCOUNT);

		if (!table) {
			pt_topa_free(topa);
			return NULL;
		}
		topa->tables[topa->nr_tables++] = table;
	}
	if (lap == 1)
		topa->loop = virt_to_phys(topa->tables[nr - 1]);
	if (single_entry)
		pt_topa_fill_single_entry(topa);
	else
		pt_topa_fill(topa, buffer);
	return topa;
}

struct pt_output pt_topa_place(const struct auxpmu_buffer *buffer, u64 position, u32 *region)
{
	struct pt_topa *topa = buffer->private;
	u64 offset = auxpmu_buffer_offset(buffer, position);
	u32 nr = auxpmu_chunk_index(&buffer->regions, offset), index = nr;
	bool first = auxpmu_buffer_first_lap(buffer, position);
	u64 *table = topa->tables[0];

	if (topa->single_entry) {
		*table = pt_topa_region_entry(buffer, nr) |
			 (!buffer->overwrite ? TOPA_INT | TOPA_STOP : first ? TOPA_INT : 0);
		index = 0;
	} else if (topa->nr_tables > 1) {
		table = topa->tables[nr / TOPA_REGIONS + (first ? 0 : topa->nr_tables - topa->lap)];
		index = nr % TOPA_REGIONS;
	}
	*region = nr;
	return (struct pt_output){
		.base = virt_to_phys(table),
		.index = index,
		.offset = offset - auxpmu_chunk_nth(&buffer->regions, nr).offset,
	};
}

/* The entry of the region that ends at @position; NULL if @position is AUXPMU_NO_LIMIT. */
static u64 *pt_topa_entry_before(const struct auxpmu_buffer *buffer, u64 position)
{
	return position == AUXPMU_NO_LIMIT ? NULL :
	       pt_topa_entry_of(buffer->private, pt_topa_region_before(buffer, position));
}

static void pt_topa_move_mark(u64 **marked, u64 *entry, u64 bits)
{
	if (*marked)
		**marked &= ~bits;
	if (entry)
		*entry |= bits;
	*marked = entry;
}

void pt_topa_mark(const struct auxpmu_buffer *buffer, const struct auxpmu_window *window)
{
	struct pt_topa *topa = buffer->private;
	u64 *stop;

	/* With one entry per table, pt_topa_place() has set both marks. */
	if (topa->single_entry || (topa->to == window->to && topa->irq_at == window->irq))
		return;
	topa->to = window->to;
	topa->irq_at = window->irq;
	stop = pt_topa_entry_before(buffer, window->to);
	pt_topa_move_mark(&topa->irq, NULL, TOPA_INT);
	pt_topa_move_mark(&topa->stop, stop, TOPA_STOP | TOPA_INT);
	if (window->irq != window->to)
		pt_topa_move_mark(&topa->irq, pt_topa_entry_before(buffer, window->irq), TOPA_INT);
}

/* More zeros than a packet may contain: PTW may have eight. */
#define TELLTALE_WORDS		2
#define TELLTALE_BYTES		(TELLTALE_WORDS * sizeof(u64))

void pt_topa_watch(const struct auxpmu_buffer *buffer, const struct auxpmu_window *window,
		   u32 early)
{
	/* For a window that is too short: treat it as passed. */
	static u64 passed[TELLTALE_WORDS] = { 1 };
	struct pt_topa *topa = buffer->private;
	u64 at = window->irq - (early ?: TELLTALE_BYTES), run;

	if (topa->watched == window->irq)
		return;
	topa->watched = window->irq;
	if (window->irq == AUXPMU_NO_LIMIT) {
		topa->telltale = NULL;
	} else if (at < window->from) {
		topa->telltale = passed;
	} else {
		topa->telltale = auxpmu_buffer_run(buffer, at, &run);
		topa->telltale[0] = 0;
		topa->telltale[1] = 0;
	}
}

bool pt_topa_passed(const struct auxpmu_buffer *buffer)
{
	const struct pt_topa *topa = buffer->private;

	return topa->telltale && (READ_ONCE(topa->telltale[0]) || READ_ONCE(topa->telltale[1]));
}

struct pt_reached pt_topa_reached(const struct auxpmu_buffer *buffer, struct pt_output output,
				  u32 begun)
{
	const struct pt_topa *topa = buffer->private;
	struct pt_reached reached = { .region = begun };
	struct auxpmu_chunk region;

	if (!topa->single_entry && topa->nr_tables == 1) {
		reached.region = output.index;
	} else if (!topa->single_entry) {
		u32 table = ((u64 *)phys_to_virt(output.base))[TOPA_NUMBER];

		reached.lapped = table >= topa->nr_tables - topa->lap;
		reached.region = table % topa->lap * TOPA_REGIONS + output.index;
	}
	/* Behind the last region: the unit is about to follow the link to the next table. */
	if (reached.region == buffer->regions.nr) {
		reached.region = 0;
		reached.lapped = true;
	}
	region = auxpmu_chunk_nth(&buffer->regions, reached.region);
	reached.offset = region.offset + output.offset;
	reached.full = output.offset == region.length;
	return reached;
}
