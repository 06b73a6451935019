// SPDX-License-Identifier: GPL-2.0-or-later
#include <catch2/catch_test_macros.hpp>

#include <numeric>

#include "../x86/pt_output.h"
#include "memory_fake.h"

using namespace hwsim::x86;
using namespace hwsim::x86::pt;

namespace
{

constexpr std::uint64_t table = 0x1000, second_table = 0x2000, data = 0x10000, page = 4096;
constexpr std::uint64_t size_8k = 1 << 6;

struct Machine {
	explicit Machine(bool multiple_regions = true, const Rules &in_force = Rules::lenient())
		: rules(in_force), output(memory, multiple_regions, rules)
	{
	}

	Rules rules;
	FakeMemory memory{0x40000};
	Output output;
	OutputRegisters registers{table, 0x7f};

	void entry(std::uint64_t in, unsigned index, std::uint64_t raw) { memory.store(in + index * 8, raw); }
	OutputResult write(std::size_t size)
	{
		std::vector<std::uint8_t> bytes(size);
		std::iota(bytes.begin(), bytes.end(), static_cast<std::uint8_t>(sent));
		sent += size;
		return output.write(registers, true, bytes);
	}
	/* Is byte n of all the output at this address? */
	bool holds(std::uint64_t address, std::size_t n) const
	{
		return memory.bytes[address] == static_cast<std::uint8_t>(n);
	}
	std::uint64_t index() const { return (registers.mask_ptrs >> 7) & 0x1ff'ffff; }
	std::uint64_t offset() const { return registers.mask_ptrs >> 32; }

	std::size_t sent = 0;
};

} // namespace

TEST_CASE("regions are filled in the order of the table, whatever their size")
{
	Machine m;
	m.entry(table, 0, data | size_8k);
	m.entry(table, 1, data + 0x4000);
	m.entry(table, 2, table | TopaEntry::end);
	CHECK(m.write(3 * page - 1).written == 3 * page - 1);
	CHECK(m.index() == 1);
	CHECK(m.offset() == page - 1);
	CHECK(m.holds(data + 2 * page - 1, 2 * page - 1));
	CHECK(m.holds(data + 0x4000, 2 * page));
	/* After the last byte of the last region, output is at the first one again. */
	m.write(1);
	CHECK(m.index() == 0);
	CHECK(m.offset() == 0);
	m.write(10);
	CHECK(m.holds(data, 3 * page));
}

TEST_CASE("END leads to another table, and the base register follows")
{
	Machine m;
	m.entry(table, 0, data);
	m.entry(table, 1, second_table | TopaEntry::end);
	m.entry(second_table, 0, data + page);
	m.entry(second_table, 1, table | TopaEntry::end);
	m.write(page);
	CHECK(m.registers.base == second_table);
	CHECK(m.index() == 0);
	m.write(page);
	CHECK(m.registers.base == table);
}

TEST_CASE("where a table has one region only, INT interrupts a little before it is full")
{
	Machine m(false);
	m.entry(table, 0, data | TopaEntry::interrupt | TopaEntry::stop);
	m.entry(table, 1, table | TopaEntry::end);
	CHECK_FALSE(m.write(page - Output::early - 1).interrupt);
	CHECK(m.write(1).interrupt);
	const auto result = m.write(Output::early);
	CHECK(result.interrupt);
	CHECK(result.stopped);
}

TEST_CASE("a region with INT interrupts when it is full, not before")
{
	Machine m;
	m.entry(table, 0, data | TopaEntry::interrupt);
	m.entry(table, 1, data + page);
	m.entry(table, 2, table | TopaEntry::end);
	CHECK_FALSE(m.write(page - 1).interrupt);
	CHECK(m.write(1).interrupt);
	CHECK_FALSE(m.write(page).interrupt);
}

TEST_CASE("STOP leaves output at the end of the full region and loses the rest")
{
	Machine m;
	m.entry(table, 0, data | TopaEntry::stop | TopaEntry::interrupt);
	m.entry(table, 1, data + page);
	const OutputResult result = m.write(page + 5);
	CHECK(result.stopped);
	CHECK(result.interrupt);
	CHECK(result.written == page);
	CHECK(m.index() == 0);
	CHECK(m.offset() == page);
	CHECK(m.memory.bytes[data + page] == 0);
}

TEST_CASE("output begins where the registers say")
{
	Machine m;
	m.entry(table, 0, data);
	m.entry(table, 1, data + page);
	m.registers.mask_ptrs = std::uint64_t{100} << 32 | 1 << 7 | 0x7f;
	m.write(1);
	CHECK(m.holds(data + page + 100, 0));
}

TEST_CASE("an offset that lies outside of its region is an error and nothing is written")
{
	for (const std::uint64_t offset : {page, page + 1, 2 * page}) {
		Machine m;
		m.entry(table, 0, data);
		m.entry(table, 1, data + page);
		m.registers.mask_ptrs = offset << 32 | 0x7f;
		const OutputResult result = m.write(1);
		CHECK(result.error);
		CHECK(result.written == 0);
		CHECK(m.memory.bytes[data + page] == 0);
		CHECK(m.memory.bytes[data + 2 * page] == 0);
	}
}

TEST_CASE("malformed tables are errors and nothing is written")
{
	const std::uint64_t bad[] = {
		data | 2,                              /* reserved bits */
		data | 0x400, (data + page) | size_8k, /* base not aligned to the size */
		table | TopaEntry::end,                /* END first */
		0x100000,                              /* nothing answers there */
	};
	for (const std::uint64_t raw : bad) {
		Machine m;
		m.entry(table, 0, raw);
		const OutputResult result = m.write(16);
		CHECK(result.error);
		CHECK(result.written == 0);
	}
}

TEST_CASE("hardware with single entry tables refuses a second region")
{
	Machine m(false);
	m.entry(table, 0, data);
	m.entry(table, 1, data + page);
	CHECK(m.write(page + 1).error);
	Machine good(false);
	good.entry(table, 0, data);
	good.entry(table, 1, table | TopaEntry::end);
	CHECK(good.write(page + 1).written == page + 1);
}

TEST_CASE("a single range is a ring")
{
	FakeMemory memory(0x40000);
	const Rules rules;
	Output output(memory, true, rules);
	OutputRegisters registers = {data, std::uint64_t{0xff0} << 32 | 0xfff};
	std::vector<std::uint8_t> bytes(32);
	std::iota(bytes.begin(), bytes.end(), std::uint8_t{1});
	CHECK(output.write(registers, false, bytes).written == 32);
	CHECK(memory.bytes[data + 0xff0] == 1);
	CHECK(memory.bytes[data] == 17);
	CHECK(registers.mask_ptrs == (std::uint64_t{16} << 32 | 0xfff));
	registers.base = data + 0x80; /* not aligned to the mask */
	CHECK(output.write(registers, false, bytes).error);
}

// --- rules, strict and lenient ------------------------------------------------------------

TEST_CASE("tables are what they were when TraceEn was set, unless cached-tables is relaxed")
{
	for (const bool strict : {true, false}) {
		Rules rules = Rules::lenient();
		REQUIRE(rules.set("cached-tables", strict));
		Machine m(true, rules);
		m.entry(table, 0, data);
		m.entry(table, 1, data + page);
		m.entry(table, 2, second_table | TopaEntry::end);
		m.entry(second_table, 0, data + 2 * page);
		m.entry(second_table, 1, table | TopaEntry::end);
		m.output.start(m.registers);
		/* INT is set in the table that output is in, and in one that it has not reached. */
		m.entry(table, 1, (data + page) | TopaEntry::interrupt);
		m.entry(second_table, 0, (data + 2 * page) | TopaEntry::interrupt);
		CHECK(m.write(2 * page).interrupt == !strict);
		CHECK(m.write(page).interrupt);
		/* Setting TraceEn again reads both. */
		m.output.start(m.registers);
		CHECK(m.write(2 * page).interrupt);
	}
}

TEST_CASE("output stays at an END entry until the next byte, unless late-end is relaxed")
{
	for (const bool strict : {true, false}) {
		Rules rules = Rules::lenient();
		REQUIRE(rules.set("late-end", strict));
		Machine m(true, rules);
		m.entry(table, 0, data);
		m.entry(table, 1, second_table | TopaEntry::end);
		m.entry(second_table, 0, data + page);
		m.entry(second_table, 1, table | TopaEntry::end);
		m.write(page);
		CHECK(m.registers.base == (strict ? table : second_table));
		CHECK(m.index() == (strict ? 1 : 0));
		CHECK(m.offset() == 0);
		m.write(1);
		CHECK(m.registers.base == second_table);
		CHECK(m.index() == 0);
		CHECK(m.offset() == 1);
		CHECK(m.holds(data + page, page));
	}
}

TEST_CASE("tables begin a page, and where they have one region lead back to it, unless aligned-tables is relaxed")
{
	for (const bool strict : {true, false}) {
		Rules rules = Rules::lenient();
		REQUIRE(rules.set("aligned-tables", strict));
		Machine m(true, rules);
		m.entry(table + 0x80, 0, data);
		m.registers.base = table + 0x80;
		CHECK(m.write(1).error == strict);
		Machine single(false, rules);
		single.entry(table, 0, data);
		single.entry(table, 1, second_table | TopaEntry::end);
		single.entry(second_table, 0, data + page);
		CHECK(single.write(page + 1).error == strict);
	}
}

TEST_CASE("more pages of tables than are kept are read again")
{
	Rules rules = Rules::lenient();
	rules.set("cached-tables", true);
	FakeMemory memory(0x400000);
	Output output(memory, true, rules);
	constexpr unsigned tables = 100;
	for (unsigned n = 0; n < tables; n++) {
		memory.store(table + n * page, std::uint64_t{0x200000 + n * page});
		memory.store(table + n * page + 8, std::uint64_t{table + (n + 1) % tables * page} | TopaEntry::end);
	}
	OutputRegisters registers{table, 0x7f};
	output.start(registers);
	std::vector<std::uint8_t> bytes(3 * tables * page, 1);
	CHECK(output.write(registers, true, bytes).written == bytes.size());
}
