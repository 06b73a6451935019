// SPDX-License-Identifier: GPL-2.0-only
/*
 * sysfs caps/: what a PMU can do, and why it cannot do the rest. For people and programs: the first
 * word is the value, a reason follows. Reads only what is constant while the PMU lives.
 */
#include <linux/cpumask.h>
#include <linux/device.h>
#include <linux/overflow.h>
#include <linux/slab.h>
#include <linux/stringify.h>
#include <linux/string.h>
#include <linux/sysfs.h>

#include "compat.h"
#include "core/claim.h"
#include "core/sample.h"
#include "core/sysfs.h"
#include "internal.h"

static const struct auxpmu *sysfs_pmu_of(struct device *dev)
{
	struct pmu *pmu = dev_get_drvdata(dev);

	return container_of(pmu, struct auxpmu, pmu);
}

static const struct auxpmu_desc *sysfs_desc_of(struct device *dev)
{
	return sysfs_pmu_of(dev)->desc;
}

static ssize_t aux_head_show(struct device *dev, struct device_attribute *attr, char *page)
{
	return sysfs_emit(page, "%s\n", sysfs_desc_of(dev)->offset_heads ? "offset" : "monotonic");
}
static DEVICE_ATTR_RO(aux_head);

static ssize_t sampling_show(struct device *dev, struct device_attribute *attr, char *page)
{
	if (!auxpmu_sample_available())
		return sysfs_emit(page, "0 perf_output_copy() was not found in this kernel\n");
	return sysfs_emit(page, sysfs_desc_of(dev)->no_nmi ? "1 zeros in an NMI\n" : "1\n");
}
static DEVICE_ATTR_RO(sampling);

static ssize_t pause_show(struct device *dev, struct device_attribute *attr, char *page)
{
	if (!PERF_PMU_CAP_AUX_PAUSE)
		return sysfs_emit(page, "0 this kernel has no aux_pause and aux_resume\n");
	return sysfs_emit(page, sysfs_desc_of(dev)->no_nmi ?
			  "1 an NMI's takes effect right behind it\n" : "1\n");
}
static DEVICE_ATTR_RO(pause);

static ssize_t overwrite_show(struct device *dev, struct device_attribute *attr, char *page)
{
	return sysfs_emit(page, sysfs_desc_of(dev)->limits.no_overwrite ?
			  "0 the unit cannot write round and round\n" : "1\n");
}
static DEVICE_ATTR_RO(overwrite);

static ssize_t granule_show(struct device *dev, struct device_attribute *attr, char *page)
{
	u64 granule = sysfs_desc_of(dev)->limits.granule;

	return granule ? sysfs_emit(page, "%llu\n", granule) :
			 sysfs_emit(page, "0 a page or a 16th of the buffer\n");
}
static DEVICE_ATTR_RO(granule);

static ssize_t max_order_show(struct device *dev, struct device_attribute *attr, char *page)
{
	return sysfs_emit(page, "%u\n", auxpmu_largest_order(sysfs_pmu_of(dev)));
}
static DEVICE_ATTR_RO(max_order);

static ssize_t yields_show(struct device *dev, struct device_attribute *attr, char *page)
{
	static const char *const words[] = {
		[AUXPMU_YIELDS_WORK] = "work a busy CPU has trace after 50 ms",
		[AUXPMU_YIELDS_START] = "start each start has trace at once",
		[AUXPMU_YIELDS_NOTHING] = "nothing is promised",
	};

	return sysfs_emit(page, "%s\n", words[sysfs_desc_of(dev)->yields]);
}
static DEVICE_ATTR_RO(yields);

/*
 * Not a file cpumask in the PMU's own folder: perf would take the PMU for one of a socket, and open
 * events of threads otherwise than for other AUX PMUs.
 */
static ssize_t cpus_show(struct device *dev, struct device_attribute *attr, char *page)
{
	const struct auxpmu *pmu = sysfs_pmu_of(dev);
	cpumask_var_t cpus;
	ssize_t length;
	int cpu;

	if (!zalloc_cpumask_var(&cpus, GFP_KERNEL))
		return -ENOMEM;
	for_each_possible_cpu(cpu)
		if (!READ_ONCE(per_cpu_ptr(pmu->units, cpu)->absent))
			cpumask_set_cpu(cpu, cpus);
	length = sysfs_emit(page, "%*pbl\n", cpumask_pr_args(cpus));
	free_cpumask_var(cpus);
	return length;
}
static DEVICE_ATTR_RO(cpus);

static struct attribute *framework_caps[] = {
	&dev_attr_aux_head.attr,
	&dev_attr_cpus.attr,
	&dev_attr_granule.attr,
	&dev_attr_max_order.attr,
	&dev_attr_overwrite.attr,
	&dev_attr_pause.attr,
	&dev_attr_sampling.attr,
	&dev_attr_yields.attr,
};

