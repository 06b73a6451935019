// SPDX-License-Identifier: GPL-2.0-only
/*
 * The kernel goes away, see end.h. A trace buffer that is left on would go on writing to addresses
 * that mean something else to the next kernel.
 */
#include <linux/notifier.h>
#include <linux/panic_notifier.h>
#include <linux/reboot.h>
#include <linux/smp.h>

#include "component.h"
#include "end.h"
#include "tmc.h"

static void (*end_here)(void);

static void etm_end_on(void *unused)
{
	end_here();
}

/* Tasks may still run, so each CPU remembers that nothing is to be switched on again. */
static int etm_end_reboots(struct notifier_block *block, unsigned long action, void *data)
{
	on_each_cpu(etm_end_on, NULL, 1);
	return NOTIFY_OK;
}

/* Nobody else runs, but any lock may be held. */
static int etm_end_panics(struct notifier_block *block, unsigned long action, void *data)
{
	end_here();
	tmc_end_all();
	return NOTIFY_OK;
}

static struct notifier_block reboots = {
	.notifier_call = etm_end_reboots,
};

static struct notifier_block panics = {
	.notifier_call = etm_end_panics,
};

void etm_end_watch(void (*here)(void))
{
	end_here = here;
	register_reboot_notifier(&reboots);
	atomic_notifier_chain_register(&panic_notifier_list, &panics);
}

void etm_end_unwatch(void)
{
	atomic_notifier_chain_unregister(&panic_notifier_list, &panics);
	unregister_reboot_notifier(&reboots);
}
