/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The control hint, as a guest program executes it (Control). */
#ifndef HWSIM_ARM64_HINT_H
#define HWSIM_ARM64_HINT_H

#include <cstdint>
#include <string_view>

namespace hwsim::arm64
{

struct Answer {
	std::uint64_t result, signature;
};

/* Control::signature in the answer says that this machine is the virtual hardware. */
inline Answer hint(std::string_view command)
{
	register std::uint64_t text asm("x0") = reinterpret_cast<std::uint64_t>(command.data());
	register std::uint64_t size asm("x1") = command.size();
	asm volatile("hint #127" : "+r"(text), "+r"(size) : : "memory");
	return {text, size};
}

} // namespace hwsim::arm64

#endif
