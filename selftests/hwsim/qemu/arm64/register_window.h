/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * RegisterWindow: the memory-mapped CoreSight registers. The plugin interface cannot add devices, so the registers are RAM that the kernel
 * was told not to use. A load returns what the component has put there. A store is noticed after it has happened, by callbacks on the
 * kernel instructions that may access registers: they pass the value to the component, and put the register's new value into memory.
 *
 * Stores to components that processors share are carried out under the lock of Coresight, those to a trace unit's page by its own
 * processor.
 */
#ifndef HWSIM_QEMU_ARM64_REGISTER_WINDOW_H
#define HWSIM_QEMU_ARM64_REGISTER_WINDOW_H

#include <atomic>
#include <cstdint>
#include <vector>

#include "../../arm64/coresight.h"
#include "../../arm64/etm_page.h"
#include "../memory.h"

namespace hwsim::qemu
{

class RegisterWindow
{
public:
	RegisterWindow(arm64::Coresight &with, std::uint64_t at)
		: coresight(with), base(at), end(at + with.topology.pages() * arm64::Component::page)
	{
	}

	bool empty() const { return base == end; }
	bool contains(std::uint64_t physical) const { return physical >= base && physical < end; }
	unsigned page_of(std::uint64_t physical) const
	{
		return static_cast<unsigned>((physical - base) / arm64::Component::page);
	}
	/* Copies the changed registers of a component's image to the guest's memory. */
	void update(unsigned page, arm64::Component &component, GuestMemory &memory) const;
	/* Calls update() for all shared components; to be called before the guest can read them. */
	void show_all(GuestMemory &memory);

	/*
	 * Carries out a store of this many bytes by this processor to a register of a shared component, or the side effects of its load from
	 * one.
	 */
	void store(unsigned cpu, std::uint64_t physical, std::uint64_t value, unsigned bytes, GuestMemory &memory);
	void load(unsigned cpu, std::uint64_t physical, GuestMemory &memory);
	/* Does this store flush trace that the storing processor's trace unit still holds? */
	bool flushes(std::uint64_t physical, std::uint64_t value);

	/* Counts a refused store: there is no such register, it is read-only, or the store is not of aligned words. */
	void count_refused() { refused++; }
	std::uint64_t refused_stores() const { return refused; }

	/*
	 * Splits a store into words, and calls store(offset, value) for each. False if it is not aligned or less than a word, or if store()
	 * refuses a word.
	 */
	template <class Store>
	static bool by_words(std::uint64_t physical, std::uint64_t value, unsigned bytes, Store &&store)
	{
		constexpr unsigned word = 4;
		bool known = bytes >= word && physical % bytes == 0;
		const auto offset = static_cast<std::uint32_t>(physical % arm64::Component::page);
		for (unsigned at = 0; known && at < bytes; at += word)
			known = store(offset + at, static_cast<std::uint32_t>(value >> 8 * at));
		return known;
	}

private:
	arm64::Coresight &coresight;
	const std::uint64_t base, end;
	std::atomic<std::uint64_t> refused{0};
};

} // namespace hwsim::qemu

#endif
