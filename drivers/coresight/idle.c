// SPDX-License-Identifier: GPL-2.0-only
/* Idle CPUs whose trace units lose their registers, see idle.h. */
#include <linux/cpu_pm.h>
#include <linux/notifier.h>
#include <linux/smp.h>

#include "devices.h"
#include "idle.h"

static void (*idle_enter)(void);
static void (*idle_exit)(void);

/* Before a CPU is powered down and after it, also for suspend; ENTER_FAILED: it was not. */
static int etm_idle_notify(struct notifier_block *block, unsigned long action, void *data)
{
	if (!etm_devices_forget(smp_processor_id()))
		return NOTIFY_OK;
	switch (action) {
	case CPU_PM_ENTER:
		idle_enter();
		break;
	case CPU_PM_ENTER_FAILED:
	case CPU_PM_EXIT:
		idle_exit();
		break;
	}
	return NOTIFY_OK;
}

static struct notifier_block idle_block = {
	.notifier_call = etm_idle_notify,
};

void etm_idle_watch(void (*enter)(void), void (*exit)(void))
{
	idle_enter = enter;
	idle_exit = exit;
	cpu_pm_register_notifier(&idle_block);
}

void etm_idle_unwatch(void)
{
	cpu_pm_unregister_notifier(&idle_block);
	/* All that protects a walk of the chain. */
	synchronize_rcu();
}
