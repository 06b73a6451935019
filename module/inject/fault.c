// SPDX-License-Identifier: GPL-2.0-only
/* Faults on request, see software.h: their counts in debugfs, and the framework's own faults. */
#include <linux/atomic.h>
#include <linux/debugfs.h>
#include <linux/export.h>
#include <linux/fs.h>

#include "compat.h"
#include "inject/fault.h"

DEFINE_STATIC_KEY_FALSE(auxpmu_faults);

static const char *const core_names[CORE_FAULTS] = {
	[CORE_FAULT_SETUP] = "setup",
	[CORE_FAULT_ORDERS] = "orders",
	[CORE_FAULT_MIXED] = "mixed",
	[CORE_FAULT_ADD] = "add",
	[CORE_FAULT_ARM] = "arm",
	[CORE_FAULT_TRUNCATED] = "truncated",
	[CORE_FAULT_PARTIAL] = "partial",
	[CORE_FAULT_COLLISION] = "collision",
	[CORE_FAULT_SHORT_SAMPLE] = "short_sample",
	[CORE_FAULT_LATE_POLL] = "late_poll",
};

bool auxpmu_fault(atomic_t *left)
{
	return static_branch_unlikely(&auxpmu_faults) && atomic_dec_if_positive(left) >= 0;
}
EXPORT_SYMBOL_NS_GPL(auxpmu_fault, AUXPMU_NS);

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

void auxpmu_faults_add(struct auxpmu *pmu, const char *const *names, atomic_t *left,
		       unsigned int nr)
{
	unsigned int n;

	for (n = 0; n < nr; n++)
		debugfs_create_file_unsafe(names[n], 0600, pmu->fault_folder, &left[n],
					   &left_fops);
}
EXPORT_SYMBOL_NS_GPL(auxpmu_faults_add, AUXPMU_NS);

void auxpmu_core_faults_add(struct auxpmu *pmu)
{
	pmu->fault_folder = debugfs_create_dir("faults", pmu->debugfs);
	auxpmu_faults_add(pmu, core_names, pmu->faults, CORE_FAULTS);
}
