// SPDX-License-Identifier: GPL-2.0-only
/*
 * The claim: see claim.h.
 *
 * On every CPU an event that is never switched on holds the in-tree PMU of the units: its events
 * are exclusive, so that nobody can open another, and while there are any the kernel's handler of
 * performance interrupts is at work (on x86, x86_add_exclusive() counts them). If there is no such
 * in-tree PMU, one event on one CPU, never switched on either, keeps that handler at work: of the
 * PMU that our units exclude, so that the kernel refuses both its units and what those exclude, or
 * else a counter of cycles.
 *
 * Events on a CPU need privileges that the task that opens our event may lack: so a worker makes
 * them.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/atomic.h>
#include <linux/cpu.h>
#include <linux/cpuhotplug.h>
#include <linux/cpumask.h>
#include <linux/device.h>
#include <linux/err.h>
#include <linux/jiffies.h>
#include <linux/kprobes.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/notifier.h>
#include <linux/panic_notifier.h>
#include <linux/percpu.h>
#include <linux/perf_event.h>
#include <linux/reboot.h>
#include <linux/slab.h>
#include <linux/smp.h>
#include <linux/workqueue.h>

#include "core/claim.h"
#include "internal.h"

/**
 * struct claim - of one PMU
 * @pmu: the PMU
 * @ops: the backend's operations
 * @users: events and buffers that need it; goes from 0 to 1 under @lock only
 * @lock: guards what follows; taken inside cpus_read_lock()
 * @claimed: the units of all online CPUs are ours, except where somebody else was faster on a CPU
 *	that came up
 * @acquired: CPUs whose units are ours
 * @holds: one event on each CPU, which holds the in-tree PMU
 * @keeper: without an in-tree PMU: one event that keeps its interrupt handler at work
 * @intree: the type of the in-tree PMU, AUXPMU_NO_INTREE if there is none
 * @reason: why the last attempt failed
 * @release: releases the units, delayed
 * @claims: how often they were claimed
 * @hotplug: notices CPUs that come and go
 * @reboots, @panics: notice that the kernel is going away
 * @crashes: notices that it crashes into a kdump kernel; without a pre_handler if not registered
 */
struct claim {
	struct auxpmu *pmu;
	const struct auxpmu_claim *ops;
	atomic_t users;
	struct mutex lock; /* inside cpus_read_lock() */
	bool claimed;
	cpumask_var_t acquired;
	struct perf_event *__percpu *holds;
	struct perf_event *keeper;
	u32 intree;
	char reason[160];
	struct delayed_work release;
	u64 claims;
	struct hlist_node hotplug;
	struct notifier_block reboots;
	struct notifier_block panics;
	struct kprobe crashes;
};

static unsigned int release_delay = 1000;
module_param(release_delay, uint, 0644);
MODULE_PARM_DESC(release_delay, "milliseconds from the last event to when its trace units are given back (1000)");

static struct workqueue_struct *workers;
static int hotplug;

/* Of the claims whose units exclude each other, the one that has its units. */
static DEFINE_MUTEX(exclusion);
static const struct claim *exclusive;

