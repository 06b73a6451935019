/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The trace buffer of a PE (TRBE, FEAT_TRBE; Arm ARM DDI 0487, D6): it writes trace of its PE's ETE
 * into memory, by the kernel's virtual addresses.
 */
#ifndef TRBE_H
#define TRBE_H

#include <linux/types.h>

struct auxpmu_position;
struct auxpmu_unit;

/*
 * Look for the trace buffer of this CPU. On it, preemption off. 0; -ENODEV: there is none, or it
 * belongs to a higher exception level; -EOPNOTSUPP: with a word in *@why: it has an erratum.
 */
int trbe_detect(const char **why);

/* Was it found on @cpu, the last time that it was looked for? Any context. */
bool trbe_there(int cpu);

/* The multiple of bytes at which all that were found begin to write. */
u32 trbe_align(void);

/*
 * Does one that was found write more than its window (errata 2119858, 2139208, 2224489, 2253138)?
 * When it is full, up to TRBE_STRAYS bytes may go behind its limit, and three times as many to its
 * base. At a limit where it should go round, they may be the next bytes of its trace: so it has to
 * be stopped there.
 */
#define TRBE_STRAYS	64
bool trbe_strays(void);

/* Switch it off, whoever left it on. On its CPU, IRQs off. */
void trbe_reset(void);

/*
 * trbe_start() - let it write unit->window. Its trace unit is stopped.
 * trbe_stop() - let it write what its trace unit has still made, and switch it off. Every byte is
 * visible in memory then. False if it had stopped because memory did not take what it wrote: what
 * its trace unit still holds is the rest of a packet then.
 * trbe_position() - how far it got; &auxpmu_ops.position.
 * trbe_interrupted() - does it interrupt? If so the interrupt is acknowledged.
 */
void trbe_start(const struct auxpmu_unit *unit);
bool trbe_stop(void);
void trbe_position(struct auxpmu_unit *unit, struct auxpmu_position *position);
bool trbe_interrupted(void);

#endif /* TRBE_H */
