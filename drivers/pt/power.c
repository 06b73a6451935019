// SPDX-License-Identifier: GPL-2.0-only
/*
 * Suspend, reboot, kexec, panic: see power.h.
 *
 * All CPUs but one are taken offline for a suspend, which claim.c sees to; what is left is the one
 * that suspends the machine.  A kernel that crashes into another one by kdump calls nobody: the new
 * one lives in memory that no table of ours names.
 */
#include <linux/notifier.h>
#include <linux/panic_notifier.h>
#include <linux/reboot.h>
#include <linux/smp.h>

#include "compat.h"
#include "power.h"
#include "unit.h"

/* IRQs off, on the last CPU. */
static int suspend(AUXPMU_SYSCORE_ARG)
{
	struct pt_unit *unit = this_cpu_ptr(&pt_units);

	if (unit->claimed)
		auxpmu_suspend(unit->session->pmu);
	return 0;
}

static void resume(AUXPMU_SYSCORE_ARG)
{
	struct pt_unit *unit = this_cpu_ptr(&pt_units);

	/* The processor may have lost them. */
	unit->known = false;
	if (unit->claimed)
		auxpmu_resume(unit->session->pmu);
}

/* Not constant: older kernels have it in a list. */
static struct syscore_ops syscore_ops = {
	.suspend = suspend,
	.resume = resume,
};

static struct syscore syscore = {
	.ops = &syscore_ops,
};

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
	register_syscore(&syscore);
	register_reboot_notifier(&reboot_notifier);
	atomic_notifier_chain_register(&panic_notifier_list, &panic_notifier);
}

void pt_power_exit(void)
{
	atomic_notifier_chain_unregister(&panic_notifier_list, &panic_notifier);
	unregister_reboot_notifier(&reboot_notifier);
	unregister_syscore(&syscore);
}
