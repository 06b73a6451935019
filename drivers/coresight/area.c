// SPDX-License-Identifier: GPL-2.0-only
/* AUX areas that an ETR writes into: see area.h. */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/bitfield.h>
#include <linux/dma-mapping.h>
#include <linux/minmax.h>
#include <linux/printk.h>
#include <linux/slab.h>

#include <asm/barrier.h>

#include "area.h"
#include "component.h"

/* Tables, and the pages that their entries point to. */
#define AREA_PAGE		SZ_4K

/* Of a CATU: pointers in the first half of a table, and at its end those to its neighbours. */
#define CATU_POINTERS		(AREA_PAGE / 2 / sizeof(u64))
#define CATU_PREVIOUS		(AREA_PAGE / sizeof(u64) - 2)
#define CATU_NEXT		(AREA_PAGE / sizeof(u64) - 1)
#define CATU_VALID		1
#define CATU_OF_TABLE		(CATU_POINTERS * AREA_PAGE)

#define CATU_DEVID		0xfc8
#define CATU_DEVID_ADDRESS	GENMASK(5, 0)

/* Of an ETR: page numbers, and at a table's end that of the next table. */
#define LIST_POINTERS		(AREA_PAGE / sizeof(u32) - 1)
#define LIST_NUMBER		GENMASK(31, 4)
#define LIST_LAST		1
#define LIST_NORMAL		2
#define LIST_LINK		3
#define LIST_TYPE		GENMASK(1, 0)

/* An offset in the ETR's memory has to fit in 32 bits. */
#define AREA_MOST		SZ_2G

struct table {
	union {
		__le64 *translations;
		__le32 *list;
	};
	dma_addr_t address;
};

/**
 * struct area - an AUX area as an ETR sees it
 * @name: of the ETR
 * @dev: whose accesses to memory these are: the ETR's, or its CATU's
 * @scattered: its tables are the ETR's own
 * @stuck: the ETR may go on writing into it
 * @addresses: of its chunks
 * @chunks: how many these are
 * @lengths: bytes of each, to give them back by, when the buffer's map may be gone
 * @tables: or NULL
 * @nr_tables: how many
 * @last: the page at which the list ends, counted from the area's beginning on
 */
struct area {
	const char *name;
	struct device *dev;
	bool scattered;
	bool stuck;
	u32 chunks;
	dma_addr_t *addresses;
	u64 *lengths;
	struct table *tables;
	u32 nr_tables;
	u64 last;
};

bool area_is_out_of_reach(const struct component *component)
{
	/* A limit on what is mapped at once is that of the memory which such accesses go to. */
	return dma_max_mapping_size(component->dev) != SIZE_MAX;
}

/* --- its memory ----------------------------------------------------------------------------- */

static dma_addr_t area_address(const struct area *area, const struct auxpmu_buffer *buffer,
			       u64 offset)
{
	u32 n = auxpmu_chunk_index(&buffer->chunks, offset);

	return area->addresses[n] + (offset - auxpmu_chunk_nth(&buffer->chunks, n).offset);
}

/* Each chunk's part of @length bytes from @offset on. */
static void area_sync(const struct area *area, const struct auxpmu_buffer *buffer, u64 offset,
		      u64 length,
		      void (*sync)(struct device *dev, dma_addr_t address, size_t bytes,
				   enum dma_data_direction direction))
{
	while (length) {
		struct auxpmu_chunk chunk = auxpmu_chunk_at(&buffer->chunks, offset);
		u64 run = min(length, chunk.offset + chunk.length - offset);

		sync(area->dev, area_address(area, buffer, offset), run, DMA_FROM_DEVICE);
		length -= run;
		offset = auxpmu_buffer_offset(buffer, offset + run);
	}
}

void area_take(const struct area *area, const struct auxpmu_buffer *buffer, u64 offset, u64 length)
{
	area_sync(area, buffer, offset, length, dma_sync_single_for_cpu);
}

void area_abandon(struct area *area, const struct auxpmu_buffer *buffer)
{
	if (area->stuck)
		return;
	area->stuck = true;
	auxpmu_buffer_abandon(buffer);
	pr_warn("%s does not stop: an AUX area of %u pages is lost to it for ever\n", area->name,
		buffer->chunks.nr_pages);
}

/* --- where the ETR writes ------------------------------------------------------------------- */

static __le32 *area_list_entry(const struct area *area, u64 page)
{
	return &area->tables[page / LIST_POINTERS].list[page % LIST_POINTERS];
}

