// SPDX-License-Identifier: GPL-2.0-only
/*
 * attr.config: see config.h. Fields and their places are those of the in-tree cs_etm, as far as
 * they mean something without CoreSight's configuration manager; perf reads them in sysfs format/.
 */
#include <linux/bitfield.h>
#include <linux/bits.h>
#include <linux/device.h>
#include <linux/kernel.h>
#include <linux/perf_event.h>
#include <linux/pid_namespace.h>
#include <linux/sched.h>
#include <linux/stringify.h>

#include <asm/virt.h>

#include "compat.h"
#include "config.h"
#include "etm.h"
#include "etm_registers.h"

#define CONFIG_PRESET		GENMASK_ULL(3, 0)
#define CONFIG_BRANCH_BROADCAST	BIT_ULL(8)
#define CONFIG_CYCACC		BIT_ULL(12)
#define CONFIG_CONTEXTID1	BIT_ULL(14)
#define CONFIG_CONTEXTID2	BIT_ULL(15)
#define CONFIG_TIMESTAMP	BIT_ULL(28)
#define CONFIG_RETSTACK		BIT_ULL(29)
#define CONFIG_KNOWN		(CONFIG_PRESET | CONFIG_BRANCH_BROADCAST | CONFIG_CYCACC | \
				 CONFIG_CONTEXTID1 | CONFIG_CONTEXTID2 | CONFIG_TIMESTAMP | \
				 CONFIG_RETSTACK)
#define CONFIG2_CONFIGID	GENMASK_ULL(63, 32)
#define CONFIG3_CC_THRESHOLD	GENMASK_ULL(11, 0)

/* The only configuration that there is: strobing. In-tree its number is a hash. */
#define CONFIGID_AUTOFDO	1

/* As in-tree: enough to be of use, few enough to be affordable. */
#define CC_THRESHOLD_DEFAULT	0x100

/* A strobe: cycles of its window; its periods, without a preset and from 1 on; as in-tree. */
#define STROBE_WINDOW		5000
static const u16 etm_config_periods[] = { 10000, 2, 4, 8, 16, 64, 128, 512, 1024, 4096 };

