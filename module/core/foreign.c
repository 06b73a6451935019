// SPDX-License-Identifier: GPL-2.0-only
/*
 * Foreign PMUs, found on the bus of their sysfs devices: the core does not export its list.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/capability.h>
#include <linux/device.h>
#include <linux/errno.h>
#include <linux/kobject.h>
#include <linux/string.h>

#include "core/buffer.h"
#include "core/claim.h"
#include "core/foreign.h"
#include "internal.h"

/* Can the core hand our AUX buffers to the PMU of @dev? Not if a claim holds it: type *@held. */
static int foreign_is_one(struct device *dev, void *held)
{
	struct auxpmu_peek peek;

	return auxpmu_peek(dev, &peek) && peek.setup_aux && peek.setup_aux != auxpmu_buffer_setup &&
	       peek.type != *(const u32 *)held;
}

bool auxpmu_foreign_present(const struct auxpmu *pmu)
{
	const struct device *dev = pmu->pmu.dev;
	u32 held = auxpmu_claim_intree(pmu);

	return dev && bus_for_each_dev(dev->bus, NULL, &held, foreign_is_one);
}

int auxpmu_foreign_permit(struct perf_event *event)
{
	const struct auxpmu *pmu = auxpmu_of(event);

	if (perfmon_capable() || !auxpmu_foreign_present(pmu))
		return 0;
	auxpmu_notice(pmu,
		      "event refused: beside AUX PMUs that are not auxpmu's it needs CAP_PERFMON");
	return -EACCES;
}

/* The kset of /sys/devices, where PMUs live; it is never freed. */
static struct kset *devices;

void auxpmu_foreign_note_devices(const struct auxpmu *pmu)
{
	if (pmu->pmu.dev)
		WRITE_ONCE(devices, pmu->pmu.dev->kobj.kset);
}

/*
 * /sys/devices also holds all other devices without a parent, and a few folders that are not
 * devices. The kset lists devices deeper down, too, which would not collide; refusing their names
 * does no harm.
 */
bool auxpmu_name_taken(const char *name)
{
	static const char *const folders[] = { "system", "virtual" };
	struct kset *all = READ_ONCE(devices);
	struct kobject *found;

	if (match_string(folders, ARRAY_SIZE(folders), name) >= 0)
		return true;
	found = all ? kset_find_obj(all, name) : NULL;
	kobject_put(found);
	return found;
}
