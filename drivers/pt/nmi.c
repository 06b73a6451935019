// SPDX-License-Identifier: GPL-2.0-only
/*
 * The performance interrupt.
 *
 * The kernel's own handler (perf_event_nmi_handler) acknowledges it and unmasks LVTPC, whoever it
 * is for; the claim sees to it that it does.  It comes between two handlers of ours.  The
 * first one finds the status bit as it was set, and stops the unit, so that it neither runs into
 * its STOP marker nor interrupts again.  The second one comes when all is acknowledged: what the
 * unit does after that, when it is armed anew, interrupts anew.  A bit that was set only after the
 * first handler had looked was acknowledged, too: so the second one asks the unit itself.
 */
#include <linux/compiler.h>

#include <asm/nmi.h>
#include <asm/perf_event.h>

#include "../intel/nmi.h"
#include "compat.h"
#include "nmi.h"
#include "unit.h"

static int first_handler(unsigned int type, struct pt_regs *regs)
{
	struct pt_unit *unit = this_cpu_ptr(&pt_units);
	u64 status;

	if (!READ_ONCE(unit->on) || READ_ONCE(unit->latched))
		return NMI_DONE;
	rdmsrq(MSR_CORE_PERF_GLOBAL_STATUS, status);
	if (status & GLOBAL_STATUS_TRACE_TOPAPMI) {
		pt_unit_latch(unit);
		unit->interrupted = true;
		unit->pmi = true;
	}
	return NMI_DONE;
}

/*
 * The kernel's handler has counted an interrupt whose bit it saw as handled; two handlers that
 * claim one NMI would let the next unknown one pass unnoticed.
 */
static int second_handler(unsigned int type, struct pt_regs *regs)
{
	struct pt_unit *unit = this_cpu_ptr(&pt_units);

	if (unit->pmi) {
		unit->pmi = false;
		auxpmu_interrupt(unit->session->pmu);
		return NMI_DONE;
	}
	if (!READ_ONCE(unit->on) || READ_ONCE(unit->latched) || !pt_unit_needs_attention(unit))
		return NMI_DONE;
	auxpmu_interrupt(unit->session->pmu);
	return NMI_HANDLED;
}

static struct intel_nmi nmi = INTEL_NMI(first_handler, "auxpmu_pt_first",
					second_handler, "auxpmu_pt");

int pt_nmi_register(bool rival)
{
	return intel_nmi_register(&nmi);
}

void pt_nmi_unregister(void)
{
	intel_nmi_unregister(&nmi);
}
