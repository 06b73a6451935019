// SPDX-License-Identifier: GPL-2.0-or-later
#include "operand.h"

#include <algorithm>

namespace hwsim::x86
{

std::optional<MemoryOperand> memory_operand(std::span<const std::uint8_t> instruction)
{
	MemoryOperand operand;
	std::uint8_t rex = 0;
	std::size_t at = 0;
	const auto next = [&]() -> std::uint8_t {
		const std::size_t here = at++;
		return here < instruction.size() ? instruction[here] : 0;
	};
	std::uint8_t byte = next();
	for (; byte != 0x0f && at < instruction.size(); byte = next()) {
		rex = (byte & 0xf0) == 0x40 ? byte : 0;
		operand.narrow |= byte == 0x67;
		if (byte == 0x64 || byte == 0x65)
			operand.segment = byte == 0x64 ? MemoryOperand::Segment::fs : MemoryOperand::Segment::gs;
	}
	next(); /* the second opcode byte */
	const std::uint8_t modrm = next();
	const unsigned mod = modrm >> 6, rm = modrm & 7;
	if (mod == 3)
		return {};
	unsigned displacement = mod == 1 ? 1 : mod == 2 ? 4 : 0;
	if (rm == 4) {
		const std::uint8_t sib = next();
		const auto index = static_cast<std::uint8_t>((sib >> 3 & 7) | (rex & 2) << 2);
		operand.scale = sib >> 6;
		operand.index = index == 4 ? MemoryOperand::none : index;
		operand.base = static_cast<std::uint8_t>((sib & 7) | (rex & 1) << 3);
		if ((sib & 7) == 5 && mod == 0) {
			operand.base = MemoryOperand::none;
			displacement = 4;
		}
	} else if (rm == 5 && mod == 0) {
		operand.base = MemoryOperand::next_ip;
		displacement = 4;
	} else {
		operand.base = static_cast<std::uint8_t>(rm | (rex & 1) << 3);
	}
	std::uint32_t bits = 0;
	for (unsigned i = 0; i < displacement; i++)
		bits |= std::uint32_t{next()} << 8 * i;
	operand.displacement = displacement == 1 ? static_cast<std::int8_t>(bits) : static_cast<std::int32_t>(bits);
	operand.length = static_cast<std::uint8_t>(at);
	if (at > instruction.size())
		return {};
	return operand;
}

std::optional<MemoryOperand> memory_operand_at(GuestMemory &memory, std::uint64_t pc)
{
	/* The next page may be unmapped. */
	std::uint8_t bytes[15];
	const std::size_t in_page = std::min<std::uint64_t>(sizeof bytes, 0x1000 - (pc & 0xfff));
	const bool whole = memory.read_linear(pc, bytes);
	if (!whole && !memory.read_linear(pc, std::span(bytes).first(in_page)))
		return {};
	return memory_operand(std::span(bytes).first(whole ? sizeof bytes : in_page));
}

} // namespace hwsim::x86
