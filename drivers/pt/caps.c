// SPDX-License-Identifier: GPL-2.0-only
/* Capabilities: see caps.h. */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/bits.h>
#include <linux/cpu.h>
#include <linux/device.h>
#include <linux/errno.h>
#include <linux/minmax.h>
#include <linux/printk.h>
#include <linux/smp.h>
#include <linux/string.h>

#include <asm/cpufeature.h>
#include <asm/processor.h>

#include "../intel/msr.h"
#include "caps.h"
#include "leaf.h"

/* A field of a register of a subleaf of CPUID leaf 14H. */
struct cap {
	struct device_attribute attr;
	u8 subleaf;
	u8 reg;
	u32 mask;
};

/* What every CPU can do that was online when the module was loaded. */
static struct pt_leaf common;

/* MSR_PLATFORM_INFO of the first of them that has it. */
static u64 platform_info;

static u32 pt_caps_value(const struct cap *cap)
{
	return (common.reg[cap->subleaf][cap->reg] & cap->mask) >> __ffs(cap->mask);
}

static ssize_t pt_caps_cap_show(struct device *dev, struct device_attribute *attr, char *page)
{
	return sysfs_emit(page, "%x\n", pt_caps_value(container_of(attr, struct cap, attr)));
}

#define CAP(_index, _name, _subleaf, _reg, _mask)                    \
	[_index] = {                                                 \
		.attr = __ATTR(_name, 0444, pt_caps_cap_show, NULL), \
		.subleaf = (_subleaf),                               \
		.reg = (_reg),                                       \
		.mask = (_mask),                                     \
	}

static struct cap caps[PT_NR_CAPS] = {
	CAP(PT_MAX_SUBLEAF, max_subleaf, 0, PT_EAX, ~0u),
	CAP(PT_CR3_FILTERING, cr3_filtering, 0, PT_EBX, BIT(0)),
	CAP(PT_PSB_CYC, psb_cyc, 0, PT_EBX, BIT(1)),
	CAP(PT_IP_FILTERING, ip_filtering, 0, PT_EBX, BIT(2)),
	CAP(PT_MTC, mtc, 0, PT_EBX, BIT(3)),
	CAP(PT_PTWRITE, ptwrite, 0, PT_EBX, BIT(4)),
	CAP(PT_POWER_EVENT_TRACE, power_event_trace, 0, PT_EBX, BIT(5)),
	CAP(PT_EVENT_TRACE, event_trace, 0, PT_EBX, BIT(7)),
	CAP(PT_TNT_DISABLE, tnt_disable, 0, PT_EBX, BIT(8)),
	CAP(PT_TOPA_OUTPUT, topa_output, 0, PT_ECX, BIT(0)),
	CAP(PT_TOPA_MULTIPLE_ENTRIES, topa_multiple_entries, 0, PT_ECX, BIT(1)),
	CAP(PT_SINGLE_RANGE_OUTPUT, single_range_output, 0, PT_ECX, BIT(2)),
	CAP(PT_OUTPUT_SUBSYS, output_subsys, 0, PT_ECX, BIT(3)),
	CAP(PT_PAYLOADS_LIP, payloads_lip, 0, PT_ECX, BIT(31)),
	CAP(PT_NUM_ADDRESS_RANGES, num_address_ranges, 1, PT_EAX, GENMASK(2, 0)),
	CAP(PT_MTC_PERIODS, mtc_periods, 1, PT_EAX, GENMASK(31, 16)),
	CAP(PT_CYCLE_THRESHOLDS, cycle_thresholds, 1, PT_EBX, GENMASK(15, 0)),
	CAP(PT_PSB_PERIODS, psb_periods, 1, PT_EBX, GENMASK(31, 16)),
};

u32 pt_cap(enum pt_cap cap)
{
	return pt_caps_value(&caps[cap]);
}

const char *pt_cap_name(enum pt_cap cap)
{
	return caps[cap].attr.attr.name;
}

unsigned int pt_nr_ranges(void)
{
	return pt_cap(PT_IP_FILTERING) ? min(pt_cap(PT_NUM_ADDRESS_RANGES), PT_RANGES_MAX + 0u) : 0;
}

