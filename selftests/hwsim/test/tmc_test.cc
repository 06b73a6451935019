// SPDX-License-Identifier: GPL-2.0-or-later
/* TMCs: where frames go, what stops them, what their registers say then (DDI0461); how an ETR finds memory, by a CATU too. */
#include <catch2/catch_test_macros.hpp>

#include <algorithm>

#include "tmc_machine.h"

using namespace hwsim::arm64;
using namespace hwsim::arm64::tmc;

TEST_CASE("An ETR writes frames to the memory, and all of them once it was flushed", "[tmc]")
{
	TmcMachine m;
	CHECK(m.has(ready));
	m.start(8 * page, 4 * page);
	CHECK_FALSE(m.has(ready));
	m.trace(1000, 0x10);
	m.trace(3000, 0x12);
	m.trace(1, 0x10);
	m.stop_by_flush();
	CHECK_FALSE(m.unit.read(reg::ffcr) & tmc::flush);
	CHECK((m.has(ready) && !m.has(full) && (m.unit.read(reg::ffsr) & stopped)));
	CHECK(m.rrp() == 8 * page);
	REQUIRE(m.rwp() > 8 * page + 4000);
	CHECK(m.rwp() % 16 == 0);
	const auto frames = m.bytes(8 * page, m.rwp() - 8 * page);
	CHECK(of_source(frames, 0x10) == m.sent[0x10]);
	CHECK(of_source(frames, 0x12) == m.sent[0x12]);
}

TEST_CASE("What comes while it is stopped or disabled is discarded, and counted", "[tmc]")
{
	TmcMachine m;
	m.trace(100);
	CHECK(m.unit.statistics().discarded == 100);
	m.start(0, page);
	m.trace(20);
	m.stop_by_flush();
	const std::uint64_t end = m.rwp();
	m.trace(700);
	CHECK(m.unit.statistics().discarded == 800);
	CHECK(m.rwp() == end);
	m.set(reg::ctl, 0);
	CHECK(m.rwp() == end);
}

TEST_CASE("Who disables it without a flush loses what was not written", "[tmc]")
{
	TmcMachine m;
	m.start(0, page);
	m.trace(300);
	m.set(reg::ctl, 0);
	CHECK(m.has(ready));
	CHECK(m.unit.statistics().bytes == 0);
	CHECK(m.unit.statistics().discarded >= 300 / 16 * 16);
	CHECK(std::ranges::all_of(m.bytes(0, page), [](std::uint8_t byte) { return byte == 0; }));
}

TEST_CASE("A full ETR goes on at its beginning, and says where the oldest is", "[tmc]")
{
	TmcMachine m;
	m.start(page, 2 * page);
	m.trace(3 * page);
	m.stop_by_flush();
	CHECK(m.has(full));
	CHECK(m.unit.statistics().overwritten == m.unit.statistics().bytes - 2 * page);
	REQUIRE(m.rrp() == m.rwp());
	REQUIRE((m.rwp() > page && m.rwp() < 3 * page));
	const auto newer = m.bytes(page, m.rwp() - page), older = m.bytes(m.rwp(), 3 * page - m.rwp());
	std::vector<std::uint8_t> frames(older.begin(), older.end());
	frames.insert(frames.end(), newer.begin(), newer.end());
	const auto found = of_source(frames, id);
	REQUIRE(found.size() > page);
	CHECK(std::ranges::equal(found, std::span(m.sent[id]).last(found.size())));
}

TEST_CASE("While it captures only CTL and FFCR are taken, and nothing while it is locked", "[tmc]")
{
	TmcMachine m;
	m.start(0, page);
	for (const std::uint32_t offset : {reg::rsz, reg::dbalo, reg::mode, reg::trg, reg::pscr, reg::axictl}) {
		const std::uint32_t before = m.unit.read(offset);
		m.set(offset, ~before & 0x10000);
		CHECK(m.unit.read(offset) == before);
	}
	CHECK_FALSE(m.unit.write(reg::rrd, 1));
	CHECK_FALSE(m.unit.write(reg::lbuflevel, 1));
	m.set(management::lar, 0);
	m.set(reg::ctl, 0);
	CHECK(m.unit.read(reg::ctl) == capture);
	m.set(management::lar, management::unlock);
	m.set(reg::ctl, 0);
	CHECK(m.unit.read(reg::ctl) == 0);
}

