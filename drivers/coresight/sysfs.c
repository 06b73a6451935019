// SPDX-License-Identifier: GPL-2.0-only
/*
 * sysfs cpuN/: see sysfs.h. Names and contents are those that the in-tree driver has below the link
 * cpuN, as far as perf reads them.
 */
#include <linux/cpumask.h>
#include <linux/errno.h>
#include <linux/kobject.h>
#include <linux/kstrtox.h>
#include <linux/percpu.h>
#include <linux/slab.h>
#include <linux/sysfs.h>

#include "auxpmu.h"
#include "etm.h"
#include "sysfs.h"

static DEFINE_PER_CPU(struct kobject *, folders);

/* Whose folder this is: its name says it. */
static const struct etm *sysfs_etm_of(const struct kobject *folder)
{
	unsigned int cpu = 0;

	if (kstrtouint(folder->name + strlen("cpu"), 10, &cpu) || cpu >= nr_cpu_ids)
		cpu = 0;
	return etm_of(cpu);
}

/* The attribute of struct etm's member @_value. */
#define SYSFS_VALUE(_name, _value)							\
	static ssize_t _name##_show(struct kobject *folder, struct kobj_attribute *attr,\
				    char *page)						\
	{										\
		return sysfs_emit(page, "%#x\n", sysfs_etm_of(folder)->_value);		\
	}										\
	static struct kobj_attribute sysfs_##_name = __ATTR_RO(_name)

SYSFS_VALUE(trcidr0, idr[0]);
SYSFS_VALUE(trcidr1, idr[1]);
SYSFS_VALUE(trcidr2, idr[2]);
SYSFS_VALUE(trcidr3, idr[3]);
SYSFS_VALUE(trcidr4, idr[4]);
SYSFS_VALUE(trcidr5, idr[5]);
SYSFS_VALUE(trcidr8, idr[8]);
SYSFS_VALUE(trcauthstatus, authstatus);
SYSFS_VALUE(trcdevarch, devarch);

/* Timestamps are of the virtual counter, as TRFCR.TS says. */
static ssize_t ts_source_show(struct kobject *folder, struct kobj_attribute *attr, char *page)
{
	return sysfs_emit(page, "1\n");
}

static struct kobj_attribute sysfs_ts_source = __ATTR_RO(ts_source);

static struct attribute *trcidr_attrs[] = {
	&sysfs_trcidr0.attr, &sysfs_trcidr1.attr, &sysfs_trcidr2.attr, &sysfs_trcidr3.attr,
	&sysfs_trcidr4.attr, &sysfs_trcidr5.attr, &sysfs_trcidr8.attr, NULL
};

static struct attribute *mgmt_attrs[] = {
	&sysfs_trcauthstatus.attr, &sysfs_trcdevarch.attr, NULL
};

static struct attribute *own_attrs[] = { &sysfs_ts_source.attr, NULL };

static const struct attribute_group trcidr_group = { .name = "trcidr", .attrs = trcidr_attrs };
static const struct attribute_group mgmt_group = { .name = "mgmt", .attrs = mgmt_attrs };
static const struct attribute_group own_group = { .attrs = own_attrs };

static const struct attribute_group *sysfs_groups[] = {
	&trcidr_group, &mgmt_group, &own_group, NULL
};

static int sysfs_add_folder(struct auxpmu *pmu, int cpu)
{
	char name[16];
	struct kobject *folder;

	snprintf(name, sizeof(name), "cpu%d", cpu);
	folder = kobject_create_and_add(name, auxpmu_kobject(pmu));
	if (!folder)
		return -ENOMEM;
	per_cpu(folders, cpu) = folder;
	return sysfs_create_groups(folder, sysfs_groups);
}

int etm_sysfs_add(struct auxpmu *pmu)
{
	int cpu, ret = 0;

	for_each_possible_cpu(cpu) {
		if (etm_of(cpu)->there)
			ret = sysfs_add_folder(pmu, cpu);
		if (ret)
			break;
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
}
