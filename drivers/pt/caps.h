/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the trace units can do, all of them: CPUID leaf 14H, as SDM volume 3 "Detection of Intel
 * Processor Trace and Capability Enumeration" has it.  Hybrid processors have types of cores that
 * differ in it.  Read once, on all CPUs that are online; asked in any context.
 */
#ifndef AUXPMU_PT_CAPS_H
#define AUXPMU_PT_CAPS_H

#include <linux/sysfs.h>
#include <linux/types.h>

/* Named as in sysfs caps/, and as the kernel's own intel_pt names them. */
enum pt_cap {
	PT_MAX_SUBLEAF,
	PT_CR3_FILTERING,
	PT_PSB_CYC,
	PT_IP_FILTERING,
	PT_MTC,
	PT_PTWRITE,
	PT_POWER_EVENT_TRACE,
	PT_EVENT_TRACE,
	PT_TNT_DISABLE,
	PT_TOPA_OUTPUT,
	PT_TOPA_MULTIPLE_ENTRIES,
	PT_SINGLE_RANGE_OUTPUT,
	PT_OUTPUT_SUBSYS,
	PT_PAYLOADS_LIP,
	PT_NUM_ADDRESS_RANGES,
	PT_MTC_PERIODS,
	PT_CYCLE_THRESHOLDS,
	PT_PSB_PERIODS,
	PT_NR_CAPS
};

/* The most address ranges that there are MSRs for. */
#define PT_RANGES_MAX	4

u32 pt_cap(enum pt_cap cap);

/* Of the file in sysfs caps/. */
const char *pt_cap_name(enum pt_cap cap);

/* Address ranges that can be used. */
unsigned int pt_nr_ranges(void);

/* Erratum BDM106: tracing without BranchEn is a general protection fault. */
bool pt_needs_branches(void);

/*
 * Reads CPUID.  0, or -ENODEV with a sentence in the log that says what this processor has not.
 * The bit of the feature is read as well, for the kernel may have been told not to see it.  May
 * sleep.
 */
int pt_caps_init(void);

/* Can this CPU, which may have come since, do all that the others can?  Preemption off. */
bool pt_caps_here(void);

/* sysfs: caps/, and the ratios that timing packets are decoded with. */
extern const struct attribute_group pt_caps_group;
extern const struct attribute_group pt_timing_group;

#endif /* AUXPMU_PT_CAPS_H */
