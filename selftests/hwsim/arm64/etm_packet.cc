// SPDX-License-Identifier: GPL-2.0-or-later
#include "etm_packet.h"

#include <algorithm>
#include <bit>

namespace hwsim::arm64::etm
{
namespace
{

using Builder = PacketBuilder<Packet>;

/* The lowest address bit that packets contain. */
constexpr unsigned lowest_bit(InstructionSet set)
{
	return set == InstructionSet::is0 ? 2 : 1;
}

/* The first byte has seven address bits. The second has the next eight in a short form, and those up to bit 15 in a long form. */
Builder &add_short(Builder &packet, AddressForm form, const Address &address)
{
	const std::uint64_t bits = address.value >> lowest_bit(address.set);
	if (form == AddressForm::short1)
		return packet.add(bits & 0x7f);
	return packet.add((bits & 0x7f) | 0x80).add(bits >> 7 & 0xff);
}

Builder &add_long(Builder &packet, AddressForm form, const Address &address)
{
	const unsigned lowest = lowest_bit(address.set);
	const std::uint64_t bits = address.value >> lowest;
	packet.add(bits & 0x7f).add(bits >> 7 & (0xff >> (lowest - 1)));
	return packet.add(address.value >> 16, form == AddressForm::long32 ? 2 : 6);
}

/* Appends the address that follows a header. */
Builder &add_address(Builder &packet, AddressForm form, const Address &address)
{
	switch (form) {
	case AddressForm::short1:
	case AddressForm::short2:
		return add_short(packet, form, address);
	case AddressForm::long32:
	case AddressForm::long64:
		return add_long(packet, form, address);
	default:
		return packet;
	}
}

/* The headers of a packet family for IS0; those for IS1 are one higher. */
struct Headers {
	std::uint8_t exact, short_form, long32, long64;

