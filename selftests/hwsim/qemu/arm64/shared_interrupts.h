/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * SharedInterrupts: the interrupts of components that processors share, as shared interrupts of the GIC. Components set them under the lock
 * of Coresight. The GIC is told later, without that lock: access to a device takes QEMU's own lock, which a vCPU may hold when it comes for
 * Coresight's.
 *
 * An interrupt is pending from when its output is asserted until it is deasserted or the processor takes it. It does not become pending
 * again if the output is still asserted when the handler returns, but if it was deasserted and asserted again meanwhile.
 */
#ifndef HWSIM_QEMU_ARM64_SHARED_INTERRUPTS_H
#define HWSIM_QEMU_ARM64_SHARED_INTERRUPTS_H

#include <atomic>
#include <cstdint>

#include "../../base/memory.h"

namespace hwsim::qemu
{

class SharedInterrupts
{
public:
	void set(unsigned number, bool asserted)
	{
		const std::uint32_t bit = std::uint32_t{1} << number;
		if (asserted) {
			wanted |= bit;
			risen |= bit;
		} else {
			wanted &= ~bit;
		}
	}
	/* Tells the GIC of the changes. If another thread is doing so, it tells of these, too. */
	void deliver(GuestMemory &memory)
	{
		while ((wanted != delivered || risen) && !busy.test_and_set()) {
			const std::uint32_t rose = risen.exchange(0), now = wanted;
			memory.store(distributor + set_pending, now & rose);
			memory.store(distributor + clear_pending, ~now & (now ^ delivered));
			delivered = now;
			busy.clear();
		}
	}

private:
	/* QEMU's machine "virt" with a GICv3: GICD_ISPENDR and GICD_ICPENDR of the 32 interrupts from 256 on, which is shared interrupt 224. */
	static constexpr std::uint64_t distributor = 0x0800'0000, set_pending = 0x220, clear_pending = 0x2a0;

	std::atomic<std::uint32_t> wanted{0}, risen{0}, delivered{0};
	std::atomic_flag busy;
};

} // namespace hwsim::qemu

#endif
