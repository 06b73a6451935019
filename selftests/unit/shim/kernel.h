/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The parts of the kernel's headers that the pure parts of drivers/ need to compile for the host's unit tests. The tests
 * provide processor (registers, CPUID, current CPU, NMI) and memory through the functions unit_*(). There is one CPU, number 0.
 */
#ifndef UNIT_SHIM_KERNEL_H
#define UNIT_SHIM_KERNEL_H

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/types.h>

#include <linux/types.h>

#ifdef __cplusplus
extern "C" {
#endif

#define CONFIG_64BIT		1
#define PAGE_SHIFT		12
#define PAGE_SIZE		4096ul
#define __percpu
#define noinline		__attribute__((noinline))

typedef u64 phys_addr_t;
typedef unsigned short umode_t;

/* linux/bits.h, linux/log2.h, linux/minmax.h, linux/math.h, linux/overflow.h, linux/compiler.h */
#define BIT(n)			(1ul << (n))
#define BIT_ULL(n)		(1ull << (n))
#define GENMASK(high, low)	((~0ul << (low)) & (~0ul >> (63 - (high))))
#define GENMASK_ULL(high, low)	((~0ull << (low)) & (~0ull >> (63 - (high))))
#define ilog2(n)		(63 - __builtin_clzll(n))
#define __ffs64(n)		((unsigned int)__builtin_ctzll(n))
#define DIV_ROUND_UP(n, d)	(((n) + (d) - 1) / (d))
#define READ_ONCE(x)		(*(const volatile __typeof__(x) *)&(x))
#define WRITE_ONCE(x, value)	(*(volatile __typeof__(x) *)&(x) = (value))
#define barrier()		__asm__ __volatile__("" : : : "memory")
#define ARRAY_SIZE(array)	(sizeof(array) / sizeof((array)[0]))
#define container_of(at, type, member)	((type *)((char *)(at) - offsetof(type, member)))
#ifndef __cplusplus
#define min(a, b)		((a) < (b) ? (a) : (b))
#define struct_size(p, member, count)	(sizeof(*(p)) + (count) * sizeof((p)->member[0]))
#endif

/* linux/slab.h, linux/gfp.h: allocations return NULL if the test says so */
#define GFP_KERNEL		0
#define GFP_KERNEL_ACCOUNT	0
void *unit_zeroed(size_t bytes, size_t align);
void unit_free(const void *at);
#define kvzalloc(bytes, gfp)	unit_zeroed(bytes, 16)
#define kvfree(at)		unit_free(at)
#define get_zeroed_page(gfp)	((unsigned long)unit_zeroed(PAGE_SIZE, PAGE_SIZE))
#define free_page(page)		unit_free((const void *)(page))

/* asm/io.h: bus addresses, which the test makes differ from pointers so that one is not taken for the other */
#define UNIT_BUS		0x123450000000ull
#define virt_to_phys(at)	((phys_addr_t)(uintptr_t)(at) ^ UNIT_BUS)
#define phys_to_virt(at)	((void *)(uintptr_t)((at) ^ UNIT_BUS))

/* linux/sysfs.h, linux/device.h */
struct kobject;
struct device;
struct attribute {
	const char *name;
	umode_t mode;
};
struct attribute_group {
	const char *name;
	struct attribute **attrs;
	umode_t (*is_visible)(struct kobject *kobj, struct attribute *attr, int n);
};
struct device_attribute {
	struct attribute attr;
	ssize_t (*show)(struct device *dev, struct device_attribute *attr, char *page);
	ssize_t (*store)(struct device *dev, struct device_attribute *attr, const char *page, size_t count);
};
#define __ATTR(_name, _mode, _show, _store)	{ { #_name, _mode }, _show, _store }
#define sysfs_emit(page, ...)	sprintf(page, __VA_ARGS__)

/* linux/kernel.h */
#define scnprintf(text, size, ...)	snprintf(text, size, __VA_ARGS__)

/* linux/percpu.h, linux/smp.h, linux/preempt.h */
#define DECLARE_PER_CPU(type, name)	extern type name
#define DEFINE_PER_CPU(type, name)	type name
#define this_cpu_ptr(at)		(at)
#define per_cpu(name, cpu)		(*((void)(cpu), &(name)))
#define for_each_online_cpu(cpu)	for ((cpu) = 0; (cpu) < 1; (cpu)++)
#define smp_processor_id()		0
#define smp_call_function_single(cpu, call, info, wait)	(call)(info)
bool unit_in_nmi(void);
#define in_nmi()			unit_in_nmi()

/* asm/msr.h: 0, or an errno if the register does not accept the value */
u64 unit_rdmsr(u32 msr);
int unit_wrmsr(u32 msr, u64 value);
#define rdmsrq(msr, value)		((value) = unit_rdmsr(msr))
#define rdmsrq_safe(msr, at)		(*(at) = unit_rdmsr(msr), 0)
#define wrmsrq_safe(msr, value)		unit_wrmsr(msr, value)

/* asm/msr-index.h: registers and bits as numbered in SDM volume 4 */
#define MSR_IA32_DEBUGCTLMSR		0x1d9
#define DEBUGCTLMSR_TR			BIT(6)
#define DEBUGCTLMSR_BTS			BIT(7)
#define DEBUGCTLMSR_BTINT		BIT(8)
#define DEBUGCTLMSR_BTS_OFF_OS		BIT(9)
#define DEBUGCTLMSR_BTS_OFF_USR		BIT(10)
#define MSR_IA32_DS_AREA		0x600
#define RTIT_CTL_TRACEEN		BIT(0)
#define RTIT_CTL_CYCLEACC		BIT(1)
#define RTIT_CTL_OS			BIT(2)
#define RTIT_CTL_USR			BIT(3)
#define RTIT_CTL_PWR_EVT_EN		BIT(4)
#define RTIT_CTL_FUP_ON_PTW		BIT(5)
#define RTIT_CTL_MTC_EN			BIT(9)
#define RTIT_CTL_TSC_EN			BIT(10)
#define RTIT_CTL_DISRETC		BIT(11)
#define RTIT_CTL_PTW_EN			BIT(12)
#define RTIT_CTL_BRANCH_EN		BIT(13)
#define RTIT_CTL_MTC_RANGE		GENMASK_ULL(17, 14)
#define RTIT_CTL_CYC_THRESH		GENMASK_ULL(22, 19)
#define RTIT_CTL_PSB_FREQ		GENMASK_ULL(27, 24)
#define RTIT_CTL_EVENT_EN		BIT(31)
#define RTIT_CTL_NOTNT			BIT_ULL(55)

/* asm/intel_ds.h, asm/cpu_entry_area.h: the fields of the DS area that the branch trace store uses */
struct debug_store {
	u64 bts_buffer_base;
	u64 bts_index;
	u64 bts_absolute_maximum;
	u64 bts_interrupt_threshold;
};
struct cpu_entry_area {
	struct debug_store cpu_debug_store;
};
extern struct cpu_entry_area unit_entry_area;
#define get_cpu_entry_area(cpu)		(&unit_entry_area)

/* linux/tracepoint.h: tracepoints without probes */
#define TP_PROTO(...)			__VA_ARGS__
#define TP_ARGS(...)
#define TRACE_EVENT(name, proto, ...)	static inline void trace_##name(proto) {}

/* Types that module/auxpmu.h uses and that no test accesses. */
struct module;
#define THIS_MODULE			((struct module *)0)
typedef struct { int counter; } atomic_t;
struct hlist_node { void *next; };
struct irq_work { void *work; };
struct work_struct { void *work; };
struct rcu_head { void *next; };
struct perf_output_handle { u64 head; };

#ifdef __cplusplus
}
#endif

#define SZ_1M	0x100000

#endif
