// SPDX-License-Identifier: GPL-2.0-only
/*
 * The claim: see claim.h.
 *
 * The kernel's own PMU is held by a counter on every CPU that is never switched on: its events are
 * exclusive, so that nobody can open another, and while there are any the kernel's handler of
 * performance interrupts works (x86_add_exclusive() counts them).  Where the kernel has no such
 * PMU, a counter of cycles that is never switched on keeps that handler at work.
 *
 * Counters on a CPU are for the privileged, and events of ours are not only: so a worker makes
 * them, never the task that opens the event.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/atomic.h>
#include <linux/cpu.h>
#include <linux/cpuhotplug.h>
#include <linux/cpumask.h>
#include <linux/device.h>
#include <linux/err.h>
#include <linux/mutex.h>
#include <linux/percpu.h>
#include <linux/perf_event.h>
#include <linux/smp.h>
#include <linux/workqueue.h>

#include "claim.h"
#include "nmi.h"
#include "unit.h"

/* Events that need the claim; 0 to 1 under the mutex only. */
static atomic_t users;

/* Inside cpus_read_lock(): what follows. */
static DEFINE_MUTEX(claim_lock);
static bool claimed;
/* The kernel's own PMU is held by one on each CPU, or its interrupt handler by the one. */
static DEFINE_PER_CPU(struct perf_event *, holds);
static struct perf_event *keeper;
static u32 held_type;
static char reason[160];

static const char in_use[] =
	"somebody traces with intel_pt (or records branches) on CPU %d; stop that first";
static const char left_on[] =
	"TraceEn is set on CPU %d, by firmware or by a tool that writes registers";
static const char unhandled[] =
	"the kernel has no PMU of the processor, so nobody would acknowledge interrupts";

static struct workqueue_struct *workers;
static enum cpuhp_state hotplug;