static __le32 area_list_word(dma_addr_t address, u32 type)
{
	return cpu_to_le32(FIELD_PREP(LIST_NUMBER, address / AREA_PAGE) |
			   FIELD_PREP(LIST_TYPE, type));
}

/* The page with number @page, behind which the list goes on or ends, as @type says. */
static void area_write_list(const struct area *area, const struct auxpmu_buffer *buffer, u64 page,
			    u32 type)
{
	u64 offset = auxpmu_buffer_offset(buffer, page * AREA_PAGE);

	*area_list_entry(area, page) = area_list_word(area_address(area, buffer, offset), type);
}

/* Let the list begin at @from, and end behind @bytes. */
static void area_aim_list(struct area *area, const struct auxpmu_buffer *buffer, u64 from,
			  u64 bytes, struct area_aim *aim)
{
	u64 page = from / AREA_PAGE;

	area_write_list(area, buffer, area->last, LIST_NORMAL);
	area->last = page + bytes / AREA_PAGE - 1;
	area_write_list(area, buffer, area->last, LIST_LAST);
	aim->base = area->tables[page / LIST_POINTERS].address +
		    page % LIST_POINTERS * sizeof(u32);
	aim->first = area_address(area, buffer, from);
}

void area_aim(struct area *area, const struct auxpmu_buffer *buffer, u64 offset, u64 length,
	      struct area_aim *aim)
{
	area_sync(area, buffer, offset, length, dma_sync_single_for_device);
	if (area->scattered) {
		area_aim_list(area, buffer, offset, length, aim);
	} else if (area->tables) {
		aim->base = AREA_INPUT + offset % CATU_OF_TABLE;
		aim->first = aim->base;
		aim->catu_table = area->tables[offset / CATU_OF_TABLE].address;
	} else {
		aim->base = area_address(area, buffer, offset);
		aim->first = aim->base;
	}
	/* What the CPU has written into tables and the area comes before what starts the ETR. */
	dma_wmb();
}

u64 area_find(const struct area *area, const struct auxpmu_buffer *buffer, u64 offset,
	      dma_addr_t pointer)
{
	u32 index = auxpmu_chunk_index(&buffer->chunks, offset);
	u32 n;

	for (n = 0; n < area->chunks; n++) {
		struct auxpmu_chunk chunk = auxpmu_chunk_nth(&buffer->chunks, index);
		u64 within = pointer - area->addresses[index];

		if (within < chunk.length)
			return auxpmu_buffer_distance(buffer, offset, chunk.offset + within, 0);
		index = index + 1 < area->chunks ? index + 1 : 0;
	}
	return U64_MAX;
}

/* --- made and freed ------------------------------------------------------------------------- */

/* @pages: of the area, twice. */
static void area_fill_translations(const struct area *area, const struct auxpmu_buffer *buffer,
				   u32 n, u64 pages)
{
	__le64 *words = area->tables[n].translations;
	u64 first = (u64)n * CATU_POINTERS;
	u64 i;

	for (i = 0; i < CATU_POINTERS && first + i < pages; i++) {
		u64 offset = auxpmu_buffer_offset(buffer, (first + i) * AREA_PAGE);

		words[i] = cpu_to_le64(area_address(area, buffer, offset) | CATU_VALID);
	}
	if (n)
		words[CATU_PREVIOUS] = cpu_to_le64(area->tables[n - 1].address | CATU_VALID);
	if (n + 1 < area->nr_tables)
		words[CATU_NEXT] = cpu_to_le64(area->tables[n + 1].address | CATU_VALID);
}

static void area_fill_list(struct area *area, const struct auxpmu_buffer *buffer, u32 n, u64 pages)
{
	u64 first = (u64)n * LIST_POINTERS;
	u64 i;

	for (i = 0; i < LIST_POINTERS && first + i < pages; i++)
		area_write_list(area, buffer, first + i, LIST_NORMAL);
	if (n + 1 < area->nr_tables)
		area->tables[n].list[LIST_POINTERS] =
			area_list_word(area->tables[n + 1].address, LIST_LINK);
}

