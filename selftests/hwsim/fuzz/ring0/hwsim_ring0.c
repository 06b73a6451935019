// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Executes programs of root in ring 0, for the fuzzer of the virtual trace hardware: with
 * interrupts off and with the program's own handlers of exceptions, so that no code of the kernel
 * runs in between. Programs run by single steps, or traced by Intel PT, whose registers are
 * restored afterwards. A program is in the memory of the calling process.
 *
 * Only for guests that exist for nothing else: whoever may open the device owns the machine.
 */
#include <linux/capability.h>
#include <linux/fs.h>
#include <linux/gfp.h>
#include <linux/io.h>
#include <linux/kdebug.h>
#include <linux/miscdevice.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/notifier.h>
#include <linux/objtool.h>
#include <linux/slab.h>
#include <linux/smp.h>
#include <linux/uaccess.h>
#include <linux/vmalloc.h>

#include <asm/cpufeature.h>
#include <asm/debugreg.h>
#include <asm/msr.h>
#include <asm/nospec-branch.h>
#include <asm/processor-flags.h>

#include "ring0.h"

/* Kernels before 6.16 have other names for these. */
#ifndef rdmsrq
#define rdmsrq rdmsrl
#define rdmsrq_safe rdmsrl_safe
#define wrmsrq wrmsrl
#endif

#define RTIT_FIRST	MSR_IA32_RTIT_OUTPUT_BASE
#define RTIT_LAST	(MSR_IA32_RTIT_ADDR0_A + 7)
#define TRACE_ORDER	9
#define MOST_STEPS	200000
#define MOST_REFUSED	1024
#define MOST_CODE	32

/* SDM volume 3, "64-Bit Mode IDT". */
struct gate {
	u16 offset_low, selector, type, offset_middle;
	u32 offset_high, reserved;
};

struct idt_register {
	u16 limit;
	u64 base;
} __packed;

static DEFINE_MUTEX(one_at_a_time);
static unsigned long trace;	/* pages for output, and their ToPA table */
static u64 *table;
static struct gate *gates;	/* a page */

/* What is single-stepped, on which processor; -1: nothing is. */
static struct {
	int cpu;
	struct ring0_step *steps;
	u64 nr, most;
	struct ring0_range code[MOST_CODE];
	u64 nr_code;
	u64 refused[MOST_REFUSED];
	u64 nr_refused;
} stepped = { .cpu = -1 };

/* --- by single steps ----------------------------------------------------------------------- */

static void read_code(struct ring0_step *step)
{
	u64 i;

	for (i = 0; i < stepped.nr_code; i++) {
		const struct ring0_range *range = &stepped.code[i];

		if (step->ip < range->begin || step->ip >= range->end)
			continue;
		step->available = min_t(u64, sizeof(step->code), range->end - step->ip);
		memcpy(step->code, (void *)(unsigned long)step->ip, step->available);
		return;
	}
}

static bool is_refused(u64 ip)
{
	u64 i;

	for (i = 0; i < stepped.nr_refused; i++)
		if (stepped.refused[i] == ip)
			return true;
	return false;
}

/* Size of a PTWRITE; 0 if it is none. */
static unsigned int ptwrite_size(const u8 *code)
{
	unsigned int prefixes = 1 + ((code[1] & 0xf0) == 0x40);
	u8 operand = code[prefixes + 2];

	if (code[0] != 0xf3 || code[prefixes] != 0x0f || code[prefixes + 1] != 0xae ||
	    (operand >> 3 & 7) != 4)
		return 0;
	return prefixes + 3 + ((operand & 0xc7) == 4);
}

/*
 * Size of an instruction that is not executed when stepped, or 0. That is WRMSR of a register of
 * Intel PT, because nothing is to be traced yet, and PTWRITE, which not every machine has. A WRMSR
 * that has to be refused is executed, with the number of an MSR that does not exist.
 */
static unsigned int passed_over(struct pt_regs *regs, const struct ring0_step *step)
{
	const u32 no_register = 0x8fe;

	if (step->code[0] != 0x0f || step->code[1] != 0x30)
		return ptwrite_size(step->code);
	if (is_refused(step->ip)) {
		regs->cx = no_register;
		return 0;
	}
	return (u32)regs->cx >= RTIT_FIRST && (u32)regs->cx <= RTIT_LAST ? 2 : 0;
}

static void note_step(struct pt_regs *regs)
{
	struct ring0_step *step;
	unsigned int size;

	do {
		if (regs->ip == (unsigned long)ring0_exit || stepped.nr == stepped.most) {
			regs->ip = (unsigned long)ring0_exit;
			regs->flags &= ~X86_EFLAGS_TF;
			return;
		}
		step = &stepped.steps[stepped.nr++];
		*step = (struct ring0_step) {
			.ip = regs->ip, .ax = regs->ax, .cx = regs->cx, .dx = regs->dx,
		};
		asm volatile("mov %%cr3, %0" : "=r"(step->cr3));
		read_code(step);
		size = passed_over(regs, step);
		regs->ip += size;
	} while (size);
}

