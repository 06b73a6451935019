// SPDX-License-Identifier: GPL-2.0-only
/*
 * NMIs on request, on x86: inter-processor interrupts with NMI delivery mode. Without hardware
 * counters there would be none. The handler claims as many as were sent and no others.
 */
#include <asm/apic.h>
#include <asm/nmi.h>

#include "synth/nmi.h"

static int synth_nmi_handler(unsigned int type, struct pt_regs *regs)
{
	return synth_nmi_came() ? NMI_HANDLED : NMI_DONE;
}

int synth_nmi_begin(void)
{
	return register_nmi_handler(NMI_LOCAL, synth_nmi_handler, 0, "auxpmu_synth");
}

void synth_nmi_end(void)
{
	unregister_nmi_handler(NMI_LOCAL, "auxpmu_synth");
}

int synth_nmi_raise(int cpu)
{
	apic->send_IPI(cpu, NMI_VECTOR);
	return 0;
}

const char *synth_nmi_kind(void)
{
	return "NMI\n";
}
