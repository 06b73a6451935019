/* SPDX-License-Identifier: GPL-2.0-only */
/* The threshold interrupt: NMI handlers.  May sleep. */
#ifndef AUXPMU_BTS_NMI_H
#define AUXPMU_BTS_NMI_H

#include <linux/types.h>

/* The handler that serves it, registered while the stores are claimed. */
int bts_nmi_register(bool intree);
void bts_nmi_unregister(void);

/* A handler before all others, registered while there is an event that records the kernel. */
int bts_nmi_first_get(void);
void bts_nmi_first_put(void);

#endif /* AUXPMU_BTS_NMI_H */