static int notice(struct notifier_block *block, unsigned long what, void *data)
{
	struct die_args *args = data;

	if (what != DIE_DEBUG || READ_ONCE(stepped.cpu) != raw_smp_processor_id())
		return NOTIFY_DONE;
	note_step(args->regs);
	return NOTIFY_STOP;
}

static struct notifier_block notifier = { .notifier_call = notice, .priority = INT_MAX };

/* --- in ring 0 ----------------------------------------------------------------------------- */

static unsigned long kernel_stack;

/* With TF in "flags" the first step is the instruction at "entry". */
static noinline void ring0_jump(unsigned long entry, unsigned long flags)
{
	asm volatile("push %%rbp\n\t"
		     "pushf\n\t"
		     "mov %%rsp, %[stack]\n\t"
		     "push %%rsi\n\t"
		     "popf\n\t"
		     ANNOTATE_RETPOLINE_SAFE "\n\t"
		     "jmp *%%rdi\n"
		     ".globl ring0_exit\n"
		     "ring0_exit:\n\t"
		     "endbr64\n\t"
		     "mov %[stack], %%rsp\n\t"
		     "popf\n\t"
		     "pop %%rbp"
		     : "+D"(entry), "+S"(flags), [stack] "+m"(kernel_stack)
		     :
		     : "rax", "rbx", "rcx", "rdx", "r8", "r9", "r10", "r11", "r12", "r13", "r14",
		       "r15", "memory", "cc");
}

STACK_FRAME_NON_STANDARD(ring0_jump);

static void make_gates(const u64 *handlers, const struct idt_register *kernels)
{
	const u16 interrupt_gate = 0x8e00;
	unsigned int i;

	memcpy(gates, (void *)(unsigned long)kernels->base, PAGE_SIZE);
	for (i = 0; i < 256; i++)
		if (handlers[i])
			gates[i] = (struct gate) {
				.offset_low = handlers[i],
				.selector = __KERNEL_CS,
				.type = interrupt_gate,
				.offset_middle = handlers[i] >> 16,
				.offset_high = handlers[i] >> 32,
			};
}

/* Without SMEP and SMAP, because a program is in user memory. */
static void execute(const struct ring0_run *run, const u64 *handlers)
{
	struct idt_register kernels, ours = { PAGE_SIZE - 1, (unsigned long)gates };
	unsigned long cr4, cr3;

	asm volatile("sidt %0" : "=m"(kernels));
	make_gates(handlers, &kernels);
	asm volatile("mov %%cr3, %0" : "=r"(cr3));
	asm volatile("mov %%cr4, %0" : "=r"(cr4));
	asm volatile("mov %0, %%cr4" : : "r"(cr4 & ~(X86_CR4_SMEP | X86_CR4_SMAP)) : "memory");
	asm volatile("lidt %0" : : "m"(ours));
	ring0_jump(run->entry, X86_EFLAGS_FIXED | (run->nr_steps ? X86_EFLAGS_TF : 0));
	asm volatile("lidt %0" : : "m"(kernels));
	asm volatile("mov %0, %%cr4" : : "r"(cr4) : "memory");
	asm volatile("mov %0, %%cr3" : : "r"(cr3) : "memory");
}

static void execute_stepped(struct ring0_run *run, const u64 *handlers)
{
	stepped.nr = 0;
	stepped.most = run->nr_steps;
	WRITE_ONCE(stepped.cpu, raw_smp_processor_id());
	execute(run, handlers);
	WRITE_ONCE(stepped.cpu, -1);
	run->nr_steps = stepped.nr;
}

/* --- traced -------------------------------------------------------------------------------- */

/* The registers that this processor has, except IA32_RTIT_CTL, and their values. */
static unsigned int read_registers(u32 *msr, u64 *value)
{
	unsigned int n = 0;
	u32 i;

	for (i = RTIT_FIRST; i <= RTIT_LAST; i++)
		if (i != MSR_IA32_RTIT_CTL && !rdmsrq_safe(i, &value[n]))
			msr[n++] = i;
	return n;
}

static void prepare_output(bool single_range)
{
	const u64 topa_end = BIT(0);

	/* One region, and END back to it, for processors that allow one region in a table. */
	table[0] = virt_to_phys((void *)trace) | TRACE_ORDER << 6;
	table[1] = virt_to_phys(table) | topa_end;
	wrmsrq(MSR_IA32_RTIT_STATUS, 0);
	if (single_range) {
		wrmsrq(MSR_IA32_RTIT_OUTPUT_BASE, virt_to_phys((void *)trace));
		wrmsrq(MSR_IA32_RTIT_OUTPUT_MASK, (PAGE_SIZE << TRACE_ORDER) - 1);
	} else {
		wrmsrq(MSR_IA32_RTIT_OUTPUT_BASE, virt_to_phys(table));
		wrmsrq(MSR_IA32_RTIT_OUTPUT_MASK, 0x7f);
	}
}

