// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Gives the virtual hardware a command, from inside the guest; any user may.
 *
 *   hwsim-ctl fault overflow:8000      hwsim-ctl fault overflow:0      hwsim-ctl log NAME      hwsim-ctl lose reset at 0x1b
 *
 * Exit status 0: done; 1: refused; 4: this machine is not the virtual hardware.
 */
#include <cstdint>
#include <cstdio>
#include <string>

#include "../x86/control.h"

using hwsim::x86::Control;

int main(int argc, char **argv)
{
	std::string command;
	for (int i = 1; i < argc; i++)
		command += (i > 1 ? " " : "") + std::string(argv[i]);
	std::uint64_t a = Control::cpuid_leaf, b = 0, c = reinterpret_cast<std::uint64_t>(command.data()),
		      d = command.size();
	asm volatile("cpuid" : "+a"(a), "+b"(b), "+c"(c), "+d"(d) : : "memory");
	if (static_cast<std::uint32_t>(b) != Control::signature) {
		std::fputs("hwsim-ctl: this machine is not the virtual hardware\n", stderr);
		return 4;
	}
	if (static_cast<std::uint32_t>(a)) {
		std::fprintf(stderr, "hwsim-ctl: refused: %s\n", command.c_str());
		return 1;
	}
	return 0;
}
