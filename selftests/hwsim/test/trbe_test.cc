// SPDX-License-Identifier: GPL-2.0-or-later
/* The trace buffer: where bytes go, when it stops, and what its registers say then (Arm ARM, DDI0487, D6). */
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include <algorithm>
#include <map>
#include <numeric>

#include "../arm64/trbe.h"
#include "memory_fake.h"

using namespace hwsim::arm64;
using trbe::Mode;
using trbe::Reg;
using trbe::TriggerMode;

namespace
{

constexpr std::uint64_t base = 0xffff'8000'8010'0000, page = 4096;
constexpr std::uint64_t event_class = std::uint64_t{0x3f} << trbe::event_class, status_code = 0x3f;

/* The pages of the buffer lie in memory in reverse order; those that "at" lacks are not mapped. */
struct Machine final : TrbeProcessor {
	explicit Machine(unsigned count = 4, const TrbeErrata &with = {})
		: memory((count + 1) * page), buffer(memory, *this, faults, with)
	{
		for (unsigned i = 0; i < count; i++)
			at[base + i * page] = (count - i) * page;
	}
	std::optional<std::uint64_t> translate(std::uint64_t address) override
	{
		const auto found = at.find(address);
		return found == at.end() ? std::nullopt : std::optional(found->second);
	}
	void maintenance_interrupt(bool now) override
	{
		asserted = now;
		interrupts += now;
	}
	void enable(Mode mode, unsigned pages = 4, TriggerMode trigger = TriggerMode::ignore)
	{
		CHECK(buffer.write(Reg::baser, base));
		CHECK(buffer.write(Reg::limitr, (base + pages * page) | static_cast<std::uint64_t>(trigger) << 3 |
							static_cast<std::uint64_t>(mode) << 1 | trbe::enable));
	}
	void put_pointer(std::uint64_t offset) { CHECK(buffer.write(Reg::ptr, base + offset)); }
	std::size_t take(std::size_t size)
	{
		std::vector<std::uint8_t> bytes(size);
		std::iota(bytes.begin(), bytes.end(), next);
		const std::size_t taken = buffer.take(bytes);
		next = static_cast<std::uint8_t>(next + taken);
		return taken;
	}
	std::uint8_t byte(std::uint64_t offset)
	{
		return memory.bytes[at.at(base + offset / page * page) + offset % page];
	}
	std::uint64_t sr() const { return buffer.read(Reg::sr); }
	std::uint64_t offset() const { return buffer.read(Reg::ptr) - base; }

	FakeMemory memory;
	std::map<std::uint64_t, std::uint64_t> at;
	bool asserted = false;
	unsigned interrupts = 0;
	std::uint8_t next = 0;
	Faults faults;
	Trbe buffer;
};

} // namespace

TEST_CASE("A buffer in fill mode stops at its limit, and says so", "[trbe]")
{
	Machine m;
	m.put_pointer(3 * page + 4000);
	CHECK_FALSE(m.buffer.enabled());
	CHECK(m.take(10) == 0);
	m.enable(Mode::fill);
	CHECK(m.take(90) == 90);
	CHECK(m.offset() == 3 * page + 4090);
	CHECK(m.sr() == 0);
	CHECK(m.byte(3 * page + 4000) == 0);
	CHECK(m.byte(3 * page + 4089) == 89);
	CHECK(m.take(10) == 6);
	CHECK(m.byte(4 * page - 1) == 95);
	CHECK(m.sr() == (trbe::irq | trbe::wrap | trbe::stopped | trbe::filled));
	CHECK(m.offset() == 0);
	CHECK((m.asserted && m.interrupts == 1));
	CHECK(m.buffer.enabled());
	CHECK(m.take(1) == 0);
}

TEST_CASE("A buffer that was full goes on when its status is cleared", "[trbe]")
{
	Machine m;
	m.put_pointer(4 * page - 1);
	m.enable(Mode::fill);
	CHECK(m.take(2) == 1);
	CHECK(m.buffer.write(Reg::limitr, 0));
	CHECK(m.buffer.write(Reg::sr, 0));
	CHECK_FALSE(m.asserted);
	m.put_pointer(0);
	m.enable(Mode::fill);
	CHECK(m.take(page + 1) == page + 1);
	CHECK(m.byte(page) == static_cast<std::uint8_t>(1 + page));
}