static void execute_traced(struct ring0_run *run, const u64 *handlers)
{
	u32 msr[RTIT_LAST - RTIT_FIRST];
	u64 before[RTIT_LAST - RTIT_FIRST], ctl, position;
	unsigned int nr, i;

	rdmsrq(MSR_IA32_RTIT_CTL, ctl);
	wrmsrq(MSR_IA32_RTIT_CTL, 0);
	nr = read_registers(msr, before);
	prepare_output(run->single_range);
	execute(run, handlers);
	wrmsrq(MSR_IA32_RTIT_CTL, 0);
	rdmsrq(MSR_IA32_RTIT_OUTPUT_MASK, position);
	rdmsrq(MSR_IA32_RTIT_STATUS, run->status);
	for (i = 0; i < nr; i++)
		wrmsrq(msr[i], before[i]);
	wrmsrq(MSR_IA32_RTIT_CTL, ctl);
	run->trace_size = min(run->trace_size, position >> 32);
}

/* --- the device ---------------------------------------------------------------------------- */

static bool is_possible(const struct ring0_run *run)
{
	/* With PTI the kernel's page tables map user memory as not executable. */
	return !boot_cpu_has(X86_FEATURE_PTI) && run->nr_steps <= MOST_STEPS &&
	       run->nr_code <= MOST_CODE && run->nr_refused <= MOST_REFUSED;
}

static int take_arguments(const struct ring0_run *run, u64 *handlers)
{
	if (copy_from_user(handlers, u64_to_user_ptr(run->gates), 256 * sizeof(*handlers)) ||
	    copy_from_user(stepped.code, u64_to_user_ptr(run->code),
			   run->nr_code * sizeof(*stepped.code)) ||
	    copy_from_user(stepped.refused, u64_to_user_ptr(run->refused),
			   run->nr_refused * sizeof(*stepped.refused)))
		return -EFAULT;
	stepped.nr_code = run->nr_code;
	stepped.nr_refused = run->nr_refused;
	return 0;
}

static int give_results(const struct ring0_run *run)
{
	if (run->nr_steps)
		return copy_to_user(u64_to_user_ptr(run->steps), stepped.steps,
				    run->nr_steps * sizeof(*stepped.steps)) ? -EFAULT : 0;
	return copy_to_user(u64_to_user_ptr(run->trace), (void *)trace, run->trace_size) ?
	       -EFAULT : 0;
}

static int execute_for_user(struct ring0_run *run)
{
	u64 *handlers = kcalloc(256, sizeof(*handlers), GFP_KERNEL);
	unsigned long flags;
	int ret;

	if (!handlers)
		return -ENOMEM;
	ret = take_arguments(run, handlers);
	if (!ret) {
		local_irq_save(flags);
		asm volatile("mov %%cr3, %0" : "=r"(run->cr3));
		if (run->nr_steps)
			execute_stepped(run, handlers);
		else
			execute_traced(run, handlers);
		local_irq_restore(flags);
		ret = give_results(run);
	}
	kfree(handlers);
	return ret;
}

static long ring0_ioctl(struct file *file, unsigned int what, unsigned long argument)
{
	void __user *from = (void __user *)argument;
	struct ring0_run run;
	int ret = 0;

	if (!capable(CAP_SYS_RAWIO))
		return -EPERM;
	if (copy_from_user(&run, from, sizeof(run)))
		return -EFAULT;
	if (!is_possible(&run))
		return -EOPNOTSUPP;
	run.exit = (unsigned long)ring0_exit;
	if (what == RING0_RUN) {
		mutex_lock(&one_at_a_time);
		ret = execute_for_user(&run);
		mutex_unlock(&one_at_a_time);
	} else if (what != RING0_WHERE) {
		return -ENOTTY;
	}
	return ret ?: (copy_to_user(from, &run, sizeof(run)) ? -EFAULT : 0);
}

static const struct file_operations operations = {
	.owner = THIS_MODULE,
	.unlocked_ioctl = ring0_ioctl,
};

static struct miscdevice device = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = "hwsim_ring0",
	.fops = &operations,
	.mode = 0600,
};

static void free_memory(void)
{
	vfree(stepped.steps);
	free_page((unsigned long)gates);
	free_page((unsigned long)table);
	free_pages(trace, TRACE_ORDER);
}

static int __init ring0_init(void)
{
	int ret = -ENOMEM;

	trace = __get_free_pages(GFP_KERNEL, TRACE_ORDER);
	table = (u64 *)get_zeroed_page(GFP_KERNEL);
	gates = (struct gate *)get_zeroed_page(GFP_KERNEL);
	stepped.steps = vzalloc(array_size(MOST_STEPS, sizeof(*stepped.steps)));
	if (trace && table && gates && stepped.steps)
		ret = register_die_notifier(&notifier);
	if (ret)
		goto free;
	ret = misc_register(&device);
	if (!ret)
		return 0;
	unregister_die_notifier(&notifier);
free:
	free_memory();
	return ret;
}

static void __exit ring0_exit_module(void)
{
	misc_deregister(&device);
	unregister_die_notifier(&notifier);
	free_memory();
}

module_init(ring0_init);
module_exit(ring0_exit_module);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("executes programs in ring 0, for the fuzzer of the virtual trace hardware");
