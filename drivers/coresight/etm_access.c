// SPDX-License-Identifier: GPL-2.0-only
/* Access to trace units: see etm_access.h. */
#include <linux/bug.h>

#include <asm/sysreg.h>

#include "etm_access.h"

/*
 * The system register of a trace unit's register: op0 2, op1 1, and the register's number, which is
 * a fourth of its offset, in CRn (three bits), op2 (three) and CRm (four).
 */
#define ETM_NUMBER(offset)	((offset) >> 2)
#define ETM_SYSREG(offset)	sys_reg(2, 1, ETM_NUMBER(offset) >> 7 & 7,	\
					ETM_NUMBER(offset) & 15, ETM_NUMBER(offset) >> 4 & 7)

/* An instruction names its register, so there is one for each. */
#define ETM_READ(name, offset)	case name: return read_sysreg_s(ETM_SYSREG(offset));
#define ETM_WRITE(name, offset)	case name: write_sysreg_s(value, ETM_SYSREG(offset)); break;

u64 etm_read(enum etm_register reg)
{
	switch (reg) {
	ETM_REGISTERS(ETM_READ)
	default:
		WARN_ON_ONCE(1);
		return 0;
	}
}

void etm_write(enum etm_register reg, u64 value)
{
	switch (reg) {
	ETM_REGISTERS(ETM_WRITE)
	ETM_REGISTERS_WO(ETM_WRITE)
	default:
		WARN_ON_ONCE(1);
	}
}