TEST_CASE("Scattered pages are found by tables, as they were when it was started", "[tmc]")
{
	TmcMachine m;
	/* Two tables, the first of which has one entry and the link; the pages are in no order. */
	const auto entry = [&m](std::uint64_t at, std::uint64_t to, std::uint32_t kind) {
		m.memory.store(at, static_cast<std::uint32_t>(to / page << 4 | kind));
	};
	entry(page, 9 * page, 2);
	entry(page + 4, 2 * page, 3);
	entry(2 * page, 7 * page, 2);
	entry(2 * page + 4, 12 * page, 1);
	entry(2 * page + 8, 20 * page, 2);
	m.set(reg::axictl, scatter_gather);
	/* There are three pages, whatever RSZ says. */
	m.start(page, page);
	entry(2 * page, 100 * page, 2);
	m.trace(2 * page + 1500);
	m.stop_by_flush();
	CHECK_FALSE(m.has(full));
	CHECK(m.rrp() == 9 * page);
	REQUIRE(m.rwp() / page == 12);
	std::vector<std::uint8_t> frames;
	for (const std::uint64_t at : {9, 7, 12}) {
		const auto of_page = m.bytes(at * page, at == 12 ? m.rwp() % page : page);
		frames.insert(frames.end(), of_page.begin(), of_page.end());
	}
	CHECK(of_source(frames, id) == m.sent[id]);
	m.set(reg::ctl, 0);
	m.start(page, 4 * page);
	m.trace(3 * page);
	m.stop_by_flush();
	CHECK(m.has(full));
	CHECK_FALSE(m.has(memory_error));
}

TEST_CASE("Behind a CATU it writes where that leads, and says its own addresses", "[tmc][catu]")
{
	constexpr std::uint64_t window = 1 << 20, first_table = 2 * page, second_table = 4 * page;
	TmcMachine m({Kind::etr, true}, true);
	/* 256 pages to a table, links in its last two entries. All pages but the last are one, and only its end is written. */
	for (std::uint64_t n = 0; n < 256; n++)
		m.memory.store(first_table + 8 * n, std::uint64_t{100 * page | 1});
	m.memory.store(first_table + 8 * 511, std::uint64_t{second_table | 1});
	m.memory.store(second_table, std::uint64_t{33 * page | 1});
	const auto catu = [&m](std::uint32_t offset, std::uint32_t value) {
		CHECK(m.catu.write(offset, value));
	};
	catu(catu::reg::sladdrlo, first_table);
	catu(catu::reg::inaddrlo, window);
	catu(catu::reg::mode, catu::translate);
	CHECK(m.catu.translate(window) == window);
	catu(catu::reg::control, catu::enable);
	catu(catu::reg::inaddrlo, 0); /* ignored while enabled */
	CHECK(m.catu.translate(window + 5) == 100 * page + 5);
	CHECK(m.catu.read(catu::reg::status) == catu::ready);
	const std::uint64_t at = window + 256 * page - 512;
	m.set(reg::rwp, static_cast<std::uint32_t>(at));
	m.set(reg::rrp, static_cast<std::uint32_t>(at));
	m.start(window, 257 * page);
	m.trace(1000);
	m.stop_by_flush();
	CHECK(m.rwp() > window + 256 * page + 400);
	std::vector<std::uint8_t> frames(
		m.memory.bytes.begin() + 101 * page - 512, m.memory.bytes.begin() + 101 * page);
	const auto rest = m.bytes(33 * page, m.rwp() % page);
	frames.insert(frames.end(), rest.begin(), rest.end());
	CHECK(of_source(frames, id) == m.sent[id]);
	CHECK_FALSE(m.catu.translate(window + 257 * page));
	CHECK(m.catu.read(catu::reg::status) == (catu::ready | catu::address_error));
}

TEST_CASE("Of a CATU's tables each entry is read once for a buffer, and again for the next one", "[tmc][catu]")
{
	constexpr std::uint64_t window = 1 << 20, tables = 8, pages = 256 * tables;
	TmcMachine m({Kind::etr, true}, true);
	for (std::uint64_t table = 0; table < tables; table++) {
		for (std::uint64_t n = 0; n < 256; n++)
			m.memory.store(table * page + 8 * n, std::uint64_t{(100 + table) * page | 1});
		m.memory.store(table * page + 8 * 511, std::uint64_t{(table + 1) * page | 1});
	}
	CHECK(m.catu.write(catu::reg::inaddrlo, window));
	CHECK(m.catu.write(catu::reg::mode, catu::translate));
	CHECK(m.catu.write(catu::reg::control, catu::enable));
	const std::uint64_t last = window + (pages - 1) * page;
	for (const std::uint64_t target : {107, 120}) {
		m.memory.store((tables - 1) * page + 8 * 255, std::uint64_t{target * page | 1});
		m.set(reg::rwp, static_cast<std::uint32_t>(last));
		m.set(reg::rrp, static_cast<std::uint32_t>(last));
		m.memory.reads = 0;
		m.start(window, pages * page);
		CHECK(m.memory.reads == pages + tables - 1);
		m.trace(1000);
		m.stop_by_flush();
		const auto frames = m.bytes(target * page, m.rwp() - last);
		CHECK(of_source(frames, id) == std::vector(m.sent[id].end() - 1000, m.sent[id].end()));
		m.set(reg::ctl, 0);
	}
}

