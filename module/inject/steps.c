// SPDX-License-Identifier: GPL-2.0-only
/*
 * Steps of sessions, for tests that need something to happen right there: the trace event of a step
 * calls a backend's function. See software.h.
 */
#include <linux/bits.h>
#include <linux/export.h>
#include <linux/kernel.h>
#include <linux/mutex.h>
#include <linux/string.h>
#include <linux/tracepoint.h>

#include "compat.h"
#include "core/trace.h"
#include "software.h"

#ifdef CONFIG_TRACEPOINTS

static void (*step_fn)(const struct auxpmu_unit *unit);

static void step_here(const struct auxpmu *pmu, const struct core_unit *unit)
{
	if (unit->pub.pmu == pmu)
		step_fn(&unit->pub);
}

static void step_at_request(void *pmu, const struct core_unit *unit, int request, u32 word)
{
	step_here(pmu, unit);
}

static void step_at_begin(void *pmu, const struct core_unit *unit)
{
	step_here(pmu, unit);
}

static void step_at_arm(void *pmu, const struct core_unit *unit, int ret)
{
	step_here(pmu, unit);
}

static void step_at_disarm(void *pmu, const struct core_unit *unit,
			   const struct auxpmu_position *position)
{
	step_here(pmu, unit);
}

static void step_at_end(void *pmu, const struct core_unit *unit, u64 size, u64 flags)
{
	step_here(pmu, unit);
}

static void step_at_full(void *pmu, const struct core_unit *unit)
{
	step_here(pmu, unit);
}

static void step_at_sample(void *pmu, const struct core_unit *unit, u64 size, u64 length)
{
	step_here(pmu, unit);
}

#define STEP(step)	{ #step, &__tracepoint_auxpmu_##step, step_at_##step }
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

/* Bit n: steps[n] is attached. All have the same function and PMU. */
static unsigned long attached;
static struct auxpmu *attached_pmu;
static DEFINE_MUTEX(steps_lock);

static int step_attach(struct auxpmu *pmu, const char *name,
		       void (*fn)(const struct auxpmu_unit *unit))
{
	size_t n;
	int ret;

	for (n = 0; n < ARRAY_SIZE(steps); n++) {
		if (strcmp(steps[n].name, name))
			continue;
		if (attached & BIT(n))
			return 0;
		step_fn = fn;
		attached_pmu = pmu;
		ret = tracepoint_probe_register(steps[n].event, steps[n].probe, pmu);
		if (!ret)
			attached |= BIT(n);
		return ret;
	}
	return -EINVAL;
}

int auxpmu_step_attach(struct auxpmu *pmu, const char *step,
		       void (*fn)(const struct auxpmu_unit *unit))
{
	int ret = -EBUSY;

	mutex_lock(&steps_lock);
	if (!attached || (step_fn == fn && attached_pmu == pmu))
		ret = step_attach(pmu, step, fn);
	mutex_unlock(&steps_lock);
	return ret;
}
EXPORT_SYMBOL_NS_GPL(auxpmu_step_attach, AUXPMU_NS);

void auxpmu_steps_detach(void)
{
	size_t n;

	mutex_lock(&steps_lock);
	for (n = 0; n < ARRAY_SIZE(steps); n++)
		if (attached & BIT(n))
			tracepoint_probe_unregister(steps[n].event, steps[n].probe, attached_pmu);
	if (attached)
		tracepoint_synchronize_unregister();
	attached = 0;
	mutex_unlock(&steps_lock);
}
EXPORT_SYMBOL_NS_GPL(auxpmu_steps_detach, AUXPMU_NS);

#else

int auxpmu_step_attach(struct auxpmu *pmu, const char *step,
		       void (*fn)(const struct auxpmu_unit *unit))
{
	return -EOPNOTSUPP;
}
EXPORT_SYMBOL_NS_GPL(auxpmu_step_attach, AUXPMU_NS);

void auxpmu_steps_detach(void)
{
}
EXPORT_SYMBOL_NS_GPL(auxpmu_steps_detach, AUXPMU_NS);

#endif
