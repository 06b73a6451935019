// SPDX-License-Identifier: GPL-2.0-only
/*
 * Registration of PMUs: checks a backend's description, makes its units and registers the PMU with
 * the perf core. Undone by auxpmu_unregister(), auxpmu_try_unregister() or auxpmu_revoke().
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/ctype.h>
#include <linux/err.h>
#include <linux/log2.h>
#include <linux/mutex.h>
#include <linux/percpu.h>
#include <linux/slab.h>

#include "compat.h"
#include "core/claim.h"
#include "core/complaint.h"
#include "core/debugfs.h"
#include "core/filter.h"
#include "core/foreign.h"
#include "core/hotplug.h"
#include "core/paranoid.h"
#include "core/pmu.h"
#include "core/presence.h"
#include "core/sample.h"
#include "core/session.h"
#include "core/sink.h"
#include "core/suspend.h"
#include "core/sysfs.h"
#include "internal.h"

const struct auxpmu_desc *auxpmu_desc_of(const struct auxpmu *pmu)
{
	return pmu->desc;
}
EXPORT_SYMBOL_NS_GPL(auxpmu_desc_of, AUXPMU_NS);

static const char *register_limits_wrong(const struct auxpmu_limits *limits)
{
	const u64 pages[] = { limits->min_chunk, limits->max_chunk, limits->min_buffer,
			      limits->max_buffer, limits->granule };
	size_t n;

	for (n = 0; n < ARRAY_SIZE(pages); n++)
		if (pages[n] && (pages[n] < PAGE_SIZE || !is_power_of_2(pages[n])))
			return "a limit is not a power of two, or less than a page";
	if (limits->max_chunk && limits->min_chunk > limits->max_chunk)
		return "min_chunk is above max_chunk";
	if (limits->max_buffer && limits->min_buffer > limits->max_buffer)
		return "min_buffer is above max_buffer";
	if (limits->max_buffer && limits->min_chunk > limits->max_buffer)
		return "min_chunk is above max_buffer";
	return NULL;
}

static const char *register_name_wrong(const char *name)
{
	const char *c;

	if (!name || !name[0])
		return "it has no name";
	if (!isascii(name[0]) || !isalnum(name[0]))
		return "its name does not begin with a letter or digit";
	for (c = name; *c; c++)
		if (!isascii(*c) || !(isalnum(*c) || strchr("_-.", *c)))
			return "its name has other characters than letters, digits, _, - and .";
	if (c - name > AUXPMU_NAME_MAX)
		return "its name has more than " __stringify(AUXPMU_NAME_MAX) " characters";
	return NULL;
}

static const char *register_claim_wrong(const struct auxpmu_claim *claim)
{
	if (!claim->intree || !claim->handlers)
		return "its claim has no in-tree PMU or no handlers";
	if (!claim->begin || !claim->end || !claim->acquire || !claim->release || !claim->shutdown)
		return "its claim has not all of begin, end, acquire, release and shutdown";
	return NULL;
}

static const char *register_desc_wrong(const struct auxpmu_desc *desc)
{
	const struct auxpmu_ops *ops = desc->ops;

	if (register_name_wrong(desc->name))
		return register_name_wrong(desc->name);
	if (desc->unit_size > AUXPMU_UNIT_MAX)
		return "unit_size is above 1 MiB; allocate what is larger in unit_init";
	if ((unsigned int)desc->yields > AUXPMU_YIELDS_NOTHING)
		return "yields is none of enum auxpmu_yields";
	if (desc->claim && register_claim_wrong(desc->claim))
		return register_claim_wrong(desc->claim);
	if (auxpmu_caps_wrong(desc))
		return auxpmu_caps_wrong(desc);
	if (desc->nr_addr_filters > AUXPMU_FILTERS_MAX)
		return "it has more than " __stringify(AUXPMU_FILTERS_MAX) " address filters";
	if (register_limits_wrong(&desc->limits))
		return register_limits_wrong(&desc->limits);
	if (!ops)
		return "it has no ops";
	if (ops->version != AUXPMU_OPS_VERSION)
		return "it was built against another version of auxpmu.h; rebuild it";
	if (!ops->event_init || !ops->arm || !ops->disarm || !ops->position)
		return "event_init, arm, disarm or position is missing";
	return NULL;
}

static int register_unit_make(struct core_unit *unit)
{
	const struct auxpmu *pmu = unit->pub.pmu;

	unit->pub.private = auxpmu_unit_alloc(pmu, unit->pub.cpu);
	if (!unit->pub.private && pmu->desc->unit_size) {
		unit->pub.pmu = NULL;
		return -ENOMEM;
	}
	return pmu->ops->unit_init ?
	       auxpmu_errno_of(pmu->desc, "unit_init", pmu->ops->unit_init(&unit->pub)) : 0;
}

static int register_units_make(struct auxpmu *pmu)
{
	int cpu;

	pmu->units = alloc_percpu(struct core_unit);
	if (!pmu->units)
		return -ENOMEM;
	for_each_possible_cpu(cpu) {
		struct core_unit *unit = per_cpu_ptr(pmu->units, cpu);
		int ret;

		unit->pub.pmu = pmu;
		unit->pub.cpu = cpu;
		auxpmu_sink_unit_init(unit);
		unit->serve = IRQ_WORK_INIT_HARD(auxpmu_session_serve);
		auxpmu_hotplug_note(unit);
		ret = register_unit_make(unit);
		if (ret)
			return ret;
	}
	return 0;
}

static void register_unit_free(struct core_unit *unit)
{
	/* register_units_make() failed before it made this unit. */
	if (!unit->pub.pmu)
		return;
	irq_work_sync(&unit->serve);
	auxpmu_sink_unit_exit(unit);
	if (unit->pub.pmu->ops->unit_exit)
		unit->pub.pmu->ops->unit_exit(&unit->pub);
	auxpmu_unit_free(&unit->pub);
}

