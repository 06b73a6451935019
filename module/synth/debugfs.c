// SPDX-License-Identifier: GPL-2.0-only
/*
 * debugfs of the synthetic PMUs: trace on demand, and how fast it is; uapi/linux/auxpmu.h describes
 * the files.
 */
#include <linux/debugfs.h>
#include <linux/err.h>
#include <linux/irq_work.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/sched/signal.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/smp.h>
#include <linux/uaccess.h>

#include "synth/nmi.h"
#include "synth/synth.h"

/* Bytes that emit writes at a time, with IRQs off. */
#define EMIT_SLICE	(256u << 10)

#define BENCH_AREA	(256u << 10)

/* Request to one CPU, and its answer. */
struct emit {
	struct synth *synth;
	u64 bytes;
	u64 done;
	int ret;
};

/* On the unit's CPU, IRQs off. */
static void emit_here(void *data)
{
	struct emit *emit = data;
	struct auxpmu_unit *unit = auxpmu_unit_of(emit->synth->pmu, smp_processor_id());
	u32 record;

	emit->done = 0;
	emit->ret = -ENXIO;
	synth_spurious_irq(emit->synth);
	if (!auxpmu_unit_acquire(unit))
		return;
	if (auxpmu_unit_armed(unit)) {
		record = synth_stream_of(unit)->record;
		emit->bytes = DIV_ROUND_UP(emit->bytes, record) * record;
		emit->done = synth_write(unit->private, emit->bytes);
		emit->ret = emit->done < emit->bytes ? -ENOSPC : 0;
	}
	auxpmu_unit_release(unit);
	/*
	 * The core disables an event whose buffer is full in an irq_work. Run that before emit
	 * returns: otherwise the caller might ENABLE the event first, and the irq_work then disable
	 * it.
	 */
	irq_work_run();
}

static int emit_on(struct synth *synth, int cpu, u64 bytes)
{
	struct emit emit = { .synth = synth };
	int ret = 0;

	do {
		emit.bytes = min_t(u64, bytes, EMIT_SLICE);
		emit.ret = -ENXIO;
		if (smp_call_function_single(cpu, emit_here, &emit, 1))
			return -ENXIO;
		synth->emitted_bytes += emit.done;
		bytes -= min(bytes, emit.done);
		ret = emit.ret;
		cond_resched();
	} while (!ret && bytes && !fatal_signal_pending(current));
	/* The buffer became full just as a slice ended: the next slice found no armed unit. */
	return ret == -ENXIO && synth->emitted_bytes ? -ENOSPC : ret;
}

/* Parse "CPU BYTES", with blanks around it allowed. 0 or an errno. */
static int emit_parse(const char __user *from, size_t count, int *cpu, u64 *bytes)
{
	char line[64];

	if (count >= sizeof(line))
		return -EINVAL;
	if (copy_from_user(line, from, count))
		return -EFAULT;
	line[count] = '\0';
	if (sscanf(line, "%d %llu", cpu, bytes) != 2 || *cpu < 0 || *cpu >= nr_cpu_ids || !*bytes)
		return -EINVAL;
	return 0;
}

static ssize_t emit_write(struct file *file, const char __user *from, size_t count, loff_t *pos)
{
	struct synth *synth = file->private_data;
	u64 bytes;
	int cpu, ret;

	ret = emit_parse(from, count, &cpu, &bytes);
	if (ret)
		return ret;

	mutex_lock(&synth->emit_lock);
	synth->emitted_cpu = cpu;
	synth->emitted_bytes = 0;
	ret = emit_on(synth, cpu, bytes);
	mutex_unlock(&synth->emit_lock);
	return ret ?: count;
}

static const struct file_operations emit_fops = {
	.owner = THIS_MODULE,
	.open = simple_open,
	.write = emit_write,
};

