// SPDX-License-Identifier: GPL-2.0-only
/*
 * Links: see link.h. Their registers are those of the CoreSight SoC-400 TRM (DDI 0480, "ATB funnel"
 * and "ATB replicator").
 */
#include <linux/bits.h>
#include <linux/errno.h>
#include <linux/spinlock.h>

#include "component.h"
#include "link.h"

#define FUNNEL_CONTROL		0x000
/* Cycles that an input keeps the output: as in-tree. */
#define FUNNEL_HOLD_TIME	(7 << 8)

/* Trace IDs that an output does not let through: a bit for 16 of them. */
#define REPLICATOR_FILTER(n)	(4 * (n))
#define REPLICATOR_NOTHING	0xff
#define REPLICATOR_OUTPUTS	2

static DEFINE_RAW_SPINLOCK(bus_lock);

void link_hold(void)
{
	raw_spin_lock(&bus_lock);
}

void link_release(void)
{
	raw_spin_unlock(&bus_lock);
}

static void link_write_funnel(const struct component *funnel)
{
	u32 inputs = 0;
	unsigned int n;

	for (n = 0; n < COMPONENT_PORTS && !funnel->closed; n++)
		if (funnel->ports[n])
			inputs |= BIT(n);
	component_write(funnel, FUNNEL_HOLD_TIME | inputs, FUNNEL_CONTROL);
}

static void link_write_replicator(const struct component *replicator)
{
	unsigned int n;

	for (n = 0; n < REPLICATOR_OUTPUTS; n++)
		component_write(replicator, replicator->ports[n] ? 0 : REPLICATOR_NOTHING,
				REPLICATOR_FILTER(n));
}

static void link_write(const struct component *link)
{
	if (link->kind == COMPONENT_REPLICATOR)
		link_write_replicator(link);
	else
		link_write_funnel(link);
	component_settle(link, 0);
}

/* Which port makes the difference. */
static u8 link_port(const struct component *link, u8 in, u8 out)
{
	return link->kind == COMPONENT_REPLICATOR ? out : in;
}

static bool link_leads_elsewhere(const struct component *link, u8 out)
{
	unsigned int n;

	for (n = 0; n < COMPONENT_PORTS; n++)
		if (n != out && link->ports[n])
			return true;
	return false;
}

int link_enable(struct component *link, u8 in, u8 out)
{
	int ret;

	if (link->kind == COMPONENT_REPLICATOR && link_leads_elsewhere(link, out))
		return -EBUSY;
	ret = component_claim(link);
	if (ret)
		return ret;
	link->ports[link_port(link, in, out)]++;
	link_write(link);
	return 0;
}

void link_disable(struct component *link, u8 in, u8 out)
{
	link->ports[link_port(link, in, out)]--;
	link_write(link);
	component_disclaim(link);
}

void link_restore(struct component *link)
{
	component_restore(link);
	link_write(link);
}

void link_gate(struct component *funnel, bool open)
{
	funnel->closed = !open;
	link_write(funnel);
}