static bool area_make_tables(struct area *area, const struct auxpmu_buffer *buffer)
{
	/* Twice, so that no window ends where the area does. */
	u64 pages = 2 * auxpmu_buffer_rest(buffer, 0) / AREA_PAGE;
	u32 pointers = area->scattered ? LIST_POINTERS : CATU_POINTERS;
	u32 n;

	area->nr_tables = DIV_ROUND_UP_ULL(pages, pointers);
	area->tables = kvcalloc(area->nr_tables, sizeof(*area->tables), GFP_KERNEL);
	if (!area->tables)
		return false;
	for (n = 0; n < area->nr_tables; n++) {
		struct table *table = &area->tables[n];

		table->list = dma_alloc_coherent(area->dev, AREA_PAGE, &table->address, GFP_KERNEL);
		if (!table->list)
			return false;
	}
	for (n = 0; n < area->nr_tables; n++)
		if (area->scattered)
			area_fill_list(area, buffer, n, pages);
		else
			area_fill_translations(area, buffer, n, pages);
	return true;
}

static bool area_map(struct area *area, const struct auxpmu_buffer *buffer)
{
	u32 nr = buffer->chunks.nr;
	u32 n;

	area->addresses = kvcalloc(nr, sizeof(*area->addresses), GFP_KERNEL);
	area->lengths = kvcalloc(nr, sizeof(*area->lengths), GFP_KERNEL);
	if (!area->addresses || !area->lengths)
		return false;
	for (n = 0; n < nr; n++) {
		struct auxpmu_chunk chunk = auxpmu_chunk_nth(&buffer->chunks, n);
		u64 length;
		dma_addr_t address = dma_map_single(area->dev,
						    auxpmu_buffer_run(buffer, chunk.offset,
								      &length),
						    chunk.length, DMA_FROM_DEVICE);

		if (dma_mapping_error(area->dev, address))
			return false;
		area->addresses[n] = address;
		area->lengths[n] = chunk.length;
		area->chunks = n + 1;
	}
	return true;
}

static bool area_takes_tables(const struct area_user *user)
{
	return user->catu || user->scatters;
}

/* Would an ETR of this kind have windows in @buffer that are long enough? */
static bool area_suits(const struct area_user *user, const struct auxpmu_buffer *buffer)
{
	const struct auxpmu_chunks *chunks = &buffer->chunks;
	u64 bytes = auxpmu_buffer_rest(buffer, 0);

	if (bytes < 4 * AREA_WINDOW_LEAST || bytes > AREA_MOST)
		return false;
	/* As a flight recorder it would have to begin anywhere, and go on behind the area's end. */
	return area_takes_tables(user) ||
	       (!buffer->overwrite && PAGE_SIZE << chunks->order >= 2 * AREA_WINDOW_LEAST);
}

static struct device *area_device(const struct area_user *user)
{
	struct device *dev;
	u32 bits;

	if (!user->catu)
		return user->component->dev;
	dev = user->catu->dev;
	bits = FIELD_GET(CATU_DEVID_ADDRESS, component_read(user->catu, CATU_DEVID));
	return dma_set_mask_and_coherent(dev, DMA_BIT_MASK(clamp(bits, 32u, 64u))) ? NULL : dev;
}

struct area *area_make(const struct area_user *user, const struct auxpmu_buffer *buffer)
{
	struct device *dev = area_suits(user, buffer) ? area_device(user) : NULL;
	struct area *area;

	if (!dev || area_is_out_of_reach(user->catu ?: user->component))
		return NULL;
	area = kzalloc(sizeof(*area), GFP_KERNEL);
	if (!area)
		return NULL;
	area->name = user->name;
	area->dev = dev;
	area->scattered = user->scatters;
	if (area_map(area, buffer) && (!area_takes_tables(user) || area_make_tables(area, buffer)))
		return area;
	pr_notice_once("AUX area of %u pages cannot be mapped for %s: its trace is copied\n",
		       buffer->chunks.nr_pages, user->name);
	area_free(area);
	return NULL;
}

void area_free(struct area *area)
{
	u32 n;

	if (!area || area->stuck)
		return;
	for (n = 0; area->tables && n < area->nr_tables; n++)
		if (area->tables[n].list)
			dma_free_coherent(area->dev, AREA_PAGE, area->tables[n].list,
					  area->tables[n].address);
	for (n = 0; n < area->chunks; n++)
		dma_unmap_single_attrs(area->dev, area->addresses[n], area->lengths[n],
				       DMA_FROM_DEVICE, DMA_ATTR_SKIP_CPU_SYNC);
	kvfree(area->tables);
	kvfree(area->lengths);
	kvfree(area->addresses);
	kfree(area);
}
