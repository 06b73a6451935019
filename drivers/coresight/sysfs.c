// SPDX-License-Identifier: GPL-2.0-only
/*
 * sysfs cpuN/ and sinks/: see sysfs.h. Names and contents are those that the in-tree driver has
 * there, below the link cpuN, as far as perf reads them.
 */
#include <linux/cpumask.h>
#include <linux/errno.h>
#include <linux/kobject.h>
#include <linux/kstrtox.h>
#include <linux/percpu.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/sysfs.h>

#include "auxpmu.h"
#include "component.h"
#include "etm.h"
#include "sysfs.h"
#include "tmc.h"

static DEFINE_PER_CPU(struct kobject *, folders);

/* Whose folder this is: its name says it. */
static const struct etm *etm_sysfs_of(const struct kobject *folder)
{
	unsigned int cpu = 0;

	if (kstrtouint(folder->name + strlen("cpu"), 10, &cpu) || cpu >= nr_cpu_ids)
		cpu = 0;
	return etm_of(cpu);
}

/* A member of struct etm. */
struct value {
	struct kobj_attribute attr;
	size_t offset;
};

static ssize_t etm_sysfs_value_show(struct kobject *folder, struct kobj_attribute *attr,
				    char *page)
{
	const void *etm = etm_sysfs_of(folder);

	return sysfs_emit(page, "%#x\n",
			  *(const u32 *)(etm + container_of(attr, struct value, attr)->offset));
}

#define VALUE(_name, _member)						\
	{								\
		.attr = __ATTR(_name, 0444, etm_sysfs_value_show, NULL),\
		.offset = offsetof(struct etm, _member),		\
	}

static struct value values[] = {
	VALUE(trcidr0, idr[0]),
	VALUE(trcidr1, idr[1]),
	VALUE(trcidr2, idr[2]),
	VALUE(trcidr3, idr[3]),
	VALUE(trcidr4, idr[4]),
	VALUE(trcidr5, idr[5]),
	VALUE(trcidr8, idr[8]),
	VALUE(trcauthstatus, authstatus),
	VALUE(trcdevarch, devarch),
};

/* Timestamps are of the virtual counter, as TRFCR.TS says. */
static ssize_t etm_sysfs_ts_source_show(struct kobject *folder, struct kobj_attribute *attr,
					char *page)
{
	return sysfs_emit(page, "1\n");
}

static struct kobj_attribute ts_source = __ATTR(ts_source, 0444, etm_sysfs_ts_source_show, NULL);

static struct attribute *trcidr_attrs[] = {
	&values[0].attr.attr, &values[1].attr.attr, &values[2].attr.attr, &values[3].attr.attr,
	&values[4].attr.attr, &values[5].attr.attr, &values[6].attr.attr, NULL
};

static struct attribute *mgmt_attrs[] = {
	&values[7].attr.attr, &values[8].attr.attr, NULL
};

static struct attribute *own_attrs[] = { &ts_source.attr, NULL };

static const struct attribute_group trcidr_group = { .name = "trcidr", .attrs = trcidr_attrs };
static const struct attribute_group mgmt_group = { .name = "mgmt", .attrs = mgmt_attrs };
static const struct attribute_group own_group = { .attrs = own_attrs };

static const struct attribute_group *etm_sysfs_groups[] = {
	&trcidr_group, &mgmt_group, &own_group, NULL
};

static int etm_sysfs_add_folder(struct auxpmu *pmu, int cpu)
{
	char name[16];
	struct kobject *folder;

	snprintf(name, sizeof(name), "cpu%d", cpu);
	folder = kobject_create_and_add(name, auxpmu_kobject(pmu));
	if (!folder)
		return -ENOMEM;
	per_cpu(folders, cpu) = folder;
	return sysfs_create_groups(folder, etm_sysfs_groups);
}

/* --- sinks/ --------------------------------------------------------------------------------- */

static struct kobject *sinks;

static ssize_t etm_sysfs_sink_show(struct kobject *folder, struct kobj_attribute *attr, char *page)
{
	return sysfs_emit(page, "%#x\n", container_of(attr, struct tmc, attr)->id);
}

/* The attribute of a sink goes with its folder, and before the sink. */
static int etm_sysfs_add_sink(struct tmc *tmc)
{
	tmc->attr = (struct kobj_attribute)__ATTR(, 0444, etm_sysfs_sink_show, NULL);
	tmc->attr.attr.name = tmc->name;
	sysfs_attr_init(&tmc->attr.attr);
	return sysfs_create_file(sinks, &tmc->attr.attr);
}

static int etm_sysfs_add_sinks(struct auxpmu *pmu)
{
	struct component *component = NULL;
	int ret = 0;

	sinks = kobject_create_and_add("sinks", auxpmu_kobject(pmu));
	if (!sinks)
		return -ENOMEM;
	while (!ret && (component = component_next(component, COMPONENT_TMC)))
		if (component->tmc)
			ret = etm_sysfs_add_sink(component->tmc);
	return ret;
}

/* --- both ----------------------------------------------------------------------------------- */

int etm_sysfs_add(struct auxpmu *pmu)
{
	int cpu, ret = etm_sysfs_add_sinks(pmu);

	for_each_possible_cpu(cpu) {
		if (!ret && etm_of(cpu)->there)
			ret = etm_sysfs_add_folder(pmu, cpu);
	}
	if (ret)
		etm_sysfs_remove();
	return ret;
}

void etm_sysfs_remove(void)
{
	int cpu;

	for_each_possible_cpu(cpu) {
		kobject_put(per_cpu(folders, cpu));
		per_cpu(folders, cpu) = NULL;
	}
	kobject_put(sinks);
	sinks = NULL;
}
