/* SPDX-License-Identifier: GPL-2.0-only */
/* The threshold interrupt: two NMI handlers, there while the stores are claimed.  May sleep. */
#ifndef AUXPMU_BTS_NMI_H
#define AUXPMU_BTS_NMI_H

#include <linux/types.h>

int bts_nmi_register(bool rival);
void bts_nmi_unregister(void);

#endif /* AUXPMU_BTS_NMI_H */
