// SPDX-License-Identifier: GPL-2.0-only
/* Faults on request: see fault.h; what each does is said in docs/testing.md. */
#include <linux/atomic.h>
#include <linux/debugfs.h>
#include <linux/fs.h>

#include "inject/fault.h"

DEFINE_STATIC_KEY_FALSE(auxpmu_faults);

static const char *const names[AUXPMU_FAULTS] = {
	[AUXPMU_FAULT_SETUP] = "setup",
	[AUXPMU_FAULT_ORDERS] = "orders",
	[AUXPMU_FAULT_MIXED] = "mixed",
	[AUXPMU_FAULT_ADD] = "add",
	[AUXPMU_FAULT_ARM] = "arm",
	[AUXPMU_FAULT_STUCK] = "stuck",
	[AUXPMU_FAULT_OVERRUN] = "overrun",
	[AUXPMU_FAULT_SPURIOUS_IRQ] = "spurious_irq",
	[AUXPMU_FAULT_LATE_IRQ] = "late_irq",
	[AUXPMU_FAULT_LOST_IRQ] = "lost_irq",
	[AUXPMU_FAULT_DUE] = "due",
	[AUXPMU_FAULT_BUSY] = "busy",
	[AUXPMU_FAULT_TRUNCATED] = "truncated",
	[AUXPMU_FAULT_PARTIAL] = "partial",
	[AUXPMU_FAULT_COLLISION] = "collision",
	[AUXPMU_FAULT_SLOW_STOP] = "slow_stop",
	[AUXPMU_FAULT_SHORT_SAMPLE] = "short_sample",
	[AUXPMU_FAULT_UNREGISTER] = "unregister",
};

bool __auxpmu_fault(struct auxpmu *pmu, enum auxpmu_fault fault)
{
	return atomic_dec_if_positive(&pmu->faults[fault]) >= 0;
}

static int fault_left_get(void *left, u64 *value)
{
	*value = atomic_read(left);
	return 0;
}

static int fault_left_set(void *left, u64 value)
{
	if (value > INT_MAX)
		return -EINVAL;
	static_branch_enable(&auxpmu_faults);
	atomic_set(left, value);
	return 0;
}
DEFINE_DEBUGFS_ATTRIBUTE(left_fops, fault_left_get, fault_left_set, "%llu\n");

void auxpmu_faults_add(struct auxpmu *pmu)
{
	struct dentry *folder = debugfs_create_dir("faults", pmu->debugfs);
	int n;

	for (n = 0; n < AUXPMU_FAULTS; n++)
		debugfs_create_file_unsafe(names[n], 0600, folder, &pmu->faults[n], &left_fops);
}
