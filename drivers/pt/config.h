/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * attr.config: the fields of IA32_RTIT_CTL that a user may set, in the same bits as in the register
 * (SDM volume 3, "IA32_RTIT_CTL MSR").
 */
#ifndef AUXPMU_PT_CONFIG_H
#define AUXPMU_PT_CONFIG_H

#include <linux/sysfs.h>
#include <linux/types.h>

struct perf_event_attr;

/* Bytes for the sentence @why. */
#define PT_CONFIG_WHY	128

/* 0, or -EINVAL if this processor does not accept it; then @why says what it accepts. */
int pt_config_check(const struct perf_event_attr *attr, char *why);

/* IA32_RTIT_CTL for such an event, without TraceEn, ToPA and the address ranges. */
u64 pt_config_ctl(const struct perf_event_attr *attr);

/* sysfs format/; empty before pt_config_init(). */
void pt_config_init(void);
extern const struct attribute_group pt_format_group;

#endif /* AUXPMU_PT_CONFIG_H */
