/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Arm64Registers: the registers of an arm64 vCPU by name. */
#ifndef HWSIM_QEMU_ARM64_REGISTERS_H
#define HWSIM_QEMU_ARM64_REGISTERS_H

#include "../registers.h"

namespace hwsim::qemu
{

class Arm64Registers : public CpuRegisters
{
public:
	/* x0 to x30 have the numbers by which instructions encode them. */
	enum class Reg : std::uint8_t {
		x0,
		x1,
		x30 = 30,
		pc,
		cpsr,
		contextidr_el1,
		cpacr_el1,
		esr_el1,
		spsr_el1,
		id_aa64dfr0_el1,
		cntfrq_el0,
		/* From here on: of processors with EL2 only. */
		contextidr_el2,
		cptr_el2,
		esr_el2,
		spsr_el2,
		count
	};

	/* To be called in the vCPU's init callback. False if a register is missing: then this is not an AArch64 QEMU. */
	bool find() { return CpuRegisters::find(names, static_cast<std::size_t>(Reg::contextidr_el2)); }
	/* EL2 with VHE: without that there is no CONTEXTIDR_EL2. */
	bool have_el2() const
	{
		for (auto place = static_cast<std::size_t>(Reg::contextidr_el2); place < std::size(names); place++)
			if (!is_there(place))
				return false;
		return true;
	}

	std::uint64_t operator[](Reg reg) const { return read(static_cast<std::size_t>(reg)); }
	void set(Reg reg, std::uint64_t value) { write(static_cast<std::size_t>(reg), value); }
	/* The value of a general-purpose register operand; number 31 is XZR. */
	std::uint64_t operand(unsigned number) const { return number == zero ? 0 : read(number); }
	void set_operand(unsigned number, std::uint64_t value)
	{
		if (number != zero)
			write(number, value);
	}

private:
	static constexpr unsigned zero = 31;
	static constexpr std::string_view names[] = {"x0", "x1", "x2", "x3", "x4", "x5", "x6", "x7", "x8", "x9", "x10",
		"x11", "x12", "x13", "x14", "x15", "x16", "x17", "x18", "x19", "x20", "x21", "x22", "x23", "x24", "x25",
		"x26", "x27", "x28", "x29", "x30", "pc", "cpsr", "CONTEXTIDR_EL1", "CPACR_EL1", "ESR_EL1", "SPSR_EL1",
		"ID_AA64DFR0_EL1", "CNTFRQ_EL0", "CONTEXTIDR_EL2", "CPTR_EL2", "ESR_EL2", "SPSR_EL2"};
	static_assert(std::size(names) == static_cast<std::size_t>(Reg::count));
};

/* The short name that this architecture's vCPU uses. */
using Reg = Arm64Registers::Reg;

} // namespace hwsim::qemu

#endif
