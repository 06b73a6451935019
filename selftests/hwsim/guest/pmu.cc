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
#include <array>
#include <cerrno>
#include <cinttypes>
#include <csetjmp>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <glob.h>
#include <optional>
#include <sched.h>
#include <string>
#include <ucontext.h>
#include <unistd.h>
#include <utility>
#include <vector>

#include "expect.h"
#include "msr.h"

namespace
{

constexpr std::uint32_t pmc = 0xc1, event_select = 0x186, debugctl = 0x1d9, fixed_ctr = 0x309, capabilities = 0x345,
			fixed_ctrl = 0x38d, status = 0x38e, control = 0x38f, status_reset = 0x390, status_set = 0x391,
			in_use = 0x392, full_pmc = 0x4c1;
/* IA32_PERFEVTSELx */
constexpr std::uint64_t user = 1 << 16, os = 1 << 17, edge = 1 << 18, interrupt = 1 << 20, any = 1 << 21,
			enable = 1 << 22, invert = 1 << 23, mask_1 = 1 << 24, mask_2 = 2 << 24, mask_255 = 0xff << 24;
constexpr std::uint64_t instructions = 0xc0, branches = 0xc4, cycles = 0x3c;
constexpr std::uint64_t frozen = std::uint64_t{1} << 59, freeze_on_interrupt = 1 << 12;
/* Addresses that counters have, whether they are there or not. */
constexpr unsigned most_general = 8, most_fixed = 16;

constexpr std::uint64_t one_at(unsigned position)
{
	return std::uint64_t{1} << position;
}

// --- the processor ------------------------------------------------------------------------

struct Cpuid {
	std::uint32_t a, b, c, d;
};

Cpuid cpuid(std::uint32_t leaf)
{
	Cpuid is{leaf, 0, 0, 0};
	asm volatile("cpuid" : "+a"(is.a), "=b"(is.b), "+c"(is.c), "=d"(is.d));
	return is;
}

/* What CPUID says of it. */
struct Pmu {
	Cpuid features = cpuid(1), pmu = cpuid(0xa);
	unsigned version = pmu.a & 0xff, general = pmu.a >> 8 & 0xff, width = pmu.a >> 16 & 0xff;
	unsigned fixed = pmu.d & 0x1f, fixed_width = pmu.d >> 5 & 0xff;
	bool any_thread = version >= 3 && !(pmu.d >> 15 & 1);
	bool store = features.d >> 21 & 1, store_by_level = features.c >> 4 & 1, tells_more = features.c >> 15 & 1;
	bool trace = cpuid(7).b >> 25 & 1;
	/* LBR of IA32_DEBUGCTL stays clear: SDM volume 3, "Last Branch Records". */
	bool architectural_lbr = cpuid(7).d >> 19 & 1;
	/* IA32_PERF_CAPABILITIES */
	bool full_width = false, freezes_in_smm = false;

