// SPDX-License-Identifier: GPL-2.0-only
/*
 * The performance interrupt.
 *
 * The handler that comes before the kernel's own (perf_event_nmi_handler) does all that there is to
 * do: it finds the status bit as the unit has set it, switches the unit off, acknowledges, hands
 * over, arms anew.  The kernel's finds nothing of it, and unmasks LVTPC, whoever the interrupt was
 * for; the claim sees to it that it does.  An NMI that is somebody else's costs one RDMSR, for the
 * unit is left on.
 *
 * That being so, the unit may interrupt while an NMI is handled: its own, once it is armed anew, or
 * somebody else's.  LVTPC is masked then, so no other NMI comes; and the kernel's handler, which
 * goes on until no status bit is set, acknowledges that one, too, for an event of its own that is
 * not there.  Whoever waits for the next interrupt would wait in vain if the unit has come to the
 * end of its window by then.  So another handler, which comes when LVTPC is unmasked again, asks
 * memory whether the unit has passed its interrupt.  What gets to memory after that interrupts
 * anew at the end of the window.
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
	 * It was being switched off, and what that brought to memory interrupts.  The kernel's
	 * handler acknowledges that, before anybody has seen it.
	 */
	if (READ_ONCE(pt->unread)) {
		pt->interrupted |= pt_unit_status();
		return NMI_DONE;
	}
	if (!pt_unit_may_interrupt(pt) || !pt_unit_status())
		return NMI_DONE;
	/* As the kernel's handler does for what it sees. */
	auxpmu_count_perf_interrupt();
	pt_unit_serve(pt);
	return NMI_HANDLED;
}

/*
 * That makes two that claim one NMI, so that the kernel takes the next one for another of the same
 * time: where it unmasks LVTPC before it looks at the status, there may be such.
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
