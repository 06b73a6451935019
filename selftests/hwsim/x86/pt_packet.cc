// SPDX-License-Identifier: GPL-2.0-or-later
#include "pt_packet.h"

namespace hwsim::x86::pt
{
namespace
{

using Builder = PacketBuilder<Packet>;

/* First bytes of packets, and second bytes of extended ones. */
constexpr std::uint8_t extended = 0x02, mode_byte = 0x99, tsc_byte = 0x19;
constexpr std::uint8_t psb_byte = 0x82, cbr_byte = 0x03, event_data_byte = 0x53;
/* MODE.TSX with neither of its bits set. */
constexpr std::uint8_t no_transaction = 1 << 5;

constexpr unsigned payload_size(IpBytes form)
{
	switch (form) {
	case IpBytes::none:
		return 0;
	case IpBytes::update16:
		return 2;
	case IpBytes::update32:
		return 4;
	case IpBytes::sign48:
	case IpBytes::update48:
		return 6;
	case IpBytes::full:
		return 8;
	}
	return 0;
}

constexpr unsigned word = 8;

constexpr bool is_mode(const Packet &packet)
{
	return packet.bytes[0] == mode_byte;
}
constexpr bool is_mode_tsx(const Packet &packet)
{
	return is_mode(packet) && packet.bytes[1] == no_transaction;
}
/* An extended packet, whose second byte tells its type. */
constexpr bool is_extended(const Packet &packet, std::uint8_t second)
{
	return packet.bytes[0] == extended && packet.bytes[1] == second;
}
/* Of packets whose payload may have 5 bytes or more. */
constexpr unsigned header_size(const Packet &packet)
{
	if (packet.bytes[0] != extended)
		return 1;
	return is_extended(packet, event_data_byte) ? 3 : 2;
}

constexpr unsigned up_to(unsigned begin, unsigned at)
{
	return (begin + word - at % word) % word;
}

} // namespace

Padding padding(const Packet &packet, unsigned at)
{
	if (is_extended(packet, psb_byte) || is_extended(packet, cbr_byte))
		return {up_to(0, at)};
	if (is_mode(packet))
		return {up_to(is_mode_tsx(packet) ? 3 : 5, at)};
	if (packet.bytes[0] == tsc_byte)
		return {up_to(6, at), true};
	if (const unsigned header = header_size(packet); packet.size >= header + 5)
		return {up_to(word - header, at), true};
	return {at % word + packet.size > word ? up_to(0, at) : 0};
}

unsigned padding_to_a_word(const Packet &packet, unsigned at)
{
	return is_mode(packet) && at % word == (is_mode_tsx(packet) ? 4 : 6) ? 0 : up_to(0, at);
}

IpBytes compress(std::uint64_t ip, std::uint64_t last)
{
	const std::uint64_t differ = ip ^ last;
	if (!(differ >> 16))
		return IpBytes::update16;
	if (!(differ >> 32))
		return IpBytes::update32;
	return uncompressed(ip, last);
}

/* All 64 bits to and from the kernel; otherwise 48 with a sign, if that is enough. */
IpBytes uncompressed(std::uint64_t ip, std::uint64_t last)
{
	return (ip ^ last) >> 48 ? IpBytes::full : whole(ip);
}

IpBytes whole(std::uint64_t ip)
{
	return static_cast<std::uint64_t>(static_cast<std::int64_t>(ip << 16) >> 16) == ip ? IpBytes::sign48
											   : IpBytes::full;
}

Packet ip(IpKind kind, IpBytes form, std::uint64_t ip)
{
	const auto header = static_cast<std::uint8_t>(static_cast<unsigned>(kind) | static_cast<unsigned>(form) << 5);
	return Builder{header}.add(ip, payload_size(form));
}

/* The stop bit in front of the outcomes tells how many there are. */
Packet tnt(std::uint64_t outcomes, unsigned count)
{
	if (count <= short_tnt_bits)
		return Builder{short_tnt(outcomes, count)};
	return Builder{extended, 0xa3}.add(outcomes | std::uint64_t{1} << count, 6);
}

Packet psb()
{
	Builder packet = {};
	for (int i = 0; i < 8; i++)
		packet.add(0x8202, 2);
	return packet;
}

Packet psbend()
{
	return Builder{extended, 0x23};
}

Packet mode_exec(std::uint8_t mode)
{
	return Builder{mode_byte, mode};
}

Packet mode_tsx()
{
	return Builder{mode_byte, no_transaction};
}

/* CR3[51:5] in bits 47:1; bit 0 is NR, zero outside of VMX operation. */
Packet pip(std::uint64_t cr3)
{
	return Builder{extended, 0x43}.add(((cr3 >> 5) & 0x7fff'ffff'ffff) << 1, 6);
}

Packet tsc(std::uint64_t tsc)
{
	return Builder{tsc_byte}.add(tsc, 7);
}

Packet tma(std::uint16_t ctc, std::uint16_t fast)
{
	return Builder{extended, 0x73}.add(ctc, 2).add(0).add(fast & 0x1ff, 2);
}

Packet mtc(std::uint8_t ctc)
{
	return Builder{0x59, ctc};
}

Packet cbr(std::uint8_t ratio)
{
	return Builder{extended, cbr_byte}.add(ratio).add(0);
}

/* Five bits in the first byte, seven in each further one; a flag says that another one follows. */
Packet cyc(std::uint64_t cycles)
{
	std::uint64_t rest = cycles >> 5;
	Builder packet = {static_cast<std::uint8_t>((cycles & 0x1f) << 3 | (rest ? 4 : 0) | 3)};
	while (rest) {
		const std::uint64_t more = rest >> 7;
		packet.add((rest & 0x7f) << 1 | (more ? 1 : 0));
		rest = more;
	}
	return packet;
}

Packet ptwrite(std::uint64_t payload, bool wide, bool fup_follows)
{
	const auto header = static_cast<std::uint8_t>(0x12 | (wide ? 0x20 : 0) | (fup_follows ? 0x80 : 0));
	return Builder{extended, header}.add(payload, wide ? 8 : 4);
}

Packet control_flow_event(ControlFlowEvent type, std::uint8_t vector, bool fup_follows)
{
	const auto kind = static_cast<std::uint8_t>(static_cast<unsigned>(type) | (fup_follows ? 0x80 : 0));
	return Builder{extended, 0x13, kind, vector};
}

Packet event_data(std::uint64_t cr2)
{
	constexpr std::uint8_t type_cr2 = 0;
	return Builder{extended, event_data_byte, type_cr2}.add(cr2, 8);
}

Packet overflow()
{
	return Builder{extended, 0xf3};
}

Packet trace_stop()
{
	return Builder{extended, 0x83};
}

} // namespace hwsim::x86::pt
