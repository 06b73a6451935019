/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * LocalApic: delivers performance monitoring interrupts of a vCPU through the guest's own local APIC, as it is programmed: SDM
 * volume 3, "Local Vector Table". To be used in the vCPU's own thread, where its APIC is the one that answers.
 *
 * An unmodified QEMU offers no way to raise an interrupt from a plugin, but writes by physical address reach devices: a write
 * to FEE0'0000 + destination is a message signalled interrupt, and takes vector and delivery mode from the data.
 */
#ifndef HWSIM_X86_LOCAL_APIC_H
#define HWSIM_X86_LOCAL_APIC_H

#include <cstdint>

#include "../base/memory.h"

namespace hwsim::x86
{

class LocalApic
{
public:
	explicit LocalApic(GuestMemory &of) : memory(of) {}

	/* False if the interrupt is masked (or there is no APIC): then it is lost, as on hardware. */
	bool performance_interrupt()
	{
		std::uint32_t lvt = 0, id = 0;
		if (!memory.load(base + lvtpc, lvt) || !memory.load(base + apic_id, id) || (lvt & masked))
			return false;
		memory.store(base | std::uint64_t{id >> 24} << 12, lvt & (vector | delivery_mode));
		/* Delivery masks the entry (SDM volume 3, "PMI Handling"). */
		memory.store(base + lvtpc, lvt | masked);
		return true;
	}

	/* Delivers the interrupt once more, masked or not, which hardware does not do. */
	bool repeat()
	{
		std::uint32_t lvt = 0, id = 0;
		if (!memory.load(base + lvtpc, lvt) || !memory.load(base + apic_id, id))
			return false;
		return memory.store(base | std::uint64_t{id >> 24} << 12, lvt & (vector | delivery_mode));
	}

	static constexpr std::uint64_t base = 0xfee0'0000, apic_id = 0x20, lvtpc = 0x340;
	static constexpr std::uint32_t vector = 0xff, delivery_mode = 0x700, masked = 0x1'0000;

private:
	GuestMemory &memory;
};

} // namespace hwsim::x86

#endif
