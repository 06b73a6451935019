// SPDX-License-Identifier: GPL-2.0-or-later
#include <cinttypes>
#include <unistd.h>

#include "pmu.h"

namespace
{

/* How much more there is of it in so many more turns of the loop. */
void counts(unsigned n, std::uint64_t what, std::uint64_t right)
{
	registers.write(event_select + n, what);
	const std::uint64_t less = count(few).general[n], more = count(many).general[n];
	expect(more - less == right && (right || !more), "counter %u of %" PRIx64 " counts %" PRIu64 " and %" PRIu64, n,
		what, less, more);
	registers.write(event_select + n, 0);
}

} // namespace

void run(unsigned times, std::uint64_t counters)
{
	const std::uint64_t values[] = {counters, 0};
	std::uint64_t number = 18; /* pwrite64 */
	const void *from = &values[0];
	asm volatile("mov %[msr], %%r10d\n\t"
		     "syscall\n\t"
		     "mov %[times], %%ecx\n"
		     "1:\tdec %%ecx\n\t"
		     "jnz 1b\n\t"
		     "mov $18, %%eax\n\t"
		     "add $8, %%rsi\n\t"
		     "syscall"
		: "+a"(number), "+S"(from)
		: "D"(registers.descriptor()), "d"(8), [msr] "i"(control), [times] "r"(times), "m"(values)
		: "rcx", "r10", "r11", "memory");
}

Counted count(unsigned times, std::uint64_t counters)
{
	Counted counted{};
	for (unsigned n = 0; n < machine.general; n++)
		registers.write(pmc + n, 0);
	for (unsigned n = 0; n < machine.fixed; n++)
		registers.write(fixed_ctr + n, 0);
	run(times, counters);
	for (unsigned n = 0; n < machine.general; n++)
		counted.general[n] = registers[pmc + n];
	for (unsigned n = 0; n < machine.fixed; n++)
		counted.fixed[n] = registers[fixed_ctr + n];
	return counted;
}

void try_events()
{
	constexpr unsigned turns = many - few;
	for (unsigned n = 0; n < machine.general; n++) {
		counts(n, instructions | user | enable, 2 * turns);
		counts(n, branches | user | enable, turns);
		counts(n, instructions | user, 0);
		counts(n, instructions | enable, 0);
		counts(n, branches | user | enable | invert, turns);
		/* At most one in a cycle, and each alone: whichever cycles they are. */
		counts(n, instructions | user | enable | mask_1, 2 * turns);
		counts(n, instructions | user | enable | mask_2, 0);
		counts(n, branches | user | enable | mask_255, 0);
		counts(n, cycles | user | enable | mask_2, 0);
		counts(n, cycles | user | enable | mask_1 | invert, 0);
		counts(n, instructions | user | enable | edge, 2 * turns);
		counts(n, branches | user | enable | edge | mask_1, turns);
		counts(n, branches | user | enable | edge | mask_1 | invert, turns);
		if (machine.any_thread)
			counts(n, instructions | user | enable | any, 2 * turns);
		/* All others count, this one is not enabled. */
		registers.write(event_select + n, instructions | user | enable);
		expect(count(few, machine.counters() & ~one_at(n)).general[n] == 0, "counter %u counts, disabled", n);
		registers.write(event_select + n, 0);
	}
	for (unsigned n = 0; n < machine.fixed; n++)
		for (const std::uint64_t how : {0, 2, 6}) {
			if (how == 6 && !machine.any_thread)
				continue;
			registers.write(fixed_ctrl, how << (4 * n));
			const std::uint64_t less = count(few).fixed[n], more = count(many).fixed[n];
			/* 0 is instructions, others are cycles of some kind. */
			expect(!how ? !less && !more
				: n ? less && more
				    : more - less == 2 * turns,
				"fixed counter %u with %" PRIx64 " counts %" PRIu64 " and %" PRIu64, n, how, less,
				more);
		}
	registers.write(fixed_ctrl, 0);
}

/* What makes up cycles, at the same time and for each counter. */
void try_cycles()
{
	for (unsigned n = 0; n < machine.general; n++) {
		const auto of = [n](unsigned i) {
			return (n + i) % machine.general;
		};
		const auto program = [&](unsigned i, std::uint64_t what) {
			registers.write(event_select + of(i), what | user | os | enable);
		};
		program(0, cycles);
		program(1, instructions);
		program(2, instructions | mask_1 | invert);
		program(3, branches | mask_2 | invert);
		registers.write(fixed_ctrl, 3 << 4);
		const Counted is = count(many);
		const std::uint64_t all = is.general[of(0)];
		expect(is.general[of(1)] > 2 * many && all > is.general[of(1)],
			"%" PRIu64 " instructions in %" PRIu64 " cycles", is.general[of(1)], all);
		expect(is.general[of(2)] == all - is.general[of(1)],
			"%" PRIu64 " of %" PRIu64 " cycles without any of %" PRIu64 " instructions", is.general[of(2)],
			all, is.general[of(1)]);
		expect(is.general[of(3)] == all, "%" PRIu64 " of %" PRIu64 " cycles with less than two branches",
			is.general[of(3)], all);
		expect(is.fixed[1] == all, "%" PRIu64 " of %" PRIu64 " cycles in the fixed counter", is.fixed[1], all);
		clear();
	}
}

/* Cycles begin with each wake-up, and while nobody sleeps none does. */
void try_wakeups()
{
	for (unsigned n = 0; n < machine.general; n++) {
		registers.write(event_select + n, cycles | edge | os | enable);
		expect(count(many).general[n] == 0, "counter %u: cycles begin while the processor runs", n);
		registers.write(control, one_at(n));
		unsigned sleeps = 0;
		while (registers[pmc + n] < 3 && sleeps++ < 1000)
			usleep(1000);
		expect(registers[pmc + n] >= 3, "counter %u: cycles begin %" PRIu64 " times in %u sleeps", n,
			registers[pmc + n], sleeps);
		clear();
	}
}
