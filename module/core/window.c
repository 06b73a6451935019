// SPDX-License-Identifier: GPL-2.0-only
/*
 * The window arithmetic: see window.h.  Pure C, compiled unchanged into the host's unit tests.
 */
#include <linux/types.h>

#include "window.h"

static bool window_power_of_two(u64 n)
{
	return n && !(n & (n - 1));
}

static u64 window_align_up(u64 position, u64 align)
{
	return (position + align - 1) & ~(align - 1);
}

static u64 window_max(u64 a, u64 b)
{
	return a > b ? a : b;
}

static u64 window_min(u64 a, u64 b)
{
	return a < b ? a : b;
}

/*
 * A window ends at a multiple of end_align, a whole number of atoms from its start. One of the two
 * divides the other, so no end fits unless the start is a multiple of the smaller one, which is a
 * power of two.
 */
static u64 window_start_multiple(const struct auxpmu_window_rules *rules)
{
	u64 shared = rules->granule ? rules->atom : window_min(rules->atom, rules->end_align);

	return window_max(rules->start_align, shared);
}

/* The first start that the rules allow at or above @position. */
static u64 window_start_at_or_above(const struct auxpmu_chunks *chunks,
				    const struct auxpmu_window_rules *rules, u64 position)
{
	u64 bytes = auxpmu_chunks_bytes(chunks), offset = position & (bytes - 1), start;

	if (!rules->grid)
		return window_align_up(position, window_start_multiple(rules));
	start = (offset + rules->atom - 1) / rules->atom * rules->atom;
	/* What the end of the buffer has left over belongs to no atom. */
	return position - offset + (start + rules->atom > bytes ? bytes : start);
}

/* The shortest window, from an aligned start. */
static u64 window_shortest(const struct auxpmu_window_rules *rules)
{
	u64 unit = window_max(rules->atom, rules->end_align);

	return window_max(unit, (rules->least + unit - 1) / unit * unit);
}

/* The last end a window from @from may have at or below @limit; @from itself when there is none. */
static u64 window_end_at_or_below(const struct auxpmu_chunks *chunks,
				  const struct auxpmu_window_rules *rules, u64 from, u64 limit)
{
	if (limit <= from)
		return from;
	if (rules->granule)
		limit = auxpmu_region_floor(chunks, rules->granule, limit);
	else if (rules->atom >= rules->end_align)
		limit -= (limit - from) % rules->atom;
	else
		limit &= ~((u64)rules->end_align - 1);
	return window_max(limit, from);
}

/* The first end a window from @from may have at or above @target, behind @from. */
static u64 window_end_at_or_above(const struct auxpmu_chunks *chunks,
				  const struct auxpmu_window_rules *rules, u64 from, u64 target)
{
	target = window_max(target, from + 1);
	if (rules->granule)
		return auxpmu_region_ceil(chunks, rules->granule, target);
	if (rules->atom >= rules->end_align)
		return from + (target - from + rules->atom - 1) / rules->atom * rules->atom;
	return window_align_up(target, rules->end_align);
}

const char *auxpmu_window_rules_alone(const struct auxpmu_window_rules *rules, u64 page)
{
	if (!window_power_of_two(rules->start_align) || rules->start_align > page)
		return "start_align is not a power of two from 1 to a page";
	if (!rules->atom)
		return "atom is 0";
	if (rules->granule) {
		if (rules->contiguous || rules->least)
			return "granule excludes contiguous and least";
		if (!window_power_of_two(rules->granule) || rules->granule < page)
			return "granule is not a power of two of at least a page";
		if (!window_power_of_two(rules->atom) || rules->atom > page)
			return "with a granule, atom is not a power of two up to a page";
	} else {
		if (!window_power_of_two(rules->end_align) || rules->end_align > page)
			return "end_align is not a power of two from 1 to a page";
		if (rules->atom % rules->end_align && rules->end_align % rules->atom)
			return "neither of atom and end_align is a multiple of the other";
		if (rules->grid && !rules->contiguous)
			return "grid takes contiguous";
		if (rules->grid && (rules->atom % rules->start_align ||
				    rules->atom % rules->end_align))
			return "with a grid, atom is not a multiple of start_align and end_align";
	}
	if (rules->guarded && (!rules->contiguous || rules->spare > page))
		return "guarded takes contiguous, and spare up to a page";
	if (rules->early >= page || (rules->early && rules->spare))
		return "early is not less than a page, or there are spare bytes";
	return NULL;
}

