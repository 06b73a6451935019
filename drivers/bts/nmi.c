// SPDX-License-Identifier: GPL-2.0-only
/*
 * The threshold interrupt.
 *
 * It is a performance interrupt without a status bit: it is the store's if the index is at the
 * threshold. The kernel's handler (perf_event_nmi_handler) unmasks LVTPC, whoever the interrupt is
 * for. Our handler comes after it, when the next interrupt can come, hands over and arms the store
 * again.
 *
 * If an event records the kernel, the store also records handlers. Then a first handler of ours
 * comes before all others and switches the store off, so that it drops nothing meanwhile. If the
 * index reaches the threshold after the first handler has looked, the interrupt is lost, since
 * LVTPC is masked: so the second handler looks, too.
 */
#include <linux/compiler.h>
#include <linux/mutex.h>

#include <asm/msr-index.h>

#include "../intel/nmi.h"
#include "nmi.h"
#include "unit.h"

/*
 * The in-tree driver is there, and claims an NMI when it sees the index at the threshold, as our
 * handler does.
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
		/* If the kernel is not recorded, the store was due before any handler ran. */
		seen = bts->level & DEBUGCTLMSR_BTS_OFF_OS;
	}
	auxpmu_interrupt(bts->unit->pmu);
	/* If two handlers claim one NMI, the kernel swallows the next unknown NMI. */
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

/* Each handler costs every NMI 150 instructions: register the first one only if it is needed. */
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