TEST_CASE("A page that is not there is a memory error, which stops it", "[tmc]")
{
	TmcMachine m;
	m.start(255 * page, 2 * page);
	m.trace(page + 2000);
	CHECK((m.has(memory_error) && m.has(ready)));
	CHECK(m.unit.statistics().errors == 1);
	CHECK(m.unit.statistics().discarded > 0);
	CHECK((m.rwp() > 256 * page && m.rrp() > 256 * page)); /* unknown */
}

TEST_CASE("What a RAM has is read word by word, the oldest first", "[tmc]")
{
	for (const Kind kind : {Kind::etb, Kind::etf}) {
		TmcMachine m({kind, false, 4096});
		CHECK(m.unit.read(reg::rsz) == 1024);
		CHECK_FALSE(m.unit.write(reg::rsz, 5));
		for (const std::size_t size : {100, 3000, 9000}) {
			m.sent.clear();
			m.start(Mode::circular);
			m.trace(size);
			m.unit.was_read(reg::rrd);
			CHECK(m.unit.read(reg::rrd) == 0xffff'ffff);
			m.stop_by_flush();
			CHECK(m.has(full) == (size > 4096));
			const auto found = of_source(m.read_ram(), id);
			REQUIRE(found.size() >= std::min<std::size_t>(size, 3500));
			CHECK(std::ranges::equal(found, std::span(m.sent[id]).last(found.size())));
			CHECK(m.unit.read(reg::rrd) == 0xffff'ffff);
			m.set(reg::ctl, 0);
		}
	}
}

TEST_CASE("The RAM of a disabled TMC is read by a pointer that software moves", "[tmc]")
{
	TmcMachine m({Kind::etb, false, 4096});
	m.start(Mode::circular);
	m.trace(500);
	m.stop_by_flush();
	const std::uint32_t end = m.unit.read(reg::rwp);
	m.set(reg::ctl, 0);
	CHECK_FALSE((m.has(empty) || m.unit.read(reg::cbuflevel)));
	m.set(reg::rrp, 0);
	std::vector<std::uint8_t> frames;
	while (m.unit.read(reg::rrp) != end) {
		const std::uint32_t word = m.unit.read(reg::rrd);
		m.unit.was_read(reg::rrd);
		for (unsigned n = 0; n < 4; n++)
			frames.push_back(static_cast<std::uint8_t>(word >> 8 * n));
	}
	CHECK(of_source(frames, id) == m.sent[id]);
}

TEST_CASE("Full stays set in a circular buffer that was read, until the next start", "[tmc]")
{
	TmcMachine m({Kind::etf, false, 4096});
	m.start(Mode::circular);
	m.trace(6000);
	m.stop_by_flush();
	CHECK(m.read_ram().size() == 4096);
	CHECK((m.has(full) && m.has(empty)));
	m.set(reg::ctl, 0);
	m.start(Mode::circular);
	CHECK_FALSE(m.has(full));
	CHECK(m.has(empty));
}

TEST_CASE("Who is behind leaves out the oldest words of a stopped RAM", "[tmc]")
{
	TmcMachine m({Kind::etf, false, 4096});
	m.start(Mode::circular);
	m.trace(6000);
	m.stop_by_flush();
	m.set(reg::rrp, (m.unit.read(reg::rwp) + 4096 - 1024) % 4096);
	const auto frames = m.read_ram();
	CHECK(frames.size() == 1024);
	const auto found = of_source(frames, id);
	REQUIRE(found.size() > 800);
	CHECK(std::ranges::equal(found, std::span(m.sent[id]).last(found.size())));
}

TEST_CASE("A flush stops the formatter if StopOnFl was set by a write before", "[tmc]")
{
	TmcMachine m;
	m.start(0, page);
	m.set(reg::ffcr, formats | stop_on_flush | tmc::flush);
	CHECK_FALSE(m.has(ready));
	CHECK(m.unit.read(reg::ffcr) == (formats | stop_on_flush));
	m.set(reg::ffcr, formats | stop_on_flush | tmc::flush);
	CHECK(m.has(ready));
	CHECK(m.has(formatter_empty));
}

TEST_CASE("What is lost by a disable is counted, wherever it was", "[tmc]")
{
	TmcMachine link({Kind::etf, false, 4096}), fifo({Kind::etb, false, 4096});
	link.start(Mode::hardware_fifo);
	link.trace(700);
	link.set(reg::ctl, 0);
	CHECK(link.unit.statistics().discarded == 700);
	fifo.start(Mode::software_fifo);
	fifo.trace(700);
	fifo.set(reg::ctl, 0);
	CHECK(fifo.unit.statistics().discarded >= 700);
}

TEST_CASE("A memory error is cleared by a write, once it has stopped", "[tmc]")
{
	TmcMachine m;
	m.start(255 * page, 2 * page);
	m.trace(page + 2000);
	CHECK(m.has(memory_error));
	m.set(reg::sts, 0);
	CHECK(m.has(memory_error));
	m.set(reg::sts, memory_error);
	CHECK_FALSE(m.has(memory_error));
}

TEST_CASE("A trigger is in the trace, and may stop it some words later", "[tmc]")
{
	for (const bool stops : {false, true}) {
		TmcMachine m;
		m.set(reg::trg, 300);
		m.start(0, 4 * page);
		m.set(reg::ffcr, formats | (stops ? stop_on_trigger : 0));
		m.trace(600);
		m.unit.trigger(id);
		CHECK_FALSE(m.has(triggered));
		m.trace(5000);
		CHECK(m.has(triggered));
		CHECK(m.has(ready) == stops);
		CHECK(stops == (m.unit.statistics().discarded > 0));
		m.stop_by_flush();
		CHECK(of_source(m.bytes(0, m.rwp()), Formatter::trigger_id).size() == 1);
	}
	TmcMachine m;
	m.start(0, 4 * page);
	m.set(reg::ffcr, formats & ~insert_triggers);
	m.trace(600);
	m.unit.trigger(id);
	m.trace(600);
	CHECK(m.has(triggered));
	m.set(reg::ffcr, (formats & ~insert_triggers) | stop_on_flush);
	m.set(reg::ffcr, (formats & ~insert_triggers) | stop_on_flush | tmc::flush);
	CHECK(of_source(m.bytes(0, m.rwp()), Formatter::trigger_id).empty());
}

TEST_CASE("A trigger event follows TRG words and one more, and may flush", "[tmc]")
{
	constexpr std::uint32_t words = 511;
	for (const bool flushes : {false, true}) {
		TmcMachine m;
		m.set(reg::trg, words);
		m.start(0, 4 * page);
		m.set(reg::ffcr, (formats & ~flush_on_trigger) | (flushes ? flush_on_trigger : 0));
		m.unit.trigger(id);
		m.trace(1);
		/* Bursts of 512 bytes: four of them are what it takes. */
		while (m.unit.statistics().bytes < 4 * 512) {
			CHECK_FALSE(m.has(triggered));
			CHECK(m.unit.read(reg::trg) == words - m.unit.statistics().bytes / 4);
			m.trace(15);
		}
		CHECK(m.has(triggered));
		CHECK(m.unit.read(reg::trg) == 0);
		/* What is in the formatter is written, too. */
		CHECK((m.unit.statistics().bytes > 4 * 512) == flushes);
	}
}

TEST_CASE("Faults of a TMC: a flush that never ends, not ready, errors of the memory", "[tmc][fault]")
{
	TmcMachine m;
	Faults faults;
	faults.flush_never_ends = faults.never_ready = 1;
	CHECK(m.has(ready));
	m.unit.set_faults(faults);
	CHECK_FALSE(m.has(ready));
	m.start(0, page);
	m.trace(100);
	m.stop_by_flush();
	CHECK(m.unit.read(reg::ffcr) & tmc::flush);
	CHECK_FALSE(m.has(ready));
	faults = {};
	faults.memory_error = 1000;
	m.unit.set_faults(faults);
	CHECK(m.has(ready));
	m.set(reg::ctl, 0);
	m.start(0, 4 * page);
	m.trace(3000);
	CHECK(m.has(memory_error));
}

TEST_CASE("Fault frames-cut: where it stops half of the last frame is missing", "[tmc][fault]")
{
	TmcMachine m;
	Faults faults;
	faults.frames_cut = 1;
	m.unit.set_faults(faults);
	m.start(0, 4 * page);
	m.trace(3000);
	m.stop_by_flush();
	REQUIRE(m.rwp() % 16 == 8);
	const auto found = of_source(m.bytes(0, m.rwp() - 8), id);
	CHECK(found.size() > 2900);
	CHECK(std::ranges::equal(found, std::span(m.sent[id]).first(found.size())));
}
