// SPDX-License-Identifier: GPL-2.0-only
/*
 * The trace unit of a PE: see etm.h. Order and barriers are those of "Self-hosted trace" in the Arm
 * ARM (DDI 0487, D3 and D5) and of "Synchronization of register updates" in IHI 0064.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/bitfield.h>
#include <linux/delay.h>
#include <linux/errno.h>
#include <linux/minmax.h>
#include <linux/percpu.h>
#include <linux/printk.h>

#include <asm/barrier.h>
#include <asm/sysreg.h>
#include <asm/virt.h>

#include "auxpmu.h"
#include "component.h"
#include "etm.h"
#include "etm_access.h"
#include "guest.h"

/* TRFCR_EL1 and _EL2: levels that may be traced; virtual timestamps; CX: the context of EL2. */
#define ETM_TRFCR_E0TRE		BIT(0)
#define ETM_TRFCR_E1TRE		BIT(1)
#define ETM_TRFCR_CX		BIT(3)
#define ETM_TRFCR_TS_VIRTUAL	BIT(5)

/* Trace IDs of the form 0x10 + 2 * n. */
#define ETM_IDS_EVEN		0x30
#define ETM_IDS_LOW		0xf

/* Microseconds for a trace unit to become idle: as in-tree. */
#define ETM_PATIENCE		100

static DEFINE_PER_CPU(struct etm, etms);

/* What all of them can do: set by the first, reduced by the others until etm_detected(). */
static struct {
	bool any;
	bool closed;
	unsigned long caps;
	unsigned int pairs;
	u32 least_cycles;
} etm_all;

/* Writes before it take effect before whatever follows. */
static void etm_synchronize(const struct etm *etm)
{
	if (etm->base)
		dsb(sy);
	isb();
}

static unsigned long etm_caps_of(const struct etm *etm)
{
	unsigned long caps = 0;

	if (etm->idr[0] & TRCIDR0_TRCBB)
		caps |= BIT(ETM_CAP_BRANCH_BROADCAST);
	if (etm->idr[0] & TRCIDR0_TRCCCI)
		caps |= BIT(ETM_CAP_CYCLES);
	if (etm->idr[2] & TRCIDR2_CIDSIZE)
		caps |= BIT(ETM_CAP_CONTEXT_ID);
	if ((etm->idr[2] & TRCIDR2_VMIDSIZE) && (etm->idr[2] & TRCIDR2_VMIDOPT) &&
	    is_kernel_in_hyp_mode())
		caps |= BIT(ETM_CAP_CONTEXT_ID_EL2);
	if (etm->idr[0] & TRCIDR0_TSSIZE)
		caps |= BIT(ETM_CAP_TIMESTAMPS);
	if (etm->idr[0] & TRCIDR0_RETSTACK)
		caps |= BIT(ETM_CAP_RETURN_STACK);
	if (FIELD_GET(TRCIDR5_NUMCNTR, etm->idr[5]) >= 2 &&
	    FIELD_GET(TRCIDR4_NUMRSPAIR, etm->idr[4]))
		caps |= BIT(ETM_CAP_STROBING);
	return caps;
}

static u32 etm_ccitmin(const struct etm *etm)
{
	return FIELD_GET(TRCIDR3_CCITMIN, etm->idr[3]);
}

/* Registers are locked after a reset, by a lock of the trace unit's own or by the PE's. */
static void etm_unlock(const struct etm *etm)
{
	u32 model;

	if (etm->base)
		component_unlock(etm->base);
	model = etm_read(etm, TRCOSLSR) & TRCOSLSR_OSLM;
	if (model == TRCOSLSR_OSLM_TRACE)
		etm_write(etm, 0, TRCOSLAR);
	else if (model == TRCOSLSR_OSLM_PE)
		write_sysreg_s(0, SYS_OSLAR_EL1);
	if (etm->base && !etm->has_power)
		etm_write(etm, etm_read(etm, TRCPDCR) | TRCPDCR_PU, TRCPDCR);
	etm_synchronize(etm);
}

/* The two kinds of unit that we know. */
static bool etm_is_known(struct etm *etm)
{
	u64 features = read_sysreg_s(SYS_ID_AA64DFR0_EL1);

	/* TraceVer: system registers of a trace unit; TraceFilt: TRFCR, which an ETE always has. */
	etm->has_trfcr = features >> 40 & 15;
	if (!etm->base && !(features >> 4 & 15))
		return false;
	etm_unlock(etm);
	etm->devarch = etm_read(etm, TRCDEVARCH);
	if ((etm->devarch & TRCDEVARCH_ARCHID) == TRCDEVARCH_ARCHID_ETM)
		return true;
	etm->is_ete = (etm->devarch & TRCDEVARCH_ARCHID) == TRCDEVARCH_ARCHID_ETE;
	return etm->is_ete && etm->has_trfcr;
}

