// SPDX-License-Identifier: GPL-2.0-only
/*
 * The devices: see devices.h. The tables of devices are not the module's (MODULE_DEVICE_TABLE), or
 * udev would load it beside the kernel's drivers, and whoever came first would have the devices.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/cpumask.h>
#include <linux/errno.h>
#include <linux/irq.h>
#include <linux/irqdomain.h>
#include <linux/mod_devicetable.h>
#include <linux/module.h>
#include <linux/of.h>
#include <linux/of_platform.h>
#include <linux/percpu.h>
#include <linux/platform_device.h>
#include <linux/string.h>

#include "bus.h"
#include "compat.h"
#include "component.h"
#include "devices.h"
#include "etm.h"
#include "tmc.h"

static cpumask_t units, buffers;
static int buffer_irq = -1;
static DEFINE_PER_CPU(int, cookies);

/* --- trace units ---------------------------------------------------------------------------- */

/* The CPU of a trace unit, and its device node. */
static DEFINE_PER_CPU(const struct device_node *, unit_nodes);

static int etm_devices_cpu_of(const struct device *dev)
{
	struct device_node *node = of_parse_phandle(dev->of_node, "cpu", 0);
	int cpu = node ? of_cpu_node_to_id(node) : -ENODEV;

	of_node_put(node);
	if (cpu < 0)
		dev_notice(dev, "not used: its property cpu names no CPU\n");
	return cpu;
}

/* Its trace unit loses its registers when it is idle. */
static DEFINE_PER_CPU(bool, units_forget);

bool etm_devices_forget(int cpu)
{
	return per_cpu(units_forget, cpu);
}

static void etm_devices_note_unit(const struct device *dev, int cpu)
{
	per_cpu(units_forget, cpu) =
		of_property_read_bool(dev->of_node, "arm,coresight-loses-context-with-cpu");
	cpumask_set_cpu(cpu, &units);
	per_cpu(unit_nodes, cpu) = dev->of_node;
}

static int etm_devices_probe_unit(struct platform_device *pdev)
{
	int cpu = etm_devices_cpu_of(&pdev->dev);

	if (cpu < 0)
		return -ENODEV;
	etm_devices_note_unit(&pdev->dev, cpu);
	return 0;
}

/* Those that have system registers. */
static const struct of_device_id unit_match[] = {
	{ .compatible = "arm,embedded-trace-extension" },
	{ .compatible = "arm,coresight-etm4x-sysreg" },
	{}
};

static struct platform_driver unit_driver = {
	.probe = etm_devices_probe_unit,
	.driver = {
		.name = "auxpmu_etm_unit",
		.of_match_table = unit_match,
		.suppress_bind_attrs = true,
	},
};

/* Those that have registers in memory. */
static void etm_devices_note_components(void)
{
	struct component *component = NULL;

	while ((component = component_next(component, COMPONENT_UNIT))) {
		int cpu = etm_devices_cpu_of(component->dev);

		if (cpu < 0)
			continue;
		etm_devices_note_unit(component->dev, cpu);
		/* There, TRCPDCR.PU would stop the watchdog of the CPU. */
		etm_set_base(cpu, component->base,
			     of_property_read_bool(component->dev->of_node, "qcom,skip-power-up"));
	}
}

/* --- the trace buffers of all CPUs, which are one device ------------------------------------ */

#ifdef AUXPMU_HAS_PERCPU_IRQ_AFFINITY
static int etm_devices_find_irq(struct platform_device *pdev)
{
	const struct cpumask *affinity;
	int irq = platform_get_irq_affinity(pdev, 0, &affinity);

	if (irq >= 0)
		cpumask_copy(&buffers, affinity);
	return irq;
}

static int etm_devices_request_irq(int irq, irq_handler_t handler)
{
	return request_percpu_irq_affinity(irq, handler, "auxpmu_etm", &buffers, &cookies);
}
#else
static int etm_devices_find_irq(struct platform_device *pdev)
{
	int irq = platform_get_irq(pdev, 0);

	if (irq >= 0 && irq_get_percpu_devid_partition(irq, &buffers))
		return -EINVAL;
	return irq;
}

static int etm_devices_request_irq(int irq, irq_handler_t handler)
{
	return request_percpu_irq(irq, handler, "auxpmu_etm", &cookies);
}
#endif

static int etm_devices_probe_buffer(struct platform_device *pdev)
{
	int irq = etm_devices_find_irq(pdev);

	if (irq < 0 || !irq_is_percpu(irq)) {
		dev_notice(&pdev->dev, "not used: it has no interrupt of its own on each CPU\n");
		return irq < 0 ? irq : -EINVAL;
	}
	buffer_irq = irq;
	return 0;
}

