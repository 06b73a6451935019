// SPDX-License-Identifier: GPL-2.0-or-later
#include "vmx.h"

#include <array>

namespace hwsim::x86
{
namespace
{

/* IA32_FEATURE_CONTROL */
constexpr std::uint64_t locked = 1 << 0, outside_smx = 1 << 2;

/* A VMXON region begins with the revision identifier and has 4 KiB. */
constexpr std::uint32_t revision = 1;
constexpr std::uint64_t region_size = 4096;

constexpr std::uint64_t write_back = 6;
constexpr std::uint64_t pt_in_vmx = 1 << 14;

/* Bits that may be 1 in the upper half, those that must be 1 in the lower. */
constexpr std::uint64_t controls(std::uint32_t allowed, std::uint32_t required)
{
	return std::uint64_t{allowed} << 32 | required;
}

/*
 * IA32_VMX_BASIC and the registers after it. The controls are those of the first processors with VT-x, without secondary ones, so that
 * IA32_VMX_VMCS_ENUM is the last register.
 */
constexpr std::array<std::uint64_t, 11> capabilities = {
	write_back << 50 | region_size << 32 | revision, /* BASIC */
	controls(0x0000'003f, 0x0000'0016),              /* pin-based */
	controls(0x77f9'fffe, 0x0401'e172),              /* processor-based */
	controls(0x003f'ffff, 0x0003'6dff),              /* exit */
	controls(0x0000'ffff, 0x0000'11ff),              /* entry */
	4 << 16 | 1 << 6 | 1 << 5, /* MISC: CR3 targets, HLT, EFER.LMA is saved; PT is by profile */
	0x8000'0021,               /* CR0: PG, NE and PE must be set */
	0xffff'ffff,               /* CR0: all may be set */
	Vmx::cr4_vmxe,             /* CR4 */
	0x0037'67ff,               /* CR4: these may be set */
	0x2a,                      /* the highest index of a VMCS field */
};
constexpr std::uint32_t misc = Vmx::first_capability + 5;

} // namespace

std::optional<std::uint64_t> Vmx::read(std::uint32_t msr) const
{
	if (msr == feature_control)
		return control;
	const std::size_t n = msr - first_capability;
	if (n >= capabilities.size())
		return {};
	return capabilities[n] | (msr == misc && profile.trace_in_vmx ? pt_in_vmx : 0);
}

/* The capabilities are read only, and so is what firmware or the kernel has locked. */
bool Vmx::write_faults(std::uint32_t msr, std::uint64_t value) const
{
	return msr != feature_control || (control & locked) || (value & ~(locked | outside_smx));
}

Vmx::End Vmx::enter(std::uint64_t cr4, unsigned level, std::optional<std::uint64_t> operand, GuestMemory &memory)
{
	if (!(cr4 & cr4_vmxe))
		return End::invalid_opcode;
	if (level || (!operating && (~control & (locked | outside_smx))))
		return End::general_protection;
	std::uint8_t word[4] = {};
	if (operating || !operand || *operand % region_size || !memory.read(*operand, word))
		return End::failed;
	if ((word[0] | word[1] << 8 | word[2] << 16 | std::uint32_t{word[3]} << 24) != revision)
		return End::failed;
	operating = true;
	return End::done;
}

Vmx::End Vmx::leave(unsigned level)
{
	if (!operating)
		return End::invalid_opcode;
	if (level)
		return End::general_protection;
	operating = false;
	return End::done;
}

} // namespace hwsim::x86
