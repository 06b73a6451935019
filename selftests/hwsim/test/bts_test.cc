// SPDX-License-Identifier: GPL-2.0-or-later
#include <catch2/catch_test_macros.hpp>

#include "../x86/bts.h"
#include "memory_fake.h"

using hwsim::x86::Bts;

namespace
{

constexpr std::uint64_t area = 0x100, buffer = 0x1000, record_size = 24;

struct Machine {
	explicit Machine(std::uint64_t records, std::uint64_t threshold)
	{
		memory.store(area, buffer);
		memory.store(area + 8, buffer);
		memory.store(area + 16, buffer + records * record_size);
		memory.store(area + 24, buffer + threshold * record_size);
		bts.write(Bts::ds_area, area);
	}
	void start(std::uint64_t more) { bts.write(Bts::debugctl, Bts::tr | Bts::bts | more); }
	std::uint64_t word(std::uint64_t address)
	{
		std::uint64_t value = 0;
		memory.load(address, value);
		return value;
	}
	std::uint64_t records() { return (word(area + 8) - buffer) / record_size; }

	FakeMemory memory{0x2000};
	Bts bts{memory, {}, hwsim::x86::Rules::lenient()};
};

} // namespace

TEST_CASE("a branch is a record of three words")
{
	Machine m(4, 4);
	m.start(Bts::btint);
	CHECK_FALSE(m.bts.record(0x401000, 0x402000));
	CHECK(m.word(buffer) == 0x401000);
	CHECK(m.word(buffer + 8) == 0x402000);
	CHECK(m.word(buffer + 16) == 0x10);
	CHECK(m.records() == 1);
}

TEST_CASE("from the threshold on there are interrupts, at the end records are dropped")
{
	Machine m(4, 3);
	m.start(Bts::btint);
	CHECK_FALSE(m.bts.record(1, 2));
	CHECK_FALSE(m.bts.record(1, 2));
	CHECK(m.bts.record(1, 2));
	CHECK(m.bts.record(1, 2));
	CHECK_FALSE(m.bts.record(1, 2));
	CHECK(m.records() == 4);
	CHECK(m.bts.statistics().dropped == 1);
}

TEST_CASE("without BTINT the buffer is a ring that never interrupts")
{
	Machine m(3, 1);
	m.start(0);
	for (std::uint64_t i = 0; i < 4; i++)
		CHECK_FALSE(m.bts.record(i, 0));
	CHECK(m.records() == 1);
	CHECK(m.word(buffer) == 3);
	CHECK(m.word(buffer + record_size) == 1);
}

TEST_CASE("a record that would cross the maximum is not written")
{
	Machine m(2, 4);
	m.memory.store(area + 16, buffer + 2 * record_size - 1);
	m.start(Bts::btint);
	CHECK_FALSE(m.bts.record(1, 2));
	CHECK_FALSE(m.bts.record(1, 2));
	CHECK(m.records() == 1);
}

TEST_CASE("privilege levels are switched apart")
{
	Machine m(4, 4);
	CHECK_FALSE(m.bts.watches(0));
	m.start(Bts::off_os);
	CHECK_FALSE(m.bts.watches(0));
	CHECK(m.bts.watches(3));
	m.start(Bts::off_user);
	CHECK(m.bts.watches(0));
	CHECK_FALSE(m.bts.watches(3));
	m.bts.write(Bts::debugctl, Bts::bts); /* without TR */
	CHECK_FALSE(m.bts.watches(0));
}

