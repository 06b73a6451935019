/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Coresight: what processors share of a topology: funnels, replicators, TMCs and CATUs, connected; and the registers of all that are in
 * memory, which vCPUs find by their place (at()). The trace units themselves are their vCPUs'.
 *
 * Callers hold the lock wherever they use it, but for what says otherwise.
 */
#ifndef HWSIM_ARM64_CORESIGHT_H
#define HWSIM_ARM64_CORESIGHT_H

#include <memory>
#include <mutex>
#include <vector>

#include "component.h"
#include "funnel.h"
#include "replicator.h"
#include "tmc.h"
#include "topology.h"
#include "trace_sink.h"

namespace hwsim::arm64
{

class Coresight
{
public:
	Coresight(const Topology &topology, GuestMemory &memory);

	std::mutex lock;

	void set_faults(const Faults &now);
	/* Where the trace unit of this processor leads; null if it leads nowhere. */
	AtbReceiver *input_of(unsigned cpu) const;
	/* The component with these registers; null if there are none, or if they are a trace unit's. */
	Component *at(unsigned page) const { return page < by_page.size() ? by_page[page] : nullptr; }
	/* tell(page, component): each of them. */
	template <class Tell>
	void for_each(Tell &&tell) const
	{
		for (unsigned page = 0; page < by_page.size(); page++)
			if (by_page[page])
				tell(page, *by_page[page]);
	}
	Tmc::Counts tmc_statistics() const;

	const Topology topology;

private:
	void make(const Topology::Node &node, GuestMemory &memory);
	void connect(std::size_t from, unsigned output);
	AtbReceiver &input(const Topology::Output &output) const;
	template <class Kind>
	Kind &as(std::size_t node) const
	{
		return static_cast<Kind &>(*components[node]);
	}

	std::vector<std::unique_ptr<Component>> components; /* of nodes; null for a trace unit or its buffer */
	std::vector<Component *> by_page;
};

/* The way of a trace unit into it: a sink that is always there, if what is behind it does not take the trace that is lost there. Locks. */
class AtbPort final : public TraceSink
{
public:
	AtbPort(Coresight &with, AtbReceiver *input) : coresight(with), to(input) {}
	/* TRCTRACEIDR, before there is anything to take. */
	void set_id(std::uint8_t now) { id = now; }

	bool enabled() const override { return to; }
	std::size_t take(std::span<const std::uint8_t> bytes) override
	{
		const std::lock_guard guard(coresight.lock);
		return bytes.empty() ? 0 : to->receive(id, bytes);
	}
	void trigger() override
	{
		const std::lock_guard guard(coresight.lock);
		to->trigger(id);
	}

private:
	Coresight &coresight;
	AtbReceiver *const to;
	std::uint8_t id = 0;
};

} // namespace hwsim::arm64

#endif
