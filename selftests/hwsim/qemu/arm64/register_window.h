/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * RegisterWindow: CoreSight registers in memory. The plugin interface has no devices, so they are RAM that the kernel was told not to use: a
 * read finds there what the component shows, and a store is noticed behind it, by callbacks on the instructions of the kernel that may make one,
 * which put right what the component makes of it.
 *
 * Components that processors share are written under the lock of Coresight, a trace unit's page by its processor.
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
	/* The image of a component into the guest's memory, as far as it has changed. */
	void update(unsigned page, arm64::Component &component, GuestMemory &memory) const;
	/* All that is shared; once, before the guest can read it. */
	void show_all(GuestMemory &memory);

	/* A store of so many bytes, or a load, of a register that is shared. */
	void store(std::uint64_t physical, std::uint64_t value, unsigned bytes, GuestMemory &memory);
	void load(std::uint64_t physical, GuestMemory &memory);
	/* Does it want what the storing processor's trace unit still has? */
	bool flushes(std::uint64_t physical, std::uint64_t value);

	/* Stores where no register is, or none that can be written. */
	void count_refused() { refused++; }
	std::uint64_t refused_stores() const { return refused; }

	/* store(offset, value): a store word by word. False if it is not of words. */
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
