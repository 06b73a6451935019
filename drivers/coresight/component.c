// SPDX-License-Identifier: GPL-2.0-only
/*
 * Components of the trace bus: see component.h. Registers that all of them have are those of the
 * CoreSight Architecture (Arm IHI 0029, "Management registers").
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/amba/bus.h>
#include <linux/clk.h>
#include <linux/delay.h>
#include <linux/device.h>
#include <linux/err.h>
#include <linux/errno.h>
#include <linux/mutex.h>
#include <linux/of.h>

#include "component.h"
#include "etm_registers.h"

#define COMPONENT_LAR		0xfb0
#define COMPONENT_LAR_KEY	0xc5acce55

/* Part number: of the peripheral ID's lowest bits. */
#define COMPONENT_PART		GENMASK(11, 0)

/* Microseconds that a component gets to do something: as in-tree. */
#define COMPONENT_PATIENCE	100

/* Devices may be bound by several threads. */
static DEFINE_MUTEX(components_lock);
static LIST_HEAD(components);
static bool components_closed;

const struct of_device_id component_match[] = {
	{ .compatible = "arm,coresight-etm4x", .data = (void *)COMPONENT_UNIT },
	{ .compatible = "arm,coresight-dynamic-funnel", .data = (void *)COMPONENT_FUNNEL },
	{ .compatible = "arm,coresight-funnel", .data = (void *)COMPONENT_FUNNEL },
	{ .compatible = "arm,coresight-dynamic-replicator", .data = (void *)COMPONENT_REPLICATOR },
	{ .compatible = "arm,coresight-tmc", .data = (void *)COMPONENT_TMC },
	{ .compatible = "arm,coresight-catu", .data = (void *)COMPONENT_CATU },
	{ .compatible = "arm,coresight-static-funnel", .data = (void *)COMPONENT_STATIC },
	{ .compatible = "arm,coresight-static-replicator", .data = (void *)COMPONENT_STATIC },
	{}
};

enum component_kind component_kind_of(const struct device_node *node)
{
	const struct of_device_id *match = of_match_node(component_match, node);

	return match ? (enum component_kind)(uintptr_t)match->data : 0;
}

struct component *component_of(const struct device_node *node)
{
	struct component *component;

	list_for_each_entry(component, &components, list)
		if (component->dev->of_node == node)
			return component;
	return NULL;
}

struct component *component_next(struct component *from, enum component_kind kind)
{
	struct component *next = from ? list_next_entry(from, list) :
					list_first_entry(&components, struct component, list);

	list_for_each_entry_from(next, &components, list)
		if (next->kind == kind)
			return next;
	return NULL;
}

/* --- registers ------------------------------------------------------------------------------ */

bool component_wait(const struct component *component, u32 offset, u32 mask, u32 value)
{
	unsigned int tries;

	for (tries = 0; tries < COMPONENT_PATIENCE; tries++) {
		if ((component_read(component, offset) & mask) == value)
			return true;
		udelay(1);
	}
	return false;
}

void component_settle(const struct component *component, u32 offset)
{
	component_read(component, offset);
	/* What was written to it has arrived when it was read, and whatever follows waits. */
	mb();
}

void component_unlock(void __iomem *base)
{
	writel_relaxed(COMPONENT_LAR_KEY, base + COMPONENT_LAR);
}

static void component_lock(void __iomem *base)
{
	writel_relaxed(0, base + COMPONENT_LAR);
}

static u32 component_claims(const struct component *component)
{
	return component_read(component, TRCCLAIMCLR) &
	       (TRCCLAIM_EXTERNAL | TRCCLAIM_SELF_HOSTED);
}

void component_restore(const struct component *component)
{
	component_unlock(component->base);
	component_write(component, TRCCLAIM_SELF_HOSTED, TRCCLAIMSET);
}

int component_claim(struct component *component)
{
	if (component->users++)
		return 0;
	component_unlock(component->base);
	if (!component_claims(component)) {
		component_write(component, TRCCLAIM_SELF_HOSTED, TRCCLAIMSET);
		if (component_claims(component) == TRCCLAIM_SELF_HOSTED)
			return 0;
		/* A debugger came at the same time. It sees ours, and may step back, too. */
		component_write(component, TRCCLAIM_SELF_HOSTED, TRCCLAIMCLR);
	}
	component_lock(component->base);
	component->users--;
	return -EBUSY;
}

void component_disclaim(struct component *component)
{
	if (--component->users)
		return;
	component_write(component, TRCCLAIM_SELF_HOSTED, TRCCLAIMCLR);
	component_lock(component->base);
}

/* --- devices -------------------------------------------------------------------------------- */

static void component_clock_off(void *clock)
{
	clk_disable_unprepare(clock);
}

/* The bus takes care of the clock of the registers, not of that of trace. */
static int component_clock_on(struct device *dev)
{
	struct clk *clock = devm_clk_get_optional(dev, "atclk");
	int ret = IS_ERR(clock) ? PTR_ERR(clock) : clk_prepare_enable(clock);

	return ret ?: devm_add_action_or_reset(dev, component_clock_off, clock);
}

static int component_add(struct component *component)
{
	bool closed;

	mutex_lock(&components_lock);
	closed = components_closed;
	if (!closed)
		list_add_tail(&component->list, &components);
	mutex_unlock(&components_lock);
	return closed ? -ENODEV : 0;
}

static int component_probe(struct amba_device *adev, const struct amba_id *id)
{
	enum component_kind kind = component_kind_of(adev->dev.of_node);
	struct component *component;
	int ret;

	if (!kind || kind == COMPONENT_STATIC)
		return -ENODEV;
	component = devm_kzalloc(&adev->dev, sizeof(*component), GFP_KERNEL);
	if (!component)
		return -ENOMEM;
	component->base = devm_ioremap_resource(&adev->dev, &adev->res);
	if (IS_ERR(component->base))
		return PTR_ERR(component->base);
	ret = component_clock_on(&adev->dev);
	if (ret)
		return ret;
	component->dev = &adev->dev;
	component->kind = kind;
	component->part = adev->periphid & COMPONENT_PART;
	amba_set_drvdata(adev, component);
	return component_add(component);
}

static void component_remove(struct amba_device *adev)
{
	struct component *component = amba_get_drvdata(adev);

	mutex_lock(&components_lock);
	list_del(&component->list);
	mutex_unlock(&components_lock);
}

static void component_shutdown(struct amba_device *adev)
{
	struct component *component = amba_get_drvdata(adev);

	if (component->shut_down)
		component->shut_down(component);
}

/*
 * Any device of the bus, even numbers and odd ones: its node says what it is, and vendors' part
 * numbers are many.
 */
static const struct amba_id component_ids[] = {
	{ .id = 0, .mask = 1 },
	{ .id = 1, .mask = 1 },
	{}
};

static struct amba_driver component_driver = {
	.probe = component_probe,
	.remove = component_remove,
	.shutdown = component_shutdown,
	.id_table = component_ids,
	.drv = {
		.name = "auxpmu_etm_bus",
		.suppress_bind_attrs = true,
	},
};

int components_get(void)
{
	return amba_driver_register(&component_driver);
}

void components_close(void)
{
	mutex_lock(&components_lock);
	components_closed = true;
	mutex_unlock(&components_lock);
}

void components_put(void)
{
	amba_driver_unregister(&component_driver);
}
