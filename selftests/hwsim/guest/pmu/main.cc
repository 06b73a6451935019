// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Tries the architectural performance monitoring of the processor from outside: what is there, what is refused, what is counted. What
 * is right comes from CPUID and from the rules of SDM volume 3, "Architectural Performance Monitoring", and nothing of the virtual
 * hardware is asked or shared. Wants root, the msr driver, nobody else who counts, and performance interrupts that get lost.
 *
 *   pmu [CPU]
 *
 * Prints what was wrong, and last how much was tried. What was in the registers before is there again at the end.
 */
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <sched.h>
#include <utility>
#include <vector>

#include "pmu.h"

Pmu machine;
Registers registers;

/* Nothing counts, nothing has overflowed. */
void clear()
{
	registers.write(control, 0);
	registers.write(debugctl, 0);
	for (unsigned n = 0; n < machine.general; n++) {
		registers.write(event_select + n, 0);
		registers.write(pmc + n, 0);
	}
	for (unsigned n = 0; n < machine.fixed; n++)
		registers.write(fixed_ctr + n, 0);
	registers.write(fixed_ctrl, 0);
	registers.write(status_reset, registers[status]);
}

namespace
{

/* Alone on its processor: nobody else's instructions are counted. */
void settle_on(int cpu)
{
	cpu_set_t set;
	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	const sched_param first = {.sched_priority = 50};
	if (sched_setaffinity(0, sizeof set, &set) || sched_setscheduler(0, SCHED_FIFO, &first))
		give_up("a processor of its own");
	catch_faults();
}

} // namespace

int main(int argc, char **argv)
{
	const int cpu = argc > 1 ? std::atoi(argv[1]) : 0;
	settle_on(cpu);
	machine = Pmu();
	registers.open(cpu);
	if (machine.tells_more) {
		const std::uint64_t more = registers[capabilities];
		machine.freezes_in_smm = more >> 12 & 1;
		machine.full_width = more >> 13 & 1;
	}
	std::printf("version %u, %u counters of %u bits, %u fixed of %u; any thread %d, full width %d, trace %d, store "
		    "%d\n",
		machine.version, machine.general, machine.width, machine.fixed, machine.fixed_width, machine.any_thread,
		machine.full_width, machine.trace, machine.store);

	std::vector<std::pair<std::uint32_t, std::uint64_t>> before;
	const auto keep = [&before](std::uint32_t msr) {
		before.emplace_back(msr, registers[msr]);
	};
	for (unsigned n = 0; n < machine.general; n++)
		keep(event_select + n);
	for (const std::uint32_t msr : {fixed_ctrl, debugctl, control})
		keep(msr);
	clear();
	section("registers", try_presence);
	section("bits", try_reserved_bits);
	section("status", try_status);
	section("rdpmc", try_rdpmc);
	section("events", try_events);
	section("cycles", try_cycles);
	section("wake-ups", try_wakeups);
	section("overflows", try_overflows);
	for (const auto &[msr, value] : before)
		registers.write(msr, value);
	std::printf("tried %u, wrong %u\n", tried, wrong);
	return wrong ? 1 : 0;
}