	std::uint64_t counters() const { return (one_at(general) - 1) | (one_at(fixed) - 1) << 32; }
};
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

// --- registers -----------------------------------------------------------------------------

void there(std::uint32_t msr, bool is, bool read_only = false)
{
	const auto now = registers.read(msr);
	expect(now.has_value() == is, "%x %s", msr, is ? "cannot be read" : "can be read");
	expect(registers.write(msr, now.value_or(0)) == (is && !read_only), "%x %s", msr,
		is && !read_only ? "cannot be written" : "can be written");
}

void try_presence()
{
	for (unsigned n = 0; n < most_general; n++) {
		there(pmc + n, n < machine.general);
		there(event_select + n, n < machine.general);
		there(full_pmc + n, machine.full_width && n < machine.general);
	}
	for (unsigned n = 0; n < most_fixed; n++)
		there(fixed_ctr + n, n < machine.fixed);
	there(status_set, machine.version >= 4);
	there(in_use, machine.version >= 4, true);
	there(status, true, true);
	there(capabilities, machine.tells_more, true);
}

/* Each bit alone: those of "allowed" are taken, and then read as "reads" says; others change nothing. */
template <class Reads>
void try_bits(std::uint32_t msr, std::uint64_t allowed, Reads reads)
{
	for (unsigned n = 0; n < 64; n++) {
		const std::uint64_t bit = one_at(n), before = registers[msr];
		const bool taken = registers.write(msr, bit), may = allowed >> n & 1;
		const std::uint64_t now = registers[msr], right = may ? reads(bit) : before;
		expect(taken == may && now == right, "bit %u of %x is %s, and it reads %" PRIx64 ", not %" PRIx64, n,
			msr, taken ? "taken" : "refused", now, right);
	}
	clear();
}

void try_reserved_bits()
{
	const auto same = [](std::uint64_t value) {
		return value;
	};
	const auto nothing = [](std::uint64_t) -> std::uint64_t {
		return 0;
	};
	const std::uint64_t width = one_at(machine.width) - 1, fixed_width = one_at(machine.fixed_width) - 1;
	for (unsigned n = 0; n < machine.general; n++) {
		try_bits(event_select + n, 0xffff'ffff & ~(machine.any_thread ? 0 : any), same);
		/* 32 bits are written, and their sign extended. */
		try_bits(pmc + n, ~std::uint64_t{0}, [width](std::uint64_t value) {
			const std::uint64_t low = value & 0xffff'ffff;
			return (low >> 31 ? low | ~std::uint64_t{0xffff'ffff} : low) & width;
		});
		try_bits(full_pmc + n, machine.full_width ? width : 0, same);
	}
	std::uint64_t fields = 0;
	for (unsigned n = 0; n < machine.fixed; n++) {
		try_bits(fixed_ctr + n, fixed_width, same);
		fields |= std::uint64_t{machine.any_thread ? 0xfu : 0xbu} << (4 * n);
	}
	try_bits(fixed_ctrl, fields, same);
	try_bits(control, machine.counters(), same);
	try_bits(status, 0, same);
	try_bits(in_use, 0, same);
	try_bits(capabilities, 0, same);
	/* SDM volume 4: the trace's; from version 4 on LBR_Frz, CTR_Frz and ASCI; Ovf_Uncore, OvfBuf; CondChgd cannot be set. */
	std::uint64_t bits = machine.counters() | one_at(61) | one_at(62);
	if (machine.trace)
		bits |= one_at(55);
	if (machine.version >= 4)
		bits |= one_at(58) | one_at(59) | one_at(60);
	try_bits(status_reset, bits | one_at(63), nothing);
	try_bits(status_set, machine.version >= 4 ? bits : 0, nothing);
	/* LBR, BTF, TR; BTS, BTINT; BTS_OFF_OS, BTS_OFF_USR; what freezes on an interrupt, and in SMM. */
	bits = one_at(0) | one_at(1) | one_at(6);
	if (machine.store)
		bits |= one_at(7) | one_at(8);
	if (machine.store_by_level)
		bits |= one_at(9) | one_at(10);
	if (machine.tells_more && machine.version > 1)
		bits |= one_at(11) | one_at(12);
	if (machine.freezes_in_smm)
		bits |= one_at(14);
	try_bits(debugctl, bits, [](std::uint64_t value) { return value & ~std::uint64_t{machine.architectural_lbr}; });
}

/* IA32_PERF_GLOBAL_STATUS_SET and _RESET, bit by bit; IA32_PERF_GLOBAL_INUSE. */
void try_status()
{
	if (machine.version < 4)
		return;
	for (unsigned n = 0; n < 64; n++) {
		if (!(machine.counters() >> n & 1))
			continue;
		registers.write(status_set, one_at(n));
		expect(registers[status] == one_at(n), "bit %u is set, and the status is %" PRIx64, n,
			registers[status]);
		registers.write(status_reset, one_at(n));
		expect(registers[status] == 0, "bit %u is reset, and the status is %" PRIx64, n, registers[status]);
	}
	const auto uses = [](std::uint32_t msr, std::uint64_t value, std::uint64_t right) {
		registers.write(msr, value);
		expect(registers[in_use] == right, "with %" PRIx64 " in %x in use is %" PRIx64 ", not %" PRIx64, value,
			msr, registers[in_use], right);
		registers.write(msr, 0);
	};
	for (unsigned n = 0; n < machine.general; n++) {
		uses(event_select + n, instructions, one_at(n));
		uses(event_select + n, user | enable, 0);
		uses(event_select + n, interrupt, one_at(63));
	}
	for (unsigned n = 0; n < machine.fixed; n++) {
		uses(fixed_ctrl, one_at(4 * n), one_at(32 + n));
		uses(fixed_ctrl, one_at(4 * n + 1), one_at(32 + n));
		uses(fixed_ctrl, one_at(4 * n + 3), one_at(63));
	}
}

// --- RDPMC ---------------------------------------------------------------------------------

sigjmp_buf back;
struct {
	std::uint64_t at;
	std::int64_t trap, error;
} fault;

void on_fault(int, siginfo_t *, void *context)
{
	const auto &saved = static_cast<const ucontext_t *>(context)->uc_mcontext.gregs;
	fault = {static_cast<std::uint64_t>(saved[REG_RIP]), saved[REG_TRAPNO], saved[REG_ERR]};
	siglongjmp(back, 1);
}

volatile std::uint64_t rdpmc_at;

/* Nothing if it is a general protection fault of the instruction itself; "odd" tells of another. */
std::optional<std::uint64_t> rdpmc(std::uint32_t index, bool &odd)
{
	odd = false;
	if (sigsetjmp(back, 1)) {
		odd = fault.trap != 13 || fault.error || fault.at != rdpmc_at;
		return {};
	}
	std::uint32_t low = 0, high = 0;
	asm volatile("lea 1f(%%rip), %%rax\n\t"
		     "mov %%rax, %2\n"
		     "1:\trdpmc"
		: "=&a"(low), "=&d"(high), "=m"(rdpmc_at)
		: "c"(index));
	return low | std::uint64_t{high} << 32;
}

void reads(std::uint32_t index, std::optional<std::uint64_t> right)
{
	bool odd = false;
	const auto is = rdpmc(index, odd);
	expect(is == right && !odd, "RDPMC of %x: %s%" PRIx64 ", should be %s%" PRIx64, index,
		odd  ? "another fault "
		: is ? ""
		     : "refused ",
		is.value_or(0), right ? "" : "refused ", right.value_or(0));
}

/* For programs: '2' always, '1' of events that they have mapped, '0' never. */
void allow_rdpmc(char when)
{
	glob_t found;
	if (glob("/sys/bus/event_source/devices/cpu*/rdpmc", 0, nullptr, &found))
		give_up("no cpu*/rdpmc in sysfs");
	for (std::size_t i = 0; i < found.gl_pathc; i++) {
		const int file = open(found.gl_pathv[i], O_WRONLY);
		if (file < 0 || write(file, &when, 1) != 1)
			give_up(found.gl_pathv[i]);
		close(file);
	}
	globfree(&found);
}

void try_rdpmc()
{
	constexpr std::uint32_t of_fixed = 1u << 30, fast = 1u << 31;
	/* Bits beyond 32, and all of them different. */
	const auto general = [](unsigned n) {
		return one_at(machine.width - 1) | 0x1234'5670 | n;
	};
	const auto fixed = [](unsigned n) {
		return one_at(machine.fixed_width - 2) | 0x8765'4320 | n;
	};
	const auto right = [&](std::uint32_t index) -> std::optional<std::uint64_t> {
		if (index < machine.general)
			return general(index);
		if (index >= of_fixed && index - of_fixed < machine.fixed)
			return fixed(index - of_fixed);
		return {};
	};
	/* The kernel clears counters that events have left, when it lets programs read them. */
	allow_rdpmc('2');
	for (unsigned n = 0; n < machine.general; n++)
		registers.write(full_pmc + n, general(n));
	for (unsigned n = 0; n < machine.fixed; n++)
		registers.write(fixed_ctr + n, fixed(n));
	for (std::uint32_t n = 0; n < 64; n++) {
		reads(n, right(n));
		reads(of_fixed | n, right(of_fixed | n));
		reads(fast | n, {});
	}
	for (unsigned n = 0; n < 32; n++) {
		reads(1u << n, right(1u << n));
		reads(of_fixed | 1u << n, right(of_fixed | 1u << n));
		reads(~(1u << n), {});
	}
	allow_rdpmc('0');
	for (std::uint32_t n = 0; n < 64; n++) {
		reads(n, {});
		reads(of_fixed | n, {});
	}
	allow_rdpmc('1');
	clear();
}

// --- counting ------------------------------------------------------------------------------

constexpr unsigned few = 1000, many = 2000;

/*
 * A loop of two instructions, one of them a branch, between two writes of IA32_PERF_GLOBAL_CTRL. What else of the program is counted
 * is the same each time, whatever processors say of SYSCALL.
 */
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

struct Counted {
	std::array<std::uint64_t, most_general> general;
	std::array<std::uint64_t, most_fixed> fixed;
};

/* From zero. */
Counted count(unsigned times, std::uint64_t counters = machine.counters())
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

/* How much more there is of it in so many more turns of the loop. */
void counts(unsigned n, std::uint64_t what, std::uint64_t right)
{
	registers.write(event_select + n, what);
	const std::uint64_t less = count(few).general[n], more = count(many).general[n];
	expect(more - less == right && (right || !more), "counter %u of %" PRIx64 " counts %" PRIu64 " and %" PRIu64, n,
		what, less, more);
	registers.write(event_select + n, 0);
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

// --- overflows -----------------------------------------------------------------------------

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
	const Counter witness{counter.general && !counter.n ? 1u : 0u, true};
	const std::uint64_t both = one_at(counter.bit()) | one_at(witness.bit());
	counter.program(true);
	witness.program(false);
	registers.write(debugctl, freeze_on_interrupt);
	counter.end_in(left);
	registers.write(witness.msr(), 0);
	registers.write(control, both);
	unsigned turns = long_run;
	asm volatile("1:\tdec %0\n\tjnz 1b" : "+r"(turns));
	const std::uint64_t then = registers[counter.msr()], seen = registers[witness.msr()];
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
	expect(registers[counter.msr()] == then && registers[witness.msr()] == seen, "counter %u goes on, frozen",
		counter.bit());
	registers.write(status_reset, now);
	run(many, both);
	expect(registers[counter.msr()] > then && registers[witness.msr()] > seen && !registers[status],
		"counter %u does not go on", counter.bit());
	clear();
}

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

// --- all of it -----------------------------------------------------------------------------

/* Alone on its processor: nobody else's instructions are counted. */
void settle_on(int cpu)
{
	cpu_set_t set;
	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	const sched_param first = {.sched_priority = 50};
	if (sched_setaffinity(0, sizeof set, &set) || sched_setscheduler(0, SCHED_FIFO, &first))
		give_up("a processor of its own");
	struct sigaction action = {};
	action.sa_sigaction = on_fault;
	action.sa_flags = SA_SIGINFO;
	for (const int number : {SIGSEGV, SIGILL, SIGBUS})
		sigaction(number, &action, nullptr);
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
