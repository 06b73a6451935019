// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Gives the virtual hardware a command from inside the guest; needs no privileges. With --each, on each processor that the caller may use.
 *
 *   hwsim-ctl fault overflow:8000      hwsim-ctl fault overflow:0      hwsim-ctl --each log NAME      hwsim-ctl lose reset at 0x1b
 *
 * Exit status 0: done; 1: refused; 4: this machine is not the virtual hardware.
 */
#include <cstdint>
#include <cstdio>
#include <sched.h>
#include <string>
#include <string_view>

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

/* The exit status. */
int carry_out(const std::string &command)
{
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

int carry_out_on_each(const std::string &command)
{
	cpu_set_t all;
	if (sched_getaffinity(0, sizeof all, &all))
		return 1;
	for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
		if (!CPU_ISSET(cpu, &all))
			continue;
		cpu_set_t one;
		CPU_ZERO(&one);
		CPU_SET(cpu, &one);
		if (sched_setaffinity(0, sizeof one, &one))
			return 1;
		if (const int status = carry_out(command))
			return status;
	}
	return 0;
}

int main(int argc, char **argv)
{
	const bool on_each = argc > 1 && argv[1] == std::string_view("--each");
	std::string command;
	for (int i = 1 + on_each; i < argc; i++)
		command += (command.empty() ? "" : " ") + std::string(argv[i]);
	return on_each ? carry_out_on_each(command) : carry_out(command);
}
