/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Accesses: how often the kernel has accessed registers, for any program that executes CPUID on a vCPU of the virtual
 * hardware.
 */
#ifndef HWSIM_X86_ACCESSES_H
#define HWSIM_X86_ACCESSES_H

#include <cstdint>
#include <optional>

namespace hwsim::x86
{

/* Of the vCPU that asks, since the machine was switched on, modulo 2^32. */
struct Accesses {
	std::uint32_t reads;    /* RDMSR */
	std::uint32_t writes;   /* WRMSR */
	std::uint32_t switches; /* TraceEn from 0 to 1 */

	/* CPUID with this in EAX, which then holds reads, ECX writes, EDX switches, and EBX the signature. */
	static constexpr std::uint32_t cpuid_leaf = 0x4857'534a;
	static constexpr std::uint32_t signature = 0x4953'5748;

	/* In the guest; nothing on any other machine. */
	static std::optional<Accesses> so_far()
	{
		std::uint32_t a = cpuid_leaf, b = 0, c = 0, d = 0;

		asm volatile("cpuid" : "+a"(a), "+b"(b), "+c"(c), "+d"(d));
		if (b != signature)
			return {};
		return Accesses{a, c, d};
	}
	Accesses operator-(const Accesses &before) const
	{
		return {reads - before.reads, writes - before.writes, switches - before.switches};
	}
};

} // namespace hwsim::x86

#endif
