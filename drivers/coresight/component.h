/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The components of the trace bus that have registers in memory: trace units, funnels, replicators,
 * trace memory controllers (TMC) and their address translation units (CATU), as the device tree
 * describes them. They are ours by binding; they have power while they are.
 */
#ifndef ETM_COMPONENT_H
#define ETM_COMPONENT_H

#include <linux/io.h>
#include <linux/list.h>
#include <linux/mod_devicetable.h>
#include <linux/types.h>

struct device;
struct device_node;
struct tmc;

enum component_kind {
	COMPONENT_UNIT = 1,
	COMPONENT_FUNNEL,
	COMPONENT_REPLICATOR,
	COMPONENT_TMC,
	COMPONENT_CATU,
	/* Without registers: every input leads to every output. */
	COMPONENT_STATIC,
};

/* Of a funnel's inputs or a replicator's outputs. */
#define COMPONENT_PORTS		8

/**
 * struct component - a component
 * @list: all of them, while they are ours
 * @dev: its device
 * @base: its registers
 * @kind: what it is
 * @part: part number by its peripheral ID (IHI 0029)
 * @users: who have it claimed; guarded by the bus's lock (link.h), as all below
 * @ports: paths through each of its ports
 * @closed: a funnel that lets nothing through for now
 * @tmc: what it is as a TMC; set before anybody traces, as @shut_down
 * @shut_down: reboot and kexec: it must not write to memory any more; or NULL
 */
struct component {
	struct list_head list;
	struct device *dev;
	void __iomem *base;
	enum component_kind kind;
	u32 part;
	unsigned int users;
	unsigned int ports[COMPONENT_PORTS];
	bool closed;
	struct tmc *tmc;
	void (*shut_down)(struct component *component);
};

/*
 * Bind to all that are free; from components_close() on to no others; and let go of them. May
 * sleep.
 */
int components_get(void);
void components_close(void);
void components_put(void);

/* What may be on a trace bus; data is an enum component_kind. */
extern const struct of_device_id component_match[];

/* What kind of component is @node? 0 if it is none. */
enum component_kind component_kind_of(const struct device_node *node);

/* The component of @node, if it is ours, else NULL. Stable between get and put. */
struct component *component_of(const struct device_node *node);

/* The next of a kind: start with NULL. In the order of the device tree. */
struct component *component_next(struct component *from, enum component_kind kind);

/* Registers; any context. Order between those of one component is that of the program. */
static inline u32 component_read(const struct component *component, u32 offset)
{
	return readl_relaxed(component->base + offset);
}

static inline void component_write(const struct component *component, u32 value, u32 offset)
{
	writel_relaxed(value, component->base + offset);
}

/*
 * What was written to a component arrives before anything that follows, at whichever other
 * component. @offset: a register that was written last.
 */
void component_settle(const struct component *component, u32 offset);

/* Wait until @mask has @value in a register; as long as in-tree. False if it never has. */
bool component_wait(const struct component *component, u32 offset, u32 mask, u32 value);

/*
 * Unlock it, and claim it unless it is claimed for one of our users already: 0, or -EBUSY: a
 * debugger has it. Any context; callers exclude each other.
 */
int component_claim(struct component *component);
void component_disclaim(struct component *component);

/* The machine was suspended: unlock and claim anew what is claimed. */
void component_restore(const struct component *component);

/* Let its registers be written. */
void component_unlock(void __iomem *base);

#endif /* ETM_COMPONENT_H */
