// SPDX-License-Identifier: GPL-2.0-or-later
/* The counters in a machine whose program is a few totals. */
#include <catch2/catch_test_macros.hpp>

#include "../x86/perfmon.h"

using namespace hwsim::x86;

namespace
{

constexpr std::uint64_t user = 1 << 16, os = 1 << 17, interrupt = 1 << 20, enable = 1 << 22;
constexpr std::uint32_t pmc0 = 0xc1, a_pmc0 = 0x4c1, select0 = 0x186, fixed0 = 0x309, fixed_control = 0x38d,
			status = 0x38e, control = 0x38f, acknowledge = 0x390;

struct Machine final : EventSource {
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
	void set(std::uint32_t msr, std::uint64_t value) { CHECK_FALSE(perfmon.write(msr, value)); }
	std::uint64_t count(std::uint32_t msr)
	{
		CHECK_FALSE(perfmon.settle());
		return perfmon.read(msr);
	}

	std::uint64_t in_user[4] = {}, in_kernel[4] = {};
	Perfmon perfmon{*find_profile("skylake"), *this};
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
	m.set(fixed0, ~std::uint64_t{0});
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
}

TEST_CASE("the trace interrupt stands in the status until it is acknowledged")
{
	Machine m;
	m.perfmon.set_topa_interrupt();
	m.set(status, 0);
	CHECK(m.perfmon.read(status) == Perfmon::topa_interrupt);
	m.set(acknowledge, Perfmon::topa_interrupt);
	CHECK(m.perfmon.read(status) == 0);
}

TEST_CASE("counter registers are as many and as wide as enumerated")
{
	Machine m;
	CHECK(m.perfmon.owns(0xc4));
	CHECK_FALSE(m.perfmon.owns(0xc5));
	CHECK_FALSE(m.perfmon.owns(0x30c));
	m.set(pmc0, 0x8000'0000);
	CHECK(m.perfmon.read(pmc0) == 0xffff'8000'0000);
	m.set(fixed0, ~std::uint64_t{0});
	CHECK(m.perfmon.read(fixed0) == 0xffff'ffff'ffff);
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
	/* Of no event that there is, and at no level. */
	m.set(select0, 0x2e | user | enable);
	CHECK_FALSE(m.perfmon.counting());
	m.set(select0, 0xc0 | enable);
	CHECK_FALSE(m.perfmon.counting());
	CHECK_FALSE(m.perfmon.counts_after(fixed_control, 3));
	m.set(control, std::uint64_t{1} << 32);
	CHECK(m.perfmon.counts_after(fixed_control, 3));
}
