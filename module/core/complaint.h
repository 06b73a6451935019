/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the framework has to say of a backend: an operation that failed, or did what the contract in
 * auxpmu.h rules out. Shared by the framework's own files only.
 */
#ifndef AUXPMU_COMPLAINT_H
#define AUXPMU_COMPLAINT_H

#include "internal.h"

/* All but the first count in contract_violations. */
enum auxpmu_complaint {
	AUXPMU_ARM_FAILED,	/* what it returned */
	AUXPMU_BAD_POSITION,	/* bytes and lost, one of which cannot be */
	AUXPMU_OVERRUN,		/* bytes said and bytes of the window */
	AUXPMU_BAD_SPANS,	/* bytes named and bytes held */
	AUXPMU_NR_SPANS,	/* pieces named */
	AUXPMU_ALWAYS_DUE,	/* windows in a row, and of the last ones, without a byte */
	/* Seen by a paranoid framework only. */
	AUXPMU_MOVED,		/* bytes said, and a moment later */
	AUXPMU_WROTE_BEHIND,	/* bytes behind the end of what it may write */
	AUXPMU_BAD_ADDRESS,	/* the span's number and length */
	AUXPMU_NO_INTERRUPT,	/* windows in a row, bytes of the last */
	AUXPMU_FENCE,		/* bytes before or behind the memory, and its size */
	AUXPMU_IRQS_CHANGED,	/* off before, off after */
	AUXPMU_PREEMPT_CHANGED,	/* the count before and after */
	AUXPMU_IRQS_ON,
	AUXPMU_COMPLAINTS
};

/**
 * auxpmu_complain() - count what a backend did, and have it told
 * @pmu: the backend's
 * @what: it did
 * @op: the operation in which it did it; static storage
 * @a: see enum auxpmu_complaint
 * @b: the same
 *
 * Any context, NMI included: the sentence is printed in an irq_work, for here the scheduler's locks
 * may be held, and printk() may wake a console's task. Rate limited; of several of the same kind
 * the last is told.
 */
void auxpmu_complain(struct auxpmu *pmu, enum auxpmu_complaint what, const char *op, u64 a, u64 b);

/* 0 or -ENOMEM.  May sleep. */
int auxpmu_complaints_make(struct auxpmu *pmu);

/* Waits until all is told.  May sleep. */
void auxpmu_complaints_free(struct auxpmu *pmu);

#endif /* AUXPMU_COMPLAINT_H */
