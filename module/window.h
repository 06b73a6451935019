/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The window: which bytes of the AUX buffer the unit may write next, and where it has to interrupt.
 *
 * Pure arithmetic over fixed-width integers, compiled unchanged into the host's unit tests. Called
 * by transaction.c with interrupts off and in NMI; tries two chunks at most.
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
 * @start_align: it starts only at multiples of this many bytes; power of two, 1 to a page
 * @end_align: its limit and its interrupt can be set only to multiples of this many bytes; power of
 *	two, 1 to a page; ignored with @granule
 * @atom: it writes this many bytes at once (a record, say); 1 if it writes single bytes. One of
 *	@atom and @end_align is a multiple of the other. The window, and its part before the
 *	interrupt, hold a whole number of atoms. With @granule, @atom has to be a power of two not
 *	above a page, so that every region holds whole atoms
 * @spare: it may write this many bytes behind its limit before it stops; the window leaves them
 *	free, with @contiguous in the same chunk
 * @granule: if not 0, it can stop and interrupt only at the ends of regions of min(chunk, @granule)
 *	bytes; power of two and at least a page; not with @contiguous
 * @contiguous: a window lies in one chunk
 * @grid: with @contiguous: windows start at multiples of @atom from the beginning of the buffer.
 *	Padding then consists of whole atoms, or ends at the end of the buffer. @atom has to be a
 *	multiple of @start_align and @end_align
 * @wraps: with @contiguous: it overwrites a buffer of one chunk round and round by itself; in a
 *	buffer of several chunks it gets one window after the other
 * @early: if not 0, it may interrupt up to this many bytes too early, less than a page; the
 *	framework pads the rest of the window. With @granule, a window is then one region. In
 *	overwrite mode, a unit that goes round by itself interrupts at the end of the first lap. Not
 *	with @spare
 * @least: no window is shorter, if not 0: of a unit that goes round in its window, and is looked at
 *	now and then. Not with @granule
 * @guarded: with @contiguous: what it writes behind the end of the buffer goes into a page that
 *	nobody reads, so that @spare bytes, at most a page, need not be left free there. Takes a
 *	buffer of one chunk
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
	u64 least;
	bool guarded;
};

/**
 * struct auxpmu_window_request - where the transaction stands
 * @head: position of the next byte
 * @space: bytes that may be written from @head on, as the core counts them: one less than are free;
 *	ignored with @overwrite
 * @wakeup: position at which the consumer wants to be woken; at or below @head: at once; ignored
 *	with @overwrite
 * @overwrite: the buffer is a flight recorder: never full, the newest bytes replace the oldest
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
 * @from: the unit starts here; the framework pads @head .. @from
 * @to: it must not write at or behind this position (except rules.spare bytes)
 * @irq: it should interrupt when it has written up to here; @from < @irq <= @to. With a granule,
 *	@irq is @to only if the window holds no other region end. AUXPMU_NO_LIMIT: never
 * @full: there is no room: the unit may not be armed, and the other members mean nothing
 *
 * In overwrite mode @to is AUXPMU_NO_LIMIT for a unit that is not contiguous, or that goes round by
 * itself.
 *
 * The core holds back one byte, to tell full from empty by offsets. With a granule the window may
 * use that byte, and @to may be @head + @space + 1: such a unit can stop at region ends only, and a
 * free region that ends at the consumer's tail would be wasted otherwise. The core compares
 * positions, not offsets, and still sees a completely filled buffer as full: it then says a @space
 * of 0, for which there is no window. Without a granule, windows stay within @space.
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
 * They fit if an empty buffer has a window from every head that such a unit can leave. If @atom is
 * a multiple of @start_align, these heads are the multiples of @start_align and of the smaller of
 * @atom and @end_align (with a granule, of @atom); otherwise any. From other heads, which a unit
 * with other rules may have left in the same buffer, a small buffer may seem full.
 *
 * Return: NULL, or a few words that say what is wrong (static storage).
 */
const char *auxpmu_window_rules_valid(const struct auxpmu_window_rules *rules,
				      const struct auxpmu_chunks *chunks);

/**
 * auxpmu_window_next() - what may the unit write?
 * @chunks: of the buffer
 * @rules: valid for @chunks
 * @request: where the transaction stands
 *
 * The window begins at the first position that the rules allow, and is the longest they allow from
 * there. The interrupt is the first position they allow at or behind @request->wakeup, or @to if
 * that comes first. If a chunk has no room left for a window, a contiguous one begins with the next
 * chunk.
 *
 * A unit with a granule stops at its limit, and nothing is traced until the next window is armed.
 * So it interrupts one region before the end, if the window has more than one: while the interrupt
 * is on its way, the unit writes into the last region, and the next window gets what the consumer
 * has read meanwhile.
 */
struct auxpmu_window auxpmu_window_next(const struct auxpmu_chunks *chunks,
					const struct auxpmu_window_rules *rules,
					const struct auxpmu_window_request *request);

/**
 * auxpmu_window_next_plain() - auxpmu_window_next() for plain rules, which many interrupts wait for
 * @chunks: of the buffer
 * @rules: valid for @chunks
 * @request: where the transaction stands
 * @window: the answer
 *
 * Plain are those of a unit that writes single bytes and stops exactly where it is told to,
 * wherever the alignment lets it, as TRBE and SPE do.
 *
 * Return: false if auxpmu_window_next() has to be asked: the rules are not plain, the buffer is a
 * flight recorder, or the first chunk has no room.
 */
static inline bool auxpmu_window_next_plain(const struct auxpmu_chunks *chunks,
					    const struct auxpmu_window_rules *rules,
					    const struct auxpmu_window_request *request,
					    struct auxpmu_window *window)
{
	u64 start = rules->start_align, end = rules->end_align;
	u64 from = (request->head + start - 1) & ~(start - 1);
	u64 to = request->head + request->space;
	u64 irq = request->wakeup > from ? request->wakeup : from + 1;

	if (request->overwrite || rules->atom != 1 || rules->granule || rules->spare ||
	    rules->least)
		return false;
	if (rules->contiguous) {
		u64 chunk_end = auxpmu_chunk_end(chunks, from);

		to = chunk_end < to ? chunk_end : to;
	}
	to &= ~(end - 1);
	if (to <= from)
		return false;
	window->from = from;
	window->to = to;
	window->irq = irq < to ? (irq + end - 1) & ~(end - 1) : to;
	window->full = false;
	return true;
}

/**
 * auxpmu_window_rest() - continue a window whose first part is written
 * @rules: with which it was made
 * @window: the answer of auxpmu_window_next(); @from moves
 * @position: how far the unit got
 *
 * While the request's limit (head + space) and wakeup are unchanged, so are the ends of the window:
 * auxpmu_window_next() would give the same.
 *
 * Return: false if auxpmu_window_next() has to be asked: @position is at or behind the interrupt,
 * or no window can start there.
 */
static inline bool auxpmu_window_rest(const struct auxpmu_window_rules *rules,
				      struct auxpmu_window *window, u64 position)
{
	if (position >= window->irq || (position & (rules->start_align - 1)) ||
	    window->to - position < rules->least)
		return false;
	/* A unit that goes round need not have its atoms where the last lap had them. */
	if (rules->atom != 1 && (window->to == AUXPMU_NO_LIMIT ||
				 (position - window->from) % rules->atom))
		return false;
	window->from = position;
	return true;
}

#endif /* AUXPMU_WINDOW_H */
