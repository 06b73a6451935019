// SPDX-License-Identifier: GPL-2.0-or-later
#include "coresight.h"

#include <algorithm>

namespace hwsim::arm64
{

using Kind = Topology::Kind;

/* CATUs are made first, because the constructor of an ETR takes its CATU. */
Coresight::Coresight(const Topology &with, GuestMemory &memory, Interrupt to)
	: topology(with), interrupt(std::move(to)), components(with.nodes.size()), by_page(with.pages())
{
	for (const bool catus : {true, false})
		for (const Topology::Node &node : topology.nodes)
			if ((node.kind == Kind::catu) == catus)
				make(node, memory);
	for (std::size_t n = 0; n < topology.nodes.size(); n++)
		for (unsigned output = 0; output < topology.nodes[n].outputs.size(); output++)
			connect(n, output);
}

void Coresight::make(const Topology::Node &node, GuestMemory &memory)
{
	const auto index = static_cast<std::size_t>(&node - topology.nodes.data());
	auto &made = components[index];
	switch (node.kind) {
	case Kind::ete:
	case Kind::trbe:
	case Kind::etm:
		return;
	case Kind::funnel:
		made = std::make_unique<Funnel>();
		break;
	case Kind::replicator:
		made = std::make_unique<Replicator>();
		break;
	case Kind::etf:
		made = std::make_unique<Tmc>(tmc::Config{tmc::Kind::etf, node.save_restore}, memory, nullptr);
		break;
	case Kind::etb:
		made = std::make_unique<Tmc>(tmc::Config{tmc::Kind::etb, node.save_restore}, memory, nullptr);
		break;
	case Kind::etr:
		made = std::make_unique<Tmc>(tmc::Config{tmc::Kind::etr, node.save_restore}, memory,
			node.outputs.empty() ? nullptr : &as<Catu>(node.outputs[0].node));
		break;
	case Kind::catu:
		made = std::make_unique<Catu>(memory);
		break;
	}
	by_page[*node.page] = made.get();
	if (node.interrupt && interrupt)
		as<Tmc>(index).connect_full(
			[this, number = *node.interrupt](bool asserted) { interrupt(number, asserted); });
}

AtbReceiver &Coresight::input(const Topology::Output &output) const
{
	switch (topology.nodes[output.node].kind) {
	case Kind::funnel:
		return as<Funnel>(output.node).input(output.port);
	case Kind::replicator:
		return as<Replicator>(output.node);
	default:
		return as<Tmc>(output.node);
	}
}

/* Nothing to do for a trace unit, whose vCPU calls input_of(), and for an ETR, whose constructor took its CATU. */
void Coresight::connect(std::size_t from, unsigned output)
{
	const Topology::Output &to = topology.nodes[from].outputs[output];
	AtbSender *sender = nullptr;
	switch (topology.nodes[from].kind) {
	case Kind::funnel:
		as<Funnel>(from).connect(input(to));
		sender = &as<Funnel>(from);
		break;
	case Kind::replicator:
		as<Replicator>(from).connect(output, input(to));
		sender = &as<Replicator>(from);
		break;
	case Kind::etf:
		as<Tmc>(from).connect(input(to));
		sender = &as<Tmc>(from);
		break;
	default:
		return;
	}
	switch (topology.nodes[to.node].kind) {
	case Kind::funnel:
		return as<Funnel>(to.node).connect_from(*sender);
	case Kind::replicator:
		return as<Replicator>(to.node).connect_from(*sender);
	default:
		return as<Tmc>(to.node).connect_from(*sender);
	}
}

AtbReceiver *Coresight::input_of(unsigned cpu) const
{
	const Topology::Node *etm = topology.of_cpu(Kind::etm, cpu);
	return etm && !etm->outputs.empty() ? &input(etm->outputs[0]) : nullptr;
}

void Coresight::set_faults(const Faults &now)
{
	for (std::size_t n = 0; n < topology.nodes.size(); n++) {
		const Kind kind = topology.nodes[n].kind;
		if (!components[n])
			continue;
		if (kind == Kind::etr || kind == Kind::etf || kind == Kind::etb)
			as<Tmc>(n).set_faults(now);
		components[n]->set_claimed_outside(now.claimed);
	}
}

/* The numbers of those nodes that are TMCs. */
std::vector<std::size_t> Coresight::tmcs() const
{
	std::vector<std::size_t> all;
	for (std::size_t n = 0; n < topology.nodes.size(); n++) {
		const Kind kind = topology.nodes[n].kind;
		if (kind == Kind::etr || kind == Kind::etf || kind == Kind::etb)
			all.push_back(n);
	}
	return all;
}

unsigned Coresight::tmcs_on() const
{
	return static_cast<unsigned>(
		std::ranges::count_if(tmcs(), [this](std::size_t n) { return as<Tmc>(n).captures(); }));
}

Tmc::Counts Coresight::tmc_statistics() const
{
	Tmc::Counts all;
	for (const std::size_t n : tmcs()) {
		const Tmc::Counts &one = as<Tmc>(n).statistics();
		all.bytes += one.bytes;
		all.discarded += one.discarded;
		all.overwritten += one.overwritten;
		all.wraps += one.wraps;
		all.starts += one.starts;
		all.flushes += one.flushes;
		all.errors += one.errors;
	}
	return all;
}

} // namespace hwsim::arm64
