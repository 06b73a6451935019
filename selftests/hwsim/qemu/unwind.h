/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Unwinder: restores the vCPU's state when a block is left in its middle.
 *
 * QEMU does not keep the flags, but what they are computed from; how they are computed in the middle of a block is known to the translator
 * only. QEMU 11's qemu_plugin_set_pc() leaves a block with the way of computing that was right where the block began. So the flags, TF, IF
 * and DF among them, are arbitrary until an instruction sets them; an interrupt before that saves wrong flags, and returns to them.
 *
 * QEMU's function for this, cpu_restore_state(), is not part of the plugin interface. It can be found if QEMU was built for modules, because
 * then QEMU exports all that it has; distributions build it so.
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

	/*
	 * To be called in a callback of this thread's vCPU whose return address is "caller": afterwards the state is that before the
	 * instruction.
	 */
	static void restore(std::uintptr_t caller);
};

} // namespace hwsim::qemu

#endif
