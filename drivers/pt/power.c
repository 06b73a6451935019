// SPDX-License-Identifier: GPL-2.0-only
/*
 * Reboot, kexec, panic: see power.h.  For a suspend the framework parks the last CPU's unit, and
 * the others go offline, which claim.c sees to.
 *
 * A kernel that crashes into another one by kdump calls nobody: the new one lives in memory that no
 * table of ours names.
 */
#include <linux/notifier.h>
#include <linux/panic_notifier.h>
#include <linux/reboot.h>
#include <linux/smp.h>

#include "power.h"
#include "unit.h"

static void kill_here(void *unused)
{
	pt_unit_kill();
}

/* For reboot and for kexec, while all CPUs are there. */
static int reboots(struct notifier_block *self, unsigned long action, void *unused)
{
	on_each_cpu(kill_here, NULL, 1);
	return NOTIFY_DONE;
}

/* The other CPUs are halted. */
static int panics(struct notifier_block *self, unsigned long action, void *unused)
{
	pt_unit_kill();
	return NOTIFY_DONE;
}

static struct notifier_block reboot_notifier = { .notifier_call = reboots };
static struct notifier_block panic_notifier = { .notifier_call = panics };

void pt_power_init(void)
{
	register_reboot_notifier(&reboot_notifier);
	atomic_notifier_chain_register(&panic_notifier_list, &panic_notifier);
}

void pt_power_exit(void)
{
	atomic_notifier_chain_unregister(&panic_notifier_list, &panic_notifier);
	unregister_reboot_notifier(&reboot_notifier);
}
