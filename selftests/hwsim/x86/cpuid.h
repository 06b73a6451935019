/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * CPUID of a profile: whole leaves that QEMU answers with zeros, and bits that are added to what QEMU says, so that an ordinary
 * -cpu model serves.
 */
#ifndef HWSIM_X86_CPUID_H
#define HWSIM_X86_CPUID_H

#include <cstdint>
#include <optional>

#include "profile.h"

namespace hwsim::x86
{

struct CpuidResult {
	std::uint32_t eax = 0, ebx = 0, ecx = 0, edx = 0;

	bool operator==(const CpuidResult &) const = default;
};

/* The parts of the hardware that are switched on. */
struct Hardware {
	bool pt = true;
	bool pmu = true;
	bool bts = false;
};

/* What CPUID returns for a leaf and subleaf for which QEMU, without us, returns "native". */
CpuidResult cpuid(const Profile &profile, const Hardware &hardware, std::uint32_t leaf, std::uint32_t subleaf,
	CpuidResult native);
/* Is the answer to this leaf ours or partly ours? */
bool cpuid_differs(std::uint32_t leaf);

} // namespace hwsim::x86

#endif
