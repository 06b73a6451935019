/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The encodings of ETMv4 and ETE instruction trace packets (Arm IHI0064, "Instruction trace packets"). These functions keep no state:
 * what a packet depends on (the previous addresses, the last timestamp) is an argument, and PacketStream keeps it.
 *
 * They serve trace units that do not trace speculatively (TRCIDR8.MAXSPEC is 0), which need no Commit, Cancel or Mispredict packets, and
 * whose Cycle Count packets have no commit count (TRCIDR0.COMMOPT is 1). Data trace and conditional instruction trace (TRCIDR0.INSTP0,
 * TRCIDR0.TRCCOND) are left out: A-profile processors do not have them.
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

/* The instruction set of an address: IS0 is A64 or A32, whose instructions are word-aligned, IS1 is T32. */
enum class InstructionSet : std::uint8_t { is0, is1 };

struct Address {
	std::uint64_t value = 0;
	InstructionSet set = InstructionSet::is0;

	bool operator==(const Address &) const = default;
};

/* The last three addresses, most recent first (IHI0064, "Address compression"). A Trace Info packet resets them to zero. */
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

/* How an address is encoded: as a history entry, as the low one or two bytes that differ from the last address, as 32 or as 64 bits. */
enum class AddressForm : std::uint8_t { exact0, exact1, exact2, short1, short2, long32, long64 };

/* The shortest form from which a decoder with this history can rebuild the address. */
AddressForm compress(const Address &address, const AddressHistory &history);
/* The shortest such form among the two long ones, the only ones of an Address with Context packet. */
AddressForm compress_long(const Address &address, const AddressHistory &history);

struct Context {
	std::uint8_t level = 0; /* EL0 to EL3 */
	bool sf = true;         /* 64-bit state */
	bool ns = true;         /* Non-secure; together with "nse" Realm, and "nse" alone is Root */
	bool nse = false;
	std::optional<std::uint32_t> vmid;
	std::optional<std::uint32_t> context_id;

	bool operator==(const Context &) const = default;
};

/* --- synchronization */
Packet a_sync();
struct TraceInfo {
	std::optional<std::uint32_t> cycle_threshold; /* TRCCCCTLR, if cycle counting is enabled */
	bool in_transaction = false;                  /* ETE */
};
Packet trace_info(const TraceInfo &info);
Packet trace_on();
Packet discard();
Packet overflow();

/* --- addresses and contexts. "vmid_bytes" is the size of a VMID (TRCIDR2.VMIDSIZE); a context identifier always has four bytes. */
Packet address(AddressForm form, const Address &address);
/* The address of the branch that was taken (ETE, "Source Address packets"). */
Packet source_address(AddressForm form, const Address &address);
Packet context(const Context &context, unsigned vmid_bytes);
/* A Context packet that says the context is unchanged. */
Packet same_context();
/* The form must be long32 or long64. */
Packet address_with_context(AddressForm form, const Address &address, const Context &context, unsigned vmid_bytes);

/* --- program flow */
constexpr unsigned most_atoms = 24;
/* A packet of one byte for the oldest of "count" atoms. The oldest atom is in bit 0; 1 is an E atom. */
struct AtomPacket {
	std::uint8_t header = 0;
	std::uint8_t atoms = 0; /* how many atoms the packet holds */

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
/* An Address packet with the preferred return address has to follow; with "target" it is also the target of the last branch. */
Packet exception(Exception type, bool target);
/* ETMv4 only. */
Packet exception_return();
/* ETE only: no Address packet follows these exceptions. */
Packet pe_reset();
Packet transaction_failure();
Packet transaction_start();
Packet transaction_commit();

/*
 * Q packets: instructions were executed, but their branches are not traced. A packet has the number of instructions, if known, and
 * the address reached; if it lacks the address, an Address packet has to follow.
 */
Packet q();
Packet q(std::uint32_t count);
/* All forms but long64. */
Packet q(std::uint32_t count, AddressForm form, const Address &address);

/* --- time */
/* Encodes only the low bits in which "time" differs from "last"; "cycles" are those since the last count, if cycles are counted. */
Packet timestamp(std::uint64_t time, std::uint64_t last, std::optional<std::uint32_t> cycles = {});
/* ETE and ETMv4.6: marks the point in the trace to which the next Timestamp packet applies. */
Packet timestamp_marker();
constexpr std::uint32_t most_cycles = (1 << 20) - 1;
/* "above" is the number of cycles in excess of the threshold. */
Packet cycle_count(std::uint32_t above);
Packet cycle_count_unknown();

/* --- Event packets, with one bit for each of four events; Instrumentation packets (ETE, FEAT_ITE); Ignore packets */
Packet event(std::uint8_t events);
Packet instrumentation(std::uint8_t level, std::uint64_t value);
Packet ignore();

} // namespace hwsim::arm64::etm

#endif