	std::uint8_t of(AddressForm form, InstructionSet set) const
	{
		const auto is1 = static_cast<std::uint8_t>(set);
		switch (form) {
		case AddressForm::short1:
		case AddressForm::short2:
			return short_form + is1;
		case AddressForm::long32:
			return long32 + is1;
		case AddressForm::long64:
			return long64 + is1;
		default:
			return exact + static_cast<std::uint8_t>(form);
		}
	}
};

constexpr Headers addresses = {0x90, 0x95, 0x9a, 0x9d}, sources = {0xb0, 0xb4, 0xb6, 0xb8},
		  with_context = {0, 0, 0x82, 0x85}, q_addresses = {0xa0, 0xa5, 0xaa, 0};

Builder &add_context(Builder &packet, const Context &context, unsigned vmid_bytes)
{
	packet.add(context.level | (context.nse ? 0x08 : 0) | (context.sf ? 0x10 : 0) | (context.ns ? 0x20 : 0) |
		   (context.vmid ? 0x40 : 0) | (context.context_id ? 0x80 : 0));
	if (context.vmid)
		packet.add(*context.vmid, vmid_bytes);
	if (context.context_id)
		packet.add(*context.context_id, 4);
	return packet;
}

constexpr std::uint32_t ones(unsigned bits)
{
	return (std::uint32_t{1} << bits) - 1;
}

constexpr std::uint8_t byte(unsigned value)
{
	return static_cast<std::uint8_t>(value);
}

constexpr std::uint8_t exception_header = 0x06;

/* IHI0064, "Atom Format 4 packet" and "Atom Format 5 packet": the atom pattern of each header. */
struct Pattern {
	std::uint8_t header;
	std::uint32_t atoms;
};
constexpr Pattern of_four[] = {{0xdc, 0b1110}, {0xdd, 0b0000}, {0xde, 0b1010}, {0xdf, 0b0101}};
constexpr Pattern of_five[] = {{0xf5, 0b11110}, {0xd5, 0b00000}, {0xd6, 0b01010}, {0xd7, 0b10101}};

/* The packet of formats 1 to 5 that holds the most of these atoms, from the oldest on. */
constexpr AtomPacket atoms_up_to_five(std::uint32_t atoms, unsigned count)
{
	for (const Pattern &five : of_five)
		if (count >= 5 && five.atoms == (atoms & ones(5)))
			return {five.header, 5};
	for (const Pattern &four : of_four)
		if (count >= 4 && four.atoms == (atoms & ones(4)))
			return {four.header, 4};
	if (count >= 3)
		return {byte(0xf8 | (atoms & 7)), 3};
	if (count == 2)
		return {byte(0xd8 | (atoms & 3)), 2};
	return {byte(0xf6 | (atoms & 1)), 1};
}

/* A table of atoms_up_to_five(), indexed by the number of atoms (at most five) and by the atoms, because atoms are frequent. */
constexpr auto of_few = [] {
	std::array<std::array<AtomPacket, 32>, 6> all{};
	for (unsigned count = 1; count < all.size(); count++)
		for (std::uint32_t atoms = 0; atoms < all[count].size(); atoms++)
			all[count][atoms] = atoms_up_to_five(atoms, count);
	return all;
}();

} // namespace

AddressForm compress(const Address &address, const AddressHistory &history)
{
	for (unsigned i = 0; i < 3; i++)
		if (history[i] == address)
			return static_cast<AddressForm>(i);
	const std::uint64_t differ = address.value ^ history[0].value;
	const unsigned lowest = lowest_bit(address.set);
	if (!(differ >> (lowest + 7)))
		return AddressForm::short1;
	if (!(differ >> (lowest + 15)))
		return AddressForm::short2;
	return compress_long(address, history);
}

AddressForm compress_long(const Address &address, const AddressHistory &history)
{
	return (address.value ^ history[0].value) >> 32 ? AddressForm::long64 : AddressForm::long32;
}

/* "Alignment Synchronization packet": eleven zero bytes in a row occur nowhere else in a trace. */
Packet a_sync()
{
	return Builder{}.add(0, 8).add(0, 3).add(0x80);
}

/* "Trace Info packet": PLCTL says which sections follow. INFO always does, as on silicon; CYCT is the cycle count threshold. */
Packet trace_info(const TraceInfo &info)
{
	constexpr std::uint8_t has_info = 0x01, has_threshold = 0x08, cycles_counted = 0x01, transaction = 0x40;
	const auto bits = byte((info.cycle_threshold ? cycles_counted : 0) | (info.in_transaction ? transaction : 0));
	Builder packet = {0x01, byte(has_info | (info.cycle_threshold ? has_threshold : 0)), bits};
	if (info.cycle_threshold)
		packet.add_field(*info.cycle_threshold, 2);
	return packet;
}

Packet trace_on()
{
	return Builder{0x04};
}

Packet discard()
{
	return Builder{0x00, 0x03};
}

Packet overflow()
{
	return Builder{0x00, 0x05};
}

Packet address(AddressForm form, const Address &address)
{
	Builder packet = {addresses.of(form, address.set)};
	return add_address(packet, form, address);
}

Packet source_address(AddressForm form, const Address &address)
{
	Builder packet = {sources.of(form, address.set)};
	return add_address(packet, form, address);
}

Packet context(const Context &context, unsigned vmid_bytes)
{
	Builder packet = {0x81};
	return add_context(packet, context, vmid_bytes);
}

Packet same_context()
{
	return Builder{0x80};
}

Packet address_with_context(AddressForm form, const Address &address, const Context &context, unsigned vmid_bytes)
{
	Builder packet = {with_context.of(form, address.set)};
	add_long(packet, form, address);
	return add_context(packet, context, vmid_bytes);
}

/*
 * The packet that holds the most atoms: Format 6 has 3 to 23 E atoms and one more atom of either kind, formats 5 and 4 have fixed
 * patterns, and formats 3, 2 and 1 hold any three, two or one atoms.
 */
AtomPacket atom(std::uint32_t atoms, unsigned count)
{
	const auto es = static_cast<unsigned>(std::countr_one(atoms & ones(count)));
	const unsigned run = es == count ? es - 1 : es; /* E atoms before the last atom of a Format 6 packet */
	if (run >= 3) {
		const bool last_is_n = !(atoms >> run & 1);
		return {byte(0xc0 | (last_is_n ? 0x20 : 0) | (run - 3)), byte(run + 1)};
	}
	return of_few[std::min<std::size_t>(count, of_few.size() - 1)][atoms & ones(5)];
}

/* E1:E0 is 0b01, or 0b10 if the address is also the target of the last branch. */
Packet exception(Exception type, bool target)
{
	const auto number = static_cast<unsigned>(type);
	return Builder{exception_header, byte(number << 1 | (target ? 0x40 : 0x01))};
}

Packet exception_return()
{
	return Builder{0x07};
}

/* "PE Reset packet", "Transaction Failure packet": like Exception packets, but followed by one fixed byte instead of an address. */
Packet pe_reset()
{
	return Builder{exception_header, byte(static_cast<unsigned>(Exception::pe_reset) << 1 | 0x01), 0x70};
}

Packet transaction_failure()
{
	return Builder{exception_header, byte(static_cast<unsigned>(Exception::transaction_failure) << 1 | 0x01), 0x70};
}

Packet transaction_start()
{
	return Builder{0x0a};
}

Packet transaction_commit()
{
	return Builder{0x0b};
}

Packet q()
{
	return Builder{0xaf};
}

Packet q(std::uint32_t count)
{
	return Builder{0xac}.add_field(count, 5);
}

Packet q(std::uint32_t count, AddressForm form, const Address &address)
{
	Builder packet = {q_addresses.of(form, address.set)};
	return add_address(packet, form, address).add_field(count, 5);
}

/* "Timestamp packet": each of the first eight bytes has seven bits, the ninth has eight. */
Packet timestamp(std::uint64_t time, std::uint64_t last, std::optional<std::uint32_t> cycles)
{
	constexpr unsigned most = 9;
	const auto differ = static_cast<unsigned>(std::bit_width(time ^ last));
	const unsigned bytes = std::clamp((differ + 6) / 7, 1u, most);
	Builder packet = {byte(0x02 | (cycles ? 1 : 0))};
	for (unsigned i = 0; i + 1 < bytes; i++)
		packet.add((time >> 7 * i & 0x7f) | 0x80);
	packet.add(time >> 7 * (bytes - 1) & (bytes == most ? 0xff : 0x7f));
	if (cycles)
		packet.add_field(*cycles, 3);
	return packet;
}

Packet timestamp_marker()
{
	return Builder{0x88};
}

/* "Cycle Count packets" where COMMOPT is 1: Format 3 for up to 3, Format 2 for up to 15, else Format 1. */
Packet cycle_count(std::uint32_t above)
{
	if (above < 4)
		return Builder{byte(0x10 | above)};
	if (above < 16)
		return Builder{0x0d, byte(0xf0 | above)};
	return Builder{0x0e}.add_field(above, 3);
}

Packet cycle_count_unknown()
{
	return Builder{0x0f};
}

Packet event(std::uint8_t events)
{
	return Builder{byte(0x70 | events)};
}

Packet instrumentation(std::uint8_t level, std::uint64_t value)
{
	return Builder{0x09, level}.add(value, 8);
}

Packet ignore()
{
	return Builder{0x70};
}

} // namespace hwsim::arm64::etm
