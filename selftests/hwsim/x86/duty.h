/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Duty: for how many instructions of programs the trace units of a vCPU were on. The vCPU of the virtual hardware counts them, by its
 * registers alone; a program in the guest asks by CPUID.
 */
#ifndef HWSIM_X86_DUTY_H
#define HWSIM_X86_DUTY_H

#include <cstdint>
#include <optional>

namespace hwsim::x86
{

/* Instructions of programs on the vCPU that asks, since the machine was switched on, modulo 2^32. */
struct Duty {
	std::uint32_t traced; /* while IA32_RTIT_CTL had programs traced, and neither Error nor Stopped was set */
	std::uint32_t stored; /* while IA32_DEBUGCTL had branches of programs stored */

	/* CPUID with this in EAX, which then holds "traced", ECX "stored", and EBX the signature. */
	static constexpr std::uint32_t cpuid_leaf = 0x4857'534b;
	static constexpr std::uint32_t signature = 0x4953'5748;

	/* In the guest; nothing on any other machine. */
	static std::optional<Duty> so_far()
	{
		std::uint32_t a = cpuid_leaf, b = 0, c = 0, d = 0;

		asm volatile("cpuid" : "+a"(a), "+b"(b), "+c"(c), "+d"(d));
		if (b != signature)
			return {};
		return Duty{a, c};
	}
	Duty operator-(const Duty &before) const { return {traced - before.traced, stored - before.stored}; }
};

} // namespace hwsim::x86

#endif
