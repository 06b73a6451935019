// SPDX-License-Identifier: GPL-2.0-only
/* The chunk map: see chunks.h.  Pure C, also compiled for the host. */
#include <linux/errno.h>
#include <linux/types.h>

#include "chunks.h"
#ifdef __KERNEL__
#include "compat.h"
#else
#define EXPORT_SYMBOL_NS_GPL(_symbol, _namespace)
#endif

int auxpmu_chunks_scan(struct auxpmu_chunks *chunks, auxpmu_order_fn order, const void *ctx,
		       bool *alike)
{
	u32 page = 0;

	chunks->nr = 0;
	chunks->first = NULL;
	*alike = true;
	while (page < chunks->nr_pages) {
		unsigned int o = order(ctx, page);

		if (o >= 32 || (1u << o) > chunks->nr_pages - page)
			return -EINVAL;
		if (chunks->nr && o != chunks->order)
			*alike = false;
		if (!chunks->nr || o < chunks->order)
			chunks->order = o;
		chunks->nr++;
		page += 1u << o;
	}
	return chunks->nr ? 0 : -EINVAL;
}

void auxpmu_chunks_fill(struct auxpmu_chunks *chunks, u32 *first, auxpmu_order_fn order,
			const void *ctx)
{
	u32 page = 0;
	u32 n;

	for (n = 0; n < chunks->nr; n++) {
		first[n] = page;
		page += 1u << order(ctx, page);
	}
	chunks->first = first;
}

struct auxpmu_chunk auxpmu_chunk_nth_unlike(const struct auxpmu_chunks *chunks, u32 n)
{
	u32 page = chunks->first[n];
	u32 next = n + 1 < chunks->nr ? chunks->first[n + 1] : chunks->nr_pages;
	struct auxpmu_chunk chunk;

	chunk.offset = (u64)page << chunks->page_shift;
	chunk.length = (u64)(next - page) << chunks->page_shift;
	return chunk;
}
EXPORT_SYMBOL_NS_GPL(auxpmu_chunk_nth_unlike, AUXPMU_NS);

u32 auxpmu_chunk_index_unlike(const struct auxpmu_chunks *chunks, u64 offset)
{
	u32 page = offset >> chunks->page_shift;
	u32 low = 0, high = chunks->nr - 1;

	while (low < high) {
		u32 middle = high - (high - low) / 2;

		if (chunks->first[middle] <= page)
			low = middle;
		else
			high = middle - 1;
	}
	return low;
}
EXPORT_SYMBOL_NS_GPL(auxpmu_chunk_index_unlike, AUXPMU_NS);

u64 auxpmu_region_floor_unlike(const struct auxpmu_chunks *chunks, u64 granule, u64 position)
{
	u64 offset = position & (auxpmu_chunks_bytes(chunks) - 1);
	struct auxpmu_chunk chunk = auxpmu_chunk_at(chunks, offset);
	u64 region = chunk.length < granule ? chunk.length : granule;

	return position - ((offset - chunk.offset) & (region - 1));
}

u64 auxpmu_region_ceil_unlike(const struct auxpmu_chunks *chunks, u64 granule, u64 position)
{
	u64 offset = position & (auxpmu_chunks_bytes(chunks) - 1);
	struct auxpmu_chunk chunk = auxpmu_chunk_at(chunks, offset);
	u64 region = chunk.length < granule ? chunk.length : granule;
	u64 inside = (offset - chunk.offset) & (region - 1);

	return inside ? position + region - inside : position;
}
