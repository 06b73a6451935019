// SPDX-License-Identifier: GPL-2.0-or-later
#include <cinttypes>

#include "pmu.h"

namespace
{

/* A counter of instructions of programs, of either kind, counts them up to its end in so many. */
struct Counter {
	unsigned n;
	bool general;

	unsigned bit() const { return general ? n : 32 + n; }
	std::uint32_t msr() const { return general ? full_pmc + n : fixed_ctr + n; }
	/* That interrupts, or not. */
	void program(bool interrupts) const
	{
		if (general)
			registers.write(event_select + n, instructions | user | enable | (interrupts ? interrupt : 0));
		else
			registers.write(fixed_ctrl, (interrupts ? 10ull : 2ull) << (4 * n));
	}
	void end_in(std::uint64_t left) const
	{
		registers.write(msr(), one_at(general ? machine.width : machine.fixed_width) - left);
	}
};

void overflows(const Counter &counter)
{
	constexpr std::uint64_t left = 100;
	const std::uint64_t bit = one_at(counter.bit());
	/* It goes on behind its end. */
	const auto goes_on = [&](bool interrupts) {
		counter.program(interrupts);
		registers.write(counter.msr(), 0);
		run(many, bit);
		const std::uint64_t all = registers[counter.msr()];
		expect(registers[status] == 0, "counter %u: status %" PRIx64 " before it ends", counter.bit(),
			registers[status]);
		counter.end_in(left);
		run(many, bit);
		const std::uint64_t is = registers[counter.msr()];
		/* Cycles are never the same. */
		expect(counter.bit() > 32 ? is < one_at(40) : is == all - left,
			"counter %u is %" PRIu64 " behind its end, not %" PRIu64, counter.bit(), is, all - left);
		expect(registers[status] == bit, "counter %u: status %" PRIx64 " behind its end", counter.bit(),
			registers[status]);
		registers.write(status_reset, bit);
		expect(registers[status] == 0, "counter %u: status %" PRIx64 ", reset", counter.bit(),
			registers[status]);
		clear();
	};
	goes_on(false);
	goes_on(true);
	/* It is to freeze, but requests no interrupt. */
	registers.write(debugctl, freeze_on_interrupt);
	goes_on(false);
}

/* All counters stand still from a performance interrupt on. Another counter tells how far they got. */
void freezes(const Counter &counter)
{
	constexpr std::uint64_t left = 100, long_run = 200'000, much = 2 * long_run / 10;
	const Counter beside{counter.general && !counter.n ? 1u : 0u, true};
	const std::uint64_t both = one_at(counter.bit()) | one_at(beside.bit());
	counter.program(true);
	beside.program(false);
	registers.write(debugctl, freeze_on_interrupt);
	counter.end_in(left);
	registers.write(beside.msr(), 0);
	registers.write(control, both);
	unsigned turns = long_run;
	asm volatile("1:\tdec %0\n\tjnz 1b" : "+r"(turns));
	const std::uint64_t then = registers[counter.msr()], seen = registers[beside.msr()];
	const std::uint64_t enabled = registers[control], now = registers[status];
	expect(seen < much && (counter.bit() > 32 || (seen >= left && then + left == seen)),
		"counter %u freezes at %" PRIu64 ", another one has %" PRIu64, counter.bit(), then, seen);
	if (machine.version >= 4) {
		expect(now == (one_at(counter.bit()) | frozen), "counter %u freezes, and the status is %" PRIx64,
			counter.bit(), now);
		expect(enabled == both, "counter %u freezes, and %" PRIx64 " are enabled", counter.bit(), enabled);
	} else {
		expect(now == one_at(counter.bit()), "counter %u freezes, and the status is %" PRIx64, counter.bit(),
			now);
		expect(enabled == 0, "counter %u freezes, and %" PRIx64 " are enabled", counter.bit(), enabled);
	}
	run(many, machine.version >= 4 ? both : 0);
	expect(registers[counter.msr()] == then && registers[beside.msr()] == seen, "counter %u goes on, frozen",
		counter.bit());
	registers.write(status_reset, now);
	run(many, both);
	expect(registers[counter.msr()] > then && registers[beside.msr()] > seen && !registers[status],
		"counter %u does not go on", counter.bit());
	clear();
}

} // namespace

void try_overflows()
{
	for (unsigned n = 0; n < machine.general; n++) {
		overflows({n, true});
		freezes({n, true});
	}
	for (unsigned n = 0; n < machine.fixed; n++) {
		overflows({n, false});
		freezes({n, false});
	}
	/* Whoever sets CTR_Frz has frozen them. */
	if (machine.version >= 4) {
		registers.write(event_select, instructions | user | enable);
		registers.write(status_set, frozen);
		expect(count(many).general[0] == 0, "a counter counts in spite of CTR_Frz");
		clear();
	}
}
