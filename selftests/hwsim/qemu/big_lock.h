/* SPDX-License-Identifier: GPL-2.0-or-later */
/* BigLock: QEMU's lock around devices, interrupts and timers. The plugin does not take it, but QEMU holds it in some of its callbacks. */
#ifndef HWSIM_QEMU_BIG_LOCK_H
#define HWSIM_QEMU_BIG_LOCK_H

namespace hwsim::qemu
{

class BigLock
{
public:
	/* False if this QEMU exports too little. */
	static bool find();
	/* Does this thread not hold it? Only then may it wait for another vCPU, which may have to take the lock to go on. */
	static bool is_free_of();
};

} // namespace hwsim::qemu

#endif
