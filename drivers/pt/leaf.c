// SPDX-License-Identifier: GPL-2.0-only
/* CPUID leaf 14H: see leaf.h. */
#include <linux/bits.h>
#include <linux/minmax.h>
#include <linux/types.h>

#include "leaf.h"

/* Fields that are numbers; in all others each bit is a capability. */
static const u32 numbers[PT_NR_SUBLEAVES][PT_NR_REGISTERS] = {
	[0][PT_EAX] = GENMASK(31, 0),	/* the highest subleaf */
	[1][PT_EAX] = GENMASK(2, 0),	/* address ranges */
};

static u32 pt_leaf_common(u32 one, u32 other, u32 number)
{
	return min(one & number, other & number) | (one & other & ~number);
}

void pt_leaf_meet(struct pt_leaf *common, const struct pt_leaf *other)
{
	int subleaf, reg;

	for (subleaf = 0; subleaf < PT_NR_SUBLEAVES; subleaf++)
		for (reg = 0; reg < PT_NR_REGISTERS; reg++)
			common->reg[subleaf][reg] = pt_leaf_common(common->reg[subleaf][reg],
								   other->reg[subleaf][reg],
								   numbers[subleaf][reg]);
}

bool pt_leaf_covers(const struct pt_leaf *leaf, const struct pt_leaf *common)
{
	int subleaf, reg;

	for (subleaf = 0; subleaf < PT_NR_SUBLEAVES; subleaf++)
		for (reg = 0; reg < PT_NR_REGISTERS; reg++) {
			u32 needed = common->reg[subleaf][reg];

			if (pt_leaf_common(needed, leaf->reg[subleaf][reg],
					   numbers[subleaf][reg]) != needed)
				return false;
		}
	return true;
}
