// SPDX-License-Identifier: GPL-2.0-only
/* Paths: see bus.h. */
#include <linux/errno.h>
#include <linux/of.h>
#include <linux/of_graph.h>
#include <linux/percpu.h>
#include <linux/slab.h>

#include "bus.h"
#include "link.h"

static DEFINE_PER_CPU(struct list_head, paths);

/* --- on and off ----------------------------------------------------------------------------- */

static int bus_enable_hop(const struct bus_hop *hop)
{
	if (hop->component->kind == COMPONENT_TMC)
		return tmc_link(hop->component->tmc);
	return link_enable(hop->component, hop->in, hop->out);
}

static void bus_disable_hop(const struct bus_hop *hop)
{
	if (hop->component->kind == COMPONENT_TMC)
		tmc_unlink(hop->component->tmc);
	else
		link_disable(hop->component, hop->in, hop->out);
}

/* Its hops from the sink on, so that trace never comes to where nobody takes it. */
static int bus_enable_hops(const struct bus_path *path)
{
	unsigned int n = path->nr_hops;
	int ret = 0;

	while (n && !ret)
		ret = bus_enable_hop(&path->hops[--n]);
	if (!ret)
		return 0;
	while (++n < path->nr_hops)
		bus_disable_hop(&path->hops[n]);
	return ret;
}

int bus_path_enable(struct bus_path *path)
{
	int ret;

	link_hold();
	ret = tmc_lend(path->sink);
	if (!ret) {
		ret = bus_enable_hops(path);
		if (ret)
			tmc_take_back(path->sink);
	}
	link_release();
	return ret;
}

void bus_path_disable(struct bus_path *path)
{
	unsigned int n;

	link_hold();
	for (n = 0; n < path->nr_hops; n++)
		bus_disable_hop(&path->hops[n]);
	tmc_take_back(path->sink);
	link_release();
}

void bus_path_restore(const struct bus_path *path)
{
	unsigned int n;

	link_hold();
	tmc_restore(path->sink);
	for (n = path->nr_hops; n--;) {
		struct component *component = path->hops[n].component;

		if (component->kind == COMPONENT_TMC)
			tmc_restore(component->tmc);
		else
			link_restore(component);
	}
	link_release();
}

struct bus_path *bus_path_to(int cpu, const struct tmc *sink)
{
	struct bus_path *path;

	list_for_each_entry(path, per_cpu_ptr(&paths, cpu), list)
		if (!sink || path->sink == sink)
			return path;
	return NULL;
}

bool bus_reached_by_one(const struct tmc *sink)
{
	unsigned int by = 0;
	int cpu;

	for_each_possible_cpu(cpu)
		by += !!bus_path_to(cpu, sink);
	return by == 1;
}

bool bus_paths_exist(void)
{
	int cpu;

	for_each_possible_cpu(cpu)
		if (bus_path_to(cpu, NULL))
			return true;
	return false;
}

bool bus_from_all(const struct cpumask *cpus, const struct tmc *sink)
{
	int cpu;

	for_each_cpu(cpu, cpus)
		if (!bus_path_to(cpu, sink))
			return false;
	return true;
}

struct tmc *bus_paths_choose_sink(u32 id, int cpu, const struct cpumask *cpus)
{
	int first = cpu == -1 ? cpumask_first(cpus) : cpu;
	struct bus_path *path;

	if (first >= nr_cpu_ids)
		return NULL;
	list_for_each_entry(path, per_cpu_ptr(&paths, first), list) {
		if (id && path->sink->id != id)
			continue;
		if (cpu != -1 || bus_from_all(cpus, path->sink))
			return path->sink;
	}
	return NULL;
}

/* --- the device tree's graph ---------------------------------------------------------------- */

/* The device that @endpoint belongs to: two levels up, and one for in-ports or out-ports. */
static struct device_node *bus_device_of(struct device_node *endpoint)
{
	struct device_node *node = of_graph_get_port_parent(endpoint);

	if (of_node_name_eq(node, "in-ports") || of_node_name_eq(node, "out-ports"))
		node = of_get_next_parent(node);
	return node;
}

/*
 * The device that @endpoint leads to, NULL if there is none, and by which port of it and of this
 * device. of_node_put() it.
 */
static struct device_node *bus_behind(struct device_node *endpoint, u8 *out, u8 *in)
{
	struct device_node *remote = of_graph_get_remote_endpoint(endpoint), *node = NULL;
	struct of_endpoint here, there;

	if (remote && !of_graph_parse_endpoint(endpoint, &here) &&
	    !of_graph_parse_endpoint(remote, &there) && here.port < COMPONENT_PORTS &&
	    there.port < COMPONENT_PORTS) {
		*out = here.port;
		*in = there.port;
		node = bus_device_of(remote);
	}
	of_node_put(remote);
	return node;
}

/*
 * The CATU of an ETR is what its only output leads to. False if there is one that is not ours: then
 * nobody knows where its addresses go.
 */
static bool bus_find_catu(struct tmc *etr)
{
	struct device_node *outputs = of_get_child_by_name(etr->component->dev->of_node,
							   "out-ports");
	struct device_node *endpoint = outputs ? of_graph_get_next_endpoint(outputs, NULL) : NULL;
	struct device_node *to;
	u8 in, out;

	to = endpoint ? bus_behind(endpoint, &out, &in) : NULL;
	etr->catu = to ? component_of(to) : NULL;
	of_node_put(to);
	of_node_put(endpoint);
	of_node_put(outputs);
	return !to || etr->catu;
}