TEST_CASE("Bytes cross pages wherever these are", "[trbe]")
{
	Machine m;
	m.put_pointer(100);
	m.enable(Mode::fill);
	CHECK(m.take(3 * page) == 3 * page);
	for (unsigned i = 0; i < 3 * page; i++)
		REQUIRE(m.byte(100 + i) == static_cast<std::uint8_t>(i));
}

TEST_CASE("A buffer in wrap mode interrupts and goes on, a circular one goes on", "[trbe]")
{
	for (const Mode mode : {Mode::wrap, Mode::circular}) {
		Machine m;
		m.put_pointer(0);
		m.enable(mode, 2);
		CHECK(m.take(2 * page + 5) == 2 * page + 5);
		CHECK(m.offset() == 5);
		CHECK(m.byte(4) == static_cast<std::uint8_t>(2 * page + 4));
		CHECK(m.sr() == (trbe::wrap | (mode == Mode::wrap ? trbe::irq : 0)));
		CHECK(m.interrupts == (mode == Mode::wrap));
		/* An interrupt that is already asserted does not come again. */
		CHECK(m.take(2 * page) == 2 * page);
		CHECK(m.interrupts == (mode == Mode::wrap));
		CHECK(m.buffer.statistics().wraps == 2);
	}
}

TEST_CASE("An enabled buffer takes no other write than one that disables it", "[trbe]")
{
	Machine m;
	m.put_pointer(8);
	m.enable(Mode::fill);
	const std::uint64_t limit = m.buffer.read(Reg::limitr);
	CHECK(m.buffer.write(Reg::ptr, base));
	CHECK(m.buffer.write(Reg::baser, base + page));
	CHECK(m.buffer.write(Reg::trg, 7));
	CHECK(m.buffer.write(Reg::limitr, (base + page) | trbe::enable));
	CHECK(m.offset() == 8);
	CHECK(m.buffer.read(Reg::baser) == base);
	CHECK(m.buffer.read(Reg::trg) == 0);
	CHECK(m.buffer.read(Reg::limitr) == limit);
	CHECK(m.buffer.write(Reg::limitr, base + page));
	CHECK(m.buffer.read(Reg::limitr) == base + page);
	CHECK_FALSE(m.buffer.write(Reg::idr, 0));
}

TEST_CASE("A page that is not there is a data abort of stage 1", "[trbe]")
{
	Machine m;
	m.at.erase(base + page);
	m.put_pointer(page - 10);
	m.enable(Mode::fill);
	CHECK(m.take(20) == 10);
	CHECK((m.sr() & event_class) == trbe::data_abort << trbe::event_class);
	CHECK((m.sr() & status_code) == trbe::no_translation);
	CHECK((m.sr() & (trbe::irq | trbe::stopped)) == (trbe::irq | trbe::stopped));
	CHECK(m.asserted);
	CHECK(m.offset() == page);
}

TEST_CASE("Memory that does not answer is an external abort", "[trbe]")
{
	Machine m;
	m.at[base] = 1 << 30;
	m.put_pointer(0);
	m.enable(Mode::fill);
	CHECK(m.take(1) == 0);
	CHECK((m.sr() & (trbe::ea | trbe::stopped)) == (trbe::ea | trbe::stopped));
}

TEST_CASE("An external abort on demand comes every so many bytes", "[trbe]")
{
	Machine m;
	m.faults.external_abort = 1000;
	m.buffer.set_faults(m.faults);
	m.put_pointer(0);
	m.enable(Mode::fill);
	CHECK(m.take(1000) == 1000);
	CHECK(m.buffer.gone() == 0);
	CHECK(m.take(7) == 0);
	CHECK((m.sr() & trbe::ea));
	/* Gone is what was written in vain, but not what comes after it. */
	CHECK(m.buffer.gone() == 7);
	CHECK(m.take(1) == 0);
	CHECK(m.buffer.gone() == 0);
}

TEST_CASE("A pointer that is not within the buffer stops it at once", "[trbe]")
{
	Machine m;
	m.put_pointer(4 * page);
	m.enable(Mode::fill);
	CHECK((m.sr() & trbe::stopped));
	CHECK(m.asserted);
	CHECK(m.take(1) == 0);
}

TEST_CASE("What is too far from the base is not there", "[trbe]")
{
	Machine m;
	m.put_pointer(page << 20);
	m.enable(Mode::fill, UINT32_MAX);
	CHECK(m.take(1) == 0);
	CHECK((m.sr() & event_class) == trbe::data_abort << trbe::event_class);
	CHECK((m.sr() & status_code) == trbe::no_translation);
}

