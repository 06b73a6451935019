// SPDX-License-Identifier: GPL-2.0-or-later
#include "classify.h"

namespace hwsim::x86
{
namespace
{

/* The bytes behind the prefixes, and what of the prefixes matters. */
struct Opcode {
	std::span<const std::uint8_t> bytes;
	std::uint8_t rex = 0;
	bool repeat = false; /* F3 */

	std::uint8_t operator[](std::size_t i) const { return i < bytes.size() ? bytes[i] : 0; }
	unsigned reg(std::size_t i) const { return ((*this)[i] >> 3) & 7; }
	bool is_register(std::size_t i) const { return ((*this)[i] & 0xc0) == 0xc0; }
};

bool is_legacy_prefix(std::uint8_t byte)
{
	switch (byte) {
	case 0x26: /* segments; 2e and 3e are also branch hints, and 3e is NOTRACK */
	case 0x2e:
	case 0x36:
	case 0x3e:
	case 0x64:
	case 0x65:
	case 0x66: /* operand and address size */
	case 0x67:
	case 0xf0: /* LOCK, and REPNE, which is also BND */
	case 0xf2:
	case 0xf3:
		return true;
	default:
		return false;
	}
}

Opcode skip_prefixes(std::span<const std::uint8_t> bytes)
{
	Opcode opcode;
	while (bytes.size() > 1) {
		const std::uint8_t byte = bytes[0];
		if ((byte & 0xf0) == 0x40)
			opcode.rex = byte;
		else if (is_legacy_prefix(byte))
			opcode.repeat |= byte == 0xf3;
		else
			break;
		bytes = bytes.subspan(1);
	}
	opcode.bytes = bytes;
	return opcode;
}

/* The length says how wide it is: 66H makes it 16 bits wide in some modes only. */
std::int64_t signed_tail(std::span<const std::uint8_t> bytes)
{
	switch (bytes.size()) {
	case 1:
		return static_cast<std::int8_t>(bytes[0]);
	case 2:
		return static_cast<std::int16_t>(bytes[0] | bytes[1] << 8);
	case 4:
		return static_cast<std::int32_t>(std::uint32_t{bytes[0]} | std::uint32_t{bytes[1]} << 8 |
						 std::uint32_t{bytes[2]} << 16 | std::uint32_t{bytes[3]} << 24);
	default:
		return 0;
	}
}

Instruction relative(Branch kind, std::span<const std::uint8_t> tail)
{
	Instruction instruction;
	instruction.kind = kind;
	instruction.displacement = signed_tail(tail);
	return instruction;
}

Instruction plain(Branch kind)
{
	Instruction instruction;
	instruction.kind = kind;
	return instruction;
}

Instruction special(Special what)
{
	Instruction instruction;
	instruction.special = what;
	return instruction;
}

/* FF /2 to /5: SDM volume 2, opcode extensions, group 5. */
Instruction group5(unsigned extension)
{
	switch (extension) {
	case 2:
		return plain(Branch::indirect_call);
	case 3:
	case 5:
		return plain(Branch::far);
	case 4:
		return plain(Branch::indirect_jump);
	default:
		return {};
	}
}

Instruction with_operand(Special what, const Opcode &op)
{
	Instruction instruction = special(what);
	instruction.operand = static_cast<std::uint8_t>((op[2] & 7) | (op.rex & 1) << 3);
	return instruction;
}

Instruction ptwrite(const Opcode &op)
{
	Instruction instruction = with_operand(Special::ptwrite, op);
	instruction.wide = op.rex & 8;
	instruction.in_memory = !op.is_register(2);
	return instruction;
}

Instruction vmxon()
{
	Instruction instruction = special(Special::vmxon);
	instruction.in_memory = true;
	return instruction;
}

/* MOV to a control register, whose operand is a register whatever ModR/M says. */
Instruction mov_to_control(const Opcode &op)
{
	if (op.rex & 4)
		return {};
	if (op.reg(2) == 3)
		return plain(Branch::address_space);
	return op.reg(2) == 4 ? with_operand(Special::mov_to_cr4, op) : Instruction{};
}

Instruction two_bytes(const Opcode &op)
{
	switch (op[1]) {
	case 0x01:
		if (op[2] == 0xf9)
			return special(Special::rdtscp);
		if (op[2] == 0xc4)
			return special(Special::vmxoff);
		if (op[2] == 0xca && op.bytes.size() == 3 && op.repeat)
			return plain(Branch::far); /* ERETU */
		return op.reg(2) == 3 && !op.is_register(2) ? special(Special::lidt) : Instruction{};
	case 0x05: /* SYSCALL, SYSRET, SYSENTER, SYSEXIT, RSM */
	case 0x07:
	case 0x34:
	case 0x35:
	case 0xaa:
		return plain(Branch::far);
	case 0x22:
		return mov_to_control(op);
	case 0x30:
		return special(Special::wrmsr);
	case 0x31:
		return special(Special::rdtsc);
	case 0x32:
		return special(Special::rdmsr);
	case 0x33:
		return special(Special::rdpmc);
	case 0xa2:
		return special(Special::cpuid);
	case 0xae:
		return op.repeat && op.reg(2) == 4 ? ptwrite(op) : Instruction{};
	case 0xc7:
		return op.repeat && op.reg(2) == 6 && !op.is_register(2) ? vmxon() : Instruction{};
	default:
		return (op[1] & 0xf0) == 0x80 ? relative(Branch::conditional, op.bytes.subspan(2)) : Instruction{};
	}
}

} // namespace

Instruction classify(std::span<const std::uint8_t> bytes)
{
	const Opcode op = skip_prefixes(bytes);
	const auto tail = op.bytes.subspan(op.bytes.empty() ? 0 : 1);
	switch (op[0]) {
	case 0x0f:
		return two_bytes(op);
	case 0x9a: /* CALL, JMP, RET far, IRET */
	case 0xca:
	case 0xcb:
	case 0xcf:
	case 0xea:
		return plain(Branch::far);
	case 0xc2:
	case 0xc3:
		return plain(Branch::ret);
	case 0xcc: /* INT3, INT n, INTO, INT1 */
	case 0xcd:
	case 0xce:
	case 0xf1:
		return plain(Branch::software_interrupt);
	case 0xe0: /* LOOPcc, JCXZ */
	case 0xe1:
	case 0xe2:
	case 0xe3:
		return relative(Branch::conditional, tail);
	case 0xe8:
		return relative(Branch::call, tail);
	case 0xe9:
	case 0xeb:
		return relative(Branch::jump, tail);
	case 0xff:
		return group5(op.reg(1));
	default:
		return (op[0] & 0xf0) == 0x70 ? relative(Branch::conditional, tail) : Instruction{};
	}
}

} // namespace hwsim::x86
