// SPDX-License-Identifier: GPL-2.0-only
/*
 * Statistics in debugfs: one folder per PMU; uapi/linux/auxpmu.h describes the files. Only reads
 * what the sessions count.
 */
#include <linux/debugfs.h>
#include <linux/percpu.h>
#include <linux/seq_file.h>

#include "core/buffer.h"
#include "core/debugfs.h"
#include "inject/fault.h"
#include "internal.h"

static struct dentry *root;

struct counter {
	const char *name;
	size_t offset;
};

#define COUNTER(stat)	{ #stat, offsetof(struct core_stats, stat) }
static const struct counter counters[] = {
	COUNTER(produced),
	COUNTER(padded),
	COUNTER(committed),
	COUNTER(copied),
	COUNTER(overwritten),
	COUNTER(lost_unit),
	COUNTER(gaps),
	COUNTER(lost_space),
	COUNTER(wraps),
	COUNTER(truncations),
	COUNTER(partials),
	COUNTER(interrupts),
	COUNTER(spurious),
	COUNTER(polls),
	COUNTER(late_polls),
	COUNTER(sessions),
	COUNTER(begins),
	COUNTER(ends),
	COUNTER(begin_failures),
	COUNTER(unmapped),
	COUNTER(wrong_pmu),
	COUNTER(unsuited),
	COUNTER(arm_failures),
	COUNTER(overruns),
	COUNTER(busy),
	COUNTER(sink_busy),
	COUNTER(no_unit),
	COUNTER(samples),
	COUNTER(sample_no_trace),
	COUNTER(contract_violations),
};

static_assert(ARRAY_SIZE(counters) * sizeof(u64) == sizeof(struct core_stats));

static u64 debugfs_counter_read(const struct auxpmu *pmu, const struct counter *counter, int cpu)
{
	const void *stats = &per_cpu_ptr(pmu->units, cpu)->stats;

	return READ_ONCE(*(const u64 *)(stats + counter->offset));
}

static int stats_show(struct seq_file *seq, void *unused)
{
	const struct auxpmu *pmu = seq->private;
	size_t n;
	int cpu;

	seq_puts(seq, "counter total");
	for_each_possible_cpu(cpu)
		seq_printf(seq, " cpu%d", cpu);
	seq_putc(seq, '\n');

	for (n = 0; n < ARRAY_SIZE(counters); n++) {
		u64 total = 0;

		for_each_possible_cpu(cpu)
			total += debugfs_counter_read(pmu, &counters[n], cpu);
		seq_printf(seq, "%s %llu", counters[n].name, total);
		for_each_possible_cpu(cpu)
			seq_printf(seq, " %llu", debugfs_counter_read(pmu, &counters[n], cpu));
		seq_putc(seq, '\n');
	}
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(stats);

static int buffers_show(struct seq_file *seq, void *unused)
{
	auxpmu_buffers_show(seq, seq->private);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(buffers);

void auxpmu_debugfs_add(struct auxpmu *pmu)
{
	pmu->debugfs = debugfs_create_dir(pmu->desc->name, root);
	debugfs_create_file("stats", 0444, pmu->debugfs, pmu, &stats_fops);
	debugfs_create_file("buffers", 0444, pmu->debugfs, pmu, &buffers_fops);
	auxpmu_core_faults_add(pmu);
}

void auxpmu_debugfs_remove(struct auxpmu *pmu)
{
	debugfs_remove(pmu->debugfs);
}

void auxpmu_debugfs_init(void)
{
	root = debugfs_create_dir("auxpmu", NULL);
}

void auxpmu_debugfs_exit(void)
{
	debugfs_remove(root);
}
