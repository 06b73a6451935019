/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * PacketStream: generates the packets of one ETMv4 or ETE trace, in order, and keeps the state on which a packet depends: pending atoms,
 * the pending branch target, the address history, the context, the return stack, the last timestamp, cycles, and the bytes since the last
 * synchronization. TraceUnit decides which elements are traced (ViewInst, the exception level) and calls the functions below for them.
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

/* The settings of TRCCONFIGR and other registers, and the features of the trace unit. */
struct StreamConfig {
	bool ete = false;
	bool return_stack = false;                    /* TRCCONFIGR.RS */
	unsigned return_depth = 3;                    /* up to 15 (IHI0064, "Return stack") */
	bool broadcast = false;                       /* TRCCONFIGR.BB, for all addresses whatever TRCBBCTLR says */
	std::optional<std::uint32_t> cycle_threshold; /* TRCCCCTLR, if TRCCONFIGR.CCI is set */
	std::uint32_t most_cycles = 0xfff;            /* maximum of the cycle counter: TRCIDR2.CCSIZE */
	bool timestamp_markers = false;               /* TRCIDR0.TSMARK */
	unsigned vmid_bytes = 4;                      /* TRCIDR2.VMIDSIZE */
	std::uint32_t sync_period = 0;                /* TRCSYNCPR, in bytes; 0 is never */
};

class PacketStream
{
public:
	static constexpr unsigned deepest_return_stack = 15;

	/* The trace unit is being enabled: discards all state of an earlier trace. */
	void start(const StreamConfig &with);
	/* The trace unit is being disabled: turns pending elements into packets. */
	void stop() { settle(); }

	/* ViewInst becomes active at instruction "at"; it becomes inactive after the last element that was traced. */
	void enable(const Address &at, const Context &in);
	void disable();
	bool enabled() const { return on; }

	/*
	 * P0 elements (IHI0064, "P0 elements"), each with the packets that belong to it. not_taken() is an N atom. executed() is an E atom
	 * for an instruction that is not a branch: ISB, and WFI, WFE or TSTART where the trace unit treats them as P0 elements.
	 */
	void not_taken() { element(false); }
	void executed() { element(true); }
	/* A direct branch needs no target address, unless branch broadcasting is enabled (IHI0064, "Branch broadcasting"). */
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
	 * IHI0064, "Return stack": a target that matches the top entry needs no Address packet, and the entry is popped. Any other target
	 * is traced and the stack is left unchanged, as in a decoder.
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
	/* An exception with its preferred return address. Then call handler() with the start of the handler, if that is traced. */
	void exception(Exception type, const Address &return_address);
	void handler(const Address &at, const Context &in)
	{
		if (!muted)
			lead_to(at, in);
	}

	/* The context changes without a branch. To be called only when no instruction has been executed since the last P0 element. */
	void context(const Context &in);
	void timestamp(std::uint64_t time);
	/* Cycles pass. A Cycle Count packet follows the first P0 element at which the threshold has been reached. */
	void cycles(std::uint32_t count);
	void event(std::uint8_t events);
	void instrumentation(std::uint8_t level, std::uint64_t value);

	/*
	 * Synchronizes. "since" is the first instruction after the last P0 element: a decoder that starts here follows the code from there
	 * to the next P0 element.
	 */
	void sync(const Address &since, const Context &in);
	bool sync_due() const { return config.sync_period && since_sync >= config.sync_period; }

	/*
	 * The FIFO overflows: pending elements are lost, and no packet is generated until the Overflow packet. A decoder then has to
	 * synchronize again: at the given address, or without one where ViewInst becomes active next.
	 */
	void begin_overflow();
	void end_overflow();
	void end_overflow(const Address &at, const Context &in);
	bool overflowing() const { return muted; }

	/* The bytes generated since the last taken(). */
	std::span<const std::uint8_t> pending() const { return {queue.data(), used}; }
	void taken() { used = 0; }
	/* Makes the next enable() synchronize first, as the first one after start() does. */
	void request_sync() { synchronized = false; }

private:
	/* Enough for the owner's flush threshold and the most that is generated between two of its checks. */
	static constexpr std::size_t capacity = 4096;

	/* If the previous atom still has a pending target, that target is put out first. */
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
	std::optional<Address> target;         /* target of the last atom, not yet in any packet */
	std::optional<Context> target_context; /* context at the target, if it may have changed */
	AddressHistory history;
	std::optional<Context> told;

	std::array<Address, deepest_return_stack> returns{};
	unsigned return_top = 0, return_count = 0;

	std::uint64_t last_time = 0;
	std::uint32_t cycles_passed = 0;
	bool cycles_known = false;
	std::uint32_t since_sync = 0;

	/* The excess over the capacity is needed because put() copies all of Packet::bytes, not only the valid ones. */
	std::array<std::uint8_t, capacity + sizeof Packet::bytes> queue{};
	std::size_t used = 0;
};

} // namespace hwsim::arm64::etm

#endif
