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

#include "compat.h"
#include "devices.h"

static cpumask_t units, buffers;
static int buffer_irq = -1;
static DEFINE_PER_CPU(int, cookies);

/* --- trace units ---------------------------------------------------------------------------- */

static int etm_devices_probe_unit(struct platform_device *pdev)
{
	struct device_node *node = of_parse_phandle(pdev->dev.of_node, "cpu", 0);
	int cpu = node ? of_cpu_node_to_id(node) : -ENODEV;

	of_node_put(node);
	if (cpu < 0) {
		dev_notice(&pdev->dev, "not used: its property cpu names no CPU\n");
		return -ENODEV;
	}
	cpumask_set_cpu(cpu, &units);
	return 0;
}

static const struct of_device_id unit_match[] = {
	{ .compatible = "arm,embedded-trace-extension" },
	{}
};

static struct platform_driver unit_driver = {
	.probe = etm_devices_probe_unit,
	.driver = {
		.name = "auxpmu_etm_ete",
		.of_match_table = unit_match,
		.suppress_bind_attrs = true,
	},
};

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

/* --- both ----------------------------------------------------------------------------------- */

/* The name of the driver that has a device of @match, if it is not @own. */
static const char *etm_devices_owner(const struct of_device_id *match,
				     const struct platform_driver *own)
{
	struct device_node *node;
	const char *owner = NULL;

	for_each_matching_node(node, match) {
		struct platform_device *pdev = of_find_device_by_node(node);

		if (!pdev)
			continue;
		device_lock(&pdev->dev);
		if (pdev->dev.driver && pdev->dev.driver != &own->driver)
			owner = pdev->dev.driver->name;
		device_unlock(&pdev->dev);
		put_device(&pdev->dev);
	}
	return owner;
}

static int etm_devices_why_not(void)
{
	const char *unit = etm_devices_owner(unit_match, &unit_driver);
	const char *buffer = etm_devices_owner(buffer_match, &buffer_driver);

	if (unit || buffer) {
		pr_notice("refused: the devices have a driver (trace units: %s, trace buffers: %s); modprobe -r coresight-trbe coresight-etm4x first\n",
			  unit ?: "none", buffer ?: "none");
		return -EBUSY;
	}
	pr_notice("refused: the device tree has no CPU with a trace unit (arm,embedded-trace-extension) and a trace buffer (arm,trace-buffer-extension)\n");
	return -ENODEV;
}

int etm_devices_get(irq_handler_t handler)
{
	int ret = platform_driver_register(&unit_driver);

	if (ret)
		return ret;
	ret = platform_driver_register(&buffer_driver);
	if (ret)
		goto unit;
	if (buffer_irq < 0 || !cpumask_intersects(&units, &buffers)) {
		ret = etm_devices_why_not();
		goto buffer;
	}
	ret = etm_devices_request_irq(buffer_irq, handler);
	if (!ret)
		return 0;
	pr_notice("refused: no interrupt of the trace buffers: error %d\n", ret);
buffer:
	platform_driver_unregister(&buffer_driver);
unit:
	platform_driver_unregister(&unit_driver);
	return ret;
}

void etm_devices_put(void)
{
	free_percpu_irq(buffer_irq, &cookies);
	platform_driver_unregister(&buffer_driver);
	platform_driver_unregister(&unit_driver);
}

bool etm_devices_have(int cpu)
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
