/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The instructions that concern the trace unit and the trace buffer, both of which the emulated processor lacks: MRS and MSR of their
 * registers, TSB CSYNC, ISB for an erratum, and a hint by which a program gives the virtual hardware a command (Control).
 */
#ifndef HWSIM_ARM64_SYSTEM_ACCESS_H
#define HWSIM_ARM64_SYSTEM_ACCESS_H

#include <cstdint>
#include <optional>

namespace hwsim::arm64
{

/* Encodes a system register from its fields in MRS and MSR (Arm ARM, DDI0487, C5.1.2); op0 is 2 or 3. */
constexpr std::uint16_t system_register(unsigned op0, unsigned op1, unsigned crn, unsigned crm, unsigned op2)
{
	return static_cast<std::uint16_t>((op0 & 1) << 14 | op1 << 11 | crn << 7 | crm << 3 | op2);
}

namespace sysreg
{

constexpr std::uint16_t midr_el1 = system_register(3, 0, 0, 0, 0);
constexpr std::uint16_t oslar_el1 = system_register(2, 0, 1, 0, 4), id_aa64dfr0_el1 = system_register(3, 0, 0, 5, 0),
			trfcr_el1 = system_register(3, 0, 1, 2, 1), trfcr_el2 = system_register(3, 4, 1, 2, 1),
			trfcr_el12 = system_register(3, 5, 1, 2, 1);
/* The trace buffer registers are contiguous: from the first to the last one. */
constexpr std::uint16_t trblimitr_el1 = system_register(3, 0, 9, 11, 0), trbidr_el1 = system_register(3, 0, 9, 11, 7);

} // namespace sysreg

/* The trace unit's registers have op0 2 and op1 1; the other fields give the offset in its memory map. */
constexpr std::optional<std::uint32_t> trace_register_offset(std::uint16_t reg)
{
	if (reg >> 11 != 1)
		return {};
	const unsigned crn = reg >> 7 & 15, crm = reg >> 3 & 15, op2 = reg & 7;
	return (crn << 7 | op2 << 4 | crm) * 4;
}

struct SystemAccess {
	enum class Kind : std::uint8_t { none, read, write, trace_synchronization, context_synchronization, command };

	Kind kind = Kind::none;
	std::uint8_t operand = 0; /* the general-purpose register; 31 is XZR */
	std::uint16_t reg = 0;
};

/* The architecture has not allocated this hint (C6.2, "HINT"), so it is a NOP on any other machine. */
constexpr std::uint32_t command_hint = 0xd503'2fff, tsb_csync = 0xd503'225f, isb = 0xd503'3fdf;

/* Decodes an instruction; the kind is "none" if it is not one of these. */
constexpr SystemAccess system_access(std::uint32_t word)
{
	using Kind = SystemAccess::Kind;
	if (word == tsb_csync)
		return {Kind::trace_synchronization, 0, 0};
	if (word == isb)
		return {Kind::context_synchronization, 0, 0};
	if (word == command_hint)
		return {Kind::command, 0, 0};
	if ((word & 0xffd0'0000) != 0xd510'0000)
		return {};
	const bool read = word >> 21 & 1;
	const auto reg = static_cast<std::uint16_t>(word >> 5 & 0x7fff);
	const bool known =
		trace_register_offset(reg) || reg == sysreg::trfcr_el1 || reg == sysreg::trfcr_el2 ||
		reg == sysreg::trfcr_el12 || (reg >= sysreg::trblimitr_el1 && reg <= sysreg::trbidr_el1) ||
		(read ? reg == sysreg::id_aa64dfr0_el1 || reg == sysreg::midr_el1 : reg == sysreg::oslar_el1);
	if (!known)
		return {};
	return {read ? Kind::read : Kind::write, static_cast<std::uint8_t>(word & 31), reg};
}

} // namespace hwsim::arm64

#endif
