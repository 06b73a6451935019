// SPDX-License-Identifier: GPL-2.0-only
/*
 * CPUs that go offline and come back, see hotplug.h. A counter per CPU is incremented before the
 * CPU is brought up, when nothing runs on it yet; a unit that has noted another value was off
 * since.
 */
#include <linux/compiler.h>
#include <linux/cpuhotplug.h>
#include <linux/minmax.h>
#include <linux/percpu.h>

#include "core/hotplug.h"
#include "internal.h"

static DEFINE_PER_CPU(unsigned int, times_up);
static int state;

static int hotplug_prepare(unsigned int cpu)
{
	per_cpu(times_up, cpu)++;
	return 0;
}

void auxpmu_hotplug_note(struct core_unit *unit)
{
	unit->times_up = per_cpu(times_up, unit->pub.cpu);
}

void auxpmu_hotplug_look(struct core_unit *unit)
{
	const struct auxpmu_ops *ops = unit->pub.pmu->ops;
	unsigned int times = this_cpu_read(times_up);

	if (likely(unit->times_up == times))
		return;
	unit->times_up = times;
	if (ops->invalidate)
		ops->invalidate(&unit->pub);
}

int auxpmu_hotplug_init(void)
{
	state = cpuhp_setup_state_nocalls(CPUHP_BP_PREPARE_DYN, "perf/auxpmu:prepare",
					  hotplug_prepare, NULL);
	return min(state, 0);
}

void auxpmu_hotplug_exit(void)
{
	cpuhp_remove_state_nocalls(state);
}
