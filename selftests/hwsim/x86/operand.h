/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A memory operand of a 64-bit instruction: SDM volume 2, "ModR/M and SIB Bytes". For PTWRITE and VMXON, which QEMU does not know,
 * and for LIDT.
 */
#ifndef HWSIM_X86_OPERAND_H
#define HWSIM_X86_OPERAND_H

#include <cstdint>
#include <optional>
#include <span>

#include "../base/memory.h"

namespace hwsim::x86
{

struct MemoryOperand {
	static constexpr std::uint8_t none = 16, next_ip = 17;

	enum class Segment : std::uint8_t { flat, fs, gs } segment = Segment::flat;
	std::uint8_t base = none; /* number of a register, or next_ip: the address of the next instruction */
	std::uint8_t index = none;
	std::uint8_t scale = 0; /* shift of the index */
	bool narrow = false;    /* 32-bit address */
	std::int32_t displacement = 0;
	std::uint8_t length = 0; /* of the whole instruction */

	/* reg(number) is a register's value. */
	template <class Registers>
	std::uint64_t address(Registers reg, std::uint64_t next, std::uint64_t segment_base) const
	{
		std::uint64_t sum = static_cast<std::uint64_t>(std::int64_t{displacement});
		if (base == next_ip)
			sum += next;
		else if (base != none)
			sum += reg(base);
		if (index != none)
			sum += reg(index) << scale;
		return segment_base + (narrow ? sum & 0xffff'ffff : sum);
	}
};

/*
 * The operand of an instruction with a two-byte opcode (0F xx), ModR/M and no immediate. Empty if the instruction ends too early, or
 * its operand is a register.
 */
std::optional<MemoryOperand> memory_operand(std::span<const std::uint8_t> instruction);
/* Of the instruction at this linear address. */
std::optional<MemoryOperand> memory_operand_at(GuestMemory &memory, std::uint64_t pc);

} // namespace hwsim::x86

#endif