static void register_free(struct auxpmu *pmu)
{
	int cpu;

	if (pmu->units)
		for_each_possible_cpu(cpu)
			register_unit_free(per_cpu_ptr(pmu->units, cpu));
	auxpmu_complaints_free(pmu);
	auxpmu_paranoid_free(pmu);
	free_percpu(pmu->units);
	kfree(pmu->pmu.attr_groups);
	kfree(pmu);
}

/*
 * There are no events any more, so nothing needs suspend or a claim. Call while the units exist:
 * releasing a claim suspends them.
 */
static void register_unhook(struct auxpmu *pmu)
{
	auxpmu_suspend_remove(pmu);
	auxpmu_claim_free(pmu);
	auxpmu_presence_remove(pmu);
}

void auxpmu_free(struct auxpmu *pmu)
{
	const struct auxpmu_desc *desc = pmu->desc;

	register_unhook(pmu);
	register_free(pmu);
	if (desc->release)
		desc->release(desc);
}

static void register_fill_pmu(struct auxpmu *pmu)
{
	const struct auxpmu_desc *desc = pmu->desc;

	pmu->pmu = auxpmu_callbacks;
	pmu->pmu.module = pmu->owner;
	if (auxpmu_sample_available())
		pmu->pmu.snapshot_aux = auxpmu_sample;
	if (!desc->nr_addr_filters)
		return;
	pmu->pmu.nr_addr_filters = desc->nr_addr_filters;
	pmu->pmu.addr_filters_validate = auxpmu_filter_validate(desc);
	pmu->pmu.addr_filters_sync = auxpmu_filter_sync;
}

/*
 * Everything except registration with the perf core. 0 or an errno; register_free() undoes any part
 * of it.
 */
static int register_make(struct auxpmu *pmu)
{
	int ret;

	register_fill_pmu(pmu);
	pmu->pmu.attr_groups = auxpmu_caps_groups(pmu->desc);
	if (!pmu->pmu.attr_groups)
		return -ENOMEM;
	ret = auxpmu_paranoid_make(pmu);
	if (!ret)
		ret = auxpmu_complaints_make(pmu);
	if (!ret)
		ret = register_units_make(pmu);
	if (!ret)
		ret = auxpmu_claim_make(pmu);
	if (ret)
		return ret;
	ret = auxpmu_presence_add(pmu);
	if (ret)
		auxpmu_claim_free(pmu);
	return ret;
}

/* Held from the check of a name to its use. */
static DEFINE_MUTEX(names_lock);

static int register_with_core(struct auxpmu *pmu)
{
	const char *name = pmu->desc->name;
	int ret = -EEXIST;

	mutex_lock(&names_lock);
	/* The core would refuse it, too, but with a backtrace in the log. */
	if (auxpmu_name_taken(name)) {
		pr_notice("PMU %s refused: there is a device of that name; choose another\n", name);
	} else {
		ret = perf_pmu_register(&pmu->pmu, name, -1);
		if (ret)
			pr_notice("PMU %s refused by the kernel: error %d\n", name, ret);
	}
	mutex_unlock(&names_lock);
	return ret;
}

