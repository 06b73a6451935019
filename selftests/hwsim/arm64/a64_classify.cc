// SPDX-License-Identifier: GPL-2.0-or-later
#include "a64_classify.h"

namespace hwsim::arm64
{
namespace
{

constexpr bool is(std::uint32_t word, std::uint32_t mask, std::uint32_t value)
{
	return (word & mask) == value;
}

constexpr std::uint32_t field(std::uint32_t word, unsigned shift, unsigned bits)
{
	return word >> shift & ((std::uint32_t{1} << bits) - 1);
}

/* A direct branch whose signed offset, in words from the branch itself, is in the given field. */
Instruction direct(Branch kind, std::uint32_t word, unsigned shift, unsigned bits)
{
	const auto aligned = static_cast<std::int32_t>(word << (32 - shift - bits));
	Instruction instruction;
	instruction.kind = kind;
	instruction.displacement = std::int64_t{aligned >> (32 - bits)} * instruction_size - instruction_size;
	return instruction;
}

Instruction plain(Branch kind)
{
	Instruction instruction;
	instruction.kind = kind;
	return instruction;
}

Instruction special(Special what, Branch kind = Branch::none)
{
	Instruction instruction;
	instruction.kind = kind;
	instruction.special = what;
	return instruction;
}

/* CB<cc>, CBB<cc>, CBH<cc>: conditions 4 and 5 are not allocated. */
Instruction compare_and_branch(std::uint32_t word)
{
	const bool immediate = word & 0x0100'0000, wide = word & 0x8000'0000;
	const std::uint32_t condition = field(word, 21, 3), size = field(word, 14, 2);
	if (condition == 4 || condition == 5)
		return {};
	if (immediate ? size & 1 : size == 1 || (size && wide))
		return {};
	return direct(Branch::conditional, word, 5, 9);
}

/* "Exception generation". Left out are HLT (external debugger), DCPSn (Debug state), and TCANCEL (no exception). */
Instruction exception(std::uint32_t word)
{
	switch (word & 0x00e0'001f) {
	case 0x0000'0001:
		return special(Special::svc, Branch::software_interrupt);
	case 0x0000'0002:
		return special(Special::hvc, Branch::software_interrupt);
	case 0x0000'0003:
		return special(Special::smc, Branch::software_interrupt);
	case 0x0020'0000:
		return special(Special::brk, Branch::software_interrupt);
	default:
		return {};
	}
}

/* "System instructions with register argument", "Hints", "Barriers", "System with result". */
Instruction system(std::uint32_t word)
{
	if (is(word, 0xffff'f0ff, 0xd503'30df))
		return special(Special::isb, Branch::barrier);
	if (is(word, 0xffff'ffdf, 0xd503'205f) || is(word, 0xffff'ffc0, 0xd503'1000))
		return special(Special::wait);
	if (is(word, 0xffff'ffe0, 0xd523'3060))
		return special(Special::transaction_start);
	return {};
}

/*
 * "Unconditional branch (register)". Bit 11 selects pointer authentication and bit 10 the key, A or B. With bit 24 set, bits 4 to 0 name
 * the modifier register; without it there is no modifier, and these bits are all ones. Authenticated returns have an address register
 * field of all ones.
 */
Instruction branch_register(std::uint32_t word)
{
	constexpr std::uint32_t ones = 0x1f;
	if (field(word, 16, 5) != ones)
		return {};
	const std::uint32_t operation = field(word, 21, 4), rest = field(word, 10, 6);
	const std::uint32_t address = field(word, 5, 5), modifier = field(word, 0, 5);
	const bool key = (rest & ~std::uint32_t{1}) == 2, no_key = !rest && !modifier;
	switch (operation) {
	case 0:
		return no_key || (key && modifier == ones) ? plain(Branch::indirect_jump) : Instruction{};
	case 1:
		return no_key || (key && modifier == ones) ? plain(Branch::indirect_call) : Instruction{};
	case 2: /* RET, RETAA, RETAB; RETAASPPCR, RETABSPPCR, with any modifier register */
		return no_key || (key && address == ones) ? plain(Branch::ret) : Instruction{};
	case 4:
		return address == ones && (no_key || (key && modifier == ones)) ? plain(Branch::far) : Instruction{};
	case 8:
		return key ? plain(Branch::indirect_jump) : Instruction{};
	case 9:
		return key ? plain(Branch::indirect_call) : Instruction{};
	default: /* among them DRPS, which is for Debug state */
		return {};
	}
}

} // namespace

Instruction classify(std::uint32_t word)
{
	switch (word >> 24) {
	case 0x34: /* CBZ, CBNZ */
	case 0x35:
	case 0xb4:
	case 0xb5:
	case 0x54: /* B.cond, BC.cond */
		return direct(Branch::conditional, word, 5, 19);
	case 0x36: /* TBZ, TBNZ */
	case 0x37:
	case 0xb6:
	case 0xb7:
		return direct(Branch::conditional, word, 5, 14);
	case 0x55: /* RETAASPPC, RETABSPPC: the label is where the return address was signed */
		return is(word, 0xffc0'001f, 0x5500'001f) ? plain(Branch::ret) : Instruction{};
	case 0x74:
	case 0x75:
	case 0xf4:
	case 0xf5:
		return compare_and_branch(word);
	case 0xd4:
		return exception(word);
	case 0xd5:
		return system(word);
	case 0xd6:
	case 0xd7:
		return branch_register(word);
	default:
		if (is(word, 0xfc00'0000, 0x1400'0000))
			return direct(Branch::jump, word, 0, 26);
		return is(word, 0xfc00'0000, 0x9400'0000) ? direct(Branch::call, word, 0, 26) : Instruction{};
	}
}

} // namespace hwsim::arm64