TEST_CASE("A status that is cleared brings no pointer into the buffer", "[trbe]")
{
	Machine m;
	m.put_pointer(-page);
	m.enable(Mode::fill);
	CHECK(m.buffer.write(Reg::sr, 0));
	CHECK(m.take(1) == 0);
	CHECK((m.sr() & trbe::stopped));
}

TEST_CASE("A trigger takes effect as many bytes later as TRBTRG says", "[trbe]")
{
	struct Row {
		TriggerMode mode;
		std::uint64_t sr;
		std::size_t taken; /* of 100 bytes */
	};
	for (const Row &row : {Row{TriggerMode::stop, trbe::trg | trbe::irq | trbe::stopped | trbe::triggered, 64},
		     Row{TriggerMode::interrupt, trbe::trg | trbe::irq, 100},
		     Row{TriggerMode::ignore, trbe::trg, 100}}) {
		Machine m;
		CHECK(m.buffer.write(Reg::trg, 64));
		m.put_pointer(0);
		m.enable(Mode::fill, 4, row.mode);
		CHECK(m.take(10) == 10);
		m.buffer.trigger();
		CHECK(m.sr() == trbe::trg);
		CHECK(m.take(100) == row.taken);
		CHECK(m.sr() == row.sr);
		CHECK(m.offset() == 10 + row.taken);
	}
}

