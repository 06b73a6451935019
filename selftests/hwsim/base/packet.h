/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Packets of a trace as bytes, for any architecture: a PacketOf has at most "most" bytes, and PacketBuilder makes one. */
#ifndef HWSIM_BASE_PACKET_H
#define HWSIM_BASE_PACKET_H

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>

namespace hwsim
{

template <std::size_t most>
struct PacketOf {
	std::array<std::uint8_t, most> bytes{};
	std::uint8_t size = 0;

	std::span<const std::uint8_t> data() const { return {bytes.data(), size}; }
};

template <class Packet>
class PacketBuilder
{
public:
	PacketBuilder(std::initializer_list<std::uint8_t> header)
	{
		for (const std::uint8_t byte : header)
			add(byte);
	}
	/* Little endian, as everything in a trace is. */
	PacketBuilder &add(std::uint64_t value, unsigned bytes = 1)
	{
		for (; bytes; bytes--, value >>= 8)
			packet.bytes[packet.size++] = static_cast<std::uint8_t>(value);
		return *this;
	}
	/* Seven bits in each byte, whose highest bit says that another one follows; the last of "limit" bytes has eight. */
	PacketBuilder &add_field(std::uint64_t value, unsigned limit)
	{
		for (unsigned bytes = 1; bytes < limit; bytes++, value >>= 7) {
			if (!(value >> 7))
				return add(value);
			add((value & 0x7f) | 0x80);
		}
		return add(value);
	}
	operator Packet() const { return packet; }

private:
	Packet packet;
};

} // namespace hwsim

#endif