#define refuse_notice(_errno, _fmt, ...)					\
({										\
	snprintf(reason, sizeof(reason), _fmt, ##__VA_ARGS__);			\
	pr_notice_ratelimited("trace units not to be had: %s\n", reason);	\
	-(_errno);								\
})

/* --- counters that never count ------------------------------------------------------------- */

static struct perf_event *idle_counter(int cpu, u32 type, u64 config)
{
	struct perf_event_attr attr = {
		.type = type,
		.config = config,
		.size = sizeof(attr),
		.disabled = 1,
	};

	return perf_event_create_kernel_counter(&attr, cpu, NULL, NULL, NULL);
}

static int hold(int cpu)
{
	struct perf_event *event = idle_counter(cpu, held_type, 0);

	if (!IS_ERR(event)) {
		per_cpu(holds, cpu) = event;
		return 0;
	}
	if (PTR_ERR(event) == -EBUSY)
		return refuse_notice(EBUSY, in_use, cpu);
	return refuse_notice(-PTR_ERR(event), "no event of intel_pt on CPU %d: error %ld",
			     cpu, PTR_ERR(event));
}

static int keep(void)
{
	struct perf_event *event = idle_counter(cpumask_first(cpu_online_mask), PERF_TYPE_HARDWARE,
						PERF_COUNT_HW_CPU_CYCLES);

	if (IS_ERR(event))
		return refuse_notice(-PTR_ERR(event), "no counter of cycles: error %ld",
				     PTR_ERR(event));
	keeper = event;
	return 0;
}

static void let_go(struct perf_event **event)
{
	if (*event)
		perf_event_release_kernel(*event);
	*event = NULL;
}

/* --- one CPU ----------------------------------------------------------------------------- */

/* On the CPU itself, as the next one. */
static void save_here(void *result)
{
	struct pt_unit *unit = this_cpu_ptr(&pt_units);
	int ret = pt_unit_save(unit);

	unit->claimed = !ret;
	*(int *)result = ret;
}

static void restore_here(void *unused)
{
	struct pt_unit *unit = this_cpu_ptr(&pt_units);

	if (!unit->claimed)
		return;
	auxpmu_suspend(unit->session->pmu);
	unit->claimed = false;
	pt_unit_restore(unit);
}

static int claim_cpu(int cpu)
{
	int ret = keeper ? 0 : hold(cpu);

	if (ret)
		return ret;
	if (smp_call_function_single(cpu, save_here, &ret, 1))
		ret = -ENXIO;
	if (!ret)
		return 0;
	let_go(&per_cpu(holds, cpu));
	if (ret == -EBUSY)
		return refuse_notice(EBUSY, left_on, cpu);
	return refuse_notice(ENODEV, "CPU %d has no trace unit", cpu);
}

/* Nothing but the hold is undone where it was not claimed. */
static void unclaim_cpu(int cpu)
{
	smp_call_function_single(cpu, restore_here, NULL, 1);
	let_go(&per_cpu(holds, cpu));
}

/* --- all of them ------------------------------------------------------------------------- */

/* The type of a PMU that is the kernel's own; PERF_TYPE_MAX if there is none of that name. */
static u32 own_type(struct device *any, const char *name)
{
	struct device *dev = bus_find_device_by_name(any->bus, NULL, name);
	u32 type = PERF_TYPE_MAX;
	struct pmu *pmu;

	if (!dev)
		return type;
	pmu = dev_get_drvdata(dev);
	if (pmu && !pmu->module)
		type = pmu->type;
	put_device(dev);
	return type;
}

static bool interrupts_are_handled(struct device *any)
{
	return own_type(any, "cpu") != PERF_TYPE_MAX ||
	       own_type(any, "cpu_core") != PERF_TYPE_MAX ||
	       own_type(any, "cpu_atom") != PERF_TYPE_MAX;
}

static void release_all(void)
{
	int cpu;

	for_each_online_cpu(cpu)
		unclaim_cpu(cpu);
	let_go(&keeper);
	pt_nmi_unregister();
}

static int claim_all(struct device *any)
{
	int cpu, ret;

	if (!interrupts_are_handled(any))
		return refuse_notice(ENODEV, unhandled);
	held_type = own_type(any, "intel_pt");
	ret = held_type == PERF_TYPE_MAX ? keep() : 0;
	if (ret)
		return ret;
	ret = pt_nmi_register();
	if (ret) {
		let_go(&keeper);
		return refuse_notice(-ret, "no NMI handler: error %d", ret);
	}
	for_each_online_cpu(cpu) {
		ret = claim_cpu(cpu);
		if (ret) {
			release_all();
			return ret;
		}
	}
	reason[0] = '\0';
	return 0;
}

/* --- for events -------------------------------------------------------------------------- */

struct request {
	struct work_struct work;
	struct device *any;
	int ret;
};

static void claim_work(struct work_struct *work)
{
	struct request *request = container_of(work, struct request, work);

	cpus_read_lock();
	mutex_lock(&claim_lock);
	if (!claimed)
		request->ret = claim_all(request->any);
	if (!request->ret) {
		claimed = true;
		atomic_inc(&users);
	}
	mutex_unlock(&claim_lock);
	cpus_read_unlock();
}

static void release_work(struct work_struct *work)
{
	cpus_read_lock();
	mutex_lock(&claim_lock);
	if (claimed && !atomic_read(&users)) {
		claimed = false;
		release_all();
	}
	mutex_unlock(&claim_lock);
	cpus_read_unlock();
}

static DECLARE_WORK(release, release_work);

int pt_claim_get(struct perf_event *event)
{
	struct request request = { .any = event->pmu->dev };

	if (atomic_inc_not_zero(&users))
		return 0;
	INIT_WORK_ONSTACK(&request.work, claim_work);
	queue_work(workers, &request.work);
	flush_work(&request.work);
	destroy_work_on_stack(&request.work);
	return request.ret;
}

void pt_claim_put(void)
{
	if (atomic_dec_and_test(&users))
		queue_work(workers, &release);
}

/* --- CPUs that come and go --------------------------------------------------------------- */

/* Somebody else may have been faster: then this CPU is not traced, but it runs. */
static int cpu_comes(unsigned int cpu)
{
	mutex_lock(&claim_lock);
	if (claimed && !per_cpu(pt_units, cpu).claimed)
		claim_cpu(cpu);
	mutex_unlock(&claim_lock);
	return 0;
}

static int cpu_goes(unsigned int cpu)
{
	mutex_lock(&claim_lock);
	if (claimed)
		unclaim_cpu(cpu);
	mutex_unlock(&claim_lock);
	return 0;
}

/* --- */

static ssize_t claim_show(struct device *dev, struct device_attribute *attr, char *page)
{
	ssize_t ret;

	mutex_lock(&claim_lock);
	if (claimed)
		ret = sysfs_emit(page, "held, for %d events\n", atomic_read(&users));
	else
		ret = sysfs_emit(page, "%s%s\n", reason[0] ? "refused: " : "free", reason);
	mutex_unlock(&claim_lock);
	return ret;
}
static DEVICE_ATTR_RO(claim);

static struct attribute *claim_attrs[] = {
	&dev_attr_claim.attr,
	NULL
};

const struct attribute_group pt_claim_group = {
	.attrs = claim_attrs,
};

int pt_claim_init(void)
{
	int ret;

	workers = alloc_workqueue("auxpmu_pt", WQ_UNBOUND, 0);
	if (!workers)
		return -ENOMEM;
	/* Above the core's own state, so that its events are there while these functions run. */
	ret = cpuhp_setup_state_nocalls(CPUHP_AP_ONLINE_DYN, "perf/auxpmu_pt:online", cpu_comes,
					cpu_goes);
	if (ret < 0) {
		destroy_workqueue(workers);
		return ret;
	}
	hotplug = ret;
	return 0;
}

void pt_claim_exit(void)
{
	destroy_workqueue(workers);
	cpuhp_remove_state_nocalls(hotplug);
}