#define refuse_notice(_claim, _errno, _fmt, ...)				\
({										\
	struct claim *claim_ = (_claim);					\
										\
	snprintf(claim_->reason, sizeof(claim_->reason), _fmt, ##__VA_ARGS__);	\
	auxpmu_notice(claim_->pmu, "trace units not to be had: %s", claim_->reason); \
	-(_errno);								\
})

/* --- counters that never count ------------------------------------------------------------- */

/*
 * The type of the PMU of that name if it is not one of ours; else AUXPMU_NO_INTREE. If it goes away
 * meanwhile, the kernel refuses the event that is to hold it.
 */
static u32 claim_own_type(const struct claim *claim, const char *name)
{
	struct device *dev = bus_find_device_by_name(claim->pmu->pmu.dev->bus, NULL, name);
	struct auxpmu_peek peek;
	bool own = dev && auxpmu_peek(dev, &peek) && peek.setup_aux != claim->pmu->pmu.setup_aux;

	put_device(dev);
	return own ? peek.type : AUXPMU_NO_INTREE;
}

static struct perf_event *claim_idle_counter(int cpu, u32 type, u64 config)
{
	struct perf_event_attr attr = {
		.type = type,
		.config = config,
		.size = sizeof(attr),
		.disabled = 1,
		/*
		 * From 7.0 on a counter that also counts guests and a guest with a mediated PMU
		 * exclude each other.
		 */
		.exclude_guest = type == PERF_TYPE_HARDWARE,
	};

	return perf_event_create_kernel_counter(&attr, cpu, NULL, NULL, NULL);
}

static int claim_no_event(struct claim *claim, const char *name, int cpu, struct perf_event *event)
{
	if (PTR_ERR(event) == -EBUSY)
		return refuse_notice(claim, EBUSY,
				     "somebody traces with %s, or with what excludes it, on CPU %d; stop that first",
				     name, cpu);
	return refuse_notice(claim, -PTR_ERR(event), "no event of %s on CPU %d: %pe", name, cpu,
			     event);
}

static int claim_hold(struct claim *claim, int cpu)
{
	struct perf_event *event = claim_idle_counter(cpu, claim->intree, 0);

	if (IS_ERR(event))
		return claim_no_event(claim, claim->ops->intree, cpu, event);
	*per_cpu_ptr(claim->holds, cpu) = event;
	return 0;
}

static int claim_keep(struct claim *claim)
{
	const char *name = claim->ops->excludes;
	u32 type = name ? claim_own_type(claim, name) : AUXPMU_NO_INTREE;
	int cpu = cpumask_first(cpu_online_mask);
	struct perf_event *event;
	u64 config = 0;

	if (type == AUXPMU_NO_INTREE) {
		name = "cycles";
		type = PERF_TYPE_HARDWARE;
		config = PERF_COUNT_HW_CPU_CYCLES;
	}
	event = claim_idle_counter(cpu, type, config);
	if (IS_ERR(event))
		return claim_no_event(claim, name, cpu, event);
	claim->keeper = event;
	return 0;
}

/*
 * The kernel's count does not tell two of our claims apart. The exclusive one cannot go while the
 * lock is held.
 */
static int claim_exclude_others(struct claim *claim)
{
	int ret = 0;

	if (!claim->ops->excludes)
		return 0;
	mutex_lock(&exclusion);
	if (exclusive)
		ret = refuse_notice(claim, EBUSY,
				    "%s has units that this processor does not have at work beside them; stop its tracing first",
				    exclusive->pmu->pmu.name);
	else
		exclusive = claim;
	mutex_unlock(&exclusion);
	return ret;
}

static void claim_admit_others(const struct claim *claim)
{
	mutex_lock(&exclusion);
	if (exclusive == claim)
		exclusive = NULL;
	mutex_unlock(&exclusion);
}

static void claim_let_go(struct perf_event **event)
{
	if (*event)
		perf_event_release_kernel(*event);
	*event = NULL;
}

/* --- one CPU ----------------------------------------------------------------------------- */

struct attempt {
	struct claim *claim;
	int ret;
	const char *why;
};

/* On the CPU itself, as the next three. */
static void claim_acquire_here(void *data)
{
	struct attempt *attempt = data;

	attempt->ret = attempt->claim->ops->acquire(&attempt->why);
}

static void claim_release_here(void *data)
{
	struct claim *claim = data;

	auxpmu_suspend(claim->pmu, false);
	claim->ops->release();
}

/* A CPU was to go offline, but stays, since a later callback refused: its event is still there. */
static void claim_stay_here(void *data)
{
	struct claim *claim = data;
	struct auxpmu *pmu = claim->pmu;
	struct core_unit *unit = this_cpu_ptr(pmu->units);

	if (!unit->pub.event || !unit->suspended)
		return;
	if (pmu->ops->invalidate)
		pmu->ops->invalidate(&unit->pub);
	auxpmu_resume(pmu);
}

static void claim_shutdown_here(void *data)
{
	struct claim *claim = data;

	claim->ops->shutdown();
}

static int claim_cpu(struct claim *claim, int cpu)
{
	struct attempt attempt = { .claim = claim, .why = "it has no trace unit" };
	int ret = claim->keeper ? 0 : claim_hold(claim, cpu);

	if (ret)
		return ret;
	if (smp_call_function_single(cpu, claim_acquire_here, &attempt, 1))
		attempt.ret = -ENXIO;
	if (attempt.ret) {
		claim_let_go(per_cpu_ptr(claim->holds, cpu));
		return refuse_notice(claim, -attempt.ret, "CPU %d: %s", cpu, attempt.why);
	}
	cpumask_set_cpu(cpu, claim->acquired);
	return 0;
}

/* A CPU whose unit was not acquired may still have an event that holds the PMU. */
static void claim_unclaim_cpu(struct claim *claim, int cpu)
{
	if (cpumask_test_and_clear_cpu(cpu, claim->acquired))
		smp_call_function_single(cpu, claim_release_here, claim, 1);
	claim_let_go(per_cpu_ptr(claim->holds, cpu));
}

/* --- all of them ------------------------------------------------------------------------- */

static bool claim_interrupts_are_handled(const struct claim *claim)
{
	const char *const *name;

	for (name = claim->ops->handlers; *name; name++)
		if (claim_own_type(claim, *name) != AUXPMU_NO_INTREE)
			return true;
	return false;
}

static void claim_release_all(struct claim *claim)
{
	int cpu;

	for_each_online_cpu(cpu)
		claim_unclaim_cpu(claim, cpu);
	claim_let_go(&claim->keeper);
	claim->ops->end();
	claim_admit_others(claim);
}

/* Keep everybody else away, as far as that is not done for each CPU. */
static int claim_begin(struct claim *claim)
{
	int ret = claim_exclude_others(claim);

	if (ret)
		return ret;
	claim->intree = claim_own_type(claim, claim->ops->intree);
	ret = claim->intree == AUXPMU_NO_INTREE ? claim_keep(claim) : 0;
	if (ret)
		goto admit;
	ret = claim->ops->begin(claim->intree != AUXPMU_NO_INTREE);
	if (!ret)
		return 0;
	ret = refuse_notice(claim, -ret, "no interrupt handler: error %d", ret);
	claim_let_go(&claim->keeper);
admit:
	claim_admit_others(claim);
	return ret;
}

static int claim_all(struct claim *claim)
{
	int cpu, ret;

	if (!claim_interrupts_are_handled(claim))
		return refuse_notice(claim, ENODEV,
				     "the kernel has no PMU of the processor, so nobody would acknowledge interrupts");
	ret = claim_begin(claim);
	if (ret)
		return ret;
	for_each_online_cpu(cpu) {
		ret = claim_cpu(claim, cpu);
		if (ret) {
			claim_release_all(claim);
			return ret;
		}
	}
	claim->reason[0] = '\0';
	return 0;
}

/* --- for events -------------------------------------------------------------------------- */

struct request {
	struct work_struct work;
	struct claim *claim;
	int ret;
};

static void claim_work(struct work_struct *work)
{
	struct request *request = container_of(work, struct request, work);
	struct claim *claim = request->claim;

	cpus_read_lock();
	mutex_lock(&claim->lock);
	if (!claim->claimed)
		request->ret = claim_all(claim);
	if (!request->ret) {
		claim->claims += !claim->claimed;
		claim->claimed = true;
		atomic_inc(&claim->users);
	}
	mutex_unlock(&claim->lock);
	cpus_read_unlock();
}

static void claim_release_work(struct work_struct *work)
{
	struct claim *claim = container_of(to_delayed_work(work), struct claim, release);

	cpus_read_lock();
	mutex_lock(&claim->lock);
	if (claim->claimed && !atomic_read(&claim->users)) {
		claim->claimed = false;
		claim_release_all(claim);
	}
	mutex_unlock(&claim->lock);
	cpus_read_unlock();
}

int auxpmu_claim_get(struct auxpmu *pmu)
{
	struct request request = { .claim = pmu->claim };

	if (!pmu->claim || atomic_inc_not_zero(&pmu->claim->users))
		return 0;
	INIT_WORK_ONSTACK(&request.work, claim_work);
	queue_work(workers, &request.work);
	flush_work(&request.work);
	destroy_work_on_stack(&request.work);
	return request.ret;
}

void auxpmu_claim_keep(struct auxpmu *pmu)
{
	if (pmu->claim)
		atomic_inc(&pmu->claim->users);
}

u32 auxpmu_claim_intree(const struct auxpmu *pmu)
{
	return pmu->claim ? claim_own_type(pmu->claim, pmu->claim->ops->intree) : AUXPMU_NO_INTREE;
}

void auxpmu_claim_put(struct auxpmu *pmu)
{
	if (pmu->claim && atomic_dec_and_test(&pmu->claim->users))
		mod_delayed_work(workers, &pmu->claim->release,
				 msecs_to_jiffies(READ_ONCE(release_delay)));
}

/* --- CPUs that come and go --------------------------------------------------------------- */

/* Somebody else may have taken this CPU's unit first: then it is not traced, but it comes up. */
static int claim_cpu_comes(unsigned int cpu, struct hlist_node *node)
{
	struct claim *claim = hlist_entry(node, struct claim, hotplug);

	mutex_lock(&claim->lock);
	if (claim->claimed && !cpumask_test_cpu(cpu, claim->acquired) && !claim_cpu(claim, cpu))
		smp_call_function_single(cpu, claim_stay_here, claim, 1);
	mutex_unlock(&claim->lock);
	return 0;
}

static int claim_cpu_goes(unsigned int cpu, struct hlist_node *node)
{
	struct claim *claim = hlist_entry(node, struct claim, hotplug);

	mutex_lock(&claim->lock);
	if (claim->claimed)
		claim_unclaim_cpu(claim, cpu);
	mutex_unlock(&claim->lock);
	return 0;
}

/* --- a kernel that goes ------------------------------------------------------------------- */

/* For reboot and for kexec, while all CPUs are there. */
static int claim_reboots(struct notifier_block *self, unsigned long action, void *unused)
{
	on_each_cpu(claim_shutdown_here, container_of(self, struct claim, reboots), 1);
	return NOTIFY_DONE;
}

/* The other CPUs are halted. */
static int claim_panics(struct notifier_block *self, unsigned long action, void *unused)
{
	claim_shutdown_here(container_of(self, struct claim, panics));
	return NOTIFY_DONE;
}

/*
 * When a kernel crashes into a kdump kernel, it calls no notifiers, but it calls in-tree drivers by
 * name.
 */
static int claim_crashes(struct kprobe *self, struct pt_regs *regs)
{
	claim_shutdown_here(container_of(self, struct claim, crashes));
	return 0;
}

static void claim_watch_crashes(struct claim *claim)
{
	int ret;

	if (!claim->ops->crash)
		return;
	claim->crashes.symbol_name = claim->ops->crash;
	claim->crashes.pre_handler = claim_crashes;
	ret = register_kprobe(&claim->crashes);
	if (!ret)
		return;
	claim->crashes.pre_handler = NULL;
	pr_notice("%s: kdump will not stop its units: no probe of %s() (error %d)\n",
		  claim->pmu->pmu.name, claim->ops->crash, ret);
}

static void claim_forget_crashes(struct claim *claim)
{
	if (claim->crashes.pre_handler)
		unregister_kprobe(&claim->crashes);
}

/* --- */

static ssize_t claim_show(struct device *dev, struct device_attribute *attr, char *page)
{
	struct pmu *pmu = dev_get_drvdata(dev);
	struct claim *claim = container_of(pmu, struct auxpmu, pmu)->claim;
	ssize_t ret;

	mutex_lock(&claim->lock);
	if (claim->claimed)
		ret = sysfs_emit(page, "held, for %d events and buffers\n",
				 atomic_read(&claim->users));
	else
		ret = sysfs_emit(page, "%s%s\n", claim->reason[0] ? "refused: " : "free",
				 claim->reason);
	mutex_unlock(&claim->lock);
	return ret;
}
static DEVICE_ATTR_RO(claim);

static ssize_t claims_show(struct device *dev, struct device_attribute *attr, char *page)
{
	struct pmu *pmu = dev_get_drvdata(dev);

	return sysfs_emit(page, "%llu\n",
			  READ_ONCE(container_of(pmu, struct auxpmu, pmu)->claim->claims));
}
static DEVICE_ATTR_RO(claims);

static struct attribute *claim_attrs[] = {
	&dev_attr_claim.attr,
	&dev_attr_claims.attr,
	NULL
};

const struct attribute_group auxpmu_claim_group = {
	.attrs = claim_attrs,
};

static void claim_free(struct claim *claim)
{
	free_percpu(claim->holds);
	free_cpumask_var(claim->acquired);
	kfree(claim);
}

int auxpmu_claim_make(struct auxpmu *pmu)
{
	struct claim *claim;
	int ret = -ENOMEM;

	if (!pmu->desc->claim)
		return 0;
	if (!workers || hotplug < 0)
		return -ENOMEM;
	claim = kzalloc(sizeof(*claim), GFP_KERNEL);
	if (!claim)
		return ret;
	claim->pmu = pmu;
	claim->ops = pmu->desc->claim;
	mutex_init(&claim->lock);
	INIT_DELAYED_WORK(&claim->release, claim_release_work);
	claim->reboots.notifier_call = claim_reboots;
	claim->panics.notifier_call = claim_panics;
	if (!zalloc_cpumask_var(&claim->acquired, GFP_KERNEL)) {
		kfree(claim);
		return ret;
	}
	claim->holds = alloc_percpu(struct perf_event *);
	if (claim->holds)
		ret = cpuhp_state_add_instance_nocalls(hotplug, &claim->hotplug);
	if (ret) {
		claim_free(claim);
		return ret;
	}
	pmu->claim = claim;
	register_reboot_notifier(&claim->reboots);
	atomic_notifier_chain_register(&panic_notifier_list, &claim->panics);
	claim_watch_crashes(claim);
	return 0;
}

void auxpmu_claim_free(struct auxpmu *pmu)
{
	struct claim *claim = pmu->claim;

	if (!claim)
		return;
	claim_forget_crashes(claim);
	atomic_notifier_chain_unregister(&panic_notifier_list, &claim->panics);
	unregister_reboot_notifier(&claim->reboots);
	flush_delayed_work(&claim->release);
	cpuhp_state_remove_instance_nocalls(hotplug, &claim->hotplug);
	pmu->claim = NULL;
	claim_free(claim);
}

void auxpmu_claims_init(void)
{
	workers = alloc_workqueue("auxpmu_claim", WQ_UNBOUND, 0);
	/*
	 * Above perf core's own state (later up, earlier down): its events work during these
	 * callbacks.
	 */
	hotplug = cpuhp_setup_state_multi(CPUHP_AP_ONLINE_DYN, "perf/auxpmu:online",
					  claim_cpu_comes, claim_cpu_goes);
}

void auxpmu_claims_exit(void)
{
	if (hotplug >= 0)
		cpuhp_remove_multi_state(hotplug);
	if (workers)
		destroy_workqueue(workers);
}
