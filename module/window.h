/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The window: which bytes of the AUX buffer the hardware may write next, and where it has to
 * interrupt.
 *
 * Pure arithmetic over fixed-width integers, compiled unchanged into the host's unit tests. Called
 * by transaction.c with interrupts off and in NMI; never loops over more than two chunks.
 *
 * Positions are monotonic byte counts, as aux_head and aux_tail are: the offset in the buffer is
 * position modulo its size.
 */
#ifndef AUXPMU_WINDOW_H
#define AUXPMU_WINDOW_H

#include <linux/types.h>

#include "chunks.h"

/**
 * struct auxpmu_window_rules - what a trace unit can and cannot do with a window
 * @start_align: it begins to write only at multiples of this many bytes; power of two, 1 to a page
 * @end_align: its limit and its interrupt lie only at multiples of this many bytes; power of two, 1
 *	to a page; ignored with @granule
 * @atom: it writes this many bytes at once or nothing: a record, say; 1 when it does not matter.
 *	One of @atom and @end_align is a multiple of the other. Window and interrupt hold a whole
 *	number of atoms, counted from where the window starts; with @granule @atom has to be a power
 *	of two not above a page, so that every region holds whole atoms
 * @spare: it may write this many bytes behind its limit before it stops; they are kept free, in the
 *	same chunk when
 *	@contiguous
 * @granule: 0, or: it can stop and interrupt only at the ends of regions of min(chunk, @granule)
 *	bytes; power of two and at least a page; not with @contiguous
 * @contiguous: a window lies in one chunk
 * @grid: with @contiguous: windows start at multiples of @atom counted from the beginning of the
 *	buffer, so that all atoms lie in one grid, and what is stepped over is whole atoms, or ends
 *	at the end of the buffer; @atom is a multiple of @start_align and @end_align then
 * @wraps: with @contiguous: overwriting a buffer that is one chunk it goes round by itself; only in
 *	buffers of more chunks is it given one after the other
 * @early: 0, or: it may interrupt this many bytes before it has written up to where it should, less
 *	than a page; what is left then is padded. With @granule a window is one region. Overwriting,
 *	where it goes round by itself, it interrupts where the first lap ends. Not with @spare
 */
struct auxpmu_window_rules {
	u32 start_align;
	u32 end_align;
	u32 atom;
	u32 spare;
	u64 granule;
	u32 early;
	bool contiguous;
	bool grid;
	bool wraps;
};

/**
 * struct auxpmu_window_request - where the transaction stands
 * @head: position of the next byte
 * @space: bytes that may be written from @head on, as the core counts them: one less than are free.
 *	Ignored with
 *	@overwrite
 * @wakeup: position at which the consumer wants to be woken; at or below @head means at once.
 *	Ignored with @overwrite
 * @overwrite: the buffer is a flight recorder: never full, oldest bytes go
 */
struct auxpmu_window_request {
	u64 head;
	u64 space;
	u64 wakeup;
	bool overwrite;
};

#define AUXPMU_NO_LIMIT	(~(u64)0)

/**
 * struct auxpmu_window - the answer
 * @from: the hardware starts here; @head .. @from is stepped over, and padded
 * @to: it must not write at or behind this position (but for rules.spare bytes)
 * @irq: it should interrupt when it has written up to here; @from < @irq <= @to. With a granule
 *	@irq is @to only when the window holds no other region end. AUXPMU_NO_LIMIT: never
 * @full: there is no room: nothing may be written, and the other members mean nothing
 *
 * @to is AUXPMU_NO_LIMIT when a unit overwrites that is not contiguous, or goes round by itself.
 *
 * With a granule the one byte the core holds back (to tell full from empty by offsets) may be used,
 * and @to may be
 * @head + @space + 1: a region end is all such hardware can stop at, and without that byte a free
 *	region that ends at the consumer's tail would be wasted. The core compares positions, not
 *	offsets, and sees a buffer filled to the brim as full. A @space of 0 is full: it is what the
 *	core says of a buffer filled to the brim. Everybody else stays within @space.
 */
struct auxpmu_window {
	u64 from;
	u64 to;
	u64 irq;
	bool full;
};

/**
 * auxpmu_window_rules_alone() - do the rules fit together, whatever the buffer?
 * @rules: of the unit
 * @page: bytes of a page
 *
 * Return: NULL, or a few words that say what is wrong (static storage).
 */
const char *auxpmu_window_rules_alone(const struct auxpmu_window_rules *rules, u64 page);

/**
 * auxpmu_window_rules_valid() - do the rules fit together, and the buffer?
 * @rules: of the unit
 * @chunks: of the buffer
 *
 * They do only if an empty buffer always has a window, for every head such a unit leaves behind.
 * Where @atom is a multiple of @start_align, those are the multiples of
 * @start_align and of the smaller of @atom and @end_align (of @atom, with a granule); else they are
 * any. From other heads, which only a unit with other rules can have left in the same buffer, a
 * small buffer may read as full.
 *
 * Return: NULL, or a few words that say what is wrong (static storage).
 */
const char *auxpmu_window_rules_valid(const struct auxpmu_window_rules *rules,
				      const struct auxpmu_chunks *chunks);

/**
 * auxpmu_window_next() - what may the hardware write?
 * @chunks: of the buffer
 * @rules: valid for @chunks
 * @request: where the transaction stands
 *
 * The window is the longest the rules allow from the first position they allow; the interrupt is
 * the first position they allow at or behind @request->wakeup, or @to if that comes first. A
 * contiguous window whose chunk has no room left for one atom begins with the next chunk.
 *
 * With a granule, hardware that is at its limit has stopped, and what is executed until somebody
 * has come is not traced. So it interrupts at the end of the last region but one, if the window
 * has that: while the interrupt is on its way the unit writes into the last one, and what the
 * consumer has read meanwhile is the next window's.
 */
struct auxpmu_window auxpmu_window_next(const struct auxpmu_chunks *chunks,
					const struct auxpmu_window_rules *rules,
					const struct auxpmu_window_request *request);

/**
 * auxpmu_window_rest() - what is left of a window when its first part is written
 * @rules: it was made with
 * @window: the answer of auxpmu_window_next(); @from moves
 * @position: as far as the unit got
 *
 * As long as the limit (head + space) and the wakeup of the request stay what they were, so do the
 * ends of the window: auxpmu_window_next() would give the same.
 *
 * Return: false when it is not as simple as that, and auxpmu_window_next() has to be asked: the
 * interrupt is behind @position, or a window cannot start there.
 */
static inline bool auxpmu_window_rest(const struct auxpmu_window_rules *rules,
				      struct auxpmu_window *window, u64 position)
{
	if (position >= window->irq || (position & (rules->start_align - 1)))
		return false;
	/* Going round, atoms do not begin where the last lap had them. */
	if (rules->atom != 1 && (window->to == AUXPMU_NO_LIMIT ||
				 (position - window->from) % rules->atom))
		return false;
	window->from = position;
	return true;
}

#endif /* AUXPMU_WINDOW_H */