void etm_set_base(int cpu, void __iomem *base, bool has_power)
{
	per_cpu_ptr(&etms, cpu)->base = base;
	per_cpu_ptr(&etms, cpu)->has_power = has_power;
}

int etm_detect(void)
{
	struct etm *etm = this_cpu_ptr(&etms);

	etm->there = false;
	if (!etm_is_known(etm))
		return -ENODEV;
	etm->idr[0] = etm_read(etm, TRCIDR0);
	etm->idr[1] = etm_read(etm, TRCIDR1);
	etm->idr[2] = etm_read(etm, TRCIDR2);
	etm->idr[3] = etm_read(etm, TRCIDR3);
	etm->idr[4] = etm_read(etm, TRCIDR4);
	etm->idr[5] = etm_read(etm, TRCIDR5);
	etm->idr[8] = etm_read(etm, TRCIDR8);
	etm->authstatus = etm_read(etm, TRCAUTHSTATUS);
	etm->pairs = FIELD_GET(TRCIDR4_NUMACPAIRS, etm->idr[4]);
	if (etm_all.closed && ((etm_all.caps & ~etm_caps_of(etm)) || etm->pairs < etm_all.pairs ||
			       etm_ccitmin(etm) > etm_all.least_cycles))
		return -EINVAL;
	etm->there = true;
	return 0;
}

void etm_detected(void)
{
	int cpu;

	for_each_possible_cpu(cpu) {
		const struct etm *etm = etm_of(cpu);

		if (!etm->there)
			continue;
		if (!etm_all.any) {
			etm_all.any = true;
			etm_all.caps = etm_caps_of(etm);
			etm_all.pairs = etm->pairs;
		}
		etm_all.caps &= etm_caps_of(etm);
		etm_all.pairs = min(etm_all.pairs, etm->pairs);
		etm_all.least_cycles = max(etm_all.least_cycles, etm_ccitmin(etm));
	}
	etm_all.closed = true;
}

bool etm_can(enum etm_cap cap)
{
	return etm_all.caps & BIT(cap);
}

unsigned int etm_nr_pairs(void)
{
	return etm_all.pairs;
}

u32 etm_least_cycles(void)
{
	return etm_all.least_cycles;
}

const struct etm *etm_of(int cpu)
{
	return per_cpu_ptr(&etms, cpu);
}

bool etm_has_trace_id(int cpu)
{
	return cpu < 2 * ETM_IDS_EVEN + ETM_IDS_LOW;
}

u32 etm_trace_id(int cpu)
{
	/*
	 * Kernels up to 6.1 tell perf nothing, and it takes 0x10 + 2 * cpu, up to 0x6f. Then the
	 * odd ones, and at last those below.
	 */
	if (cpu < 2 * ETM_IDS_EVEN)
		return 0x10 + 2 * (cpu % ETM_IDS_EVEN) + cpu / ETM_IDS_EVEN;
	return 1 + (cpu - 2 * ETM_IDS_EVEN) % ETM_IDS_LOW;
}

/* --- whose it is ---------------------------------------------------------------------------- */

/* Claim tags (IHI 0029, "Claim tags"): whoever sees another's tag behind its own takes it back. */
int etm_claim(void)
{
	struct etm *etm = this_cpu_ptr(&etms);

	if (etm->claimed)
		return 0;
	etm_unlock(etm);
	if (etm_read(etm, TRCCLAIMCLR) & (TRCCLAIM_EXTERNAL | TRCCLAIM_SELF_HOSTED))
		return -EBUSY;
	etm_write(etm, TRCCLAIM_SELF_HOSTED, TRCCLAIMSET);
	etm_synchronize(etm);
	if ((etm_read(etm, TRCCLAIMCLR) & (TRCCLAIM_EXTERNAL | TRCCLAIM_SELF_HOSTED)) !=
	    TRCCLAIM_SELF_HOSTED) {
		etm_write(etm, TRCCLAIM_SELF_HOSTED, TRCCLAIMCLR);
		etm_synchronize(etm);
		return -EBUSY;
	}
	etm->claimed = true;
	return 0;
}

