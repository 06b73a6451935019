// SPDX-License-Identifier: GPL-2.0-only
/*
 * Names that user space knows: the perf tool records AUX data only through PMUs whose exact names
 * it was built with, and wants their format and caps.  A modelled unit may bear such a name where
 * there is no such PMU, so that unmodified tools can be tried; what it writes are still the records
 * of uapi/auxpmu.h.
 *
 * What perf wants of a PMU stands in its arch/.../util/ (intel-pt.c, intel-bts.c, arm-spe.c).
 */
#include <linux/bits.h>
#include <linux/device.h>
#include <linux/string.h>

#include "synth.h"

/* Capabilities whose values are constant text. */
struct guise_cap {
	struct device_attribute attr;
	const char *text;
};

static ssize_t cap_show(struct device *dev, struct device_attribute *attr, char *page)
{
	return sysfs_emit(page, "%s\n", container_of(attr, struct guise_cap, attr)->text);
}

#define GUISE_CAP(_guise, _name, _text)						\
	static struct guise_cap _guise##_cap_##_name = {			\
		.attr = __ATTR(_name, 0444, cap_show, NULL),			\
		.text = _text,							\
	}

#define GUISE_FORMAT(_guise, _name, _bits)					\
	static ssize_t _guise##_##_name##_show(struct device *dev,		\
					       struct device_attribute *attr,	\
					       char *page)			\
	{									\
		return sysfs_emit(page, _bits "\n");				\
	}									\
	static struct device_attribute _guise##_format_##_name =		\
		__ATTR(_name, 0444, _guise##_##_name##_show, NULL)

GUISE_FORMAT(pt, pt, "config:0");
GUISE_FORMAT(pt, cyc, "config:1");
GUISE_FORMAT(pt, mtc, "config:9");
GUISE_FORMAT(pt, tsc, "config:10");
GUISE_FORMAT(pt, noretcomp, "config:11");
GUISE_FORMAT(pt, branch, "config:13");
GUISE_FORMAT(pt, mtc_period, "config:14-17");
GUISE_FORMAT(pt, cyc_thresh, "config:19-22");
GUISE_FORMAT(pt, psb_period, "config:24-27");

static struct attribute *pt_format_attrs[] = {
	&pt_format_pt.attr,
	&pt_format_cyc.attr,
	&pt_format_mtc.attr,
	&pt_format_tsc.attr,
	&pt_format_noretcomp.attr,
	&pt_format_branch.attr,
	&pt_format_mtc_period.attr,
	&pt_format_cyc_thresh.attr,
	&pt_format_psb_period.attr,
	NULL
};

static const struct attribute_group pt_format = {
	.name = "format",
	.attrs = pt_format_attrs,
};

GUISE_CAP(pt, psb_cyc, "1");
GUISE_CAP(pt, mtc, "1");
GUISE_CAP(pt, topa_output, "1");
GUISE_CAP(pt, topa_multiple_entries, "1");
GUISE_CAP(pt, mtc_periods, "249");
GUISE_CAP(pt, cycle_thresholds, "1fff");
GUISE_CAP(pt, psb_periods, "3f");

static struct attribute *pt_caps_attrs[] = {
	&pt_cap_psb_cyc.attr.attr,
	&pt_cap_mtc.attr.attr,
	&pt_cap_topa_output.attr.attr,
	&pt_cap_topa_multiple_entries.attr.attr,
	&pt_cap_mtc_periods.attr.attr,
	&pt_cap_cycle_thresholds.attr.attr,
	&pt_cap_psb_periods.attr.attr,
	NULL
};

static const struct attribute_group pt_caps = {
	.name = "caps",
	.attrs = pt_caps_attrs,
};

static const struct attribute_group *pt_groups[] = {
	&pt_format,
	&pt_caps,
	NULL
};

GUISE_FORMAT(spe, ts_enable, "config:0");
GUISE_FORMAT(spe, pa_enable, "config:1");
GUISE_FORMAT(spe, pct_enable, "config:2");
GUISE_FORMAT(spe, jitter, "config:16");
GUISE_FORMAT(spe, branch_filter, "config:32");
GUISE_FORMAT(spe, load_filter, "config:33");
GUISE_FORMAT(spe, store_filter, "config:34");

static struct attribute *spe_format_attrs[] = {
	&spe_format_ts_enable.attr,
	&spe_format_pa_enable.attr,
	&spe_format_pct_enable.attr,
	&spe_format_jitter.attr,
	&spe_format_branch_filter.attr,
	&spe_format_load_filter.attr,
	&spe_format_store_filter.attr,
	NULL
};

static const struct attribute_group spe_format = {
	.name = "format",
	.attrs = spe_format_attrs,
};

static const struct attribute_group *spe_groups[] = {
	&spe_format,
	NULL
};

static const struct attribute_group *no_groups[] = { NULL };

static const struct synth_guise guises[] = {
	{
		.name = "intel_pt",
		.groups = pt_groups,
		.config = GENMASK_ULL(1, 0) | GENMASK_ULL(11, 9) | GENMASK_ULL(17, 13) |
			  GENMASK_ULL(22, 19) | GENMASK_ULL(27, 24),
		.offset_heads = true,
	}, {
		.name = "intel_bts",
		.groups = no_groups,
		.offset_heads = true,
	}, {
		.name = "arm_spe_0",
		.groups = spe_groups,
		.config = GENMASK_ULL(2, 0) | BIT_ULL(16) | GENMASK_ULL(34, 32),
	}, {
		.name = "hisi_ptt0",
		.groups = no_groups,
	},
};

const struct synth_guise *synth_guise_find(const char *name)
{
	size_t n;

	for (n = 0; n < ARRAY_SIZE(guises); n++)
		if (!strcmp(guises[n].name, name))
			return &guises[n];
	return NULL;
}
