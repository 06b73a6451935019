/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Access to the registers of this PE's trace unit: in memory, if it has them there, else by system
 * registers. On the PE, preemption off, any context. A write takes effect at the next
 * etm_synchronize(); a register that the unit does not have must not be accessed (IHI 0064).
 *
 * An instruction names its register, so @offset has to be a literal number: one of
 * etm_registers.h.
 */
#ifndef ETM_ACCESS_H
#define ETM_ACCESS_H

#include <linux/io.h>

#include <asm/sysreg.h>

#include "etm_registers.h"

/* op0 is 2, op1 is 1; the register's number, a fourth of its offset, is CRn, op2 and CRm. */
#define ETM_CRN(offset)		(((offset) >> 9) & 7)
#define ETM_OP2(offset)		(((offset) >> 6) & 7)
#define ETM_CRM(offset)		(((offset) >> 2) & 15)
#define ETM_SYSREG(offset)	sys_reg(2, 1, ETM_CRN(offset), ETM_CRM(offset), ETM_OP2(offset))

#define etm_read(etm, offset)							\
	((etm)->base ? readl_relaxed((etm)->base + (offset)) :			\
		       (u32)read_sysreg_s(ETM_SYSREG(offset)))

#define ETM_WRITE_BY(write, etm, value, offset)					\
	do {									\
		if ((etm)->base)						\
			write(value, (etm)->base + (offset));			\
		else								\
			write_sysreg_s(value, ETM_SYSREG(offset));		\
	} while (0)

#define etm_write(etm, value, offset)	ETM_WRITE_BY(writel_relaxed, etm, value, offset)

/* Of 64 bits. */
#define etm_write_address(etm, value, offset)					\
	ETM_WRITE_BY(writeq_relaxed, etm, value, offset)

/* The four registers of a pair of address comparators; @n is a literal number, too. */
#define ETM_WRITE_PAIR(etm, n, first, last, type)				\
	do {									\
		etm_write_address(etm, first, TRCACVR(2 * (n)));		\
		etm_write_address(etm, last, TRCACVR(2 * (n) + 1));		\
		etm_write_address(etm, type, TRCACATR(2 * (n)));		\
		etm_write_address(etm, type, TRCACATR(2 * (n) + 1));		\
	} while (0)

#endif /* ETM_ACCESS_H */
