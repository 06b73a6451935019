// SPDX-License-Identifier: GPL-2.0-only
/*
 * NMIs on request, on arm64: the interrupt of a CPU's performance counters, made pending in its
 * GICv3 redistributor, which any CPU can do. Where the kernel takes that interrupt as a pseudo-NMI
 * it comes at any moment, else as soon as interrupts are on. The kernel's handler finds no counter
 * that has overflowed; the trace event behind it tells that it was called.
 */
#include <linux/bits.h>
#include <linux/cpumask.h>
#include <linux/errno.h>
#include <linux/hardirq.h>
#include <linux/interrupt.h>
#include <linux/io.h>
#include <linux/irq.h>
#include <linux/irqchip/arm-gic-v3.h>
#include <linux/of.h>
#include <linux/of_address.h>
#include <linux/of_irq.h>
#include <linux/percpu.h>
#include <linux/sizes.h>
#include <linux/smp.h>
#include <linux/string.h>
#include <linux/tracepoint.h>

#include <asm/cputype.h>

#include "synth/nmi.h"

/* The first region of redistributors; only very large machines have more. */
static void __iomem *redistributors;
/* Of this CPU, the frame for the interrupts that are its own; NULL where none was found. */
static DEFINE_PER_CPU(void __iomem *, own_frame);

static int counters_irq;
/* Its bit in the registers of a frame. */
static u32 pending;
static struct tracepoint *handler_exit;
static bool as_nmi;

/* By the device tree; a machine that ACPI describes has no such tests. */
static int synth_nmi_find_irq(void)
{
	struct device_node *node = of_find_node_by_name(NULL, "pmu");
	struct irq_data *data;
	bool enabled;

	counters_irq = node ? irq_of_parse_and_map(node, 0) : 0;
	of_node_put(node);
	data = counters_irq ? irq_get_irq_data(counters_irq) : NULL;
	/* Every CPU has its own of the same number. */
	if (!data || data->hwirq < 16 || data->hwirq >= 32)
		return -ENODEV;
	pending = BIT(data->hwirq);
	get_cpu();
	enabled = irq_percpu_is_enabled(counters_irq);
	put_cpu();
	return enabled ? 0 : -ENODEV;
}

static void synth_nmi_find_frame(void *unused)
{
	u64 mpidr = read_cpuid_mpidr();
	u32 affinity = MPIDR_AFFINITY_LEVEL(mpidr, 3) << 24 | MPIDR_AFFINITY_LEVEL(mpidr, 2) << 16 |
		       MPIDR_AFFINITY_LEVEL(mpidr, 1) << 8 | MPIDR_AFFINITY_LEVEL(mpidr, 0);
	void __iomem *at = redistributors;
	u64 type;

	do {
		type = readq(at + GICR_TYPER);
		if (type >> 32 == affinity)
			this_cpu_write(own_frame, at + SZ_64K);
		at += (type & GICR_TYPER_VLPIS ? 4 : 2) * SZ_64K;
	} while (!(type & GICR_TYPER_LAST));
}

static int synth_nmi_map(void)
{
	struct device_node *node = of_find_compatible_node(NULL, NULL, "arm,gic-v3");

	/* Region 0 is the distributor. */
	redistributors = node ? of_iomap(node, 1) : NULL;
	of_node_put(node);
	if (!redistributors)
		return -ENODEV;
	on_each_cpu(synth_nmi_find_frame, NULL, 1);
	return 0;
}

static void synth_nmi_unmap(void)
{
	int cpu;

	for_each_possible_cpu(cpu)
		per_cpu(own_frame, cpu) = NULL;
	iounmap(redistributors);
}

static void synth_nmi_behind(void *unused, int irq, struct irqaction *action, int ret)
{
	if (irq != counters_irq)
		return;
	WRITE_ONCE(as_nmi, in_nmi());
	synth_nmi_came();
}

static void synth_nmi_find_event(struct tracepoint *event, void *unused)
{
	if (!strcmp(event->name, "irq_handler_exit"))
		handler_exit = event;
}

static int synth_nmi_attach(void)
{
	for_each_kernel_tracepoint(synth_nmi_find_event, NULL);
	if (!handler_exit)
		return -EOPNOTSUPP;
	return tracepoint_probe_register(handler_exit, synth_nmi_behind, NULL);
}

int synth_nmi_begin(void)
{
	int ret;

	ret = synth_nmi_find_irq();
	if (ret)
		return ret;
	ret = synth_nmi_map();
	if (ret)
		return ret;
	ret = synth_nmi_attach();
	if (ret)
		goto err_unmap;
	/* The first tells what they are. */
	ret = synth_nmi_send_many(raw_smp_processor_id(), 1);
	if (ret)
		goto err_end;
	return 0;

err_end:
	synth_nmi_settle();
	synth_nmi_end();
	return ret;
err_unmap:
	synth_nmi_unmap();
	return ret;
}

void synth_nmi_end(void)
{
	tracepoint_probe_unregister(handler_exit, synth_nmi_behind, NULL);
	tracepoint_synchronize_unregister();
	synth_nmi_unmap();
}

int synth_nmi_raise(int cpu)
{
	void __iomem *frame = per_cpu(own_frame, cpu);

	/* It was not online when this began. */
	if (!frame)
		return -ENXIO;
	writel(pending, frame + GICR_ISPENDR0);
	return 0;
}

const char *synth_nmi_kind(void)
{
	return READ_ONCE(as_nmi) ? "pseudo-NMI\n" : "interrupt\n";
}
