/* SPDX-License-Identifier: GPL-2.0-only */
/* Reboot, kexec, panic: the units stop before the kernel they write for goes. */
#ifndef AUXPMU_PT_POWER_H
#define AUXPMU_PT_POWER_H

void pt_power_init(void);
void pt_power_exit(void);

#endif /* AUXPMU_PT_POWER_H */
