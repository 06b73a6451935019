// SPDX-License-Identifier: GPL-2.0-or-later
#include "machine.h"

#include "vcpu.h"

namespace hwsim::qemu
{

constinit Machine *machine = nullptr;
constinit const std::unique_ptr<Vcpu> *vcpu_list = nullptr;

unsigned Machine::needs_of_all() const
{
	unsigned needs = no_instrumentation;
	for (const auto &vcpu : vcpus)
		if (vcpu)
			needs |= vcpu->needs();
	return needs;
}

/* All vCPUs are stopped, there are no translations, and QEMU has forgotten what we had registered. */
void Machine::on_anew(void *)
{
	const std::lock_guard guard(machine->lock);
	machine->instrumentation = machine->needs_of_all();
	machine->enough_since = 0;
	register_callbacks();
	for (auto &vcpu : machine->vcpus)
		if (vcpu)
			vcpu->instrumentation_changed();
}

/* QEMU ignores a reset while another one is under way. */
void Machine::translate_anew()
{
	qemu_plugin_reset(id, on_anew, nullptr);
}

/* Not at once: drivers switch tracing off and on at every context switch, and translating is expensive. */
void Machine::consider_less(std::uint64_t now)
{
	constexpr std::uint64_t long_enough_ns = 3'000'000'000;
	{
		const std::lock_guard guard(lock);
		if (!(instrumentation & ~needs_of_all()))
			return;
	}
	if (!enough_since)
		enough_since = now;
	else if (now > enough_since + long_enough_ns * ticks_per_ns())
		translate_anew();
}

} // namespace hwsim::qemu
