/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The claim: while events of ours exist, the trace units of all CPUs are ours, and nobody else's.
 */
#ifndef AUXPMU_PT_CLAIM_H
#define AUXPMU_PT_CLAIM_H

#include <linux/sysfs.h>

struct perf_event;

/*
 * One event more, which no other event brought about (inherited ones live on their parents' claim).
 * Claims the units if they are not.  May sleep.
 *
 * Return: 0; -EBUSY, -ENODEV or another errno, with the reason in the log and in sysfs.
 */
int pt_claim_get(struct perf_event *event);

/* One less.  The units are given back later, when nobody has come meanwhile.  May sleep. */
void pt_claim_put(void);

int pt_claim_init(void);
/* Waits until the units are given back. */
void pt_claim_exit(void);

/* sysfs claim: who holds the units, or why they could not be had the last time. */
extern const struct attribute_group pt_claim_group;

#endif /* AUXPMU_PT_CLAIM_H */