TEST_CASE("A processor has the errata that the kernel finds by its MIDR", "[trbe][errata]")
{
	/* r0p3 and r1p0 of N2, r2p1 of A710 */
	for (const std::uint32_t midr : {0x410f'd493u, 0x411f'd490u, 0x412f'd471u}) {
		const TrbeErrata has = TrbeErrata::of(midr);
		CHECK((has.overwrites_base && has.writes_out_of_range && has.synchronizes_at_second));
		CHECK_FALSE((has.ignores_writes || has.wants_second_isb || has.corrupts));
	}
	/* r2p0 and r2p1 of X2 */
	CHECK(TrbeErrata::of(0x412f'd480).writes_out_of_range);
	CHECK_FALSE(TrbeErrata::of(0x412f'd480).synchronizes_at_second);
	CHECK_FALSE(TrbeErrata::of(0x412f'd481).writes_out_of_range);
	/* r0p1 to r0p3 of A510 */
	CHECK((TrbeErrata::of(0x410f'd461).corrupts && TrbeErrata::of(0x410f'd461).ignores_writes));
	CHECK((TrbeErrata::of(0x410f'd462).ignores_writes && TrbeErrata::of(0x410f'd462).wants_second_isb));
	CHECK_FALSE((TrbeErrata::of(0x410f'd462).corrupts || TrbeErrata::of(0x410f'd463).ignores_writes));
	/* A76; none */
	for (const std::uint32_t midr : {0x414f'd0b1u, 0u})
		CHECK_FALSE((TrbeErrata::of(midr).overwrites_base || TrbeErrata::of(midr).ignores_writes));
}

TEST_CASE("Errata 2119858 and 2224489: a full buffer goes on at its base, and behind its limit", "[trbe][errata]")
{
	const bool wrong = GENERATE(false, true);
	Machine m(5, {.overwrites_base = wrong, .writes_out_of_range = wrong});
	const auto all = [&m](std::uint64_t at, std::size_t size, std::uint8_t value) {
		std::size_t same = 0;
		for (std::size_t i = 0; i < size; i++)
			same += m.byte(at + i) == value;
		return same == size;
	};
	std::ranges::fill(m.memory.bytes, 0xee);
	m.put_pointer(page);
	m.enable(Mode::fill);
	std::vector<std::uint8_t> bytes(3 * page + 100, 0x11);
	std::fill(bytes.begin() + 3 * page - 192, bytes.end(), 0x22);
	CHECK(m.buffer.take(bytes) == 3 * page);
	CHECK(m.sr() == (trbe::irq | trbe::wrap | trbe::stopped | trbe::filled));
	CHECK(m.offset() == (wrong ? 192 : 0));
	CHECK(all(page, 3 * page - 192, 0x11));
	CHECK(all(0, 192, wrong ? 0x22 : 0xee));
	CHECK(all(192, page - 192, 0xee));
	CHECK(all(4 * page, 64, wrong ? 0x22 : 0xee));
	CHECK(all(4 * page + 64, page - 64, 0xee));
	/* Not in other modes. */
	m.buffer.write(Reg::limitr, 0);
	m.buffer.write(Reg::sr, 0);
	std::ranges::fill(m.memory.bytes, 0xee);
	m.put_pointer(page);
	m.enable(Mode::wrap);
	CHECK(m.buffer.take(bytes) == bytes.size());
	CHECK(m.offset() == 100);
	CHECK(all(4 * page, page, 0xee));
}

TEST_CASE("Erratum 2224489: what goes round has its next bytes behind its limit, and not at its base", "[trbe][errata]")
{
	const bool wrong = GENERATE(false, true);
	Machine m(3, {.writes_out_of_range = wrong});
	std::ranges::fill(m.memory.bytes, 0xee);
	m.put_pointer(2 * page - 10);
	m.enable(Mode::circular, 2);
	const std::vector<std::uint8_t> bytes(40, 0x11);
	for (int i = 0; i < 3; i++)
		CHECK(m.buffer.take(bytes) == bytes.size());
	CHECK(m.offset() == 110);
	/* A line of it, and then it goes on where it should have. */
	const auto value = [&m](std::uint64_t at) {
		return m.byte(at);
	};
	for (std::uint64_t at = 0; at < 110; at++)
		CHECK(value(at) == (wrong && at < 64 ? 0xee : 0x11));
	for (std::uint64_t at = 0; at < 64; at++)
		CHECK(value(2 * page + at) == (wrong ? 0x11 : 0xee));
	CHECK(value(2 * page + 64) == 0xee);
	CHECK(value(110) == 0xee);
}

TEST_CASE("Erratum 2064142: a buffer that was disabled takes no writes before TSB CSYNC", "[trbe][errata]")
{
	Machine m(4, {.ignores_writes = true});
	m.put_pointer(100);
	m.enable(Mode::fill);
	m.buffer.write(Reg::limitr, 0);
	m.put_pointer(200);
	CHECK(m.offset() == 100);
	m.buffer.synchronize();
	m.put_pointer(200);
	CHECK(m.offset() == 200);
}

TEST_CASE("Erratum 2038923: who has not synchronized twice gets garbage", "[trbe][errata]")
{
	const unsigned isbs = GENERATE(0u, 1u, 2u);
	Machine m(4, {.wants_second_isb = true});
	m.put_pointer(0);
	m.enable(Mode::fill);
	for (unsigned i = 0; i < isbs; i++)
		m.buffer.context_synchronization();
	m.buffer.allowance_changed();
	m.buffer.allowance_changed();
	CHECK(m.offset() == (isbs < 2 ? 16 : 0));
	/* Each time that it is enabled anew. */
	m.buffer.write(Reg::limitr, 0);
	m.put_pointer(0);
	m.enable(Mode::fill);
	m.buffer.allowance_changed();
	CHECK(m.offset() == 16);
}

TEST_CASE("Erratum 2054223: what was not synchronized is lost by a disable", "[trbe][errata]")
{
	Machine m(4, {.synchronizes_at_second = true});
	m.put_pointer(100);
	m.enable(Mode::fill);
	CHECK(m.take(300) == 300);
	CHECK(m.offset() == 384);
	m.buffer.synchronize();
	CHECK(m.offset() == 400);
	CHECK(m.take(7) == 7);
	CHECK(m.offset() == 391);
	m.buffer.write(Reg::limitr, 0);
	CHECK(m.offset() == 391);
	m.put_pointer(100);
	m.enable(Mode::fill);
	CHECK(m.take(5) == 5);
	CHECK(m.offset() == 100);
}

TEST_CASE("Erratum 1902691: what is stored is not what was told", "[trbe][errata]")
{
	Machine m(4, {.corrupts = true});
	m.put_pointer(0);
	m.enable(Mode::fill);
	CHECK(m.take(10) == 10);
	CHECK(m.byte(0) == 1);
	CHECK(m.byte(1) == 1);
}

TEST_CASE("A buffer that was powered down is off, asks for nothing, and does not know where it was", "[trbe]")
{
	Machine m(4);
	m.put_pointer(0);
	m.enable(Mode::fill);
	CHECK(m.take(5 * page) == 4 * page);
	CHECK(m.asserted);
	m.buffer.lose_context();
	CHECK_FALSE(m.buffer.enabled());
	CHECK_FALSE(m.asserted);
	CHECK(m.buffer.read(Reg::sr) == 0);
	CHECK(m.buffer.read(Reg::baser) != base);
	CHECK(m.buffer.read(Reg::ptr) != base);
	CHECK(m.take(10) == 0);
	/* It can be used again. */
	m.put_pointer(0);
	m.enable(Mode::fill);
	CHECK(m.take(10) == 10);
	CHECK(m.offset() == 10);
}
