/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The claim: while events of a PMU exist, its units are ours on all CPUs, and nobody else's; for
 * PMUs whose description says so (struct auxpmu_claim).  All of it may sleep.
 */
#ifndef AUXPMU_CLAIM_H
#define AUXPMU_CLAIM_H

#include <linux/sysfs.h>

struct auxpmu;
struct claim;

void auxpmu_claims_init(void);
void auxpmu_claims_exit(void);

/* Before the PMU can be seen; 0 or an errno.  Does nothing if its description has no claim. */
int auxpmu_claim_make(struct auxpmu *pmu);
/* When there are no events any more: waits until the units are given back. */
void auxpmu_claim_free(struct auxpmu *pmu);

/*
 * One event more, which no other event brought about (inherited ones live on their parents' claim).
 * Claims the units if they are not.
 *
 * Return: 0; -EBUSY, -ENODEV or another errno, with the reason in the log and in sysfs.
 */
int auxpmu_claim_get(struct auxpmu *pmu);

/* Claimed: is it a PMU of the kernel's that is held? Else there is none of its name. */
bool auxpmu_claim_holds_rival(const struct auxpmu *pmu);

/* One less.  The units are given back later, when nobody has come meanwhile. */
void auxpmu_claim_put(struct auxpmu *pmu);

/* sysfs claim: who holds the units, or why they could not be had the last time. */
extern const struct attribute_group auxpmu_claim_group;

#endif /* AUXPMU_CLAIM_H */
