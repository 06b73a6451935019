// SPDX-License-Identifier: GPL-2.0-or-later
/* The counters, in a machine whose program is a few totals. */
#include <catch2/catch_test_macros.hpp>

#include "../x86/perfmon.h"

using namespace hwsim::x86;

namespace
{

constexpr std::uint64_t user = 1 << 16, os = 1 << 17, edge = 1 << 18, interrupt = 1 << 20, any = 1 << 21,
			enable = 1 << 22, invert = 1 << 23, mask_1 = 1 << 24, mask_2 = 2 << 24, mask_255 = 255ull << 24;
constexpr std::uint64_t instructions = 0xc0, branches = 0xc4, cycles = 0x3c, cache_misses = 0x412e;
constexpr std::uint64_t frozen = std::uint64_t{1} << 59, all_ones = ~std::uint64_t{0},
			width_48 = (std::uint64_t{1} << 48) - 1;
constexpr std::uint32_t pmc0 = 0xc1, a_pmc0 = 0x4c1, select0 = 0x186, fixed0 = 0x309, fixed_control = 0x38d,
			status = 0x38e, control = 0x38f, acknowledge = 0x390, status_set = 0x391, in_use = 0x392,
			capabilities = 0x345, platform_info = 0xce;

struct Machine final : EventSource {
	explicit Machine(std::string_view name = "skylake", bool trace = true)
		: profile(*find_profile(name)), perfmon(profile, *this, trace)
	{
	}
	/* With counters that no profile has. */
	explicit Machine(const PmuCapabilities &pmu) : profile(*find_profile("skylake")), perfmon(profile, *this)
	{
		profile.pmu = pmu;
	}
	std::uint64_t total(Event event, bool kernel) override
	{
		return kernel ? in_kernel[static_cast<int>(event)] : in_user[static_cast<int>(event)];
	}
	void run(std::uint64_t instructions, std::uint64_t branches, bool kernel = false)
	{
		auto &totals = kernel ? in_kernel : in_user;
		totals[static_cast<int>(Event::instructions)] += instructions;
		totals[static_cast<int>(Event::branches)] += branches;
		totals[static_cast<int>(Event::cycles)] += 2 * instructions;
	}
	void set(std::uint32_t msr, std::uint64_t value)
	{
		CHECK_FALSE(perfmon.write_faults(msr, value));
		CHECK_FALSE(perfmon.write(msr, value));
	}
	/* The bits of a register that are refused, each tried alone. */
	std::uint64_t refused(std::uint32_t msr) const
	{
		std::uint64_t bits = 0;
		for (unsigned n = 0; n < 64; n++)
			bits |= std::uint64_t{perfmon.write_faults(msr, std::uint64_t{1} << n)} << n;
		return bits;
	}
	/* What counter 0 counts of some instructions, branches, cycles and wake-ups. */
	std::uint64_t counted(std::uint64_t what)
	{
		set(select0, what | user | os | enable);
		set(control, 1);
		run(100, 10);
		run(30, 3, true);
		in_kernel[static_cast<int>(Event::wakeups)] += 2;
		set(control, 0);
		const std::uint64_t is = count(pmc0);
		set(pmc0, 0);
		return is;
	}
	std::uint64_t count(std::uint32_t msr)
	{
		CHECK_FALSE(perfmon.settle());
		return perfmon.read(msr);
	}

	std::uint64_t in_user[5] = {}, in_kernel[5] = {};
	Profile profile;
	Perfmon perfmon;
};

} // namespace

TEST_CASE("a general counter counts its event at its privilege levels while it is enabled")
{
	Machine m;
	m.run(1000, 100);
	m.set(select0, 0xc0 | user | enable);
	m.set(select0 + 1, 0xc4 | os | enable);
	m.run(5, 5);
	m.set(control, 3);
	m.run(70, 7);
	m.run(20, 2, true);
	CHECK(m.count(pmc0) == 70);
	CHECK(m.count(pmc0 + 1) == 2);
	m.set(control, 0);
	m.run(1000, 100);
	CHECK(m.count(pmc0) == 70);
}

TEST_CASE("fixed counters count instructions and cycles")
{
	Machine m;
	m.set(fixed_control, 0x032);
	m.set(control, std::uint64_t{7} << 32);
	m.run(10, 0);
	m.run(100, 0, true);
	CHECK(m.count(fixed0) == 10);
	CHECK(m.count(fixed0 + 1) == 220);
	CHECK(m.count(fixed0 + 2) == 0);
}

