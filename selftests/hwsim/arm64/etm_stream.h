/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * PacketStream: the packets of one trace of ETMv4 or ETE in order, with everything a packet inherits from those before it: pending
 * atoms, the target that a branch has yet to be given, the last addresses, the context, return addresses, the last time, cycles, the
 * bytes since the last synchronization. It is told what to say and says it; whether anything is to be said at all (ViewInst, the
 * exception level) is the trace unit's business.
 */
#ifndef HWSIM_ARM64_ETM_STREAM_H
#define HWSIM_ARM64_ETM_STREAM_H

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "etm_packet.h"

namespace hwsim::arm64::etm
{

/* What TRCCONFIGR and other registers say, and what the trace unit has. */
struct StreamConfig {
	bool ete = false;
	bool return_stack = false;                    /* TRCCONFIGR.RS */
	unsigned return_depth = 3;                    /* up to 15 (IHI0064, "Return stack") */
	bool broadcast = false;                       /* TRCCONFIGR.BB, wherever TRCBBCTLR says */
	std::optional<std::uint32_t> cycle_threshold; /* TRCCONFIGR.CCI: TRCCCCTLR */
	std::uint32_t most_cycles = 0xfff;            /* of the counter: TRCIDR2.CCSIZE */
	bool timestamp_markers = false;               /* TRCIDR0.TSMARK */
	unsigned vmid_bytes = 4;                      /* TRCIDR2.VMIDSIZE */
	std::uint32_t sync_period = 0;                /* bytes: TRCSYNCPR; 0 is never */
};

class PacketStream
{
public:
	static constexpr unsigned deepest_return_stack = 15;

	/* The trace unit is enabled; nothing that was before is known any more. */
	void start(const StreamConfig &with);
	/* It is disabled: what is pending goes out. */
	void stop() { settle(); }

	/* ViewInst goes active at an instruction, and inactive behind the last thing that was told. */
	void enable(const Address &at, const Context &in);
	void disable();
	bool enabled() const { return on; }

	/*
	 * P0 elements (IHI0064, "P0 elements"), each with all that it needs. Branches that were not taken, and instructions that are no
	 * branches (ISB; WFI and WFE, TSTART where the trace unit counts them), which are E.
	 */
	void not_taken() { element(false); }
	void executed() { element(true); }
	/* A direct branch needs no address, unless all branches are to have one (IHI0064, "Branch broadcasting"). */
	void direct(const Address &to)
	{
		if (config.broadcast)
			indirect(to);
		else
			element(true);
	}
	void call(const Address &to, const Address &return_address)
	{
		push(return_address);
		direct(to);
	}
	void indirect(const Address &to)
	{
		if (muted)
			return;
		add_atom(true);
		target = to;
		element_done();
	}
	void indirect_call(const Address &to, const Address &return_address)
	{
		push(return_address);
		indirect(to);
	}
	/*
	 * IHI0064, "Return stack": the last return address needs not be told, and is used up by that. If it is another one it is told, and
	 * what is on the stack stays there, as in a decoder.
	 */
	void ret(const Address &to)
	{
		if (config.broadcast || !return_count || returns[(return_top - 1) % returns.size()] != to) {
			indirect(to);
			return;
		}
		return_top--;
		return_count--;
		element(true);
	}
	void exception_return(const Address &to, const Context &in);
	/* An exception, which returns to an address if it does; and the handler, if it is traced. */
	void exception(Exception type, const Address &return_address);
	void handler(const Address &at, const Context &in)
	{
		if (!muted)
			lead_to(at, in);
	}

	/* The context changes without a branch. To be told where nothing has been executed since the last P0 element. */
	void context(const Context &in);
	void timestamp(std::uint64_t time);
	/* Cycles pass. They are told behind the P0 element by which the threshold is reached. */
	void cycles(std::uint32_t count);
	void event(std::uint8_t events);
	void instrumentation(std::uint8_t level, std::uint64_t value);

	/*
	 * Synchronization. "since" is the first instruction behind the last P0 element: a decoder that begins here executes from there
	 * on what the next one tells.
	 */
	void sync(const Address &since, const Context &in);
	bool sync_due() const { return config.sync_period && since_sync >= config.sync_period; }

	/*
	 * The FIFO overflows: what is pending is lost, and nothing gets through until the Overflow packet. Then a decoder has to find
	 * its way anew; without a place it does where ViewInst goes active.
	 */
	void begin_overflow();
	void end_overflow();
	void end_overflow(const Address &at, const Context &in);
	bool overflowing() const { return muted; }

	/* Bytes not yet taken. */
	std::span<const std::uint8_t> pending() const { return {queue.data(), used}; }
	void taken() { used = 0; }
	/* Where ViewInst goes active next it synchronizes first, as it does behind start(). */
	void request_sync() { synchronized = false; }

private:
	/* Enough for the longest thing said at once, behind the owner's threshold. */
	static constexpr std::size_t capacity = 4096;

	/* The target of the atom before goes out first, and then there is none. */
	void add_atom(bool taken)
	{
		if (target)
			settle();
		atoms |= (taken ? std::uint32_t{1} : 0) << atom_count;
		if (++atom_count == most_atoms)
			flush_atoms();
	}
	void element(bool taken)
	{
		if (muted)
			return;
		add_atom(taken);
		element_done();
	}
	void element_done()
	{
		if (config.cycle_threshold)
			count_cycles();
	}
	void count_cycles();
	void push(const Address &return_address)
	{
		if (!config.return_stack)
			return;
		returns[return_top++ % returns.size()] = return_address;
		return_count = std::min(return_count + 1, config.return_depth);
	}
	void flush_atoms();
	void settle();
	void put(const Packet &packet);
	void put_address(const Address &to);
	void lead_to(const Address &to, const Context &in)
	{
		target = to;
		target_context = in;
	}
	void drop_target()
	{
		target.reset();
		target_context.reset();
	}
	void put_place(const Address &to, const Context &in);
	void put_sync();
	void forget();

	StreamConfig config;
	bool on = false, muted = false, synchronized = false;

	std::uint32_t atoms = 0;
	unsigned atom_count = 0;
	std::optional<Address> target;         /* of the last atom; no packet has it yet */
	std::optional<Context> target_context; /* of that, where it may be another one than before */
	AddressHistory history;
	std::optional<Context> told;

	std::array<Address, deepest_return_stack> returns{};
	unsigned return_top = 0, return_count = 0;

	std::uint64_t last_time = 0;
	std::uint32_t cycles_passed = 0;
	bool cycles_known = false;
	std::uint32_t since_sync = 0;

	/* With room for the rest of a Packet, which is written with what it has. */
	std::array<std::uint8_t, capacity + sizeof Packet::bytes> queue{};
	std::size_t used = 0;
};

} // namespace hwsim::arm64::etm

#endif