/* The most groups a backend may have. */
#define GROUPS	14

/* One allocation: freeing the first member frees all. */
struct all_groups {
	const struct attribute_group *groups[GROUPS + 3];
	struct attribute_group caps;
	struct attribute *attrs[];
};

static size_t sysfs_count_attrs(const struct attribute_group *group)
{
	size_t nr = 0;

	while (group && group->attrs && group->attrs[nr])
		nr++;
	return nr;
}

static const struct attribute_group *sysfs_find_caps(const struct attribute_group **groups)
{
	for (; groups && *groups; groups++)
		if ((*groups)->name && !strcmp((*groups)->name, "caps"))
			return *groups;
	return NULL;
}

/* Attributes that the core or the framework puts into the PMU's folder. */
static const char *const core_attrs[] = {
	"type", "perf_event_mux_interval_ms", "nr_addr_filters", "claim", "claims", "power",
	"subsystem", "uevent",
};

static bool sysfs_has_attr(const struct attribute_group *group, const char *name)
{
	size_t n;

	for (n = 0; n < sysfs_count_attrs(group); n++)
		if (!strcmp(group->attrs[n]->name, name))
			return true;
	return false;
}

static bool sysfs_same_name(const struct attribute_group *a, const struct attribute_group *b)
{
	return a->name && b->name && !strcmp(a->name, b->name);
}

static const char *sysfs_group_wrong(const struct attribute_group **groups, size_t which)
{
	const struct attribute_group *group = groups[which];
	size_t n;

	for (n = 0; n < which; n++)
		if (sysfs_same_name(groups[n], group))
			return "two of its attribute groups have the same name";
	if (group->name)
		return NULL;
	for (n = 0; n < ARRAY_SIZE(core_attrs); n++)
		if (sysfs_has_attr(group, core_attrs[n]))
			return "an attribute without a group has a name that the core uses";
	return NULL;
}

const char *auxpmu_caps_wrong(const struct auxpmu_desc *desc)
{
	const struct attribute_group *more = sysfs_find_caps(desc->attr_groups);
	const char *wrong;
	size_t n;

	for (n = 0; desc->attr_groups && desc->attr_groups[n]; n++) {
		if (n == GROUPS)
			return "it has more than " __stringify(GROUPS) " attribute groups";
		wrong = sysfs_group_wrong(desc->attr_groups, n);
		if (wrong)
			return wrong;
	}
	for (n = 0; n < ARRAY_SIZE(framework_caps); n++)
		if (sysfs_has_attr(more, framework_caps[n]->name))
			return "an attribute of its group caps is there already";
	if (more && more->is_visible)
		return "its group caps has is_visible, which nobody calls: leave attributes out";
	return NULL;
}

const struct attribute_group **auxpmu_caps_groups(const struct auxpmu_desc *desc)
{
	const struct attribute_group **backend = desc->attr_groups;
	const struct attribute_group *more = sysfs_find_caps(backend);
	size_t nr_more = sysfs_count_attrs(more), nr = 0;
	struct all_groups *all;

	all = kzalloc(struct_size(all, attrs, ARRAY_SIZE(framework_caps) + nr_more + 1),
		      GFP_KERNEL);
	if (!all)
		return NULL;
	memcpy(all->attrs, framework_caps, sizeof(framework_caps));
	if (more)
		memcpy(all->attrs + ARRAY_SIZE(framework_caps), more->attrs,
		       nr_more * sizeof(*all->attrs));
	all->caps.name = "caps";
	all->caps.attrs = all->attrs;
	all->groups[nr++] = &all->caps;
	if (desc->claim)
		all->groups[nr++] = &auxpmu_claim_group;
	for (; backend && *backend; backend++) {
		if (*backend != more)
			all->groups[nr++] = *backend;
	}
	return all->groups;
}

struct kobject *auxpmu_kobject(const struct auxpmu *pmu)
{
	return &pmu->pmu.dev->kobj;
}
EXPORT_SYMBOL_NS_GPL(auxpmu_kobject, AUXPMU_NS);

/* --- counters that backends show: the sum over all CPUs ------------------------------------- */

ssize_t auxpmu_counter_show(struct device *dev, struct device_attribute *attr, char *page)
{
	u64 __percpu *counts = container_of(attr, struct auxpmu_counter, attr)->counts;
	u64 total = 0;
	int cpu;

	for_each_possible_cpu(cpu)
		total += READ_ONCE(*per_cpu_ptr(counts, cpu));
	return sysfs_emit(page, "%llu\n", total);
}
EXPORT_SYMBOL_NS_GPL(auxpmu_counter_show, AUXPMU_NS);
