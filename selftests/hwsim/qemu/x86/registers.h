/* SPDX-License-Identifier: GPL-2.0-or-later */
/* X86Registers: the registers of an x86 vCPU by name. */
#ifndef HWSIM_QEMU_X86_REGISTERS_H
#define HWSIM_QEMU_X86_REGISTERS_H

#include "../registers.h"

namespace hwsim::qemu
{

class X86Registers : public CpuRegisters
{
public:
	/* rax to r15 have the numbers that instructions code them with. */
	enum class Reg : std::uint8_t {
		rax,
		rcx,
		rdx,
		rbx,
		rsp,
		rbp,
		rsi,
		rdi,
		r8,
		r9,
		r10,
		r11,
		r12,
		r13,
		r14,
		r15,
		rip,
		cs,
		cr3,
		cr4,
		efer,
		cr2,
		eflags,
		fs_base,
		gs_base,
		count
	};

	/* In the vCPU's init callback. False if one is missing: then this is no x86-64 QEMU. */
	bool find() { return CpuRegisters::find(names, std::size(names)); }

	std::uint64_t operator[](Reg reg) const { return read(static_cast<std::size_t>(reg)); }
	void set(Reg reg, std::uint64_t value) { write(static_cast<std::size_t>(reg), value); }
	unsigned privilege() const { return static_cast<unsigned>((*this)[Reg::cs] & 3); }

private:
	static constexpr std::string_view names[] = {"rax", "rcx", "rdx", "rbx", "rsp", "rbp", "rsi", "rdi", "r8", "r9",
		"r10", "r11", "r12", "r13", "r14", "r15", "rip", "cs", "cr3", "cr4", "efer", "cr2", "eflags", "fs_base",
		"gs_base"};
	static_assert(std::size(names) == static_cast<std::size_t>(Reg::count));
};

/* Each architecture has a type of its own. */
using Reg = X86Registers::Reg;

} // namespace hwsim::qemu

#endif
