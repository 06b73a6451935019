// SPDX-License-Identifier: GPL-2.0-only
/*
 * NMIs on request, for tests: at any moment to another CPU, or within a given step of a session.
 * What they are, and who handles them, is the architecture's; it is set up only while the debugfs
 * file is open.
 */
#include <linux/atomic.h>
#include <linux/cpu.h>
#include <linux/debugfs.h>
#include <linux/err.h>
#include <linux/fs.h>
#include <linux/hardirq.h>
#include <linux/percpu.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/uaccess.h>

#include "software.h"
#include "synth/nmi.h"

/*
 * An NMI is in flight to this CPU. At most one: a CPU latches a single NMI, so two sends may
 * arrive as one.
 */
static DEFINE_PER_CPU(atomic_t, under_way);

/* One user at a time. */
static atomic_t in_use;

/* 1: sent; 0: one is in flight already. */
static int synth_nmi_send(int cpu)
{
	int ret;

	if (atomic_cmpxchg(&per_cpu(under_way, cpu), 0, 1))
		return 0;
	ret = synth_nmi_raise(cpu);
	if (ret)
		atomic_set(&per_cpu(under_way, cpu), 0);
	return ret ?: 1;
}

bool synth_nmi_came(void)
{
	return atomic_xchg(this_cpu_ptr(&under_way), 0);
}

/* Wait until none is in flight to @cpu, or a fatal signal is pending. */
static int synth_nmi_await(int cpu)
{
	while (atomic_read(&per_cpu(under_way, cpu))) {
		if (fatal_signal_pending(current))
			return -EINTR;
		cond_resched();
	}
	return 0;
}

int synth_nmi_send_many(int cpu, unsigned int count)
{
	int ret = 0;

	while (count && !ret) {
		cpus_read_lock();
		ret = cpu_online(cpu) ? synth_nmi_send(cpu) : -ENXIO;
		if (ret > 0)
			count--;
		if (ret >= 0)
			ret = synth_nmi_await(cpu);
		cpus_read_unlock();
	}
	return ret;
}

/*
 * Whoever was killed has not waited for the last one, and its signal may still be pending. An NMI
 * on its way is there within microseconds, and needs its handler.
 */
void synth_nmi_settle(void)
{
	int cpu;

	for_each_online_cpu(cpu)
		while (cpu_online(cpu) && atomic_read(&per_cpu(under_way, cpu)))
			cond_resched();
}

/* Called at a step of a session. A step in NMI (a sample) sends none, or there would be no end. */
static void synth_nmi_send_here(const struct auxpmu_unit *unit)
{
	if (!in_nmi())
		synth_nmi_send(unit->cpu);
}

/* Threads may share the descriptor. */
static DEFINE_MUTEX(commands_lock);

static int synth_nmi_open(struct inode *inode, struct file *file)
{
	int ret;

	if (atomic_cmpxchg(&in_use, 0, 1))
		return -EBUSY;
	file->private_data = inode->i_private;
	ret = synth_nmi_begin();
	if (ret)
		atomic_set_release(&in_use, 0);
	return ret;
}

static int synth_nmi_release(struct inode *inode, struct file *file)
{
	auxpmu_steps_detach();
	synth_nmi_settle();
	synth_nmi_end();
	atomic_set_release(&in_use, 0);
	return 0;
}

static int synth_nmi_command(struct auxpmu *pmu, char *line)
{
	unsigned int count;
	int cpu, ret;

	if (!strcmp(line, "off")) {
		auxpmu_steps_detach();
		return 0;
	}
	if (strstarts(line, "at "))
		return auxpmu_step_attach(pmu, line + strlen("at "), synth_nmi_send_here);
	ret = sscanf(line, "%d %u", &cpu, &count);
	if (ret != 2 || cpu < 0 || cpu >= nr_cpu_ids)
		return -EINVAL;
	return synth_nmi_send_many(cpu, count);
}

static ssize_t synth_nmi_write(struct file *file, const char __user *from, size_t count,
			       loff_t *pos)
{
	char *line;
	int ret;

	if (count > 64)
		return -EINVAL;
	line = memdup_user_nul(from, count);
	if (IS_ERR(line))
		return PTR_ERR(line);
	mutex_lock(&commands_lock);
	ret = synth_nmi_command(file->private_data, strim(line));
	mutex_unlock(&commands_lock);
	kfree(line);
	return ret ?: count;
}

static ssize_t synth_nmi_read(struct file *file, char __user *to, size_t count, loff_t *pos)
{
	const char *kind = synth_nmi_kind();

	return simple_read_from_buffer(to, count, pos, kind, strlen(kind));
}

static const struct file_operations synth_nmi_fops = {
	.owner = THIS_MODULE,
	.open = synth_nmi_open,
	.read = synth_nmi_read,
	.write = synth_nmi_write,
	.release = synth_nmi_release,
};

void synth_nmi_add(struct auxpmu *pmu)
{
	debugfs_create_file("nmi", 0600, auxpmu_debugfs_of(pmu), pmu, &synth_nmi_fops);
}