static int emitted_show(struct seq_file *seq, void *unused)
{
	struct synth *synth = seq->private;

	mutex_lock(&synth->emit_lock);
	seq_printf(seq, "%d %llu\n", synth->emitted_cpu, synth->emitted_bytes);
	mutex_unlock(&synth->emit_lock);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(emitted);

static DEFINE_MUTEX(bench_lock);
static u64 bench_bytes, bench_records_ns, bench_memset_ns;

/*
 * Alternate between records and memset() over the same bytes, so that both run under the same
 * conditions.
 */
static void bench(struct synth_stream *stream, void *area, u64 bytes)
{
	u64 began;

	bench_bytes = 0;
	bench_records_ns = 0;
	bench_memset_ns = 0;
	while (bench_bytes < bytes && !fatal_signal_pending(current)) {
		preempt_disable();
		began = ktime_get_ns();
		synth_write_records(stream, area, BENCH_AREA);
		bench_records_ns += ktime_get_ns() - began;
		began = ktime_get_ns();
		memset(area, (u8)bench_bytes, BENCH_AREA);
		bench_memset_ns += ktime_get_ns() - began;
		preempt_enable();
		bench_bytes += BENCH_AREA;
		cond_resched();
	}
}

static ssize_t bench_write(struct file *file, const char __user *from, size_t count, loff_t *pos)
{
	struct synth_stream stream = { .id = 1, .record = AUXPMU_RECORD_MAX };
	u64 bytes;
	void *area;
	int ret;

	ret = kstrtoull_from_user(from, count, 0, &bytes);
	if (ret)
		return ret;
	area = kvmalloc(BENCH_AREA, GFP_KERNEL);
	if (!area)
		return -ENOMEM;
	mutex_lock(&bench_lock);
	bench(&stream, area, bytes);
	mutex_unlock(&bench_lock);
	kvfree(area);
	return count;
}

static int bench_show(struct seq_file *seq, void *unused)
{
	mutex_lock(&bench_lock);
	seq_printf(seq, "%llu %llu %llu\n", bench_bytes, bench_records_ns, bench_memset_ns);
	mutex_unlock(&bench_lock);
	return 0;
}

static int bench_open(struct inode *inode, struct file *file)
{
	return single_open(file, bench_show, NULL);
}

static const struct file_operations bench_fops = {
	.owner = THIS_MODULE,
	.open = bench_open,
	.read = seq_read,
	.write = bench_write,
	.llseek = seq_lseek,
	.release = single_release,
};

/* As firmware that switches an idle CPU off, and a notifier of CPU_PM. */
static void idle_here(void *data)
{
	struct synth *synth = data;

	auxpmu_suspend(synth->pmu, true);
	auxpmu_resume(synth->pmu);
}

static ssize_t idle_write(struct file *file, const char __user *from, size_t count, loff_t *pos)
{
	int cpu, ret = kstrtoint_from_user(from, count, 0, &cpu);

	if (ret)
		return ret;
	if (cpu < 0 || cpu >= nr_cpu_ids)
		return -EINVAL;
	return smp_call_function_single(cpu, idle_here, file->private_data, 1) ?: count;
}

static const struct file_operations idle_fops = {
	.owner = THIS_MODULE,
	.open = simple_open,
	.write = idle_write,
};

static const char *const fault_names[SYNTH_FAULTS] = {
	[SYNTH_FAULT_STUCK] = "stuck",
	[SYNTH_FAULT_OVERRUN] = "overrun",
	[SYNTH_FAULT_SPURIOUS_IRQ] = "spurious_irq",
	[SYNTH_FAULT_LATE_IRQ] = "late_irq",
	[SYNTH_FAULT_LOST_IRQ] = "lost_irq",
	[SYNTH_FAULT_DUE] = "due",
	[SYNTH_FAULT_BUSY] = "busy",
	[SYNTH_FAULT_COLLIDE] = "collide",
	[SYNTH_FAULT_SINK] = "sink",
	[SYNTH_FAULT_WRAP] = "wrap",
	[SYNTH_FAULT_SLOW_STOP] = "slow_stop",
	[SYNTH_FAULT_UNREGISTER] = "unregister",
};

void synth_debugfs_add(struct synth *synth)
{
	struct dentry *folder = auxpmu_debugfs_of(synth->pmu);

	debugfs_create_file("emit", 0200, folder, synth, &emit_fops);
	debugfs_create_file("emitted", 0400, folder, synth, &emitted_fops);
	debugfs_create_file("bench", 0600, folder, synth, &bench_fops);
	debugfs_create_file("idle", 0200, folder, synth, &idle_fops);
	synth_nmi_add(synth->pmu);
	auxpmu_faults_add(synth->pmu, fault_names, synth->faults, SYNTH_FAULTS);
}
