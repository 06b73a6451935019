// SPDX-License-Identifier: GPL-2.0-or-later
/* The machines that there are, by the names that QEMU has for them. */
#include "arm64/machine.h"
#include "machine.h"
#include "x86/machine.h"

namespace hwsim::qemu
{
namespace
{

constexpr struct {
	std::string_view target;
	Machine *(*make)();
} machines[] = {{"x86_64", x86_machine}, {"aarch64", arm64_machine}};

} // namespace

Machine *find_machine(std::string_view target)
{
	for (const auto &one : machines)
		if (one.target == target)
			return one.make();
	return nullptr;
}

std::string machine_targets(std::string_view between)
{
	std::string names;
	for (const auto &one : machines)
		names += std::string(names.empty() ? "" : between) + std::string(one.target);
	return names;
}

} // namespace hwsim::qemu
