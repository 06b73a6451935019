/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Registers of a trace unit (Arm IHI 0064, ETMv4; Arm ARM DDI 0487, ETE): offsets, and the fields
 * that this driver uses.
 */
#ifndef ETM_REGISTERS_H
#define ETM_REGISTERS_H

#include <linux/bits.h>

#define TRCPRGCTLR			0x004
#define TRCSTATR			0x00c
#define TRCCONFIGR			0x010
#define TRCEVENTCTL0R			0x020
#define TRCEVENTCTL1R			0x024
#define TRCRSR				0x028
#define TRCSTALLCTLR			0x02c
#define TRCTSCTLR			0x030
#define TRCSYNCPR			0x034
#define TRCCCCTLR			0x038
#define TRCBBCTLR			0x03c
#define TRCTRACEIDR			0x040
#define TRCVICTLR			0x080
#define TRCVIIECTLR			0x084
#define TRCVISSCTLR			0x088
#define TRCVIPCSSCTLR			0x08c
#define TRCCNTRLDVR0			0x140
#define TRCCNTRLDVR1			0x144
#define TRCCNTCTLR0			0x150
#define TRCCNTCTLR1			0x154
#define TRCCNTVR0			0x160
#define TRCCNTVR1			0x164
#define TRCIDR0				0x1e0
#define TRCIDR1				0x1e4
#define TRCIDR2				0x1e8
#define TRCIDR3				0x1ec
#define TRCIDR4				0x1f0
#define TRCIDR5				0x1f4
#define TRCIDR8				0x180
#define TRCRSCTLR2			0x208
#define TRCRSCTLR3			0x20c
#define TRCOSLSR			0x304
#define TRCCLAIMSET			0xfa0
#define TRCCLAIMCLR			0xfa4
#define TRCAUTHSTATUS			0xfb8
#define TRCDEVARCH			0xfbc
#define TRCOSLAR			0x300
#define TRCPDCR				0x310
#define TRCQCTLR			0x044

/* Address comparator n; a pair is an even one and the next. */
#define TRCACVR(n)			(0x400 + 8 * (n))
#define TRCACATR(n)			(0x480 + 8 * (n))

#define TRCPRGCTLR_EN			BIT(0)

#define TRCSTATR_IDLE			BIT(0)

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

/* An event is the number of a selector. That of selector 1 is always true. */
#define EVENT_TRUE			1
#define TRCVICTLR_SSSTATUS		BIT(9)

/* Address comparator @n starts or stops the trace. */
#define TRCVISSCTLR_START(n)		BIT(n)
#define TRCVISSCTLR_STOP(n)		BIT(16 + (n))

/* A selector chooses resources of a group by a bit of each: here, that a counter is at zero. */
#define TRCRSCTLR_COUNTER_AT_ZERO(n)	(2 << 16 | BIT(n))

/* A counter goes down at each such event, and from zero to its reload value. */
#define TRCCNTCTLR_ROUND(event)		(BIT(16) | (event))

/* Exception levels that are left out: EL0 to EL3 of Secure state, then EL0 to EL2 of Non-secure. */
#define TRCVICTLR_EXLEVEL_SHIFT		16
#define TRCACATR_EXLEVEL_SHIFT		8
#define EXLEVEL_NS_SHIFT		4

#define TRCIDR0_TRCBB			BIT(5)
#define TRCIDR0_TRCCCI			BIT(7)
#define TRCIDR0_RETSTACK		BIT(9)
#define TRCIDR0_QSUPP			GENMASK(16, 15)
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
#define TRCIDR4_NUMRSPAIR		GENMASK(19, 16)
#define TRCIDR5_NUMCNTR			GENMASK(30, 28)

/* Which lock keeps the registers: the trace unit's own, or that of the PE's debug registers. */
#define TRCOSLSR_OSLM			(BIT(3) | BIT(0))
#define TRCOSLSR_OSLM_TRACE		BIT(3)
#define TRCOSLSR_OSLM_PE		(BIT(3) | BIT(0))

/* Who uses the unit: CoreSight Architecture (IHI 0029), PSCI of debuggers and kernels. */
#define TRCCLAIM_EXTERNAL		BIT(0)
#define TRCCLAIM_SELF_HOSTED		BIT(1)

/* Of any revision: ARCHVER is 5 of an ETE, and 4 of an ETMv4. */
#define TRCDEVARCH_ARCHID		GENMASK(15, 0)
#define TRCDEVARCH_ARCHID_ETE		0x5a13
#define TRCDEVARCH_ARCHID_ETM		0x4a13

/* Keep the power on (registers in memory). */
#define TRCPDCR_PU			BIT(3)

#endif /* ETM_REGISTERS_H */
