// SPDX-License-Identifier: GPL-2.0-only
/* Counters that backends show in sysfs: the sum over all CPUs.  See struct auxpmu_counter. */
#include <linux/cpumask.h>
#include <linux/percpu.h>
#include <linux/sysfs.h>

#include "auxpmu.h"
#include "compat.h"

ssize_t auxpmu_counter_show(struct device *dev, struct device_attribute *attr, char *page)
{
	u64 __percpu *counts = container_of(attr, struct auxpmu_counter, attr)->counts;
	u64 total = 0;
	int cpu;

	for_each_possible_cpu(cpu)
		total += READ_ONCE(*per_cpu_ptr(counts, cpu));
	return sysfs_emit(page, "%llu\n", total);
}
EXPORT_SYMBOL_NS_GPL(auxpmu_counter_show, AUXPMU_NS);
