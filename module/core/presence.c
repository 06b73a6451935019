// SPDX-License-Identifier: GPL-2.0-only
/*
 * Which CPUs have a unit, see presence.h.
 *
 * online() and offline() are called in a state above perf core's own: when a CPU goes, its event is
 * still on it then. So the event is taken off the unit here, as del() would, and the core finds it
 * gone later.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/compiler.h>
#include <linux/cpuhotplug.h>
#include <linux/errno.h>
#include <linux/irqflags.h>
#include <linux/list.h>
#include <linux/percpu.h>
#include <linux/printk.h>

#include "core/pmu.h"
#include "core/presence.h"
#include "internal.h"

static int state;

static struct core_unit *presence_unit_of(struct hlist_node *node, unsigned int cpu)
{
	return per_cpu_ptr(hlist_entry(node, struct auxpmu, presence)->units, cpu);
}

/* A CPU comes up whatever its trace unit is like. */
static int presence_online(unsigned int cpu, struct hlist_node *node)
{
	struct core_unit *unit = presence_unit_of(node, cpu);
	const struct auxpmu *pmu = unit->pub.pmu;
	int ret = auxpmu_errno_of(pmu->desc, "online", pmu->ops->online(&unit->pub));

	if (ret && ret != -ENODEV)
		pr_notice("%s: CPU %u is not traced: its unit did not start: error %d\n",
			  pmu->desc->name, cpu, ret);
	WRITE_ONCE(unit->absent, ret != 0);
	return 0;
}

static int presence_offline(unsigned int cpu, struct hlist_node *node)
{
	struct core_unit *unit = presence_unit_of(node, cpu);
	const struct auxpmu_ops *ops = unit->pub.pmu->ops;
	unsigned long flags;

	if (unit->absent)
		return 0;
	local_irq_save(flags);
	WRITE_ONCE(unit->absent, true);
	auxpmu_take_off(unit);
	local_irq_restore(flags);
	if (ops->offline)
		ops->offline(&unit->pub);
	return 0;
}

int auxpmu_presence_add(struct auxpmu *pmu)
{
	int cpu;

	if (!pmu->ops->online)
		return 0;
	if (state < 0)
		return state;
	for_each_possible_cpu(cpu)
		per_cpu_ptr(pmu->units, cpu)->absent = true;
	return cpuhp_state_add_instance(state, &pmu->presence);
}

void auxpmu_presence_remove(struct auxpmu *pmu)
{
	/* For a revoked PMU this is the second call. */
	if (hlist_unhashed(&pmu->presence))
		return;
	cpuhp_state_remove_instance(state, &pmu->presence);
	INIT_HLIST_NODE(&pmu->presence);
}

void auxpmu_presence_init(void)
{
	state = cpuhp_setup_state_multi(CPUHP_AP_ONLINE_DYN, "perf/auxpmu:units", presence_online,
					presence_offline);
}

void auxpmu_presence_exit(void)
{
	if (state >= 0)
		cpuhp_remove_multi_state(state);
}
