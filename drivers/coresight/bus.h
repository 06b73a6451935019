/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Paths: from a CPU's trace unit by the trace bus to a sink, through funnels, replicators and ETF,
 * as the device tree's graph has them.
 */
#ifndef ETM_BUS_H
#define ETM_BUS_H

#include <linux/cpumask.h>
#include <linux/list.h>
#include <linux/types.h>

#include "component.h"
#include "tmc.h"

/* Components between a unit and a sink. */
#define BUS_HOPS		8

/**
 * struct bus_hop - a component on the way
 * @component: which
 * @in: by which of its inputs
 * @out: by which of its outputs
 */
struct bus_hop {
	struct component *component;
	u8 in;
	u8 out;
};

/**
 * struct bus_path - a way
 * @list: all of the CPU's, the best sink first: ETR, ETF, ETB; then the nearest
 * @sink: where it ends
 * @hops: what lies between, from the unit on
 * @nr_hops: how many
 */
struct bus_path {
	struct list_head list;
	struct tmc *sink;
	struct bus_hop hops[BUS_HOPS];
	unsigned int nr_hops;
};

/* Before all else: there are none yet. */
void bus_paths_begin(void);

/*
 * Find those of @cpu, whose trace unit is @unit in the device tree; all components are ours by now.
 * May sleep. 0 or -ENOMEM.
 */
int bus_paths_find(int cpu, const struct device_node *unit);
void bus_paths_forget(void);

/* Is there any? */
bool bus_paths_exist(void);

/*
 * The sink of number @id, or if that is 0 the best one, that @cpu reaches, or if that is -1 all
 * CPUs in @cpus; NULL if there is none. Any context.
 */
struct tmc *bus_paths_choose_sink(u32 id, int cpu, const struct cpumask *cpus);

/* Do all CPUs in @cpus reach @sink, or any sink if that is NULL? Any context. */
bool bus_from_all(const struct cpumask *cpus, const struct tmc *sink);

/* Is there only one CPU that reaches @sink? Any context. */
bool bus_reached_by_one(const struct tmc *sink);

/* The path of @cpu to @sink, or to the best if that is NULL; NULL if there is none. Any context. */
struct bus_path *bus_path_to(int cpu, const struct tmc *sink);

/*
 * Switch it on for one more event: 0, or -EBUSY: a component leads elsewhere now, or a debugger has
 * it. IRQs off.
 */
int bus_path_enable(struct bus_path *path);
void bus_path_disable(struct bus_path *path);

/* The machine was suspended: tell all on the way anew what they were told. IRQs off. */
void bus_path_restore(const struct bus_path *path);

#endif /* ETM_BUS_H */
