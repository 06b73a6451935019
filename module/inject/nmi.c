// SPDX-License-Identifier: GPL-2.0-only
/*
 * NMIs on request, so that tests can have one come where it hurts: at any moment to another CPU, or
 * inside a given step of a session.
 *
 * Where no hardware counter overflows there are none otherwise. They are inter-processor interrupts
 * of NMI delivery mode; the handler claims as many as were sent and no others. It is registered
 * while the debugfs file is open, and only then.
 */
#include <linux/atomic.h>
#include <linux/cpu.h>
#include <linux/debugfs.h>
#include <linux/err.h>
#include <linux/hardirq.h>
#include <linux/percpu.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/uaccess.h>

#include <asm/apic.h>
#include <asm/nmi.h>

#include "core/trace.h"
#include "inject/nmi.h"

/*
 * Is one on its way to this CPU?  There is never a second: the CPU holds one back at most, and who
 * can say then how many came.
 */
static DEFINE_PER_CPU(atomic_t, under_way);

/* One user at a time. */
static atomic_t in_use;

static bool nmi_send(int cpu)
{
	if (atomic_cmpxchg(&per_cpu(under_way, cpu), 0, 1))
		return false;
	apic->send_IPI(cpu, NMI_VECTOR);
	return true;
}

static int nmi_handler(unsigned int type, struct pt_regs *regs)
{
	return atomic_xchg(this_cpu_ptr(&under_way), 0) ? NMI_HANDLED : NMI_DONE;
}

/* Until none is under way to @cpu. */
static int nmi_await(int cpu)
{
	while (atomic_read(&per_cpu(under_way, cpu))) {
		if (fatal_signal_pending(current))
			return -EINTR;
		cond_resched();
	}
	return 0;
}

/* One after the other; the next is not sent before the last was handled. */
static int nmi_send_many(int cpu, unsigned int count)
{
	int ret = 0;

	while (count && !ret) {
		cpus_read_lock();
		if (!cpu_online(cpu))
			ret = -ENXIO;
		else if (nmi_send(cpu))
			count--;
		ret = ret ?: nmi_await(cpu);
		cpus_read_unlock();
	}
	return ret;
}

/*
 * Steps of a session, by the trace events that tell of them.  A step that is reached in NMI, by a
 * sample for example, sends none: there would be no end to it.
 */
static void nmi_send_here(const struct auxpmu *pmu, const struct auxpmu_session *session)
{
	if (session->pmu == pmu && !in_nmi())
		nmi_send(session->cpu);
}

static void at_request(void *pmu, const struct auxpmu_session *session, int request, u32 word)
{
	nmi_send_here(pmu, session);
}

static void at_begin(void *pmu, const struct auxpmu_session *session)
{
	nmi_send_here(pmu, session);
}

static void at_arm(void *pmu, const struct auxpmu_session *session, int ret)
{
	nmi_send_here(pmu, session);
}

static void at_disarm(void *pmu, const struct auxpmu_session *session,
		      const struct auxpmu_position *position)
{
	nmi_send_here(pmu, session);
}

static void at_end(void *pmu, const struct auxpmu_session *session, u64 size, u64 flags)
{
	nmi_send_here(pmu, session);
}

static void at_full(void *pmu, const struct auxpmu_session *session)
{
	nmi_send_here(pmu, session);
}

static void at_sample(void *pmu, const struct auxpmu_session *session, u64 size, u64 length)
{
	nmi_send_here(pmu, session);
}

#define STEP(step)	{ #step, &__tracepoint_auxpmu_##step, at_##step }
static const struct step {
	const char *name;
	struct tracepoint *event;
	void *probe;
} steps[] = {
	STEP(request),
	STEP(begin),
	STEP(arm),
	STEP(disarm),
	STEP(end),
	STEP(full),
	STEP(sample),
};

/* Bit n: steps[n] is attached.  Guarded by the lock: threads may share the descriptor. */
static unsigned long attached;
static DEFINE_MUTEX(steps_lock);

static int nmi_attach(struct auxpmu *pmu, const char *name)
{
	size_t n;
	int ret;

	for (n = 0; n < ARRAY_SIZE(steps); n++) {
		if (strcmp(steps[n].name, name))
			continue;
		if (attached & BIT(n))
			return 0;
		ret = tracepoint_probe_register(steps[n].event, steps[n].probe, pmu);
		if (!ret)
			attached |= BIT(n);
		return ret;
	}
	return -EINVAL;
}

static void nmi_detach_all(struct auxpmu *pmu)
{
	size_t n;

	if (!attached)
		return;
	for (n = 0; n < ARRAY_SIZE(steps); n++)
		if (attached & BIT(n))
			tracepoint_probe_unregister(steps[n].event, steps[n].probe, pmu);
	attached = 0;
	tracepoint_synchronize_unregister();
}

static int nmi_open(struct inode *inode, struct file *file)
{
	int ret;

	if (atomic_cmpxchg(&in_use, 0, 1))
		return -EBUSY;
	file->private_data = inode->i_private;
	ret = register_nmi_handler(NMI_LOCAL, nmi_handler, 0, "auxpmu");
	if (ret)
		atomic_set(&in_use, 0);
	return ret;
}

static int nmi_release(struct inode *inode, struct file *file)
{
	int cpu;

	nmi_detach_all(file->private_data);
	for_each_online_cpu(cpu)
		nmi_await(cpu);
	unregister_nmi_handler(NMI_LOCAL, "auxpmu");
	atomic_set(&in_use, 0);
	return 0;
}

static int nmi_command(struct auxpmu *pmu, char *line)
{
	unsigned int count;
	int cpu, ret;

	if (!strcmp(line, "off")) {
		nmi_detach_all(pmu);
		return 0;
	}
	if (strstarts(line, "at "))
		return nmi_attach(pmu, line + strlen("at "));
	ret = sscanf(line, "%d %u", &cpu, &count);
	if (ret != 2 || cpu < 0 || cpu >= nr_cpu_ids)
		return -EINVAL;
	return nmi_send_many(cpu, count);
}

static ssize_t nmi_write(struct file *file, const char __user *from, size_t count, loff_t *pos)
{
	char *line;
	int ret;

	if (count > 64)
		return -EINVAL;
	line = memdup_user_nul(from, count);
	if (IS_ERR(line))
		return PTR_ERR(line);
	mutex_lock(&steps_lock);
	ret = nmi_command(file->private_data, strim(line));
	mutex_unlock(&steps_lock);
	kfree(line);
	return ret ?: count;
}

static const struct file_operations nmi_fops = {
	.owner = THIS_MODULE,
	.open = nmi_open,
	.write = nmi_write,
	.release = nmi_release,
};

void auxpmu_nmi_debugfs_add(struct auxpmu *pmu)
{
	debugfs_create_file("nmi", 0200, pmu->debugfs, pmu, &nmi_fops);
}