static const struct of_device_id buffer_match[] = {
	{ .compatible = "arm,trace-buffer-extension" },
	{}
};

static struct platform_driver buffer_driver = {
	.probe = etm_devices_probe_buffer,
	.driver = {
		.name = "auxpmu_etm_trbe",
		.of_match_table = buffer_match,
		.suppress_bind_attrs = true,
	},
};

/* --- all of them ---------------------------------------------------------------------------- */

/* The name of the driver that has a device of @match, if it is none of ours. */
static const char *etm_devices_owner(const struct of_device_id *match)
{
	struct device_node *node;
	const char *owner = NULL;

	for_each_matching_node(node, match) {
		struct device *dev = get_device(node->fwnode.dev);

		if (!dev)
			continue;
		device_lock(dev);
		if (dev->driver && strncmp(dev->driver->name, "auxpmu_etm", strlen("auxpmu_etm")))
			owner = dev->driver->name;
		device_unlock(dev);
		put_device(dev);
	}
	return owner;
}

static int etm_devices_why_not(void)
{
	const char *unit = etm_devices_owner(unit_match);
	const char *component = etm_devices_owner(component_match);
	const char *buffer = etm_devices_owner(buffer_match);

	if (unit || buffer || component) {
		pr_notice("refused: the devices have a driver (trace units: %s, trace buffers: %s, trace bus: %s); modprobe -r coresight-trbe coresight-catu coresight-tmc coresight-replicator coresight-funnel coresight-etm4x first\n",
			  unit ?: "none", buffer ?: "none", component ?: "none");
		return -EBUSY;
	}
	pr_notice("refused: the device tree has no CPU with a trace unit (arm,embedded-trace-extension, arm,coresight-etm4x) and a trace buffer (arm,trace-buffer-extension), or a sink that the unit's ports lead to (arm,coresight-tmc)\n");
	return -ENODEV;
}

/* Which sinks each CPU reaches. Is there a CPU that has any? */
static int etm_devices_find_paths(void)
{
	bool any = false;
	int cpu, ret;

	bus_paths_begin();
	components_close();
	etm_devices_note_components();
	ret = tmcs_make();
	if (ret)
		return ret;
	for_each_cpu(cpu, &units) {
		/* In a sink that CPUs share, nobody could tell whose its trace is. */
		if (!etm_has_trace_id(cpu))
			continue;
		ret = bus_paths_find(cpu, per_cpu(unit_nodes, cpu));
		if (ret)
			break;
	}
	for_each_cpu(cpu, &units)
		any |= etm_devices_have_buffer(cpu) || bus_path_to(cpu, NULL);
	if (!ret && !any)
		ret = etm_devices_why_not();
	if (ret) {
		bus_paths_forget();
		tmcs_free();
	}
	return ret;
}

static int etm_devices_bind(void)
{
	int ret = platform_driver_register(&unit_driver);

	if (ret)
		return ret;
	ret = platform_driver_register(&buffer_driver);
	if (ret)
		goto unit;
	ret = components_get();
	if (!ret)
		return 0;
	platform_driver_unregister(&buffer_driver);
unit:
	platform_driver_unregister(&unit_driver);
	return ret;
}

static void etm_devices_unbind(void)
{
	components_put();
	platform_driver_unregister(&buffer_driver);
	platform_driver_unregister(&unit_driver);
}

int etm_devices_get(irq_handler_t handler)
{
	int ret = etm_devices_bind();

	if (ret)
		return ret;
	ret = etm_devices_find_paths();
	if (ret)
		goto unbind;
	if (buffer_irq < 0)
		return 0;
	ret = etm_devices_request_irq(buffer_irq, handler);
	if (!ret)
		return 0;
	pr_notice("refused: no interrupt of the trace buffers: error %d\n", ret);
	bus_paths_forget();
	tmcs_free();
unbind:
	etm_devices_unbind();
	return ret;
}

void etm_devices_put(void)
{
	if (buffer_irq >= 0)
		free_percpu_irq(buffer_irq, &cookies);
	bus_paths_forget();
	tmcs_free();
	etm_devices_unbind();
}

bool etm_devices_have_unit(int cpu)
{
	return cpumask_test_cpu(cpu, &units);
}

bool etm_devices_have_buffer(int cpu)
{
	return cpumask_test_cpu(cpu, &units) && cpumask_test_cpu(cpu, &buffers);
}

void etm_devices_enable_interrupt(void)
{
	enable_percpu_irq(buffer_irq, IRQ_TYPE_NONE);
}

void etm_devices_disable_interrupt(void)
{
	disable_percpu_irq(buffer_irq);
}
