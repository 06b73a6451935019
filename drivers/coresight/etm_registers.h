/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Registers of a trace unit (Arm IHI 0064, ETMv4; Arm ARM DDI 0487, ETE): offsets, and the fields
 * that this driver uses.
 */
#ifndef ETM_REGISTERS_H
#define ETM_REGISTERS_H

#include <linux/bits.h>

/* Name, offset. Those that are there in all trace units that a PE's system registers lead to. */
#define ETM_REGISTERS(X)		\
	X(TRCPRGCTLR, 0x004)		\
	X(TRCSTATR, 0x00c)		\
	X(TRCCONFIGR, 0x010)		\
	X(TRCEVENTCTL0R, 0x020)		\
	X(TRCEVENTCTL1R, 0x024)		\
	X(TRCRSR, 0x028)		\
	X(TRCSTALLCTLR, 0x02c)		\
	X(TRCTSCTLR, 0x030)		\
	X(TRCSYNCPR, 0x034)		\
	X(TRCCCCTLR, 0x038)		\
	X(TRCBBCTLR, 0x03c)		\
	X(TRCTRACEIDR, 0x040)		\
	X(TRCVICTLR, 0x080)		\
	X(TRCVIIECTLR, 0x084)		\
	X(TRCVISSCTLR, 0x088)		\
	X(TRCVIPCSSCTLR, 0x08c)		\
	X(TRCIDR0, 0x1e0)		\
	X(TRCIDR1, 0x1e4)		\
	X(TRCIDR2, 0x1e8)		\
	X(TRCIDR3, 0x1ec)		\
	X(TRCIDR4, 0x1f0)		\
	X(TRCIDR5, 0x1f4)		\
	X(TRCIDR8, 0x180)		\
	X(TRCOSLSR, 0x304)		\
	X(TRCACVR0, 0x400)		\
	X(TRCACVR1, 0x408)		\
	X(TRCACVR2, 0x410)		\
	X(TRCACVR3, 0x418)		\
	X(TRCACVR4, 0x420)		\
	X(TRCACVR5, 0x428)		\
	X(TRCACVR6, 0x430)		\
	X(TRCACVR7, 0x438)		\
	X(TRCACVR8, 0x440)		\
	X(TRCACVR9, 0x448)		\
	X(TRCACVR10, 0x450)		\
	X(TRCACVR11, 0x458)		\
	X(TRCACVR12, 0x460)		\
	X(TRCACVR13, 0x468)		\
	X(TRCACVR14, 0x470)		\
	X(TRCACVR15, 0x478)		\
	X(TRCACATR0, 0x480)		\
	X(TRCACATR1, 0x488)		\
	X(TRCACATR2, 0x490)		\
	X(TRCACATR3, 0x498)		\
	X(TRCACATR4, 0x4a0)		\
	X(TRCACATR5, 0x4a8)		\
	X(TRCACATR6, 0x4b0)		\
	X(TRCACATR7, 0x4b8)		\
	X(TRCACATR8, 0x4c0)		\
	X(TRCACATR9, 0x4c8)		\
	X(TRCACATR10, 0x4d0)		\
	X(TRCACATR11, 0x4d8)		\
	X(TRCACATR12, 0x4e0)		\
	X(TRCACATR13, 0x4e8)		\
	X(TRCACATR14, 0x4f0)		\
	X(TRCACATR15, 0x4f8)		\
	X(TRCCLAIMSET, 0xfa0)		\
	X(TRCCLAIMCLR, 0xfa4)		\
	X(TRCAUTHSTATUS, 0xfb8)		\
	X(TRCDEVARCH, 0xfbc)

/* Those that can only be written. */
#define ETM_REGISTERS_WO(X)		\
	X(TRCOSLAR, 0x300)

#define ETM_OFFSET(name, offset)	name = (offset),
enum etm_register { ETM_REGISTERS(ETM_OFFSET) ETM_REGISTERS_WO(ETM_OFFSET) };
#undef ETM_OFFSET

/* Address comparator @n, 0 to 15; pair p is 2 p and 2 p + 1. */
#define TRCACVR(n)			((enum etm_register)(TRCACVR0 + 8 * (n)))
#define TRCACATR(n)			((enum etm_register)(TRCACATR0 + 8 * (n)))

#define TRCPRGCTLR_EN			BIT(0)

#define TRCSTATR_IDLE			BIT(0)
#define TRCSTATR_PMSTABLE		BIT(1)

#define TRCCONFIGR_BB			BIT(3)
#define TRCCONFIGR_CCI			BIT(4)
#define TRCCONFIGR_CID			BIT(6)
#define TRCCONFIGR_VMID			BIT(7)
#define TRCCONFIGR_TS			BIT(11)
#define TRCCONFIGR_RS			BIT(12)
#define TRCCONFIGR_VMIDOPT		BIT(15)

/* ETE has to be told before it is switched on that it has traced nothing yet. */
#define TRCRSR_TA			BIT(12)

/* 2 to the power of this many bytes of trace from one synchronization to the next. */
#define TRCSYNCPR_4096			12

/* The event that is always true. */
#define TRCVICTLR_EVENT_TRUE		BIT(0)
#define TRCVICTLR_SSSTATUS		BIT(9)
#define TRCVICTLR_EXLEVEL_S_SHIFT	16
#define TRCVICTLR_EXLEVEL_NS(level)	BIT(20 + (level))

/* For exception levels that the comparator leaves out: bits as in TRCVICTLR. */
#define TRCACATR_EXLEVEL_S_SHIFT	8
#define TRCACATR_EXLEVEL_NS(level)	BIT(12 + (level))

#define TRCIDR0_TRCBB			BIT(5)
#define TRCIDR0_TRCCCI			BIT(7)
#define TRCIDR0_RETSTACK		BIT(9)
#define TRCIDR0_TSSIZE			GENMASK(28, 24)
#define TRCIDR2_CIDSIZE			GENMASK(9, 5)
#define TRCIDR2_VMIDSIZE		GENMASK(14, 10)
#define TRCIDR2_VMIDOPT			GENMASK(30, 29)
#define TRCIDR3_CCITMIN			GENMASK(11, 0)
#define TRCIDR3_EXLEVEL_S		GENMASK(19, 16)
#define TRCIDR3_SYNCPR			BIT(25)
#define TRCIDR3_STALLCTL		BIT(26)
#define TRCIDR4_NUMACPAIRS		GENMASK(3, 0)
#define TRCIDR4_NUMPC			GENMASK(15, 12)

/* Which lock keeps the registers: the trace unit's own, or that of the PE's debug registers. */
#define TRCOSLSR_OSLM			(BIT(3) | BIT(0))
#define TRCOSLSR_OSLM_TRACE		BIT(3)
#define TRCOSLSR_OSLM_PE		(BIT(3) | BIT(0))

/* Who uses the unit: CoreSight Architecture (IHI 0029), PSCI of debuggers and kernels. */
#define TRCCLAIM_EXTERNAL		BIT(0)
#define TRCCLAIM_SELF_HOSTED		BIT(1)

/* An ETE of any revision: ARCHVER is 5, and 4 of an ETMv4. */
#define TRCDEVARCH_ARCHID		GENMASK(15, 0)
#define TRCDEVARCH_ARCHID_ETE		0x5a13

#endif /* ETM_REGISTERS_H */
