/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Coresight: the part of a topology that processors share, namely the connected funnels, replicators, TMCs and CATUs. vCPUs look up their
 * memory-mapped registers by page number (at()). Each trace unit belongs to its vCPU.
 *
 * Callers must hold the lock while they use this class, unless stated otherwise.
 */
#ifndef HWSIM_ARM64_CORESIGHT_H
#define HWSIM_ARM64_CORESIGHT_H

#include <functional>
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
	/* To be told of each change of the interrupts of shared components, while the lock is held. */
	using Interrupt = std::function<void(unsigned number, bool asserted)>;

	Coresight(const Topology &topology, GuestMemory &memory, Interrupt to = {});

	std::mutex lock;

	void set_faults(const Faults &now);
	/* The input that the trace unit of this processor feeds; null if it has no output. */
	AtbReceiver *input_of(unsigned cpu) const;
	/* The component with the registers on this page; null if there is none, or if the page is a trace unit's. */
	Component *at(unsigned page) const { return page < by_page.size() ? by_page[page] : nullptr; }
	/* Calls tell(page, component) for each component with a page. */
	template <class Tell>
	void for_each(Tell &&tell) const
	{
		for (unsigned page = 0; page < by_page.size(); page++)
			if (by_page[page])
				tell(page, *by_page[page]);
	}
	Tmc::Counts tmc_statistics() const;
	/* How many of them capture trace. */
	unsigned tmcs_on() const;

	const Topology topology;

private:
	std::vector<std::size_t> tmcs() const;
	void make(const Topology::Node &node, GuestMemory &memory);
	void connect(std::size_t from, unsigned output);
	AtbReceiver &input(const Topology::Output &output) const;
	template <class Kind>
	Kind &as(std::size_t node) const
	{
		return static_cast<Kind &>(*components[node]);
	}

	const Interrupt interrupt;
	std::vector<std::unique_ptr<Component>> components; /* by node; null for a trace unit or a trace buffer */
	std::vector<Component *> by_page;
};

/*
 * AtbPort: connects a trace unit to the shared components. As a sink it is always enabled if it is connected: a component downstream that
 * does not capture loses the trace. Takes the lock itself.
 */
class AtbPort final : public TraceSink
{
public:
	AtbPort(Coresight &with, AtbReceiver *input) : coresight(with), to(input) {}
	/* Sets the trace ID (TRCTRACEIDR); to be called before take(). */
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
