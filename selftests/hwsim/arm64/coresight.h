/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Coresight: the part of a topology that processors share, namely the connected funnels, replicators, TMCs and CATUs. vCPUs look up their
 * memory-mapped registers by page number (at()). Each trace unit belongs to its vCPU.
 *
 * Callers must hold the lock while they use this class, unless stated otherwise.
 */
#ifndef HWSIM_ARM64_CORESIGHT_H
#define HWSIM_ARM64_CORESIGHT_H

#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
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

	/*
	 * Registers of shared components that are used, and by which processor something was last stored there. To be called with the
	 * lock held.
	 */
	void used(unsigned cpu, bool stored)
	{
		uses++;
		if (stored)
			user = cpu;
		in_use.notify_all();
	}
	/*
	 * Waits until @is_so(). Gives up when another processor is not at work on the components, or has used them so often that it has
	 * had its time, or when the host has not let it for very long.
	 */
	template <class Condition>
	bool wait_for_others(unsigned cpu, std::unique_lock<std::mutex> &held, Condition &&is_so)
	{
		if (is_so() || !user || *user == cpu)
			return is_so();
		const std::uint64_t before = uses;
		const auto until = std::chrono::steady_clock::now() + longest_wait;
		waits.begun++;
		const bool settled = in_use.wait_until(
			held, until, [&] { return is_so() || *user == cpu || uses - before > most_uses; });
		waits.timed_out += !settled;
		return is_so();
	}
	struct Waits {
		std::uint64_t begun = 0, timed_out = 0;
	};
	const Waits &waited() const { return waits; }

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
	/* A driver that stops, reads and starts a sink uses less than a hundred. */
	static constexpr std::uint64_t most_uses = 1000;
	static constexpr std::chrono::milliseconds longest_wait{200};

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
	std::condition_variable in_use;
	std::uint64_t uses = 0;
	Waits waits;
	std::optional<unsigned> user;
};

/*
 * AtbPort: connects a trace unit to the shared components. As a sink it is always enabled if it is connected: a component downstream that
 * does not capture loses the trace. Takes the lock itself.
 */
class AtbPort final : public TraceSink
{
public:
	AtbPort(Coresight &with, AtbReceiver *input) : coresight(with), to(input) {}
	/* Of this processor, for which the host may be waited while may_wait() says so. */
	AtbPort(Coresight &with, unsigned of, bool (*may_wait)())
		: coresight(with), to(with.input_of(of)), cpu(of), may_wait(may_wait)
	{
	}
	/* Sets the trace ID (TRCTRACEIDR); to be called before take(). */
	void set_id(std::uint8_t now) { id = now; }

	bool enabled() const override { return to; }
	std::size_t take(std::span<const std::uint8_t> bytes) override
	{
		const std::lock_guard guard(coresight.lock);
		return bytes.empty() ? 0 : to->receive(id, bytes);
	}
	/*
	 * On silicon a path is closed for as long as the processor that sets up its sink takes for some hundred instructions, however fast
	 * this one traces. Under QEMU the host may stop the other in the midst of them.
	 */
	bool wait() override
	{
		if (!may_wait)
			return false;
		if (!may_wait())
			return true;
		std::unique_lock held(coresight.lock);
		return coresight.wait_for_others(cpu, held, [this] { return to->room(id); });
	}
	void trigger() override
	{
		const std::lock_guard guard(coresight.lock);
		to->trigger(id);
	}

private:
	Coresight &coresight;
	AtbReceiver *const to;
	const unsigned cpu = 0;
	bool (*const may_wait)() = nullptr;
	std::uint8_t id = 0;
};

} // namespace hwsim::arm64

#endif
