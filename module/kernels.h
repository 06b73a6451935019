/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What backends need and kernels from 6.1 on have under different names. Installed beside auxpmu.h,
 * with the features of the kernel that it was installed for.
 */
#ifndef AUXPMU_KERNELS_H
#define AUXPMU_KERNELS_H

#include <linux/hrtimer.h>
#include <linux/perf_event.h>
#include <linux/types.h>
#ifdef CONFIG_X86
#include <asm/msr.h>
#endif

#include "features.h"

/* attr.config3, or 0: a kernel refuses words that it does not know by itself. */
static inline u64 auxpmu_config_3(const struct perf_event_attr *attr)
{
#ifdef AUXPMU_HAS_CONFIG3
	return attr->config3;
#else
	return 0;
#endif
}

/* Is any word behind attr.config3 set? */
static inline bool auxpmu_config_behind_3(const struct perf_event_attr *attr)
{
#ifdef AUXPMU_HAS_CONFIG4
	return attr->config4;
#else
	return false;
#endif
}

/* Is any word behind attr.config2 set? */
static inline bool auxpmu_config_behind_2(const struct perf_event_attr *attr)
{
	return auxpmu_config_3(attr) || auxpmu_config_behind_3(attr);
}

/* Is any word behind attr.config set? */
static inline bool auxpmu_more_config(const struct perf_event_attr *attr)
{
	return attr->config1 || attr->config2 || auxpmu_config_behind_2(attr);
}

#ifndef AUXPMU_HAS_HRTIMER_SETUP
static inline void hrtimer_setup(struct hrtimer *timer,
				 enum hrtimer_restart (*function)(struct hrtimer *),
				 clockid_t clock, enum hrtimer_mode mode)
{
	hrtimer_init(timer, clock, mode);
	timer->function = function;
}
#endif

/* Up to 6.15 the accessors of 64-bit MSRs ended in l, since then in q. */
#if defined(CONFIG_X86) && !defined(rdmsrq)
#define rdmsrq		rdmsrl
#define rdmsrq_safe	rdmsrl_safe
#define wrmsrq		wrmsrl
#define wrmsrq_safe	wrmsrl_safe
#endif

#endif /* AUXPMU_KERNELS_H */
