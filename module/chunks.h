/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The chunk map of an AUX buffer: which runs of pages are one physically contiguous piece.
 *
 * Pure C over fixed-width integers: compiled unchanged into the host's unit tests. Built once per
 * buffer, by buffer.c; read by window.c and by backends, in any context. Never allocates and never
 * touches a page.
 */
#ifndef AUXPMU_CHUNKS_H
#define AUXPMU_CHUNKS_H

#include <linux/types.h>

/**
 * struct auxpmu_chunks - the chunk map of one buffer
 * @nr_pages: pages in the buffer, a power of two
 * @nr: chunks in the buffer
 * @page_shift: log2 of the page size in bytes
 * @order: of every chunk when @first is NULL (all chunks alike), else the smallest order
 * @first: page index at which each chunk begins, ascending, @nr entries; NULL when all chunks are
 *	alike
 *
 * A chunk's length is a power of two. Its offset need not be a multiple of that: the core may have
 * to take small pages in the middle of a buffer and get large chunks again later.
 */
struct auxpmu_chunks {
	u32 nr_pages;
	u32 nr;
	u32 page_shift;
	u32 order;
	u32 *first;
};

/**
 * struct auxpmu_chunk - one chunk
 * @offset: bytes from the start of the buffer
 * @length: bytes
 */
struct auxpmu_chunk {
	u64 offset;
	u64 length;
};

/* The order of the chunk that begins at @page. */
typedef unsigned int (*auxpmu_order_fn)(const void *ctx, u32 page);

/**
 * auxpmu_chunks_scan() - count the chunks and see whether they are all alike
 * @chunks: the caller sets nr_pages and page_shift; this sets nr, order and first (to NULL)
 * @order: tells the order of a chunk
 * @ctx: for @order
 * @alike: set to true when all chunks have one order, so that no table is needed
 *
 * Return: 0, or -EINVAL when the chunks do not tile the buffer (@chunks is then not usable).
 */
int auxpmu_chunks_scan(struct auxpmu_chunks *chunks, auxpmu_order_fn order, const void *ctx,
		       bool *alike);

/**
 * auxpmu_chunks_fill() - write the table of a map whose chunks differ
 * @chunks: as auxpmu_chunks_scan() left it
 * @first: room for @chunks->nr entries; owned by the caller, who frees it with the map
 * @order: the same function over the same pages
 * @ctx: for @order
 */
void auxpmu_chunks_fill(struct auxpmu_chunks *chunks, u32 *first, auxpmu_order_fn order,
			const void *ctx);

/* The size of the buffer in bytes; up to 2 GiB with 4 KiB pages, so never an int. */
static inline u64 auxpmu_chunks_bytes(const struct auxpmu_chunks *chunks)
{
	return (u64)chunks->nr_pages << chunks->page_shift;
}

/* The following two where chunks differ. */
struct auxpmu_chunk auxpmu_chunk_nth_unlike(const struct auxpmu_chunks *chunks, u32 n);
u32 auxpmu_chunk_index_unlike(const struct auxpmu_chunks *chunks, u64 offset);

/* The n-th chunk, n < chunks->nr: O(1). */
static inline struct auxpmu_chunk auxpmu_chunk_nth(const struct auxpmu_chunks *chunks, u32 n)
{
	struct auxpmu_chunk chunk;

	if (chunks->first)
		return auxpmu_chunk_nth_unlike(chunks, n);
	chunk.length = (u64)1 << (chunks->page_shift + chunks->order);
	chunk.offset = n * chunk.length;
	return chunk;
}

/*
 * Index of the chunk that holds byte @offset < auxpmu_chunks_bytes(): O(1) when all are alike, else
 * O(log n).
 */
static inline u32 auxpmu_chunk_index(const struct auxpmu_chunks *chunks, u64 offset)
{
	return chunks->first ? auxpmu_chunk_index_unlike(chunks, offset) :
			       offset >> (chunks->page_shift + chunks->order);
}

/* The chunk that holds byte @offset. */
static inline struct auxpmu_chunk auxpmu_chunk_at(const struct auxpmu_chunks *chunks, u64 offset)
{
	return auxpmu_chunk_nth(chunks, auxpmu_chunk_index(chunks, offset));
}

/*
 * Regions: a unit that can stop or interrupt only where an output region ends (ToPA) gets each
 * chunk as regions of min(chunk, granule) bytes; granule is a power of two and at least a page.
 * Positions are monotonic byte counts: the offset in the buffer is position modulo its size, and
 * position 0 is offset 0.
 */

/* The following two where chunks differ. */
u64 auxpmu_region_floor_unlike(const struct auxpmu_chunks *chunks, u64 granule, u64 position);
u64 auxpmu_region_ceil_unlike(const struct auxpmu_chunks *chunks, u64 granule, u64 position);

/* Bytes of each region when all chunks are alike: every multiple of that is a region end. */
static inline u64 auxpmu_region_alike(const struct auxpmu_chunks *chunks, u64 granule)
{
	u64 length = (u64)1 << (chunks->page_shift + chunks->order);

	return length < granule ? length : granule;
}

/* The last region end at or below @position (0 if there is none yet). */
static inline u64 auxpmu_region_floor(const struct auxpmu_chunks *chunks, u64 granule, u64 position)
{
	if (chunks->first)
		return auxpmu_region_floor_unlike(chunks, granule, position);
	return position & ~(auxpmu_region_alike(chunks, granule) - 1);
}

/* The first region end at or above @position. */
static inline u64 auxpmu_region_ceil(const struct auxpmu_chunks *chunks, u64 granule, u64 position)
{
	u64 region;

	if (chunks->first)
		return auxpmu_region_ceil_unlike(chunks, granule, position);
	region = auxpmu_region_alike(chunks, granule);
	return (position + region - 1) & ~(region - 1);
}

/* The first position behind the chunk that holds the byte at @position. */
static inline u64 auxpmu_chunk_end(const struct auxpmu_chunks *chunks, u64 position)
{
	return auxpmu_region_ceil(chunks, ~(u64)0, position + 1);
}

#endif /* AUXPMU_CHUNKS_H */
