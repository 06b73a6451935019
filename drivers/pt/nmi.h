/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The performance interrupt: two NMI handlers, registered while the units are claimed. May sleep.
 */
#ifndef AUXPMU_PT_NMI_H
#define AUXPMU_PT_NMI_H

#include <linux/types.h>

int pt_nmi_register(bool intree);
void pt_nmi_unregister(void);

#endif /* AUXPMU_PT_NMI_H */
