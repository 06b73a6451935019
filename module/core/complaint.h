/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Complaints about a backend: an operation failed, or broke the contract in auxpmu.h; and one about
 * a consumer. Shared by the framework's own files only.
 */
#ifndef AUXPMU_COMPLAINT_H
#define AUXPMU_COMPLAINT_H

#include "internal.h"

/*
 * What a and b of auxpmu_complain() are.  From AUXPMU_BAD_POSITION on they count in
 * contract_violations.
 */
enum auxpmu_complaint {
	AUXPMU_NO_AREA,		/* no numbers; not the backend's fault but the consumer's */
	AUXPMU_ARM_FAILED,	/* its return value */
	AUXPMU_BAD_POSITION,	/* bytes and lost, one of them impossible */
	AUXPMU_OVERRUN,		/* bytes reported and bytes of the window */
	AUXPMU_BAD_SPANS,	/* bytes named and bytes held */
	AUXPMU_NR_SPANS,	/* pieces named */
	AUXPMU_ALWAYS_DUE,	/* windows in a row, and of the last ones, without a byte */
	/* Seen by a paranoid framework only. */
	AUXPMU_MOVED,		/* bytes reported, and again a moment later */
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
 * auxpmu_complain() - count what a backend did, and log it
 * @pmu: the backend's PMU
 * @what: what it did
 * @op: in which operation; static storage
 * @a: see enum auxpmu_complaint
 * @b: the same
 *
 * Any context, NMI included. An irq_work prints the sentence: the caller may hold locks of the
 * scheduler, and printk() may wake a console's task. Rate limited; of several complaints of one
 * kind only the last is logged.
 */
void auxpmu_complain(struct auxpmu *pmu, enum auxpmu_complaint what, const char *op, u64 a, u64 b);

/* 0 or -ENOMEM.  May sleep. */
int auxpmu_complaints_make(struct auxpmu *pmu);

/* Waits until everything is logged. May sleep. */
void auxpmu_complaints_free(struct auxpmu *pmu);

#endif /* AUXPMU_COMPLAINT_H */
