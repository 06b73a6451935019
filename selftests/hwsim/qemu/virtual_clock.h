/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * VirtualClock: the clock that the guest's timers run by, which the plugin interface does not show. QEMU's own function for it can be found
 * where cpu_restore_state() can (Unwinder).
 */
#ifndef HWSIM_QEMU_VIRTUAL_CLOCK_H
#define HWSIM_QEMU_VIRTUAL_CLOCK_H

#include <cstdint>

namespace hwsim::qemu
{

class VirtualClock
{
public:
	/* False if this QEMU exports too little. */
	static bool find();
	static std::uint64_t ns();
};

} // namespace hwsim::qemu

#endif
