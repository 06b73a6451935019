/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The claim: while events or buffers of a PMU exist, its units are ours on all CPUs, and nobody
 * else's; for PMUs whose description says so (struct auxpmu_claim).  All of it may sleep, where
 * nothing else is said.
 */
#ifndef AUXPMU_CLAIM_H
#define AUXPMU_CLAIM_H

#include <linux/limits.h>
#include <linux/sysfs.h>
#include <linux/types.h>

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

/*
 * One buffer more, of an event that cannot go meanwhile.  A buffer can outlive its event on the
 * ring of a software event, and be handed from there to the kernel's own PMU, which takes what it
 * is given for its own: nobody may have an event of that before the buffer is gone.  Does not
 * sleep.
 */
void auxpmu_claim_keep(struct auxpmu *pmu);

/* No PMU's type: PERF_TYPE_MAX is that of the first that the kernel numbers. */
#define AUXPMU_NO_INTREE	U32_MAX

/*
 * The type of the kernel's own PMU of the units, of which nobody can open an event while @pmu has
 * any; AUXPMU_NO_INTREE if there is none.
 */
u32 auxpmu_claim_intree(const struct auxpmu *pmu);

/*
 * One less; does not sleep.  The units are given back when nobody has come for
 * auxpmu.release_delay milliseconds: to claim and to release interrupts every CPU, which a loop of
 * open() and close() shall not do.
 */
void auxpmu_claim_put(struct auxpmu *pmu);

/*
 * sysfs claim: who holds the units, or why they could not be had the last time; claims: how often
 * they were claimed.
 */
extern const struct attribute_group auxpmu_claim_group;

#endif /* AUXPMU_CLAIM_H */