const char *auxpmu_window_rules_valid(const struct auxpmu_window_rules *rules,
				      const struct auxpmu_chunks *chunks)
{
	u64 page = (u64)1 << chunks->page_shift;
	const char *wrong = auxpmu_window_rules_alone(rules, page);
	u64 bytes, shortest, spare, need, waste, skip;

	if (wrong)
		return wrong;
	bytes = auxpmu_chunks_bytes(chunks);
	/* A unit that does not stop where it may start leaves heads that are not aligned. */
	skip = rules->atom % window_start_multiple(rules) ? window_start_multiple(rules) - 1 : 0;
	/* Neither chunks nor heads that a buffer of another size has left need lie in the grid. */
	if (rules->grid)
		skip = rules->atom - 1;
	if (rules->granule) {
		if (window_min(rules->granule, bytes) + skip + rules->spare > bytes)
			return "the buffer does not hold one region and the spare bytes";
		return NULL;
	}
	if (rules->guarded && chunks->nr > 1)
		return "a guarded buffer has one chunk";
	shortest = window_shortest(rules);
	/* At the end of a chunk. */
	spare = rules->guarded ? 0 : rules->spare;
	if (rules->contiguous &&
	    shortest + spare + (rules->grid ? skip : 0) > page << chunks->order)
		return "the smallest chunk does not hold one window and the spare bytes";
	/*
	 * Bytes at the end of a chunk that may be too few for a window. If it may end there
	 * wherever it starts, none are.
	 */
	waste = 0;
	if (rules->contiguous && (spare || rules->least || rules->atom > rules->end_align) &&
	    (spare || skip || window_start_multiple(rules) % shortest || page % shortest))
		waste = shortest + spare - 1;
	need = shortest + rules->spare;
	/* One more: the byte the core holds back. */
	if (need + waste + skip + 1 > bytes)
		return "the buffer does not hold one window and the spare bytes";
	return NULL;
}

/* The end of the longest window from @from; @from itself when there is none. */
static u64 window_longest_end(const struct auxpmu_chunks *chunks,
			      const struct auxpmu_window_rules *rules, u64 from, u64 limit)
{
	u64 chunk_end = rules->contiguous ? auxpmu_chunk_end(chunks, from) : AUXPMU_NO_LIMIT;
	u64 spare = rules->spare, end;

	if (chunk_end <= limit) {
		limit = chunk_end;
		spare = rules->guarded ? 0 : spare;
	}
	if (rules->granule && rules->early)
		limit = window_min(limit, auxpmu_region_ceil(chunks, rules->granule, from + 1));
	if (limit - from < spare || limit < from)
		return from;
	end = window_end_at_or_below(chunks, rules, from, limit - spare);
	return end - from < rules->least ? from : end;
}

/*
 * Where the unit has to interrupt at the latest. It goes on writing until it is disarmed; if it can
 * stop only at region ends, it interrupts one region before the last.
 */
static u64 window_last_interrupt(const struct auxpmu_chunks *chunks,
				 const struct auxpmu_window_rules *rules,
				 const struct auxpmu_window *window)
{
	u64 before;

	if (!rules->granule)
		return window->to;
	before = auxpmu_region_floor(chunks, rules->granule, window->to - 1);
	return before > window->from ? before : window->to;
}

/* In overwrite mode: does the unit go round the buffer by itself? */
static bool window_goes_round(const struct auxpmu_chunks *chunks,
			      const struct auxpmu_window_rules *rules)
{
	return !rules->contiguous || (rules->wraps && chunks->nr == 1);
}

struct auxpmu_window auxpmu_window_next(const struct auxpmu_chunks *chunks,
					const struct auxpmu_window_rules *rules,
					const struct auxpmu_window_request *request)
{
	struct auxpmu_window window = { 0 };
	u64 limit = AUXPMU_NO_LIMIT;

	if (auxpmu_window_next_plain(chunks, rules, request, &window))
		return window;

	window.from = window_start_at_or_above(chunks, rules, request->head);
	if (request->overwrite && window_goes_round(chunks, rules)) {
		u64 lap = auxpmu_chunks_bytes(chunks);

		window.to = AUXPMU_NO_LIMIT;
		window.irq = rules->early && window.from < lap ? lap : AUXPMU_NO_LIMIT;
		return window;
	}
	if (!request->overwrite)
		limit = request->head + request->space + (rules->granule && request->space ? 1 : 0);

	window.to = window_longest_end(chunks, rules, window.from, limit);
	if (window.to == window.from && rules->contiguous) {
		window.from = window_start_at_or_above(chunks, rules,
						       auxpmu_chunk_end(chunks, window.from));
		window.to = window_longest_end(chunks, rules, window.from, limit);
	}
	if (window.to == window.from) {
		window.full = true;
		return window;
	}
	window.irq = window_last_interrupt(chunks, rules, &window);
	if (!request->overwrite && request->wakeup < window.irq)
		window.irq = window_min(window.irq,
					window_end_at_or_above(chunks, rules, window.from,
							       request->wakeup));
	return window;
}
