/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What all trace units can do: CPUID leaf 14H, see SDM volume 3 "Detection of Intel Processor Trace
 * and Capability Enumeration". The types of cores of a hybrid processor may differ in it. Read
 * once, on all CPUs that are online; the functions below may be called in any context.
 */
#ifndef AUXPMU_PT_CAPS_H
#define AUXPMU_PT_CAPS_H

#include <linux/sysfs.h>
#include <linux/types.h>

/* Named as in sysfs caps/ of this driver and of the in-tree intel_pt. */
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

/* The most address ranges for which there are MSRs. */
#define PT_RANGES_MAX	4

u32 pt_cap(enum pt_cap cap);

/* The name of its file in sysfs caps/. */
const char *pt_cap_name(enum pt_cap cap);

/* Number of address ranges that can be used. */
unsigned int pt_nr_ranges(void);

/* Erratum BDM106: without BranchEn, setting TraceEn is a general protection fault. */
bool pt_needs_branches(void);

/*
 * Read CPUID. 0, or -ENODEV with a sentence in the log that says what this processor lacks. Reads
 * the feature bit from CPUID, too, since the kernel may have been told to ignore it. May sleep.
 */
int pt_caps_init(void);

/* Can this CPU, which may have come online since, do all that the others can? Preemption off. */
bool pt_caps_here(void);

/* sysfs: caps/, and the ratios for decoding timing packets. */
extern const struct attribute_group pt_caps_group;
extern const struct attribute_group pt_timing_group;

#endif /* AUXPMU_PT_CAPS_H */
