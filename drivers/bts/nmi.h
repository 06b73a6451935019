/* SPDX-License-Identifier: GPL-2.0-only */
/* The threshold interrupt: NMI handlers.  May sleep. */
#ifndef AUXPMU_BTS_NMI_H
#define AUXPMU_BTS_NMI_H

#include <linux/types.h>

/* While the stores are claimed: the one that serves it. */
int bts_nmi_register(bool intree);
void bts_nmi_unregister(void);

/* As long as there is an event that records the kernel: one more, before all others. */
int bts_nmi_first_get(void);
void bts_nmi_first_put(void);

#endif /* AUXPMU_BTS_NMI_H */