static bool bus_is_better(const struct bus_path *a, const struct bus_path *b)
{
	static const int ranks[] = { [TMC_ETR] = 0, [TMC_ETF] = 1, [TMC_ETB] = 2 };
	int rank_a = ranks[a->sink->kind], rank_b = ranks[b->sink->kind];

	return rank_a < rank_b || (rank_a == rank_b && a->nr_hops < b->nr_hops);
}

/* Through a funnel, trace of several units may come; the last one is that of all paths. */
static struct component *bus_gate_of(const struct bus_path *path)
{
	struct component *gate = NULL;
	unsigned int n;

	for (n = 0; n < path->nr_hops; n++)
		if (path->hops[n].component->kind == COMPONENT_FUNNEL)
			gate = path->hops[n].component;
	return gate;
}

/* What all its trace comes through: nothing, if paths come by different funnels. */
static void bus_note_gate(struct tmc *sink, struct component *gate)
{
	if (sink->reached && sink->gate != gate)
		gate = NULL;
	sink->gate = gate;
	sink->reached = true;
}

static int bus_add(int cpu, const struct bus_path *so_far, struct tmc *sink)
{
	struct list_head *before = per_cpu_ptr(&paths, cpu);
	struct bus_path *path, *other;

	if (sink->kind == TMC_ETR && !bus_find_catu(sink))
		return 0;
	path = kmemdup(so_far, sizeof(*so_far), GFP_KERNEL);
	if (!path)
		return -ENOMEM;
	path->sink = sink;
	bus_note_gate(sink, bus_gate_of(path));
	list_for_each_entry(other, per_cpu_ptr(&paths, cpu), list) {
		if (bus_is_better(path, other)) {
			before = &other->list;
			break;
		}
	}
	list_add_tail(&path->list, before);
	return 0;
}

static int bus_walk(int cpu, const struct device_node *node, struct bus_path *so_far,
		    unsigned int depth);

/* From an input of @node on, which is the next component on the way @so_far. */
static int bus_walk_through(int cpu, const struct device_node *node, struct bus_path *so_far,
			    unsigned int depth)
{
	struct component *component = component_of(node);
	int ret;

	if (component_kind_of(node) == COMPONENT_STATIC) {
		so_far->nr_hops--;
		return bus_walk(cpu, node, so_far, depth);
	}
	so_far->hops[so_far->nr_hops - 1].component = component;
	if (!component)
		return 0;
	if (component->kind == COMPONENT_FUNNEL || component->kind == COMPONENT_REPLICATOR)
		return bus_walk(cpu, node, so_far, depth);
	if (component->kind != COMPONENT_TMC || !component->tmc)
		return 0;
	so_far->nr_hops--;
	ret = bus_add(cpu, so_far, component->tmc);
	so_far->nr_hops++;
	if (ret || component->tmc->kind != TMC_ETF)
		return ret;
	return bus_walk(cpu, node, so_far, depth);
}

/* All ways from one output of @node on. */
static int bus_walk_output(int cpu, const struct device_node *node, struct device_node *endpoint,
			   struct bus_path *so_far, unsigned int depth)
{
	unsigned int nr_hops = so_far->nr_hops;
	struct bus_hop *last = nr_hops ? &so_far->hops[nr_hops - 1] : NULL;
	struct device_node *next;
	int ret = 0;
	u8 out;

	next = bus_behind(endpoint, &out, &so_far->hops[nr_hops].in);
	if (next) {
		/* A component without registers is no hop. */
		if (last && last->component == component_of(node))
			last->out = out;
		so_far->nr_hops++;
		ret = bus_walk_through(cpu, next, so_far, depth + 1);
		so_far->nr_hops = nr_hops;
	}
	of_node_put(next);
	return ret;
}

static unsigned int bus_nr_paths(int cpu)
{
	const struct bus_path *path;
	unsigned int nr = 0;

	list_for_each_entry(path, per_cpu_ptr(&paths, cpu), list)
		nr++;
	return nr;
}

/* All ways from the outputs of @node on. */
static int bus_walk(int cpu, const struct device_node *node, struct bus_path *so_far,
		    unsigned int depth)
{
	struct device_node *outputs, *endpoint = NULL;
	unsigned int before = bus_nr_paths(cpu);
	int ret = 0;

	if (so_far->nr_hops == BUS_HOPS || depth > BUS_HOPS)
		return 0;
	outputs = of_get_child_by_name(node, "out-ports");
	while (outputs && !ret) {
		endpoint = of_graph_get_next_endpoint(outputs, endpoint);
		if (!endpoint)
			break;
		ret = bus_walk_output(cpu, node, endpoint, so_far, depth);
		/*
		 * A replicator without registers sends all trace to all its outputs, so that of
		 * two sinks behind it each would get what is meant for the other: one is used.
		 */
		if (component_kind_of(node) == COMPONENT_STATIC && bus_nr_paths(cpu) > before)
			break;
	}
	of_node_put(endpoint);
	of_node_put(outputs);
	return ret;
}

int bus_paths_find(int cpu, const struct device_node *unit)
{
	struct bus_path so_far = {};

	return bus_walk(cpu, unit, &so_far, 0);
}

void bus_paths_begin(void)
{
	int cpu;

	for_each_possible_cpu(cpu)
		INIT_LIST_HEAD(per_cpu_ptr(&paths, cpu));
}

void bus_paths_forget(void)
{
	struct bus_path *path, *next;
	int cpu;

	for_each_possible_cpu(cpu) {
		list_for_each_entry_safe(path, next, per_cpu_ptr(&paths, cpu), list)
			kfree(path);
		INIT_LIST_HEAD(per_cpu_ptr(&paths, cpu));
	}
}
