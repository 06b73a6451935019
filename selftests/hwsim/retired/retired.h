/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Instructions retired on the vCPU that asks: what retired.so counts, whatever the guest has programmed its counters to do.
 * The kernel stops those while it handles a performance interrupt, which is what there is to be measured.
 */
#ifndef HWSIM_RETIRED_H
#define HWSIM_RETIRED_H

#include <cstdint>

namespace hwsim
{

struct Retired {
	std::uint64_t kernel;
	std::uint64_t user;

	/* CPUID with this in EAX and the address of a Retired in RCX, which has to be in memory. */
	static constexpr std::uint32_t cpuid_leaf = 0x4857'5350;
};

} // namespace hwsim

#endif
