/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the wrappers of units' operations (paranoid.c) and of sinks' (paranoid_sink.c) check alike.
 * Shared by these two only.
 */
#ifndef AUXPMU_PARANOID_CHECKS_H
#define AUXPMU_PARANOID_CHECKS_H

#include "internal.h"

/* Microseconds in which a unit that was not stopped moves on, and its sink with it. */
#define PARANOID_MOMENT		10

/* Of an operation, before it and after it. */
struct paranoid_context {
	int preempt;
	bool irqs_off;
};

/* An operation is about to be called that is called with IRQs off, or in NMI, and may not sleep. */
struct paranoid_context auxpmu_paranoid_enter(void);

/* @op must leave IRQs and preemption as they were; if not, restore them and go on. */
void auxpmu_paranoid_leave(struct auxpmu *pmu, const char *op, struct paranoid_context before);

/* Of @nr spans that @op has named, how many may be read: all, or if one is not there, none. */
unsigned int auxpmu_paranoid_spans(struct auxpmu *pmu, const char *op,
				   const struct auxpmu_span spans[2], unsigned int nr);

#endif /* AUXPMU_PARANOID_CHECKS_H */
