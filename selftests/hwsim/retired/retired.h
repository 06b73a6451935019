/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Instructions retired on the vCPU that asks: what retired.so counts, whatever the guest has programmed its counters to do.
 * The kernel stops those while it handles a performance interrupt, which is what there is to be measured.
 */
#ifndef HWSIM_RETIRED_H
#define HWSIM_RETIRED_H

#include <cstddef>
#include <cstdint>

namespace hwsim
{

struct Retired {
	std::uint64_t kernel;
	std::uint64_t user;
	/* NMIs that interrupted a program, and what the last of them took in the kernel until it went on. */
	static constexpr std::size_t kept = 64;
	std::uint64_t nmis;
	std::uint64_t nmi[kept];

	/*
	 * CPUID with this in EAX, the address of a Retired in RCX, which has to be in memory, in RDX that of the kernel's
	 * entry for NMIs, or 0, and in EBX the profile that what follows on this vCPU goes to, or 0. On arm64: a hint, with
	 * the same in X0 to X3; the architecture has not allocated it.
	 */
	static constexpr std::uint32_t cpuid_leaf = 0x4857'5350, hint = 0xd503'2fdf;
	/* With the number of a profile: only NMIs go there, as in nmi. */
	static constexpr std::uint32_t only_nmis = 0x8000'0000;
};

} // namespace hwsim

#endif
