/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Unwinder: makes a vCPU's state whole where a block is left in its middle.
 *
 * QEMU keeps no flags but what they are computed from; and how they are, in the middle of a block, the translator alone knows. QEMU 11's
 * qemu_plugin_set_pc() leaves a block with the way in place that was right where the block began. The flags have any bits then, TF, IF
 * and DF among them, until an instruction sets them; if an interrupt comes before, it saves these, and returns to them.
 *
 * QEMU has a function for just that, which is not part of the plugin interface. It can be found where QEMU was built for modules, for then it
 * exports all that it has; distributions build it so.
 */
#ifndef HWSIM_QEMU_UNWIND_H
#define HWSIM_QEMU_UNWIND_H

#include <cstdint>

namespace hwsim::qemu
{

class Unwinder
{
public:
	/* False if this QEMU exports too little. */
	static bool find();

	/* In a callback of this thread's vCPU, whose return address is "caller": the state is what it is before the instruction. */
	static void restore(std::uintptr_t caller);
};

} // namespace hwsim::qemu

#endif