void etm_restore(void)
{
	struct etm *etm = this_cpu_ptr(&etms);

	if (!etm->claimed)
		return;
	etm_unlock(etm);
	etm_write(etm, TRCCLAIM_SELF_HOSTED, TRCCLAIMSET);
	etm_synchronize(etm);
}

/* --- on and off ----------------------------------------------------------------------------- */

/* Wait until a bit of TRCSTATR has that value. False if it never has. */
static bool etm_wait(const struct etm *etm, u32 bit, bool set)
{
	unsigned int tries;

	for (tries = 0; tries < ETM_PATIENCE; tries++) {
		etm_synchronize(etm);
		if (!!(etm_read(etm, TRCSTATR) & bit) == set)
			return true;
		udelay(1);
	}
	return false;
}

/* Of a unit that has TRFCR. */
static __always_inline void etm_write_trfcr(u64 levels)
{
	u64 value = ETM_TRFCR_TS_VIRTUAL | levels;

	if (is_kernel_in_hyp_mode())
		write_sysreg_s(value | ETM_TRFCR_CX, SYS_TRFCR_EL2);
	else
		write_sysreg_s(value, SYS_TRFCR_EL1);
}

/* Switched off, it can be programmed. */
static int etm_off(const struct etm *etm)
{
	etm_write(etm, 0, TRCPRGCTLR);
	return etm_wait(etm, TRCSTATR_IDLE, true) ? 0 : -ETIMEDOUT;
}

static int etm_on(const struct etm *etm)
{
	etm_write(etm, TRCPRGCTLR_EN, TRCPRGCTLR);
	return etm_wait(etm, TRCSTATR_IDLE, false) ? 0 : -ETIMEDOUT;
}

void etm_release(void)
{
	struct etm *etm = this_cpu_ptr(&etms);

	if (!etm->claimed)
		return;
	etm_stop();
	tsb_csync();
	etm_off(etm);
	etm_write(etm, TRCCLAIM_SELF_HOSTED, TRCCLAIMCLR);
	etm_synchronize(etm);
	etm->claimed = false;
}

/* The levels that are left out, as TRCVICTLR and TRCACATR have them: all of Secure state is. */
static u32 etm_levels_left_out(const struct etm_config *config)
{
	const struct etm *etm = this_cpu_ptr(&etms);
	bool hyp = is_kernel_in_hyp_mode();
	u32 levels = 0;

	if (!config->user)
		levels |= BIT(0);
	if (!config->kernel || hyp)
		levels |= BIT(1);
	if (!config->kernel || !hyp)
		levels |= BIT(2);
	return FIELD_GET(TRCIDR3_EXLEVEL_S, etm->idr[3]) | levels << EXLEVEL_NS_SHIFT;
}

/* Comparators of pair @n. An empty range, whose last address lies below its first, is of none. */
static void etm_write_pair(const struct etm *etm, unsigned int n, const struct auxpmu_range *range,
			   u64 type)
{
	bool empty = range->last < range->first;
	u64 first = empty ? 0 : range->first, last = empty ? 0 : range->last;

	switch (n) {
	case 0:
		ETM_WRITE_PAIR(etm, 0, first, last, type);
		break;
	case 1:
		ETM_WRITE_PAIR(etm, 1, first, last, type);
		break;
	case 2:
		ETM_WRITE_PAIR(etm, 2, first, last, type);
		break;
	case 3:
		ETM_WRITE_PAIR(etm, 3, first, last, type);
		break;
	case 4:
		ETM_WRITE_PAIR(etm, 4, first, last, type);
		break;
	case 5:
		ETM_WRITE_PAIR(etm, 5, first, last, type);
		break;
	case 6:
		ETM_WRITE_PAIR(etm, 6, first, last, type);
		break;
	case 7:
		ETM_WRITE_PAIR(etm, 7, first, last, type);
		break;
	}
}

/*
 * Address filters: only code in these ranges, from an address on, up to one; a pair of comparators
 * for each. Returns whether trace begins at once.
 */
