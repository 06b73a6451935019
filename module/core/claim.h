/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The claim: while events or buffers of a PMU exist, its units on all CPUs are ours alone. For PMUs
 * whose description has a struct auxpmu_claim. All functions may sleep unless they say otherwise.
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

/* Before the PMU is visible; 0 or an errno. Does nothing if its description has no claim. */
int auxpmu_claim_make(struct auxpmu *pmu);
/* After the last event is gone: waits until the units are released. */
void auxpmu_claim_free(struct auxpmu *pmu);

/*
 * For one more event; not for inherited ones, which rely on their parent's claim. Claims the units
 * if they are not claimed.
 *
 * Return: 0; -EBUSY, -ENODEV or another errno, with the reason in the log and in sysfs.
 */
int auxpmu_claim_get(struct auxpmu *pmu);

/*
 * For one more buffer, of an event that cannot go meanwhile. A buffer can outlive its event on the
 * ring of a software event, and the core may hand it from there to the in-tree PMU, which takes it
 * for its own. So nobody may have an event of that PMU before the buffer is gone. Does not sleep.
 */
void auxpmu_claim_keep(struct auxpmu *pmu);

/* No PMU has this type. */
#define AUXPMU_NO_INTREE	U32_MAX

/*
 * The type of the in-tree PMU of the units, which nobody can use while @pmu has events;
 * AUXPMU_NO_INTREE if there is none.
 */
u32 auxpmu_claim_intree(const struct auxpmu *pmu);

/*
 * For one event or buffer less; does not sleep. The units are released when there was no user for
 * auxpmu.release_delay milliseconds: claim and release interrupt every CPU, and a loop of open()
 * and close() must not cause that each time.
 */
void auxpmu_claim_put(struct auxpmu *pmu);

/*
 * sysfs claim: whether the units are ours, or why the last attempt failed; claims: how often they
 * were claimed.
 */
extern const struct attribute_group auxpmu_claim_group;

#endif /* AUXPMU_CLAIM_H */