TEST_CASE("an overflow is told in the status, and by an interrupt if one was asked for")
{
	Machine m;
	m.set(select0, 0xc0 | user | interrupt | enable);
	m.set(pmc0, static_cast<std::uint32_t>(-100));
	CHECK(m.perfmon.budget() == Perfmon::unlimited);
	m.set(control, 1);
	CHECK(m.perfmon.budget() == 100);
	m.run(99, 0);
	CHECK_FALSE(m.perfmon.settle());
	CHECK(m.perfmon.budget() == 1);
	m.run(3, 0);
	CHECK(m.perfmon.settle());
	CHECK(m.perfmon.read(status) == 1);
	CHECK(m.perfmon.read(pmc0) == 2);
	CHECK_FALSE(m.perfmon.settle());
	m.set(acknowledge, 1);
	CHECK(m.perfmon.read(status) == 0);
}

TEST_CASE("without the interrupt an overflow is quiet, and needs no budget")
{
	Machine m;
	m.set(fixed0, width_48);
	m.set(fixed_control, 2);
	m.set(control, std::uint64_t{1} << 32);
	CHECK(m.perfmon.budget() == Perfmon::unlimited);
	m.run(1, 0);
	CHECK_FALSE(m.perfmon.settle());
	CHECK(m.perfmon.read(status) == std::uint64_t{1} << 32);
}

TEST_CASE("an overflow that a write finds is not lost")
{
	Machine m;
	m.set(select0, 0xc0 | user | interrupt | enable);
	m.set(a_pmc0, (std::uint64_t{1} << 48) - 1);
	m.set(control, 1);
	m.run(1, 0);
	CHECK(m.perfmon.write(control, 0));
	CHECK(m.perfmon.read(status) == 1);
}

TEST_CASE("RDPMC reads both kinds of counters")
{
	Machine m;
	m.set(pmc0 + 3, 77);
	m.set(fixed0 + 2, 88);
	std::uint64_t value = 0;
	CHECK(m.perfmon.read_counter(3, value));
	CHECK(value == 77);
	CHECK(m.perfmon.read_counter(2 | 1u << 30, value));
	CHECK(value == 88);
	CHECK_FALSE(m.perfmon.read_counter(4, value));
	CHECK_FALSE(m.perfmon.read_counter(3 | 1u << 30, value));
	/* Bit 31 is Pentium 4's fast mode, bit 29 another kind of counters (SDM volume 2, "RDPMC"). */
	CHECK_FALSE(m.perfmon.read_counter(3 | 1u << 31, value));
	CHECK_FALSE(m.perfmon.read_counter(1u << 29, value));
	CHECK_FALSE(m.perfmon.read_counter(~0u, value));
}

TEST_CASE("the trace interrupt stands in the status until it is acknowledged")
{
	Machine m;
	m.perfmon.set_topa_interrupt();
	CHECK(m.perfmon.read(status) == Perfmon::topa_interrupt);
	m.set(acknowledge, Perfmon::topa_interrupt);
	CHECK(m.perfmon.read(status) == 0);
}

