// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * For a test: a CPU does what it does when it is idle and powered down (drivers/cpuidle), and the virtual hardware's trace unit loses its
 * registers meanwhile. Machines of QEMU have no idle state of that kind.
 *
 * The number of a CPU written to the parameter "cpu" makes that CPU do so, once, in a thread of its own and not in an interrupt: the GIC's
 * notifier clears active priorities, and an interrupt that is being handled would stay active for ever. The virtual hardware counts it
 * ("contexts-lost").
 */
#include <linux/cpu.h>
#include <linux/cpu_pm.h>
#include <linux/irqflags.h>
#include <linux/module.h>
#include <linux/moduleparam.h>
#include <linux/smp.h>

static const char command[] = "lose context";

/* HINT #127, see arm64/control.h. */
static void power_down(void)
{
	register unsigned long text asm("x0") = (unsigned long)command;
	register unsigned long size asm("x1") = sizeof(command) - 1;

	asm volatile("hint #127" : "+r"(text), "+r"(size) : : "memory");
}

static int idle(void *unused)
{
	unsigned long flags;
	int ret;

	local_irq_save(flags);
	ret = cpu_pm_enter();
	if (!ret) {
		power_down();
		cpu_pm_exit();
	}
	local_irq_restore(flags);
	return ret;
}

static int set_cpu(const char *value, const struct kernel_param *param)
{
	unsigned int cpu;
	int ret = kstrtouint(value, 0, &cpu);

	if (ret)
		return ret;
	return smp_call_on_cpu(cpu, idle, NULL, false);
}

static const struct kernel_param_ops cpu_ops = {
	.set = set_cpu,
};

module_param_cb(cpu, &cpu_ops, NULL, 0200);
MODULE_PARM_DESC(cpu, "is powered down and up again");

MODULE_DESCRIPTION("Powers a CPU of the virtual hardware down and up again");
MODULE_LICENSE("GPL");