struct auxpmu *__auxpmu_register(const struct auxpmu_desc *desc, struct module *owner)
{
	const char *wrong = register_desc_wrong(desc);
	struct auxpmu *pmu;
	int ret;

	if (wrong) {
		const char *name = desc->name ?: "(unnamed)";

		/* The name itself may be wrong: escape and cut it. */
		pr_notice("PMU %*pE refused: %s\n", (int)strnlen(name, AUXPMU_NAME_MAX), name,
			  wrong);
		return ERR_PTR(-EINVAL);
	}
	pmu = kzalloc(sizeof(*pmu), GFP_KERNEL);
	if (!pmu)
		return ERR_PTR(-ENOMEM);
	pmu->desc = desc;
	pmu->owner = owner;
	atomic_set(&pmu->users, AUXPMU_GONE);
	ret = register_make(pmu);
	if (ret)
		goto free;
	ret = register_with_core(pmu);
	if (ret) {
		auxpmu_presence_remove(pmu);
		auxpmu_claim_free(pmu);
		goto free;
	}
	auxpmu_foreign_note_devices(pmu);
	auxpmu_debugfs_add(pmu);
	auxpmu_suspend_add(pmu);
	/*
	 * 6.1 lets user space open events as soon as the PMU has its type, before
	 * perf_pmu_register() has given it contexts: "refcount_t: addition on 0" in
	 * find_get_context(). So event_init() refuses until here.
	 */
	atomic_set_release(&pmu->users, 0);
	return pmu;

free:
	register_free(pmu);
	return ERR_PTR(ret);
}
EXPORT_SYMBOL_NS_GPL(__auxpmu_register, AUXPMU_NS);

/*
 * Newer kernels refuse to unregister a PMU that has event_unmapped() and events. Ours has no
 * event_unmapped(), so the result need not be checked.
 */
static void register_leave_core(struct auxpmu *pmu)
{
	int cpu;

	for_each_possible_cpu(cpu)
		auxpmu_stop_rotation(&pmu->pmu, cpu);
	perf_pmu_unregister(&pmu->pmu);
	/*
	 * 6.1 takes the PMU's type away only after it has waited for tasks that look PMUs up. A
	 * task that comes in between is in event_init(), which refuses without sleeping, and then
	 * reads the PMU's module ("general protection fault" in module_put()).
	 */
	synchronize_rcu_tasks();
}

int auxpmu_try_unregister(struct auxpmu *pmu)
{
	int none = 0;

	if (!atomic_try_cmpxchg(&pmu->users, &none, AUXPMU_GONE))
		return -EBUSY;
	auxpmu_debugfs_remove(pmu);
	/*
	 * A task may still be on its way out of auxpmu_buffer_free(). And after event_destroy() the
	 * core still uses the event's pmu (exclusive_event_destroy(), put_pmu_ctx(), the module's
	 * reference), on all kernels without sleeping in between.
	 */
	synchronize_rcu_tasks();
	register_leave_core(pmu);
	auxpmu_free(pmu);
	return 0;
}
EXPORT_SYMBOL_NS_GPL(auxpmu_try_unregister, AUXPMU_NS);

int auxpmu_revoke(struct auxpmu *pmu)
{
#ifdef AUXPMU_HAS_REVOCATION
	/* Mapped buffers hold the claim, which would be freed while they use it. */
	if (pmu->claim)
		return -EOPNOTSUPP;
	/* The extra user keeps the PMU until the core is done with it. */
	atomic_add(AUXPMU_GONE + 1, &pmu->users);
	auxpmu_debugfs_remove(pmu);
	/* Detaches all events and waits until they are gone; mapped buffers stay. */
	register_leave_core(pmu);
	/* Do not ask hardware that has gone to suspend. */
	register_unhook(pmu);
	auxpmu_put(pmu);
	return 0;
#else
	return -EOPNOTSUPP;
#endif
}
EXPORT_SYMBOL_NS_GPL(auxpmu_revoke, AUXPMU_NS);

void auxpmu_unregister(struct auxpmu *pmu)
{
	WARN_ON(auxpmu_try_unregister(pmu));
}
EXPORT_SYMBOL_NS_GPL(auxpmu_unregister, AUXPMU_NS);
