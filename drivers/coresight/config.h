/* SPDX-License-Identifier: GPL-2.0-only */
/* attr.config: what an event asks of a trace unit. */
#ifndef ETM_CONFIG_H
#define ETM_CONFIG_H

#include <linux/bits.h>

struct attribute_group;
struct etm_config;
struct perf_event_attr;

/* The sink: its number as in sysfs sinks/, 0: choose one. */
#define CONFIG2_SINK	GENMASK_ULL(31, 0)

/* Bytes of the reason that etm_config_make() gives. */
#define ETM_CONFIG_WHY	128

/*
 * Check @attr against what all trace units can do, and fill @config. 0, or -EINVAL and a few words
 * in @why. Task context.
 */
int etm_config_make(const struct perf_event_attr *attr, struct etm_config *config, char *why);

extern const struct attribute_group etm_format_group, etm_events_group;

#endif /* ETM_CONFIG_H */