TEST_CASE("counter registers are as many and as wide as enumerated")
{
	Machine m;
	for (const std::uint32_t first : {pmc0, a_pmc0, select0, fixed0})
		for (unsigned n = 0; n < 8; n++) {
			const bool is = n < (first == fixed0 ? 3u : 4u);
			CHECK(Perfmon::owns(first + n));
			CHECK(m.perfmon.read_faults(first + n) == !is);
			CHECK(m.perfmon.write_faults(first + n, 0) == !is);
		}
	CHECK_FALSE(Perfmon::owns(pmc0 + 8));
	CHECK_FALSE(Perfmon::owns(select0 + 8));
	CHECK_FALSE(Perfmon::owns(fixed0 + 16));
	m.set(pmc0, 0x8000'0000);
	CHECK(m.perfmon.read(pmc0) == 0xffff'8000'0000);
	m.set(pmc0, 0xff'7000'0000);
	CHECK(m.perfmon.read(pmc0) == 0x7000'0000);
	for (const std::uint32_t msr : {a_pmc0, fixed0}) {
		m.set(msr, width_48);
		CHECK(m.perfmon.read(msr) == width_48);
		CHECK(m.refused(msr) == ~width_48);
	}
	CHECK(m.perfmon.read(pmc0) == width_48);
}

TEST_CASE("whether a write makes a counter count is known before it")
{
	Machine m;
	CHECK_FALSE(m.perfmon.counting());
	CHECK_FALSE(m.perfmon.counts_after(select0, 0xc0 | user | enable));
	m.set(select0, 0xc0 | user | enable);
	CHECK_FALSE(m.perfmon.counting());
	CHECK(m.perfmon.counts_after(control, 1));
	CHECK_FALSE(m.perfmon.counts_after(control, 2));
	m.set(control, 1);
	CHECK(m.perfmon.counting());
	CHECK_FALSE(m.perfmon.counts_after(select0, 0xc0 | user));
	/* An event that does not exist; then no privilege level. */
	m.set(select0, 0x2e | user | enable);
	CHECK_FALSE(m.perfmon.counting());
	m.set(select0, 0xc0 | enable);
	CHECK_FALSE(m.perfmon.counting());
	CHECK_FALSE(m.perfmon.counts_after(fixed_control, 3));
	m.set(control, std::uint64_t{1} << 32);
	CHECK(m.perfmon.counts_after(fixed_control, 3));
}

TEST_CASE("what is not enumerated is not there")
{
	Machine m;
	CHECK(m.perfmon.read(capabilities) == (1 << 13 | 1 << 12 | 5));
	Machine narrow(PmuCapabilities{.version = 4, .general = 2, .general_width = 40, .fixed = 1, .fixed_width = 32});
	CHECK(narrow.perfmon.read_faults(capabilities));
	CHECK(narrow.perfmon.read_faults(a_pmc0));
	CHECK(narrow.perfmon.write_faults(a_pmc0, 0));
	CHECK_FALSE(narrow.perfmon.read_faults(pmc0 + 1));
	CHECK(narrow.perfmon.read_faults(pmc0 + 2));
	CHECK(narrow.refused(fixed0) == ~0xffff'ffffull);
	CHECK(narrow.refused(control) == ~0x1'0000'0003ull);
	Machine old("broadwell");
	for (const std::uint32_t msr : {status_set, in_use}) {
		CHECK(Perfmon::owns(msr));
		CHECK(old.perfmon.read_faults(msr));
		CHECK(old.perfmon.write_faults(msr, 0));
		CHECK_FALSE(m.perfmon.read_faults(msr));
	}
}

TEST_CASE("bits that are reserved are refused, and registers that can only be read")
{
	Machine m, old("broadwell"), recent("icelake"), untraced("skylake", false);
	for (const std::uint32_t msr : {status, in_use, capabilities, platform_info}) {
		CHECK(m.refused(msr) == all_ones);
		CHECK(m.perfmon.write_faults(msr, 0));
	}
	CHECK(m.refused(select0) == 0xffff'ffff'0000'0000);
	CHECK(recent.refused(select0) == (0xffff'ffff'0000'0000 | any));
	CHECK(m.refused(fixed_control) == ~0xfffull);
	CHECK(recent.refused(fixed_control) == ~0xbbbull);
	CHECK(m.refused(control) == ~0x7'0000'000full);
	CHECK(recent.refused(control) == ~0x7'0000'00ffull);
	/* The binary digits are bits 63 to 55. */
	CHECK(m.refused(acknowledge) == ~(0b1111'1100'1ull << 55 | 0x7'0000'000f));
	CHECK(m.refused(status_set) == ~(0b0111'1100'1ull << 55 | 0x7'0000'000f));
	CHECK(old.refused(acknowledge) == ~(0b1110'0000'1ull << 55 | 0x7'0000'000f));
	CHECK(untraced.refused(acknowledge) == ~(0b1111'1100'0ull << 55 | 0x7'0000'000f));
	/* There is no PEBS. */
	CHECK(m.refused(0x3f1) == all_ones);
	CHECK_FALSE(m.perfmon.write_faults(0x3f1, 0));
}

TEST_CASE("of threads there is one in each core: any is the same")
{
	Machine m;
	CHECK(m.counted(instructions | any) == 130);
	m.set(fixed_control, 7);
	m.set(control, std::uint64_t{1} << 32);
	m.run(100, 0);
	m.run(30, 0, true);
	CHECK(m.count(fixed0) == 130);
}

TEST_CASE("CMASK, INV and EDGE, where no cycle has two events and each stands alone")
{
	/* 130 instructions, 13 of them branches, in 260 cycles after two wake-ups. */
	Machine m;
	CHECK(m.counted(instructions) == 130);
	CHECK(m.counted(cycles) == 260);
	/* INV inverts CMASK's comparison; without CMASK it does nothing. */
	CHECK(m.counted(branches | invert) == 13);
	CHECK(m.counted(instructions | mask_1) == 130);
	CHECK(m.counted(cycles | mask_1) == 260);
	CHECK(m.counted(instructions | mask_1 | invert) == 260 - 130);
	CHECK(m.counted(branches | mask_1 | invert) == 260 - 13);
	CHECK(m.counted(cycles | mask_1 | invert) == 0);
	for (const std::uint64_t mask : {mask_2, mask_255}) {
		CHECK(m.counted(instructions | mask) == 0);
		CHECK(m.counted(cycles | mask) == 0);
		CHECK(m.counted(instructions | mask | invert) == 260);
		CHECK(m.counted(cycles | mask | invert) == 260);
		CHECK(m.counted(instructions | mask | edge) == 0);
		CHECK(m.counted(branches | mask | invert | edge) == 2);
	}
	/* EDGE counts beginnings. */
	CHECK(m.counted(branches | edge) == 13);
	CHECK(m.counted(branches | edge | mask_1) == 13);
	CHECK(m.counted(branches | edge | mask_1 | invert) == 13);
	CHECK(m.counted(cycles | edge) == 2);
	CHECK(m.counted(cycles | edge | mask_1) == 2);
	CHECK(m.counted(cycles | edge | mask_1 | invert) == 0);
	/* An event that never happens. */
	CHECK(m.counted(cache_misses) == 0);
	CHECK(m.counted(cache_misses | edge) == 0);
	CHECK(m.counted(cache_misses | mask_1) == 0);
	CHECK(m.counted(cache_misses | mask_1 | invert) == 260);
	CHECK(m.counted(cache_misses | mask_1 | invert | edge) == 2);
}

TEST_CASE("cycles without an event do not become fewer")
{
	Machine m;
	m.set(select0, instructions | mask_1 | invert | user | enable);
	m.set(control, 1);
	m.in_user[static_cast<int>(Event::cycles)] += 50;
	CHECK(m.count(pmc0) == 50);
	/* A block adds its instructions when it begins; their cycles come later. */
	m.in_user[static_cast<int>(Event::instructions)] += 20;
	CHECK(m.count(pmc0) == 50);
	CHECK(m.perfmon.read(status) == 0);
	m.in_user[static_cast<int>(Event::cycles)] += 100;
	CHECK(m.count(pmc0) == 130);
}

TEST_CASE("an overflow of cycles is looked for by the number of instructions, one of wake-ups, too")
{
	Machine m;
	m.set(control, 1);
	m.set(a_pmc0, width_48 - 799'999);
	for (const std::uint64_t what : {cycles, instructions | mask_1 | invert, cycles | edge}) {
		m.set(select0, what | user | interrupt | enable);
		CHECK(m.perfmon.budget() == 100'000);
	}
	m.set(a_pmc0, width_48);
	CHECK(m.perfmon.budget() == 100);
}

TEST_CASE("from version 4 on counters stand still from an interrupt on, until the status is cleared")
{
	Machine m;
	m.perfmon.freeze_on_request(true, false);
	m.set(select0, instructions | user | interrupt | enable);
	m.set(select0 + 1, instructions | user | enable);
	m.set(fixed_control, 2);
	m.set(a_pmc0, width_48 - 99);
	m.set(control, 0x1'0000'0003);
	m.run(120, 0);
	CHECK(m.perfmon.settle());
	CHECK(m.perfmon.read(status) == (frozen | 1));
	CHECK(m.perfmon.read(control) == 0x1'0000'0003);
	CHECK_FALSE(m.perfmon.counting());
	CHECK(m.perfmon.budget() == Perfmon::unlimited);
	m.run(1000, 0);
	CHECK(m.count(pmc0) == 20);
	CHECK(m.count(pmc0 + 1) == 120);
	CHECK(m.count(fixed0) == 120);
	m.set(acknowledge, 1);
	m.run(1000, 0);
	CHECK(m.count(pmc0 + 1) == 120);
	CHECK(m.perfmon.counts_after(acknowledge, frozen));
	m.set(acknowledge, frozen);
	m.run(7, 0);
	CHECK(m.count(pmc0) == 27);
	CHECK(m.count(pmc0 + 1) == 127);
	CHECK(m.count(fixed0) == 127);
}

TEST_CASE("up to version 3 an interrupt disables the counters")
{
	Machine m("broadwell");
	m.perfmon.freeze_on_request(true, false);
	m.set(select0, instructions | user | interrupt | enable);
	m.set(a_pmc0, width_48 - 99);
	m.set(control, 1);
	m.run(120, 0);
	CHECK(m.perfmon.settle());
	CHECK(m.perfmon.read(status) == 1);
	CHECK(m.perfmon.read(control) == 0);
	m.run(1000, 0);
	CHECK(m.count(pmc0) == 20);
	m.set(control, 1);
	m.run(7, 0);
	CHECK(m.count(pmc0) == 27);
}

TEST_CASE("what freezes counters is a request, of whoever makes it, when it is to")
{
	Machine m;
	m.set(select0, instructions | user | enable);
	m.set(control, 1);
	/* Freezing is off. */
	m.perfmon.request();
	m.run(10, 0);
	CHECK(m.count(pmc0) == 10);
	/* An overflow that requests no interrupt. */
	m.perfmon.freeze_on_request(true, false);
	m.set(a_pmc0, width_48);
	m.run(10, 0);
	CHECK(m.count(pmc0) == 9);
	CHECK(m.perfmon.read(status) == 1);
	/* Events before the freeze are counted. */
	m.run(10, 0);
	m.perfmon.set_topa_interrupt();
	m.run(10, 0);
	CHECK(m.count(pmc0) == 19);
	CHECK(m.perfmon.read(status) == (frozen | Perfmon::topa_interrupt | 1));
	m.perfmon.reset();
	m.set(select0, instructions | user | enable);
	m.set(control, 1);
	m.perfmon.request();
	m.run(10, 0);
	CHECK(m.count(pmc0) == 10);
}

TEST_CASE("from version 4 on the status says that last branch records stand still")
{
	for (const char *profile : {"broadwell", "skylake"}) {
		Machine m(profile);
		m.perfmon.request();
		CHECK_FALSE(m.perfmon.records_frozen());
		m.perfmon.freeze_on_request(false, true);
		m.perfmon.request();
		CHECK(m.perfmon.records_frozen() == (profile == std::string("skylake")));
		CHECK(m.perfmon.read(status) == (m.perfmon.records_frozen() ? std::uint64_t{1} << 58 : 0));
		m.set(acknowledge, m.perfmon.read(status));
		CHECK_FALSE(m.perfmon.records_frozen());
		m.perfmon.reset();
		m.perfmon.request();
		CHECK_FALSE(m.perfmon.records_frozen());
	}
}

TEST_CASE("a write that finds an overflow comes behind the freeze of it")
{
	Machine m("broadwell");
	m.perfmon.freeze_on_request(true, false);
	m.set(select0, instructions | user | interrupt | enable);
	m.set(a_pmc0, width_48);
	m.set(control, 1);
	m.run(5, 0);
	CHECK(m.perfmon.write(control, 3));
	CHECK(m.perfmon.read(control) == 3);
}

TEST_CASE("software can set the status: an overflow, and that counters are frozen")
{
	Machine m;
	m.set(select0, instructions | user | enable);
	m.set(control, 1);
	m.set(status_set, 0x2'0000'0004);
	CHECK(m.perfmon.read(status) == 0x2'0000'0004);
	CHECK(m.perfmon.read(status_set) == 0);
	CHECK(m.perfmon.counting());
	m.set(status_set, frozen);
	CHECK_FALSE(m.perfmon.counting());
	m.run(10, 0);
	CHECK(m.count(pmc0) == 0);
}

TEST_CASE("who looks what is in use sees what was programmed")
{
	constexpr std::uint64_t interrupts = std::uint64_t{1} << 63;
	Machine m;
	CHECK(m.perfmon.read(in_use) == 0);
	m.set(select0 + 2, 0xff);
	CHECK(m.perfmon.read(in_use) == 4);
	m.set(select0 + 2, 0xff00 | user | os | enable);
	CHECK(m.perfmon.read(in_use) == 0);
	m.set(select0 + 2, interrupt);
	CHECK(m.perfmon.read(in_use) == interrupts);
	m.set(select0 + 2, 0);
	m.set(fixed_control, 0x210);
	CHECK(m.perfmon.read(in_use) == 0x6'0000'0000);
	m.set(fixed_control, 0x084);
	CHECK(m.perfmon.read(in_use) == interrupts);
}
