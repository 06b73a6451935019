// SPDX-License-Identifier: GPL-2.0-only
/*
 * The threshold interrupt.
 *
 * It comes as a performance interrupt without a status bit: whose it is the index tells, against
 * the threshold.  The kernel's own handler (perf_event_nmi_handler) unmasks LVTPC, whoever it is
 * for, and comes between two handlers of ours.  The first one switches the store off, so that what
 * the handlers do is not recorded and nothing is dropped at the end.  The second one hands over and
 * arms anew, when the next interrupt can come.  What got to the threshold after the first one had
 * looked may have interrupted in vain, while LVTPC was masked: so the second one looks, too.
 */
#include <linux/compiler.h>

#include "../intel/nmi.h"
#include "nmi.h"
#include "unit.h"

/*
 * The kernel's own driver counts an interrupt as handled when it sees the index where ours has.
 * Where there is no such driver nobody does.
 */
static bool counted;

static bool is_due(const struct bts_unit *unit)
{
	return READ_ONCE(unit->on) && !READ_ONCE(unit->latched) && bts_unit_is_due(unit);
}

static int first_handler(unsigned int type, struct pt_regs *regs)
{
	struct bts_unit *unit = this_cpu_ptr(&bts_units);

	if (is_due(unit)) {
		bts_unit_latch(unit);
		unit->pmi = true;
	}
	return NMI_DONE;
}

static int second_handler(unsigned int type, struct pt_regs *regs)
{
	struct bts_unit *unit = this_cpu_ptr(&bts_units);
	bool pmi = unit->pmi;

	unit->pmi = false;
	if (!pmi && !is_due(unit))
		return NMI_DONE;
	auxpmu_interrupt(unit->session->pmu);
	/* Two that claim one NMI would let the next unknown one pass unnoticed. */
	return pmi && counted ? NMI_DONE : NMI_HANDLED;
}

static struct intel_nmi nmi = INTEL_NMI(first_handler, "auxpmu_bts_first",
					second_handler, "auxpmu_bts");

int bts_nmi_register(bool rival)
{
	counted = rival;
	return intel_nmi_register(&nmi);
}

void bts_nmi_unregister(void)
{
	intel_nmi_unregister(&nmi);
}
