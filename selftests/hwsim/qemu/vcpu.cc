// SPDX-License-Identifier: GPL-2.0-or-later
#include "vcpu.h"

#include <cinttypes>
#include <cstdio>

#include "unwind.h"

namespace hwsim::qemu
{

Vcpu::Vcpu(unsigned number, Machine &with) : index(number), machine(with), logs(with.logs, number) {}

void Vcpu::find_words()
{
	counter.attach(static_cast<InlineWords *>(qemu_plugin_scoreboard_find(machine.score, index)));
}

void Vcpu::keep_block()
{
	find_words();
	tracker.keep_block();
	counter.keep_block();
}

void Vcpu::set_needs(unsigned needs)
{
	needed = needs;
	if (needs)
		machine.enough_since = 0;
	if (needs & ~machine.instrumentation.load())
		machine.translate_anew();
}

void Vcpu::require(unsigned instrumentation, const Site &site)
{
	if (!(instrumentation & ~machine.instrumentation.load()))
		return;
	needed |= instrumentation;
	machine.translate_anew();
	uncount(*site.block, site.index);
	leave_for(block_pc + site.offset);
}

void Vcpu::instrumentation_changed()
{
	if (!(machine.instrumentation & (flow_instrumentation | count_instrumentation)))
		counter.leave();
}

void Vcpu::leave_for(std::uint64_t pc)
{
	counter.leave();
	Unwinder::restore(left_at);
	qemu_plugin_set_pc(pc);
}

long long Vcpu::quiet_ms() const
{
	using namespace std::chrono;
	return duration_cast<milliseconds>(steady_clock::now() - newest_output).count();
}

std::string Vcpu::first_impossible() const
{
	const FlowTracker::Counts &flow = tracker.statistics();
	if (!flow.impossible)
		return "";
	char text[256];
	std::snprintf(text, sizeof text,
		"hwsim: cpu %u: the first impossible successor: %" PRIx64 " kind %u finished %d to %" PRIx64 "\n",
		index, flow.first.start, static_cast<unsigned>(flow.first.kind), flow.first.finished, flow.first.to);
	return text;
}

} // namespace hwsim::qemu
