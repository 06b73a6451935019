/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Can this processor run Intel PT beside LBR and BTS? If not, setting TraceEn while one of them is
 * on, or one of them while TraceEn is set, is a general protection fault.
 */
#ifndef AUXPMU_INTEL_EXCLUSION_H
#define AUXPMU_INTEL_EXCLUSION_H

#include <linux/kernel.h>
#include <linux/types.h>

#include <asm/processor.h>

/*
 * CPUID does not tell. The list of models (family 6) is closed: Broadwell, Skylake and its
 * derivatives; from Goldmont and Ice Lake on, all can run both (for these the kernel sets
 * x86_pmu.lbr_pt_coexist in intel_pmu_init()).
 */
static inline bool intel_traces_exclude_each_other(void)
{
	static const u8 models[] = {
		0x3d, 0x47, 0x4f, 0x56,		/* Broadwell */
		0x4e, 0x5e, 0x55,		/* Skylake, Cascade Lake, Cooper Lake */
		0x8e, 0x9e, 0xa5, 0xa6, 0x66,	/* Kaby, Coffee, Comet, Cannon Lake */
	};
	int i;

	if (boot_cpu_data.x86 != 6)
		return false;
	for (i = 0; i < ARRAY_SIZE(models); i++) {
		if (boot_cpu_data.x86_model == models[i])
			return true;
	}
	return false;
}

#endif
