/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * CPUID leaf 14H, and what several CPUs that differ in it have in common: SDM volume 3, "Detection
 * of Intel Processor Trace and Capability Enumeration". Pure C; does not execute CPUID.
 */
#ifndef AUXPMU_PT_LEAF_H
#define AUXPMU_PT_LEAF_H

#include <linux/types.h>

enum pt_register { PT_EAX, PT_EBX, PT_ECX, PT_EDX, PT_NR_REGISTERS };

#define PT_NR_SUBLEAVES	2

/* @reg: by subleaf and register; zeros if there is no such subleaf */
struct pt_leaf {
	u32 reg[PT_NR_SUBLEAVES][PT_NR_REGISTERS];
};

/* Reduce @common to what @other can do as well. */
void pt_leaf_meet(struct pt_leaf *common, const struct pt_leaf *other);

/* Can a CPU with this leaf do everything in @common? */
bool pt_leaf_covers(const struct pt_leaf *leaf, const struct pt_leaf *common);

#endif /* AUXPMU_PT_LEAF_H */
