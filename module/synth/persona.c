// SPDX-License-Identifier: GPL-2.0-only
/*
 * Personas: the perf tool records AUX data only from PMUs whose names it was built with, and wants
 * their format and caps. A modelled unit may have such a name if there is no such PMU, so that
 * unmodified tools can be tried; it still writes the records of uapi/linux/auxpmu.h.
 *
 * What perf expects of a PMU is in its arch/.../util/ (intel-pt.c, intel-bts.c, arm-spe.c).
 */
#include <linux/bits.h>
#include <linux/device.h>
#include <linux/string.h>

#include "synth/synth.h"

/* An attribute of constant text. */
struct persona_text {
	struct device_attribute attr;
	const char *text;
};

static ssize_t persona_text_show(struct device *dev, struct device_attribute *attr, char *page)
{
	return sysfs_emit(page, "%s\n", container_of(attr, struct persona_text, attr)->text);
}

#define PERSONA_TEXT(_folder, _name, _text)                             \
	static struct persona_text _folder##_##_name = {                \
		.attr = __ATTR(_name, 0444, persona_text_show, NULL), \
		.text = _text,                                        \
	}

PERSONA_TEXT(pt_format, pt, "config:0");
PERSONA_TEXT(pt_format, cyc, "config:1");
PERSONA_TEXT(pt_format, mtc, "config:9");
PERSONA_TEXT(pt_format, tsc, "config:10");
PERSONA_TEXT(pt_format, noretcomp, "config:11");
PERSONA_TEXT(pt_format, branch, "config:13");
PERSONA_TEXT(pt_format, mtc_period, "config:14-17");
PERSONA_TEXT(pt_format, cyc_thresh, "config:19-22");
PERSONA_TEXT(pt_format, psb_period, "config:24-27");

static struct attribute *pt_format_attrs[] = {
	&pt_format_pt.attr.attr,
	&pt_format_cyc.attr.attr,
	&pt_format_mtc.attr.attr,
	&pt_format_tsc.attr.attr,
	&pt_format_noretcomp.attr.attr,
	&pt_format_branch.attr.attr,
	&pt_format_mtc_period.attr.attr,
	&pt_format_cyc_thresh.attr.attr,
	&pt_format_psb_period.attr.attr,
	NULL
};

static const struct attribute_group pt_format = {
	.name = "format",
	.attrs = pt_format_attrs,
};

PERSONA_TEXT(pt_cap, psb_cyc, "1");
PERSONA_TEXT(pt_cap, mtc, "1");
PERSONA_TEXT(pt_cap, topa_output, "1");
PERSONA_TEXT(pt_cap, topa_multiple_entries, "1");
PERSONA_TEXT(pt_cap, mtc_periods, "249");
PERSONA_TEXT(pt_cap, cycle_thresholds, "1fff");
PERSONA_TEXT(pt_cap, psb_periods, "3f");

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

PERSONA_TEXT(spe_format, ts_enable, "config:0");
PERSONA_TEXT(spe_format, pa_enable, "config:1");
PERSONA_TEXT(spe_format, pct_enable, "config:2");
PERSONA_TEXT(spe_format, jitter, "config:16");
PERSONA_TEXT(spe_format, branch_filter, "config:32");
PERSONA_TEXT(spe_format, load_filter, "config:33");
PERSONA_TEXT(spe_format, store_filter, "config:34");

static struct attribute *spe_format_attrs[] = {
	&spe_format_ts_enable.attr.attr,
	&spe_format_pa_enable.attr.attr,
	&spe_format_pct_enable.attr.attr,
	&spe_format_jitter.attr.attr,
	&spe_format_branch_filter.attr.attr,
	&spe_format_load_filter.attr.attr,
	&spe_format_store_filter.attr.attr,
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

static const struct synth_persona personas[] = {
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

const struct synth_persona *synth_persona_find(const char *name)
{
	size_t n;

	for (n = 0; n < ARRAY_SIZE(personas); n++)
		if (!strcmp(personas[n].name, name))
			return &personas[n];
	return NULL;
}
