// SPDX-License-Identifier: GPL-2.0-only
/*
 * The threshold interrupt.
 *
 * It comes as a performance interrupt without a status bit: whose it is the index tells, against
 * the threshold.  The kernel's own handler (perf_event_nmi_handler) unmasks LVTPC, whoever it is
 * for; a handler of ours that comes after it hands over and arms anew, when the next interrupt can
 * come.
 *
 * Where the kernel is recorded, so are handlers.  Then another one of ours comes first of all and
 * switches the store off, so that nothing is dropped at its end meanwhile.  What got to the
 * threshold after that one had looked may have interrupted in vain, while LVTPC was masked: so the
 * second one looks, too.
 */
#include <linux/compiler.h>
#include <linux/mutex.h>

#include <asm/msr-index.h>

#include "../intel/nmi.h"
#include "nmi.h"
#include "unit.h"

/*
 * The kernel's own driver counts an interrupt as handled when it sees the index where ours has.
 * Where there is no such driver nobody does.
 */
static bool counted;

static bool bts_nmi_is_due(const struct bts_unit *bts)
{
	return READ_ONCE(bts->on) && !READ_ONCE(bts->latched) && bts_unit_is_due(bts);
}

static int bts_nmi_first_handler(unsigned int type, struct pt_regs *regs)
{
	struct bts_unit *bts = this_cpu_ptr(&bts_units);

	if (bts_nmi_is_due(bts)) {
		bts_unit_latch(bts);
		bts->pmi = true;
	}
	return NMI_DONE;
}

static int bts_nmi_second_handler(unsigned int type, struct pt_regs *regs)
{
	struct bts_unit *bts = this_cpu_ptr(&bts_units);
	bool seen = bts->pmi;

	bts->pmi = false;
	if (!seen) {
		if (!bts_nmi_is_due(bts))
			return NMI_DONE;
		/* It was, before any handler ran. */
		seen = bts->level & DEBUGCTLMSR_BTS_OFF_OS;
	}
	auxpmu_interrupt(bts->unit->pmu);
	/* Two that claim one NMI would let the next unknown one pass unnoticed. */
	return seen && counted ? NMI_DONE : NMI_HANDLED;
}

static struct intel_nmi nmi =
	INTEL_NMI(bts_nmi_first_handler, "auxpmu_bts_first", bts_nmi_second_handler, "auxpmu_bts");

int bts_nmi_register(bool intree)
{
	counted = intree;
	return intel_nmi_register_one(&nmi.second);
}

void bts_nmi_unregister(void)
{
	intel_nmi_unregister_one(&nmi.second);
}

/* The kernel takes 150 instructions for each entry of its list, in every NMI. */
static DEFINE_MUTEX(first_lock);
static unsigned int first_users;

int bts_nmi_first_get(void)
{
	int ret = 0;

	mutex_lock(&first_lock);
	if (!first_users)
		ret = intel_nmi_register_one(&nmi.first);
	if (!ret)
		first_users++;
	mutex_unlock(&first_lock);
	return ret;
}

void bts_nmi_first_put(void)
{
	mutex_lock(&first_lock);
	if (!--first_users)
		intel_nmi_unregister_one(&nmi.first);
	mutex_unlock(&first_lock);
}
