// SPDX-License-Identifier: GPL-2.0-only
/*
 * The performance interrupt.
 *
 * Our first handler comes before the kernel's (perf_event_nmi_handler) and does all the work: it
 * finds the status bit that the unit has set, switches the unit off, acknowledges, hands over and
 * arms it again. The kernel's handler finds no status bit, and unmasks LVTPC, whoever the interrupt
 * was for; the claim makes sure that it runs. Somebody else's NMI costs one RDMSR: the unit stays
 * on.
 *
 * So the unit may interrupt while an NMI is handled: its own, after it is armed again, or somebody
 * else's. LVTPC is masked then, so no other NMI comes, and the kernel's handler, which repeats
 * until no status bit is set, acknowledges our bit as well. If the unit has also reached the end of
 * its window, no further interrupt would ever come. So our second handler, which runs when LVTPC is
 * unmasked again, checks in memory whether the unit has passed its interrupt. If it passes later,
 * it interrupts again at the end of the window.
 */
#include <linux/compiler.h>
#include <linux/hardirq.h>

#include <asm/nmi.h>

#include "../intel/msr.h"
#include "../intel/nmi.h"
#include "nmi.h"
#include "topa.h"
#include "unit.h"

static int pt_nmi_first_handler(unsigned int type, struct pt_regs *regs)
{
	struct pt_unit *pt = this_cpu_ptr(&pt_units);

	/*
	 * The unit is being disarmed, and the trace that this flushed may have interrupted. Note
	 * that now: the kernel's handler is about to acknowledge it.
	 */
	if (READ_ONCE(pt->unread)) {
		pt->interrupted |= pt_unit_status();
		return NMI_DONE;
	}
	if (!pt_unit_may_interrupt(pt) || !pt_unit_status())
		return NMI_DONE;
	/* The kernel's handler counts only interrupts that it sees. */
	auxpmu_count_perf_interrupt();
	pt_unit_serve(pt);
	return NMI_HANDLED;
}

/*
 * Then two handlers claim one NMI, and the kernel swallows an unknown NMI that follows. There may
 * be such a one if the kernel's handler unmasks LVTPC before it reads the status.
 */
static int pt_nmi_second_handler(unsigned int type, struct pt_regs *regs)
{
	struct pt_unit *pt = this_cpu_ptr(&pt_units);

	if (!pt_unit_may_interrupt(pt) || !pt_topa_passed(pt->unit->buffer))
		return NMI_DONE;
	pt_unit_serve(pt);
	return NMI_HANDLED;
}

static struct intel_nmi nmi =
	INTEL_NMI(pt_nmi_first_handler, "auxpmu_pt_first", pt_nmi_second_handler, "auxpmu_pt");

int pt_nmi_register(bool intree)
{
	return intel_nmi_register(&nmi);
}

void pt_nmi_unregister(void)
{
	intel_nmi_unregister(&nmi);
}
