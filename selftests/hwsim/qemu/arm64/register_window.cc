// SPDX-License-Identifier: GPL-2.0-or-later
#include "register_window.h"

namespace hwsim::qemu
{

using arm64::Component;

void RegisterWindow::update(unsigned page, Component &component, GuestMemory &memory) const
{
	component.take_changes([&](std::uint32_t offset, std::uint32_t value) {
		memory.store(base + page * Component::page + offset, value);
	});
}

void RegisterWindow::show_all(GuestMemory &memory)
{
	const std::lock_guard guard(coresight.lock);
	coresight.for_each([&](unsigned page, Component &component) { update(page, component, memory); });
}

/* The guest's store has left its value in memory; this function replaces that with the value that the register reads as. */
void RegisterWindow::store(
	unsigned cpu, std::uint64_t physical, std::uint64_t value, unsigned bytes, GuestMemory &memory)
{
	const std::lock_guard guard(coresight.lock);
	Component *const component = coresight.at(page_of(physical));
	if (!component) {
		count_refused();
		return;
	}
	const bool known = by_words(physical, value, bytes, [&](std::uint32_t offset, std::uint32_t word) {
		const bool taken = component->write(offset, word);
		memory.store(physical - physical % Component::page + offset, component->read(offset));
		return taken;
	});
	if (!known)
		count_refused();
	update(page_of(physical), *component, memory);
	coresight.used(cpu, true);
}

void RegisterWindow::load(unsigned cpu, std::uint64_t physical, GuestMemory &memory)
{
	const std::lock_guard guard(coresight.lock);
	Component *const component = coresight.at(page_of(physical));
	if (!component)
		return;
	component->was_read(static_cast<std::uint32_t>(physical % Component::page));
	update(page_of(physical), *component, memory);
	coresight.used(cpu, false);
}

bool RegisterWindow::flushes(std::uint64_t physical, std::uint64_t value)
{
	const std::lock_guard guard(coresight.lock);
	Component *const component = coresight.at(page_of(physical));
	return component && component->flushes(static_cast<std::uint32_t>(physical % Component::page),
				    static_cast<std::uint32_t>(value));
}

} // namespace hwsim::qemu
