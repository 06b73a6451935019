/* SPDX-License-Identifier: GPL-2.0-only */
/* AUX buffers: setup, lookup, release.  Shared by the framework's own files only. */
#ifndef AUXPMU_BUFFER_H
#define AUXPMU_BUFFER_H

#include "internal.h"

struct seq_file;

/* pmu::setup_aux and pmu::free_aux. */
void *auxpmu_buffer_setup(struct perf_event *event, void **pages, int nr_pages, bool overwrite);
void auxpmu_buffer_free(void *aux);

/* The ring that @event, or its parent, writes to. To be compared only. Any context. */
static inline const void *auxpmu_buffer_ring(const struct perf_event *event)
{
	const struct perf_event *mapped = event->parent ?: event;

	return READ_ONCE(mapped->rb);
}

/*
 * Would auxpmu_buffer_find() find @buffer, in which a transaction of @event has just ended? Context
 * as there, without a break since that transaction.
 */
static inline bool auxpmu_buffer_is_of(const struct core_buffer *buffer,
				       const struct perf_event *event)
{
	const void *rb = READ_ONCE(buffer->rb);

	return rb && rb == auxpmu_buffer_ring(event);
}

/**
 * auxpmu_buffer_find() - the buffer that the core will hand out for @event, if it is one of ours
 * @event: the event
 *
 * Looks it up by the address of the ring, so that a caller can decide before
 * perf_aux_output_begin(): the core warns when that is called for a ring on which another PMU has a
 * transaction.
 *
 * Any context, NMI included, under rcu_read_lock() or with IRQs off. The caller has to compare the
 * PMU.
 */
struct core_buffer *auxpmu_buffer_find(const struct perf_event *event);

/* Does the trace of any event with @needs get into @buffer by copying? Any context. */
static inline bool auxpmu_buffer_takes_copies(const struct auxpmu_buffer *buffer,
					      const struct auxpmu_needs *needs)
{
	return needs->output == AUXPMU_COPY || (needs->sink && needs->sink != buffer->sink);
}

/*
 * Does the trace of @aux get into @buffer by copying, as long as @aux->shares does not change? Any
 * context.
 */
static inline bool auxpmu_buffer_copies(const struct core_buffer *buffer,
					const struct core_event *aux)
{
	return aux->shares || auxpmu_buffer_takes_copies(&buffer->pub, &aux->pub.needs);
}

/*
 * The rules of windows in @buffer for event @aux; false if they do not suit each other. Any
 * context.
 */
bool auxpmu_buffer_rules(const struct core_buffer *buffer, const struct core_event *aux,
			 struct auxpmu_window_rules *rules);

/* One line per live buffer of @pmu.  May sleep. */
void auxpmu_buffers_show(struct seq_file *seq, const struct auxpmu *pmu);

#endif /* AUXPMU_BUFFER_H */
