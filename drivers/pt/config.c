// SPDX-License-Identifier: GPL-2.0-only
/* attr.config: see config.h. */
#include <linux/bits.h>
#include <linux/device.h>
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/perf_event.h>

#include <asm/msr-index.h>

#include "../intel/msr.h"
#include "caps.h"
#include "config.h"

/*
 * Users cannot choose TraceEn. As in the in-tree driver, its bit means that the event sets BranchEn
 * itself; otherwise BranchEn is always set.
 */
#define PT_PASSTHROUGH	RTIT_CTL_TRACEEN

/* A field: its bits, and the capability without which none of them may be set. */
struct field {
	struct device_attribute attr;
	const char *place;
	u64 bits;
	int needs;
	int encodings;		/* the capability that lists its values, or ANY */
};

#define ANY	(-1)

static ssize_t pt_config_field_show(struct device *dev, struct device_attribute *attr, char *page)
{
	return sysfs_emit(page, "%s\n", container_of(attr, struct field, attr)->place);
}

#define FIELD_OF(_name, _place, _bits, _needs, _encodings)                                  \
	{                                                                                   \
		.attr = __ATTR(_name, 0444, pt_config_field_show, NULL), .place = (_place), \
		.bits = (_bits), .needs = (_needs), .encodings = (_encodings),              \
	}

static struct field fields[] = {
	FIELD_OF(pt, "config:0", PT_PASSTHROUGH, ANY, ANY),
	FIELD_OF(cyc, "config:1", RTIT_CTL_CYCLEACC, PT_PSB_CYC, ANY),
	FIELD_OF(pwr_evt, "config:4", RTIT_CTL_PWR_EVT_EN, PT_POWER_EVENT_TRACE, ANY),
	FIELD_OF(fup_on_ptw, "config:5", RTIT_CTL_FUP_ON_PTW, PT_PTWRITE, ANY),
	FIELD_OF(mtc, "config:9", RTIT_CTL_MTC_EN, PT_MTC, ANY),
	FIELD_OF(tsc, "config:10", RTIT_CTL_TSC_EN, ANY, ANY),
	FIELD_OF(noretcomp, "config:11", RTIT_CTL_DISRETC, ANY, ANY),
	FIELD_OF(ptw, "config:12", RTIT_CTL_PTW_EN, PT_PTWRITE, ANY),
	FIELD_OF(branch, "config:13", RTIT_CTL_BRANCH_EN, ANY, ANY),
	FIELD_OF(mtc_period, "config:14-17", RTIT_CTL_MTC_RANGE, PT_MTC, PT_MTC_PERIODS),
	FIELD_OF(cyc_thresh, "config:19-22", RTIT_CTL_CYC_THRESH, PT_PSB_CYC,
		 PT_CYCLE_THRESHOLDS),
	FIELD_OF(psb_period, "config:24-27", RTIT_CTL_PSB_FREQ, PT_PSB_CYC, PT_PSB_PERIODS),
	FIELD_OF(event, "config:31", RTIT_CTL_EVENT_EN, PT_EVENT_TRACE, ANY),
	FIELD_OF(notnt, "config:55", RTIT_CTL_NOTNT, PT_TNT_DISABLE, ANY),
};

#define pt_config_refuse(why, fmt, ...)	(scnprintf(why, PT_CONFIG_WHY, fmt, ##__VA_ARGS__), -EINVAL)

static int pt_config_check_field(const struct field *field, u64 config, char *why)
{
	u32 encoding = (config & field->bits) >> __ffs64(field->bits);
	const char *name = field->attr.attr.name;

	if (encoding && field->needs != ANY && !pt_cap(field->needs))
		return pt_config_refuse(why, "%s has to be 0, because caps/%s is 0 here", name,
					pt_cap_name(field->needs));
	/* A field that is not used is 0. */
	if (!encoding || field->encodings == ANY ||
	    (pt_cap(field->encodings) & BIT(encoding)))
		return 0;
	return pt_config_refuse(why, "%s is %u; it is 0 or a bit that is set in caps/%s (%x)",
				name, encoding, pt_cap_name(field->encodings),
				pt_cap(field->encodings));
}

int pt_config_check(const struct perf_event_attr *attr, char *why)
{
	u64 config = attr->config, known = 0;
	size_t n;

	for (n = 0; n < ARRAY_SIZE(fields); n++) {
		int ret = pt_config_check_field(&fields[n], config, why);

		if (ret)
			return ret;
		known |= fields[n].bits;
	}
	if (config & ~known)
		return pt_config_refuse(why,
					"config has bits outside the fields in sysfs format/: 0x%llx",
					(unsigned long long)(config & ~known));
	if (auxpmu_more_config(attr))
		return pt_config_refuse(why, "config1, config2, config3 or config4 is not 0");
	/* mtc without an mtc_period means period 0, which this processor may not have. */
	if ((config & RTIT_CTL_MTC_EN) && !(config & RTIT_CTL_MTC_RANGE) &&
	    !(pt_cap(PT_MTC_PERIODS) & BIT(0)))
		return pt_config_refuse(why,
					"mtc takes an mtc_period of those set in caps/mtc_periods (%x)",
					pt_cap(PT_MTC_PERIODS));
	if ((config & RTIT_CTL_FUP_ON_PTW) && !(config & RTIT_CTL_PTW_EN))
		return pt_config_refuse(why, "fup_on_ptw takes ptw");
	if ((config & RTIT_CTL_BRANCH_EN) && !(config & PT_PASSTHROUGH))
		return pt_config_refuse(why, "branch takes pt; without both, branches are traced");
	if ((config & PT_PASSTHROUGH) && !(config & RTIT_CTL_BRANCH_EN) && pt_needs_branches())
		return pt_config_refuse(why, "pt takes branch on this processor (erratum BDM106)");
	return 0;
}

u64 pt_config_ctl(const struct perf_event_attr *attr)
{
	u64 ctl = attr->config & ~PT_PASSTHROUGH;

	if (!(attr->config & PT_PASSTHROUGH))
		ctl |= RTIT_CTL_BRANCH_EN;
	if (!attr->exclude_kernel)
		ctl |= RTIT_CTL_OS;
	if (!attr->exclude_user)
		ctl |= RTIT_CTL_USR;
	return ctl;
}

static struct attribute *format_attrs[ARRAY_SIZE(fields) + 1];

void pt_config_init(void)
{
	size_t n;

	for (n = 0; n < ARRAY_SIZE(fields); n++)
		format_attrs[n] = &fields[n].attr.attr;
}

/* Hide fields that this processor cannot set. */
static umode_t pt_config_format_visible(struct kobject *kobj, struct attribute *attr, int n)
{
	int needs = container_of(attr, struct field, attr.attr)->needs;

	return needs == ANY || pt_cap(needs) ? attr->mode : 0;
}

const struct attribute_group pt_format_group = {
	.name = "format",
	.attrs = format_attrs,
	.is_visible = pt_config_format_visible,
};
