/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Idt: the interrupt descriptor table, in which event trace looks up the vector of a handler: SDM volume 3, "64-Bit Mode IDT". */
#ifndef HWSIM_X86_IDT_H
#define HWSIM_X86_IDT_H

#include <cstdint>
#include <optional>

#include "../base/memory.h"

namespace hwsim::x86
{

class Idt
{
public:
	explicit Idt(GuestMemory &of) : memory(of) {}

	/* LIDT: its linear address. */
	void move(std::uint64_t to) { base = to; }
	/* The vector of the first gate that leads to this handler; empty if none does. */
	std::optional<std::uint8_t> vector_of(std::uint64_t handler) const
	{
		/* 16 bytes, the offset in three parts. */
		struct {
			std::uint64_t low, high;
		} gate;
		for (unsigned vector = 0; base && vector < vectors; vector++) {
			if (!memory.load_linear(base + sizeof gate * vector, gate))
				return {};
			if (((gate.low & 0xffff) | (gate.low >> 32 & 0xffff'0000) | gate.high << 32) == handler)
				return static_cast<std::uint8_t>(vector);
		}
		return {};
	}

private:
	static constexpr unsigned vectors = 256;

	GuestMemory &memory;
	std::uint64_t base = 0;
};

} // namespace hwsim::x86

#endif
