/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Packets of the instruction trace of ETMv4 and ETE as bytes: Arm IHI0064, "Instruction trace packets". No state: what a packet
 * depends on (the addresses before it, the last time) is an argument, and kept by PacketStream.
 *
 * For trace units that do not speculate (TRCIDR8.MAXSPEC is 0), so that Commit, Cancel and Mispredict packets are not needed, and
 * whose cycle counts say nothing of commits (TRCIDR0.COMMOPT is 1). Data trace and conditional instructions (TRCIDR0.INSTP0,
 * TRCIDR0.TRCCOND) are not of processors for applications.
 */
#ifndef HWSIM_ARM64_ETM_PACKET_H
#define HWSIM_ARM64_ETM_PACKET_H

#include <array>
#include <cstdint>
#include <optional>

#include "../base/packet.h"

namespace hwsim::arm64::etm
{

using Packet = PacketOf<24>;

/* Of an address: IS0 is A64 and A32, whose instructions are words, IS1 is T32. */
enum class InstructionSet : std::uint8_t { is0, is1 };

struct Address {
	std::uint64_t value = 0;
	InstructionSet set = InstructionSet::is0;

	bool operator==(const Address &) const = default;
};

/* The three last addresses, the last one first (IHI0064, "Address compression"). Zero behind a Trace Info packet. */
class AddressHistory
{
public:
	const Address &operator[](std::size_t i) const { return addresses[i]; }
	void add(const Address &address)
	{
		addresses[2] = addresses[1];
		addresses[1] = addresses[0];
		addresses[0] = address;
	}

private:
	std::array<Address, 3> addresses{};
};

/* How an address is written: one of the history, one or two bytes that differ from the last one, its lower half, all of it. */
enum class AddressForm : std::uint8_t { exact0, exact1, exact2, short1, short2, long32, long64 };

/* The shortest form that a decoder with this history turns back into the address. */
AddressForm compress(const Address &address, const AddressHistory &history);
/* Likewise, of the long ones, which an address with a context has. */
AddressForm compress_long(const Address &address, const AddressHistory &history);

struct Context {
	std::uint8_t level = 0; /* EL0 to EL3 */
	bool sf = true;         /* 64-bit state */
	bool ns = true;         /* not secure; with "nse" Realm, or Root if not "ns" */
	bool nse = false;
	std::optional<std::uint32_t> vmid;
	std::optional<std::uint32_t> context_id;

	bool operator==(const Context &) const = default;
};

/* --- synchronization */
Packet a_sync();
struct TraceInfo {
	std::optional<std::uint32_t> cycle_threshold; /* if cycles are counted: TRCCCCTLR */
	bool in_transaction = false;                  /* ETE */
};
Packet trace_info(const TraceInfo &info);
Packet trace_on();
Packet discard();
Packet overflow();

/* --- addresses and contexts. "vmid_bytes" is how many TRCIDR2.VMIDSIZE says; context identifiers have four. */
Packet address(AddressForm form, const Address &address);
/* Where the branch was that has been taken: ETE, "Source Address packets". */
Packet source_address(AddressForm form, const Address &address);
Packet context(const Context &context, unsigned vmid_bytes);
/* The one that was told last, once more. */
Packet same_context();
/* Of forms there are only the long ones. */
Packet address_with_context(AddressForm form, const Address &address, const Context &context, unsigned vmid_bytes);

/* --- program flow */
constexpr unsigned most_atoms = 24;
/* One packet, of one byte, for the oldest of so many atoms, the oldest in bit 0; E is 1. */
struct AtomPacket {
	std::uint8_t header = 0;
	std::uint8_t atoms = 0; /* how many it tells */

	Packet packet() const { return {{header}, 1}; }
};
AtomPacket atom(std::uint32_t atoms, unsigned count);

/* IHI0064, "Exception packet", types for ARMv8-A. */
enum class Exception : std::uint8_t {
	pe_reset = 0,
	debug_halt = 1,
	call = 2,
	trap = 3,
	system_error = 4,
	instruction_debug = 6,
	data_debug = 7,
	alignment = 10,
	instruction_fault = 11,
	data_fault = 12,
	irq = 14,
	fiq = 15,
	transaction_failure = 24 /* ETE */
};
/* An address follows, where the exception returns to; with "target" it is where the last branch led to, too. */
Packet exception(Exception type, bool target);
/* ETMv4 only. */
Packet exception_return();
/* ETE: exceptions without an address. */
Packet pe_reset();
Packet transaction_failure();
Packet transaction_start();
Packet transaction_commit();

/* Instructions were executed of which nothing more is told: how many, if that is known, and where they have led to, or an address follows. */
Packet q();
Packet q(std::uint32_t count);
/* All forms but long64. */
Packet q(std::uint32_t count, AddressForm form, const Address &address);

/* --- time */
/* As many of the lower bits as are needed behind "last"; with the cycles since the last count, if they are counted. */
Packet timestamp(std::uint64_t time, std::uint64_t last, std::optional<std::uint32_t> cycles = {});
/* ETE and ETMv4.6: the time that follows is of here. */
Packet timestamp_marker();
constexpr std::uint32_t most_cycles = (1 << 20) - 1;
/* Cycles above the threshold. */
Packet cycle_count(std::uint32_t above);
Packet cycle_count_unknown();

/* --- events, one bit each of four; what a program says of itself (ETE, FEAT_ITE); nothing at all */
Packet event(std::uint8_t events);
Packet instrumentation(std::uint8_t level, std::uint64_t value);
Packet ignore();

} // namespace hwsim::arm64::etm

#endif