TEST_CASE("an area that is not mapped loses the record and nothing else")
{
	Machine m(4, 4);
	m.start(Bts::btint);
	m.bts.write(Bts::ds_area, 0x100000);
	CHECK_FALSE(m.bts.record(1, 2));
	CHECK(m.bts.statistics().unmapped == 1);
	CHECK(m.bts.write_faults(Bts::ds_area, 0x8000'0000'0000'0000));
	CHECK_FALSE(m.bts.write_faults(Bts::ds_area, 0xffff'fe00'0000'0000));
}

TEST_CASE("registers that are lost store nothing; another owner leaves how it stored, and the DS area")
{
	for (const auto to : {hwsim::x86::Loss::To::reset, hwsim::x86::Loss::To::other}) {
		const bool reset = to == hwsim::x86::Loss::To::reset;
		Machine m(4, 4);
		m.start(Bts::btint);
		m.bts.lose({.to = to});
		CHECK_FALSE(m.bts.watches(3));
		CHECK_FALSE(m.bts.watches(0));
		CHECK(m.bts.read(Bts::debugctl) == (reset ? 0 : Bts::btf | Bts::btint | Bts::off_user));
		CHECK(m.bts.read(Bts::ds_area) == (reset ? 0 : area));
	}
}

TEST_CASE("no record reaches a maximum that is a multiple of their size, unless early-maximum is relaxed")
{
	for (const bool strict : {true, false})
		for (const unsigned more : {0u, 1u})
			for (const std::uint64_t how : {Bts::btint, std::uint64_t{0}}) {
				Machine m(4, 5);
				auto rules = hwsim::x86::Rules::lenient();
				REQUIRE(rules.set("early-maximum", strict));
				m.bts.set_rules(rules);
				m.memory.store(area + 16, buffer + 4 * record_size + more);
				m.start(how);
				for (unsigned n = 1; n <= 4; n++)
					CHECK_FALSE(m.bts.record(n, n));
				const bool last = !strict || more;
				CHECK(m.word(buffer + 3 * record_size) == (last ? 4 : 0));
				CHECK(m.bts.statistics().dropped == (!last && how ? 1 : 0));
				CHECK(m.word(buffer) == (last || how ? 1 : 4));
			}
}

TEST_CASE("of IA32_DEBUGCTL there is what the processor has, with a store or without")
{
	FakeMemory memory{0x1000};
	const auto refused = [&memory](const Bts::Parts &parts) {
		const Bts bts(memory, parts);
		std::uint64_t bits = 0;
		for (unsigned n = 0; n < 64; n++)
			bits |= std::uint64_t{bts.write_faults(Bts::debugctl, std::uint64_t{1} << n)} << n;
		return ~bits;
	};
	CHECK(refused({}) == 0b101'1111'1100'0011);
	CHECK(refused({.store = false}) == 0b101'1000'0100'0011);
	CHECK(refused({.freezes = false}) == 0b000'0111'1100'0011);
	Bts counters(memory, {.store = false});
	counters.write(Bts::debugctl, Bts::freeze_counters | Bts::lbr);
	CHECK(counters.read(Bts::debugctl) == (Bts::freeze_counters | Bts::lbr));
	CHECK(counters.freezes_counters());
	counters.lose({.to = hwsim::x86::Loss::To::other});
	CHECK(counters.read(Bts::debugctl) == Bts::btf);
	CHECK_FALSE(counters.freezes_counters());
}

TEST_CASE("LBR of IA32_DEBUGCTL stays clear where architectural records have a switch of their own")
{
	FakeMemory memory{0x1000};
	for (const bool records : {true, false}) {
		Bts bts(memory, {.records = records});
		CHECK(bts.switches_on(Bts::debugctl, Bts::lbr) == records);
		CHECK_FALSE(bts.write_faults(Bts::debugctl, Bts::lbr));
		bts.write(Bts::debugctl, Bts::lbr | Bts::freeze_lbr);
		CHECK(bts.read(Bts::debugctl) == ((records ? Bts::lbr : 0) | Bts::freeze_lbr));
		CHECK(bts.keeps_records() == records);
		CHECK(bts.freezes_records());
		CHECK_FALSE(bts.freezes_counters());
		bts.switch_records_off();
		CHECK(bts.read(Bts::debugctl) == Bts::freeze_lbr);
	}
}

TEST_CASE("IA32_MISC_ENABLE says what there is, and each part has its registers")
{
	FakeMemory memory{0x1000};
	const Bts both(memory, {}), store(memory, {.counters = false, .freezes = false}),
		counters(memory, {.store = false}), none(memory, {.store = false, .counters = false, .freezes = false});
	CHECK(both.read(Bts::misc_enable) == (1 | 1 << 7 | 1 << 12));
	CHECK(store.read(Bts::misc_enable) == (1 | 1 << 12));
	CHECK(counters.read(Bts::misc_enable) == (1 | 1 << 7 | 1 << 11 | 1 << 12));
	CHECK(store.owns(Bts::ds_area));
	CHECK_FALSE(counters.owns(Bts::ds_area));
	for (const std::uint32_t msr : {Bts::debugctl, Bts::misc_enable}) {
		CHECK(store.owns(msr));
		CHECK(counters.owns(msr));
		CHECK_FALSE(none.owns(msr));
	}
}
