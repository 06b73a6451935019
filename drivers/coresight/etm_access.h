/* SPDX-License-Identifier: GPL-2.0-only */
/* Access to the registers of this PE's trace unit, by system registers. */
#ifndef ETM_ACCESS_H
#define ETM_ACCESS_H

#include <linux/types.h>

#include "etm_registers.h"

/*
 * On the PE of the trace unit, preemption off, any context. A write takes effect at the next isb();
 * a register that the unit does not have must not be accessed (IHI 0064, "UNDEFINED").
 */
u64 etm_read(enum etm_register reg);
void etm_write(enum etm_register reg, u64 value);

#endif /* ETM_ACCESS_H */
