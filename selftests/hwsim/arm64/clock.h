/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Clock: the source of timestamps, the machine's virtual counter CNTVCT (Arm ARM, D12, "The Generic Timer"). */
#ifndef HWSIM_ARM64_CLOCK_H
#define HWSIM_ARM64_CLOCK_H

#include <cstdint>

namespace hwsim::arm64
{

class Clock
{
public:
	virtual std::uint64_t counter() = 0;

protected:
	~Clock() = default;
};

} // namespace hwsim::arm64

#endif
