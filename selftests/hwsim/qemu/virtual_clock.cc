// SPDX-License-Identifier: GPL-2.0-or-later
#include "virtual_clock.h"

#include <dlfcn.h>

namespace hwsim::qemu
{
namespace
{

/* QEMU_CLOCK_VIRTUAL */
constexpr int of_the_guest = 1;

std::int64_t (*get_ns)(int clock);

} // namespace

bool VirtualClock::find()
{
	get_ns = reinterpret_cast<decltype(get_ns)>(dlsym(RTLD_DEFAULT, "qemu_clock_get_ns"));
	return get_ns;
}

std::uint64_t VirtualClock::ns()
{
	return static_cast<std::uint64_t>(get_ns(of_the_guest));
}

} // namespace hwsim::qemu
