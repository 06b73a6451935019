/* SPDX-License-Identifier: GPL-2.0-or-later */
/* RetiredGuest: how a guest of each architecture asks for what retired.so has counted. */
#ifndef HWSIM_RETIRED_GUEST_H
#define HWSIM_RETIRED_GUEST_H

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

namespace hwsim
{

/* Of one vCPU, in its callbacks. */
class RetiredGuest
{
public:
	/* What a program asks: see Retired. */
	struct Question {
		bool meant = false; /* for retired.so */
		std::uint64_t to = 0;
		std::uint64_t nmi_entry = 0;
		std::uint32_t profile = 0;
	};

	/* For a target of QEMU; empty if it is another architecture. In the vCPU's init callback; aborts if a register is missing. */
	static std::unique_ptr<RetiredGuest> make(std::string_view target);

	virtual ~RetiredGuest() = default;

	virtual bool in_kernel() const = 0;
	/* Is this the instruction by which programs ask? */
	virtual bool asks(std::span<const std::uint8_t> instruction) const = 0;
	virtual Question question() const = 0;
};

} // namespace hwsim

#endif
