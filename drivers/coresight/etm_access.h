/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Access to the registers of this PE's trace unit, by system registers. On the PE, preemption off,
 * any context. A write takes effect at the next isb(); a register that the unit does not have must
 * not be accessed (IHI 0064).
 *
 * An instruction names its register, so @offset has to be a literal number: one of
 * etm_registers.h.
 */
#ifndef ETM_ACCESS_H
#define ETM_ACCESS_H

#include <asm/sysreg.h>

#include "etm_registers.h"

/* op0 is 2, op1 is 1; the register's number, a fourth of its offset, is CRn, op2 and CRm. */
#define ETM_CRN(offset)		(((offset) >> 9) & 7)
#define ETM_OP2(offset)		(((offset) >> 6) & 7)
#define ETM_CRM(offset)		(((offset) >> 2) & 15)

#define etm_read(offset)	\
	read_sysreg_s(sys_reg(2, 1, ETM_CRN(offset), ETM_CRM(offset), ETM_OP2(offset)))
#define etm_write(value, offset)	\
	write_sysreg_s(value, sys_reg(2, 1, ETM_CRN(offset), ETM_CRM(offset), ETM_OP2(offset)))

/* The four registers of a pair of address comparators; @n is a literal number, too. */
#define ETM_WRITE_PAIR(n, first, last, type)			\
	do {							\
		etm_write(first, TRCACVR(2 * (n)));		\
		etm_write(last, TRCACVR(2 * (n) + 1));		\
		etm_write(type, TRCACATR(2 * (n)));		\
		etm_write(type, TRCACATR(2 * (n) + 1));		\
	} while (0)

#endif /* ETM_ACCESS_H */
