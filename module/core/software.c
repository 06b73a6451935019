// SPDX-License-Identifier: GPL-2.0-only
/*
 * The interface for units made of software, see software.h: exports the session's functions to
 * other modules.
 */
#include <linux/export.h>
#include <linux/percpu.h>

#include "compat.h"
#include "core/session.h"
#include "core/sink.h"
#include "internal.h"
#include "software.h"

struct auxpmu_unit *auxpmu_unit_of(const struct auxpmu *pmu, int cpu)
{
	return &per_cpu_ptr(pmu->units, cpu)->pub;
}
EXPORT_SYMBOL_NS_GPL(auxpmu_unit_of, AUXPMU_NS);

bool auxpmu_unit_acquire(struct auxpmu_unit *unit)
{
	return auxpmu_session_acquire(core_unit(unit));
}
EXPORT_SYMBOL_NS_GPL(auxpmu_unit_acquire, AUXPMU_NS);

bool auxpmu_unit_armed(const struct auxpmu_unit *unit)
{
	return auxpmu_session_armed(container_of(unit, struct core_unit, pub));
}
EXPORT_SYMBOL_NS_GPL(auxpmu_unit_armed, AUXPMU_NS);

bool auxpmu_unit_handover(struct auxpmu_unit *unit)
{
	if (!auxpmu_sink_hands_over(core_unit(unit)))
		return auxpmu_session_armed(core_unit(unit));
	return auxpmu_session_handover(core_unit(unit));
}
EXPORT_SYMBOL_NS_GPL(auxpmu_unit_handover, AUXPMU_NS);

void auxpmu_unit_release(struct auxpmu_unit *unit)
{
	auxpmu_session_release(core_unit(unit));
}
EXPORT_SYMBOL_NS_GPL(auxpmu_unit_release, AUXPMU_NS);

struct dentry *auxpmu_debugfs_of(const struct auxpmu *pmu)
{
	return pmu->debugfs;
}
EXPORT_SYMBOL_NS_GPL(auxpmu_debugfs_of, AUXPMU_NS);