static bool etm_program_filters(const struct auxpmu_event *aux, const struct etm_config *config)
{
	const struct etm *etm = this_cpu_ptr(&etms);
	u32 left_out = etm_levels_left_out(config) << TRCACATR_EXLEVEL_SHIFT;
	static const struct auxpmu_range none;
	u32 include = 0, points = 0;
	bool started = true;
	unsigned int n;

	for (n = 0; n < etm->pairs; n++) {
		const struct auxpmu_range *range = n < aux->nr_ranges ? &aux->ranges[n] : &none;
		bool empty = range == &none || range->last < range->first;

		etm_write_pair(etm, n, range, range == &none ? 0 : left_out);
		if (range->what == AUXPMU_FILTER_START_AT) {
			started = false;
			points |= empty ? 0 : TRCVISSCTLR_START(2 * n);
		} else if (range->what == AUXPMU_FILTER_STOP_AT) {
			points |= empty ? 0 : TRCVISSCTLR_STOP(2 * n);
		} else if (range != &none) {
			include |= BIT(n);
		}
	}
	if (etm->pairs) {
		etm_write(etm, include, TRCVIIECTLR);
		etm_write(etm, points, TRCVISSCTLR);
	}
	return started;
}

/*
 * Trace one window in so many: counter 0 goes round once per window, and counter 1 goes down with
 * each. While that is at zero, for one window, there is trace. Returns the event that says so.
 */
static u32 etm_program_strobe(const struct etm *etm, const struct etm_config *config)
{
	if (!config->window)
		return EVENT_TRUE;
	etm_write(etm, TRCRSCTLR_COUNTER_AT_ZERO(0), TRCRSCTLR2);
	etm_write(etm, TRCRSCTLR_COUNTER_AT_ZERO(1), TRCRSCTLR3);
	etm_write(etm, config->window - 1, TRCCNTRLDVR0);
	etm_write(etm, config->window - 1, TRCCNTVR0);
	etm_write(etm, TRCCNTCTLR_ROUND(EVENT_TRUE), TRCCNTCTLR0);
	etm_write(etm, config->period, TRCCNTRLDVR1);
	etm_write(etm, config->period, TRCCNTVR1);
	etm_write(etm, TRCCNTCTLR_ROUND(2), TRCCNTCTLR1);
	return 3;
}

int etm_program(const struct auxpmu_event *aux, const struct etm_config *config)
{
	const struct etm *etm = this_cpu_ptr(&etms);
	int ret;

	if (etm->has_trfcr) {
		etm_write_trfcr(0);
		guest_is_not_traced();
	}
	ret = etm_off(etm);
	if (ret)
		return ret;
	etm_write(etm, config->configr, TRCCONFIGR);
	etm_write(etm, 0, TRCEVENTCTL0R);
	etm_write(etm, 0, TRCEVENTCTL1R);
	etm_write(etm, 0, TRCTSCTLR);
	if (etm->idr[3] & TRCIDR3_STALLCTL)
		etm_write(etm, 0, TRCSTALLCTLR);
	if (!(etm->idr[3] & TRCIDR3_SYNCPR))
		etm_write(etm, TRCSYNCPR_4096, TRCSYNCPR);
	if (etm->idr[0] & TRCIDR0_TRCCCI)
		etm_write(etm, config->ccctlr, TRCCCCTLR);
	if (etm->idr[0] & TRCIDR0_TRCBB)
		etm_write(etm, 0, TRCBBCTLR);
	if (etm->idr[0] & TRCIDR0_QSUPP)
		etm_write(etm, 0, TRCQCTLR);
	etm_write(etm, etm_trace_id(smp_processor_id()), TRCTRACEIDR);
	etm_write(etm, etm_program_strobe(etm, config) |
		  (etm_program_filters(aux, config) ? TRCVICTLR_SSSTATUS : 0) |
		  etm_levels_left_out(config) << TRCVICTLR_EXLEVEL_SHIFT, TRCVICTLR);
	if (FIELD_GET(TRCIDR4_NUMPC, etm->idr[4]))
		etm_write(etm, 0, TRCVIPCSSCTLR);
	if (etm->is_ete)
		etm_write(etm, TRCRSR_TA, TRCRSR);
	etm_synchronize(etm);
	/* Without TRFCR it traces from when it is on. */
	return etm->has_trfcr ? etm_on(etm) : 0;
}

void etm_start(const struct etm_config *config)
{
	const struct etm *etm = this_cpu_ptr(&etms);

	if (!etm->has_trfcr) {
		etm_on(etm);
		return;
	}
	etm_write_trfcr((config->user ? ETM_TRFCR_E0TRE : 0) |
			(config->kernel ? ETM_TRFCR_E1TRE : 0));
	isb();
}

void etm_stop(void)
{
	const struct etm *etm = this_cpu_ptr(&etms);

	if (!etm->has_trfcr) {
		etm_off(etm);
		return;
	}
	etm_write_trfcr(0);
	/* No instruction behind this is traced, and none before is still to be. */
	isb();
}
