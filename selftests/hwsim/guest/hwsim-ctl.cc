// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Gives the virtual hardware a command from inside the guest; needs no privileges.
 *
 *   hwsim-ctl fault overflow:8000      hwsim-ctl fault overflow:0      hwsim-ctl log NAME      hwsim-ctl lose reset at 0x1b
 *
 * Exit status 0: done; 1: refused; 4: this machine is not the virtual hardware.
 */
#include <cstdint>
#include <cstdio>
#include <string>

#ifdef __aarch64__
#include "../arm64/control.h"
#include "../arm64/hint.h"

namespace
{

constexpr auto signature = hwsim::arm64::Control::signature;

/* Returns the signature if this machine is the virtual hardware, and sets "refused" to 0 if the command was carried out. */
std::uint64_t give(const std::string &command, std::uint64_t &refused)
{
	const hwsim::arm64::Answer answer = hwsim::arm64::hint(command);
	refused = answer.result;
	return answer.signature;
}

} // namespace
#else
#include "../x86/control.h"

namespace
{

constexpr auto signature = hwsim::x86::Control::signature;

std::uint64_t give(const std::string &command, std::uint64_t &refused)
{
	std::uint64_t a = hwsim::x86::Control::cpuid_leaf, b = 0, c = reinterpret_cast<std::uint64_t>(command.data()),
		      d = command.size();
	asm volatile("cpuid" : "+a"(a), "+b"(b), "+c"(c), "+d"(d) : : "memory");
	refused = static_cast<std::uint32_t>(a);
	return static_cast<std::uint32_t>(b);
}

} // namespace
#endif

int main(int argc, char **argv)
{
	std::string command;
	for (int i = 1; i < argc; i++)
		command += (i > 1 ? " " : "") + std::string(argv[i]);
	std::uint64_t refused = 0;
	if (give(command, refused) != signature) {
		std::fputs("hwsim-ctl: this machine is not the virtual hardware\n", stderr);
		return 4;
	}
	if (refused) {
		std::fprintf(stderr, "hwsim-ctl: refused: %s\n", command.c_str());
		return 1;
	}
	return 0;
}