bool pt_needs_branches(void)
{
	static const u8 broadwell[] = { 0x3d, 0x47, 0x4f, 0x56 };
	size_t n;

	for (n = 0; n < ARRAY_SIZE(broadwell); n++)
		if (boot_cpu_data.x86 == 6 && boot_cpu_data.x86_model == broadwell[n])
			return true;
	return false;
}

static int pt_caps_refused(const char *why)
{
	pr_notice("no Intel PT here: %s\n", why);
	return -ENODEV;
}

static struct attribute *caps_attrs[PT_NR_CAPS + 1];

const struct attribute_group pt_caps_group = {
	.name = "caps",
	.attrs = caps_attrs,
};

/* False: this CPU has no trace unit. */
static bool pt_caps_read_leaf(struct pt_leaf *leaf)
{
	u32 *reg = leaf->reg[0];

	*leaf = (struct pt_leaf){};
	if (cpuid_eax(0) < 0x14 || !(cpuid_ebx(7) & BIT(25)))
		return false;
	cpuid_count(0x14, 0, &reg[PT_EAX], &reg[PT_EBX], &reg[PT_ECX], &reg[PT_EDX]);
	if (reg[PT_EAX]) {
		reg = leaf->reg[1];
		cpuid_count(0x14, 1, &reg[PT_EAX], &reg[PT_EBX], &reg[PT_ECX], &reg[PT_EDX]);
	}
	return true;
}

bool pt_caps_here(void)
{
	struct pt_leaf leaf;

	return pt_caps_read_leaf(&leaf) && pt_leaf_covers(&leaf, &common);
}

struct reading {
	struct pt_leaf leaf;
	u64 platform_info;
	bool there;
};

/* On the CPU itself. */
static void pt_caps_read_here(void *data)
{
	struct reading *reading = data;

	reading->there = pt_caps_read_leaf(&reading->leaf);
	if (rdmsrq_safe(MSR_PLATFORM_INFO, &reading->platform_info))
		reading->platform_info = 0;
}

/* False: a CPU has no trace unit. */
static bool pt_caps_read_all(void)
{
	struct reading reading = {};
	int cpu;

	memset(&common, 0xff, sizeof(common));
	cpus_read_lock();
	for_each_online_cpu(cpu) {
		smp_call_function_single(cpu, pt_caps_read_here, &reading, 1);
		if (!reading.there)
			break;
		pt_leaf_meet(&common, &reading.leaf);
		platform_info = platform_info ?: reading.platform_info;
	}
	cpus_read_unlock();
	return reading.there;
}

int pt_caps_init(void)
{
	int n;

	for (n = 0; n < PT_NR_CAPS; n++)
		caps_attrs[n] = &caps[n].attr.attr;
	if (boot_cpu_data.x86_vendor != X86_VENDOR_INTEL || !pt_caps_read_all())
		return pt_caps_refused("this processor, or a core of it, has none");
	if (!pt_cap(PT_TOPA_OUTPUT))
		return pt_caps_refused("it has no table of physical addresses (ToPA)");
	return 0;
}

/* MSR_PLATFORM_INFO[15:8], which the ratios of CBR packets refer to. */
static ssize_t max_nonturbo_ratio_show(struct device *dev, struct device_attribute *attr,
				       char *page)
{
	return sysfs_emit(page, "%llu\n", platform_info >> 8 & 0xff);
}
static DEVICE_ATTR_RO(max_nonturbo_ratio);

/* CPUID leaf 15H: ratio of the TSC to the crystal clock that MTC packets count; 0:0 if unknown. */
static ssize_t tsc_art_ratio_show(struct device *dev, struct device_attribute *attr, char *page)
{
	u32 denominator = 0, numerator = 0, crystal, unused;

	if (cpuid_eax(0) >= 0x15)
		cpuid(0x15, &denominator, &numerator, &crystal, &unused);
	return sysfs_emit(page, "%u:%u\n", numerator, denominator);
}
static DEVICE_ATTR_RO(tsc_art_ratio);

static struct attribute *timing_attrs[] = {
	&dev_attr_max_nonturbo_ratio.attr,
	&dev_attr_tsc_art_ratio.attr,
	NULL
};

const struct attribute_group pt_timing_group = {
	.attrs = timing_attrs,
};