#define etm_config_refuse(why, fmt, ...)	\
	(scnprintf(why, ETM_CONFIG_WHY, fmt, ##__VA_ARGS__), -EINVAL)

/* What takes a capability of the hardware. */
static const struct {
	u64 bit;
	u32 configr;
	const char *name;
	enum etm_cap cap;
} etm_config_options[] = {
	{ CONFIG_BRANCH_BROADCAST, TRCCONFIGR_BB, "branch_broadcast", ETM_CAP_BRANCH_BROADCAST },
	{ CONFIG_CYCACC, TRCCONFIGR_CCI, "cycacc", ETM_CAP_CYCLES },
	{ CONFIG_CONTEXTID1, TRCCONFIGR_CID, "contextid1", ETM_CAP_CONTEXT_ID },
	{ CONFIG_CONTEXTID2, TRCCONFIGR_VMID | TRCCONFIGR_VMIDOPT, "contextid2",
	  ETM_CAP_CONTEXT_ID_EL2 },
	{ CONFIG_TIMESTAMP, TRCCONFIGR_TS, "timestamp", ETM_CAP_TIMESTAMPS },
	{ CONFIG_RETSTACK, TRCCONFIGR_RS, "retstack", ETM_CAP_RETURN_STACK },
};

/*
 * Process IDs of the root namespace are not for others to know: as in-tree, they are left out
 * without a word, since perf asks for them by itself.
 */
static u32 etm_config_without_secrets(u32 configr)
{
	if (task_active_pid_ns(current) == &init_pid_ns)
		return configr;
	return configr & ~(TRCCONFIGR_CID | TRCCONFIGR_VMID | TRCCONFIGR_VMIDOPT);
}

static int etm_config_make_ccctlr(u64 threshold, struct etm_config *config, char *why)
{
	u32 least = etm_least_cycles();

	if (!(config->configr & TRCCONFIGR_CCI))
		return threshold ? etm_config_refuse(why, "cc_threshold takes cycacc") : 0;
	if (threshold && threshold < least)
		return etm_config_refuse(why,
					 "cc_threshold is %llu; these trace units take %u or more",
					 threshold, least);
	config->ccctlr = threshold ?: max_t(u32, CC_THRESHOLD_DEFAULT, least);
	return 0;
}

static int etm_config_make_strobe(const struct perf_event_attr *attr, struct etm_config *config,
				  char *why)
{
	u32 id = FIELD_GET(CONFIG2_CONFIGID, attr->config2);
	u32 preset = FIELD_GET(CONFIG_PRESET, attr->config);

	if (!id)
		return preset ? etm_config_refuse(why, "preset takes a configid: autofdo") : 0;
	if (id != CONFIGID_AUTOFDO)
		return etm_config_refuse(why, "configid is 0x%x; there is only autofdo, 0x%x", id,
					 CONFIGID_AUTOFDO);
	if (preset >= ARRAY_SIZE(etm_config_periods))
		return etm_config_refuse(why, "preset is %u; autofdo has 1 to %zu", preset,
					 ARRAY_SIZE(etm_config_periods) - 1);
	if (!etm_can(ETM_CAP_STROBING))
		return etm_config_refuse(why,
					 "autofdo takes two counters, which not all trace units have");
	config->window = STROBE_WINDOW;
	config->period = etm_config_periods[preset];
	return 0;
}

int etm_config_make(const struct perf_event_attr *attr, struct etm_config *config, char *why)
{
	u64 threshold = FIELD_GET(CONFIG3_CC_THRESHOLD, auxpmu_config_3(attr));
	size_t n;

	if (attr->config & ~CONFIG_KNOWN)
		return etm_config_refuse(why,
					 "config has bits outside the fields in sysfs format/: 0x%llx",
					 attr->config & ~CONFIG_KNOWN);
	if (attr->config1 || auxpmu_config_behind_3(attr) ||
	    (auxpmu_config_3(attr) & ~CONFIG3_CC_THRESHOLD))
		return etm_config_refuse(why,
					 "config1 to config4 have bits outside the fields in sysfs format/");
	*config = (struct etm_config){
		.kernel = !attr->exclude_kernel,
		.user = !attr->exclude_user,
	};
	for (n = 0; n < ARRAY_SIZE(etm_config_options); n++) {
		if (!(attr->config & etm_config_options[n].bit))
			continue;
		if (!etm_can(etm_config_options[n].cap))
			return etm_config_refuse(why,
						 "%s has to be 0: not all trace units can do that",
						 etm_config_options[n].name);
		config->configr |= etm_config_options[n].configr;
	}
	config->configr = etm_config_without_secrets(config->configr);
	return etm_config_make_ccctlr(threshold, config, why) ?:
	       etm_config_make_strobe(attr, config, why);
}

/* --- sysfs format/ -------------------------------------------------------------------------- */

PMU_FORMAT_ATTR(preset, "config:0-3");
PMU_FORMAT_ATTR(branch_broadcast, "config:8");
PMU_FORMAT_ATTR(cycacc, "config:12");
PMU_FORMAT_ATTR(contextid1, "config:14");
PMU_FORMAT_ATTR(contextid2, "config:15");
PMU_FORMAT_ATTR(timestamp, "config:28");
PMU_FORMAT_ATTR(retstack, "config:29");
PMU_FORMAT_ATTR(sinkid, "config2:0-31");
PMU_FORMAT_ATTR(configid, "config2:32-63");
#ifdef AUXPMU_HAS_CONFIG3
PMU_FORMAT_ATTR(cc_threshold, "config3:0-11");
#endif

/* Where the kernel has the process ID: perf sets this for events of CPUs. */
static ssize_t etm_config_contextid_show(struct device *dev, struct device_attribute *attr,
					 char *page)
{
	return sysfs_emit(page, is_kernel_in_hyp_mode() ? "config:15\n" : "config:14\n");
}

static struct device_attribute format_attr_contextid =
	__ATTR(contextid, 0444, etm_config_contextid_show, NULL);

static struct attribute *format_attrs[] = {
	&format_attr_preset.attr,
	&format_attr_branch_broadcast.attr,
	&format_attr_cycacc.attr,
	&format_attr_contextid.attr,
	&format_attr_contextid1.attr,
	&format_attr_contextid2.attr,
	&format_attr_timestamp.attr,
	&format_attr_retstack.attr,
	&format_attr_sinkid.attr,
	&format_attr_configid.attr,
#ifdef AUXPMU_HAS_CONFIG3
	&format_attr_cc_threshold.attr,
#endif
	NULL
};

const struct attribute_group etm_format_group = {
	.name = "format",
	.attrs = format_attrs,
};

/* --- sysfs events/ -------------------------------------------------------------------------- */

PMU_EVENT_ATTR_STRING(autofdo, event_attr_autofdo, "configid=" __stringify(CONFIGID_AUTOFDO));

static struct attribute *event_attrs[] = {
	&event_attr_autofdo.attr.attr,
	NULL
};

static umode_t etm_config_event_visible(struct kobject *kobj, struct attribute *attr, int n)
{
	return etm_can(ETM_CAP_STROBING) ? attr->mode : 0;
}

const struct attribute_group etm_events_group = {
	.name = "events",
	.attrs = event_attrs,
	.is_visible = etm_config_event_visible,
};
