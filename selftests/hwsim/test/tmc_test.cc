// SPDX-License-Identifier: GPL-2.0-or-later
/* TMCs: where frames go, what stops them, what their registers say then (DDI0461); how an ETR finds memory, by a CATU too. */
#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <array>
#include <map>

#include "../arm64/tmc.h"
#include "../tools/deframer.h"
#include "memory_fake.h"

using namespace hwsim::arm64;
using namespace hwsim::arm64::tmc;

namespace
{

constexpr std::uint64_t page = 4096;
constexpr std::uint8_t id = 0x10;
/* What drivers/hwtracing/coresight/coresight-tmc-etr.c programs: EnFt, EnTI, FOnFlIn, FOnTrigEvt, TrigOnTrigIn. */
constexpr std::uint32_t formats = 0x133;

/* The bytes of a source, extracted from frames by OpenCSD, which shares no code with the formatter. */
std::vector<std::uint8_t> of_source(std::span<const std::uint8_t> frames, std::uint8_t which)
{
	hwsim::Deframer reader;
	reader.process(frames);
	return reader.of(which);
}

struct Machine {
	explicit Machine(Config config = {}, bool with_catu = false)
		: memory(256 * page), catu(memory), unit(config, memory, with_catu ? &catu : nullptr)
	{
		CHECK(unit.write(management::lar, management::unlock));
		CHECK(catu.write(management::lar, management::unlock));
	}
	void set(std::uint32_t offset, std::uint32_t value) { CHECK(unit.write(offset, value)); }
	/* Starts the capture to a buffer of this many bytes in memory. */
	void start(std::uint64_t at, std::uint64_t size)
	{
		set(reg::rsz, static_cast<std::uint32_t>(size / 4));
		set(reg::dbalo, static_cast<std::uint32_t>(at));
		set(reg::dbahi, static_cast<std::uint32_t>(at >> 32));
		set(reg::ffcr, formats);
		set(reg::ctl, capture);
	}
	/* The same in the mode set, with a RAM or a buffer in memory. */
	void start_fifo(std::uint64_t at, std::uint64_t size)
	{
		set(reg::ffcr, formats);
		if (size && unit.write(reg::dbalo, static_cast<std::uint32_t>(at)))
			return start(at, size);
		set(reg::ctl, capture);
	}
	void stop_by_flush()
	{
		set(reg::ffcr, formats | stop_on_flush), set(reg::ffcr, formats | stop_on_flush | tmc::flush);
	}
	/* Sends this many more bytes of a source, each different from its neighbours. */
	void trace(std::size_t size, std::uint8_t of = id)
	{
		std::vector<std::uint8_t> bytes;
		for (std::size_t i = 0; i < size; i++)
			bytes.push_back(
				static_cast<std::uint8_t>(sent[of].size() * 7 + i * 7 + (sent[of].size() + i) / 256));
		CHECK(unit.receive(of, bytes) == size);
		sent[of].insert(sent[of].end(), bytes.begin(), bytes.end());
	}
	std::uint64_t rwp() const { return unit.read(reg::rwp) | std::uint64_t{unit.read(reg::rwphi)} << 32; }
	std::uint64_t rrp() const { return unit.read(reg::rrp) | std::uint64_t{unit.read(reg::rrphi)} << 32; }
	bool has(std::uint32_t bit) const { return unit.read(reg::sts) & bit; }
	std::span<const std::uint8_t> bytes(std::uint64_t at, std::uint64_t size) const
	{
		return std::span(memory.bytes).subspan(at, size);
	}
	/* All words that the RAM holds. */
	std::vector<std::uint8_t> read_ram()
	{
		std::vector<std::uint8_t> all;
		for (std::uint32_t word = unit.read(reg::rrd); all.size() < (1 << 20); word = unit.read(reg::rrd)) {
			const std::uint32_t at = unit.read(reg::rrp);
			unit.was_read(reg::rrd);
			if (at == unit.read(reg::rrp))
				break;
			for (unsigned n = 0; n < 4; n++)
				all.push_back(static_cast<std::uint8_t>(word >> 8 * n));
		}
		return all;
	}

	FakeMemory memory;
	Catu catu;
	Tmc unit;
	std::map<std::uint8_t, std::vector<std::uint8_t>> sent;
};

} // namespace

TEST_CASE("An ETR writes frames to the memory, and all of them once it was flushed", "[tmc]")
{
	Machine m;
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
	Machine m;
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
	Machine m;
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
	Machine m;
	m.start(page, 2 * page);
	m.trace(3 * page);
	m.stop_by_flush();
	CHECK(m.has(full));
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
	Machine m;
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
	Machine m;
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
	m.start(page, 4 * page);
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
	/* There are three pages, however many were asked for. */
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
	Machine m({Kind::etr, true}, true);
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

TEST_CASE("A page that is not there is a memory error, which stops it", "[tmc]")
{
	Machine m;
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
		Machine m({kind, false, 4096});
		CHECK(m.unit.read(reg::rsz) == 1024);
		CHECK_FALSE(m.unit.write(reg::rsz, 5));
		for (const std::size_t size : {100, 3000, 9000}) {
			m.sent.clear();
			m.set(reg::ffcr, formats);
			m.set(reg::ctl, capture);
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
	Machine m({Kind::etb, false, 4096});
	m.set(reg::ffcr, formats);
	m.set(reg::ctl, capture);
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
	Machine m({Kind::etf, false, 4096});
	m.set(reg::ffcr, formats);
	m.set(reg::ctl, capture);
	m.trace(6000);
	m.stop_by_flush();
	CHECK(m.read_ram().size() == 4096);
	CHECK((m.has(full) && m.has(empty)));
	m.set(reg::ctl, 0);
	m.set(reg::ffcr, formats);
	m.set(reg::ctl, capture);
	CHECK_FALSE(m.has(full));
	CHECK(m.has(empty));
}

TEST_CASE("Who is behind leaves out the oldest words of a stopped RAM", "[tmc]")
{
	Machine m({Kind::etf, false, 4096});
	m.set(reg::ffcr, formats);
	m.set(reg::ctl, capture);
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
	Machine m;
	m.start(0, page);
	m.set(reg::ffcr, formats | stop_on_flush | tmc::flush);
	CHECK_FALSE(m.has(ready));
	CHECK(m.unit.read(reg::ffcr) == (formats | stop_on_flush));
	m.set(reg::ffcr, formats | stop_on_flush | tmc::flush);
	CHECK(m.has(ready));
	CHECK(m.has(formatter_empty));
}

namespace
{

/* Reads a software FIFO until there is nothing, as 2.2.2, "Standard usage models for the TMC", has it. */
void read_fifo(Machine &m, std::vector<std::uint8_t> &frames)
{
	for (unsigned nothing = 0; nothing < 2;) {
		const std::uint32_t word = m.unit.read(reg::rrd);
		m.unit.was_read(reg::rrd);
		nothing = word == 0xffff'ffff ? nothing + 1 : 0;
		for (unsigned n = 0; n < 4 && !nothing; n++)
			frames.push_back(static_cast<std::uint8_t>(word >> 8 * n));
	}
}

} // namespace

TEST_CASE("A software FIFO is read while it fills, and loses nothing: its sources wait", "[tmc][fifo]")
{
	for (const Config config : {Config{Kind::etb, false, 4096}, Config{Kind::etf, false, 4096}, Config{}}) {
		Machine m(config);
		std::vector<bool> output;
		std::vector<std::uint8_t> frames, all;
		m.unit.connect_full([&output](bool asserted) { output.push_back(asserted); });
		m.set(reg::mode, static_cast<std::uint32_t>(Mode::software_fifo));
		m.set(reg::bufwm, 256);
		m.start_fifo(8 * page, page);
		CHECK((m.has(empty) && !m.has(full) && output.empty()));
		/* Several times its size, by pieces of which it takes what it can. */
		std::size_t waited = 0;
		for (unsigned i = 0; i < 10'000; i++)
			all.push_back(static_cast<std::uint8_t>(i * 7 + i / 256));
		for (std::span<const std::uint8_t> rest = all; !rest.empty();) {
			const std::size_t taken =
				m.unit.receive(id, rest.first(std::min<std::size_t>(rest.size(), 700)));
			rest = rest.subspan(taken);
			CHECK(m.has(full) == (m.unit.read(reg::cbuflevel) >= 1024 - 256));
			if (taken == std::min<std::size_t>(rest.size() + taken, 700))
				continue;
			waited++;
			CHECK(m.unit.read(reg::cbuflevel) == 1024);
			CHECK(m.unit.read(reg::lbuflevel) == 1024);
			read_fifo(m, frames);
			CHECK((m.has(empty) && !m.has(full)));
			CHECK(m.unit.read(reg::lbuflevel) == 1024);
			m.unit.was_read(reg::lbuflevel);
			CHECK(m.unit.read(reg::lbuflevel) == 0);
		}
		CHECK(waited >= 2);
		REQUIRE(output.size() >= 2 * waited);
		for (std::size_t i = 0; i < output.size(); i++)
			CHECK(output[i] == (i % 2 == 0));
		/* Frames wait in the formatter for room when it is stopped. */
		m.set(reg::ffcr, formats | stop_on_flush);
		m.set(reg::ffcr, formats | stop_on_flush | tmc::flush);
		read_fifo(m, frames);
		CHECK(m.has(ready));
		const bool same = of_source(frames, id) == all;
		CHECK(same);
		CHECK(m.unit.statistics().discarded == 0);
		m.set(reg::ctl, 0);
		CHECK(output.size() % 2 == 0);
	}
}

TEST_CASE("A software FIFO that is full is stopped when it was read", "[tmc][fifo]")
{
	Machine m({Kind::etb, false, 4096});
	std::vector<std::uint8_t> frames, all(5000, 0x5a);
	m.set(reg::mode, static_cast<std::uint32_t>(Mode::software_fifo));
	m.start_fifo(0, 0);
	all.resize(m.unit.receive(id, all));
	CHECK(all.size() < 4096);
	CHECK(m.has(full));
	m.unit.trigger(id);
	m.set(reg::ffcr, formats | stop_on_flush);
	m.set(reg::ffcr, formats | stop_on_flush | tmc::flush);
	CHECK_FALSE(m.has(ready));
	CHECK_FALSE(m.unit.read(reg::ffsr) & stopped);
	CHECK(m.unit.receive(id, std::array<std::uint8_t, 3>{}) == 3);
	CHECK(m.unit.statistics().discarded == 3);
	read_fifo(m, frames);
	CHECK((m.has(ready) && (m.unit.read(reg::ffsr) & stopped)));
	CHECK(of_source(frames, Formatter::trigger_id).size() == 1);
	const bool same = of_source(frames, id) == all;
	CHECK(same);
}

TEST_CASE("Software FIFO mode 2 is read in memory, and RURP makes room", "[tmc][fifo]")
{
	Machine m({Kind::etr, true});
	std::vector<std::uint8_t> frames, all(20'000);
	for (std::size_t i = 0; i < all.size(); i++)
		all[i] = static_cast<std::uint8_t>(i * 11 + i / 256);
	m.set(reg::mode, static_cast<std::uint32_t>(Mode::software_fifo_2));
	m.start_fifo(16 * page, 2 * page);
	const auto read = [&] {
		for (std::uint64_t at = m.rrp(); m.unit.read(reg::cbuflevel);) {
			const std::uint64_t size =
				std::min<std::uint64_t>(std::uint64_t{m.unit.read(reg::cbuflevel)} * 4, 18 * page - at);
			const auto part = m.bytes(at, size);
			frames.insert(frames.end(), part.begin(), part.end());
			m.set(reg::rurp, static_cast<std::uint32_t>(size));
			at = at + size == 18 * page ? 16 * page : at + size;
			CHECK(m.rrp() == at);
		}
	};
	for (std::span<const std::uint8_t> rest = all; !rest.empty();) {
		const std::size_t taken = m.unit.receive(id, rest.first(std::min<std::size_t>(rest.size(), 3000)));
		rest = rest.subspan(taken);
		CHECK(m.unit.read(reg::rrd) == 0xffff'ffff);
		if (!taken)
			read();
	}
	m.set(reg::ffcr, formats | stop_on_flush);
	m.set(reg::ffcr, formats | stop_on_flush | tmc::flush);
	read();
	CHECK(m.has(ready));
	const bool same = of_source(frames, id) == all;
	CHECK(same);
	CHECK(m.unit.read(reg::rurp) == 0);
	/* An older one has no such mode, nor register, and takes the number for mode 1. */
	Machine older;
	CHECK_FALSE(older.unit.write(reg::rurp, 16));
	older.set(reg::mode, 3);
	older.start_fifo(0, page);
	CHECK(older.unit.read(reg::mode) == 3);
	older.trace(600);
	older.unit.was_read(reg::rrd);
	CHECK(older.unit.read(reg::rrd) != 0xffff'ffff);
	/* An ETB is no hardware FIFO, either. */
	Machine etb({Kind::etb, false, 4096});
	etb.set(reg::mode, static_cast<std::uint32_t>(Mode::hardware_fifo));
	etb.start_fifo(0, 0);
	etb.trace(600);
	etb.unit.was_read(reg::rrd);
	CHECK(etb.unit.read(reg::rrd) != 0xffff'ffff);
}

TEST_CASE("What there is room for is taken", "[tmc][fifo]")
{
	Machine m({Kind::etb, false, 1024});
	CHECK(m.unit.room(id) == SIZE_MAX);
	m.set(reg::mode, static_cast<std::uint32_t>(Mode::software_fifo));
	m.start_fifo(0, 0);
	CHECK(m.unit.room(id) > 300);
	CHECK(m.unit.room(id) <= 1024);
	/* Sources that take turns cost most. */
	std::size_t taken = 0;
	for (unsigned i = 0; m.unit.room(id); i++) {
		const std::vector<std::uint8_t> bytes(std::min<std::size_t>(m.unit.room(id), 1 + i % 3), 1);
		REQUIRE(m.unit.receive(i % 2 ? 0x10 : 0x12, bytes) == bytes.size());
		taken += bytes.size();
	}
	CHECK(taken > 300);
	CHECK(m.unit.receive(id, std::array<std::uint8_t, 1>{}) == 0);
	Machine link({Kind::etf, false, 1024});
	link.set(reg::mode, static_cast<std::uint32_t>(Mode::hardware_fifo));
	link.set(reg::ctl, capture);
	link.trace(1000);
	CHECK(link.unit.room(id) == 24);
}

TEST_CASE("The output FULL is of an enabled TMC", "[tmc][fifo]")
{
	for (const Mode mode : {Mode::software_fifo, Mode::circular}) {
		Machine m({Kind::etb, false, 4096});
		std::vector<bool> output;
		m.unit.connect_full([&output](bool asserted) { output.push_back(asserted); });
		m.set(reg::mode, static_cast<std::uint32_t>(mode));
		m.start_fifo(0, 0);
		(void)m.unit.receive(id, std::vector<std::uint8_t>(6000, 1));
		CHECK(output == std::vector<bool>{true});
		m.set(reg::ctl, 0);
		CHECK(output == std::vector<bool>{true, false});
	}
}

TEST_CASE("A trigger that flushes what passes it on sends nothing twice", "[tmc]")
{
	Machine upper({Kind::etf, false, 4096}), lower;
	upper.unit.connect(lower.unit);
	lower.unit.connect_from(upper.unit);
	upper.set(reg::mode, static_cast<std::uint32_t>(Mode::hardware_fifo));
	upper.set(reg::ctl, capture);
	lower.set(reg::trg, 0);
	lower.start(0, 8 * page);
	for (unsigned i = 0; i < 10; i++) {
		upper.trace(90, i % 2 ? 0x10 : 0x12);
		if (i == 3)
			upper.unit.trigger(0x10);
	}
	upper.trace(2000, 0x10);
	CHECK(lower.has(triggered));
	lower.stop_by_flush();
	const auto frames = lower.bytes(0, lower.rwp());
	CHECK(of_source(frames, 0x10) == upper.sent[0x10]);
	CHECK(of_source(frames, 0x12) == upper.sent[0x12]);
	CHECK(upper.unit.statistics().bytes == upper.sent[0x10].size() + upper.sent[0x12].size());
}

TEST_CASE("A flush does not end before what is above has come", "[tmc][fifo]")
{
	Machine upper({Kind::etf, false, 4096}), lower({Kind::etb, false, 1024});
	std::vector<std::uint8_t> frames;
	upper.unit.connect(lower.unit);
	lower.unit.connect_from(upper.unit);
	upper.set(reg::mode, static_cast<std::uint32_t>(Mode::hardware_fifo));
	upper.set(reg::ctl, capture);
	lower.set(reg::mode, static_cast<std::uint32_t>(Mode::software_fifo));
	lower.start_fifo(0, 0);
	upper.trace(3000);
	lower.stop_by_flush();
	CHECK((lower.unit.read(reg::ffcr) & tmc::flush));
	CHECK((lower.unit.read(reg::ffsr) & in_progress));
	CHECK_FALSE(lower.has(ready));
	read_fifo(lower, frames);
	CHECK_FALSE((lower.unit.read(reg::ffcr) & tmc::flush));
	CHECK(lower.has(ready));
	CHECK(of_source(frames, id) == upper.sent[id]);
	CHECK(lower.unit.statistics().flushes == 1);
	/* Who does not read, but disables it, loses the rest, which is counted: here, or above, from where it goes on being sent. */
	lower.set(reg::ctl, 0);
	lower.set(reg::ffcr, formats);
	lower.set(reg::ctl, capture);
	upper.trace(3000);
	lower.stop_by_flush();
	lower.set(reg::ctl, 0);
	CHECK(lower.unit.read(reg::ffcr) == (formats | stop_on_flush));
	CHECK(lower.unit.statistics().discarded >= 2900);
	CHECK_FALSE(upper.unit.holds());
}

TEST_CASE("What is lost by a disable is counted, wherever it was", "[tmc]")
{
	Machine link({Kind::etf, false, 4096}), fifo({Kind::etb, false, 4096});
	link.set(reg::mode, static_cast<std::uint32_t>(Mode::hardware_fifo));
	link.set(reg::ctl, capture);
	link.trace(700);
	link.set(reg::ctl, 0);
	CHECK(link.unit.statistics().discarded == 700);
	fifo.set(reg::mode, static_cast<std::uint32_t>(Mode::software_fifo));
	fifo.start_fifo(0, 0);
	fifo.trace(700);
	fifo.set(reg::ctl, 0);
	CHECK(fifo.unit.statistics().discarded >= 700);
}

TEST_CASE("A memory error is cleared by a write, once it has stopped", "[tmc]")
{
	Machine m;
	m.start(255 * page, 2 * page);
	m.trace(page + 2000);
	CHECK(m.has(memory_error));
	m.set(reg::sts, 0);
	CHECK(m.has(memory_error));
	m.set(reg::sts, memory_error);
	CHECK_FALSE(m.has(memory_error));
}

TEST_CASE("What was in it when it was disabled does not come with the next start", "[tmc]")
{
	Machine upper({Kind::etf, false, 4096}), lower({Kind::etb, false, 4096});
	upper.unit.connect(lower.unit);
	lower.unit.connect_from(upper.unit);
	const auto start = [](Machine &m, Mode mode) {
		m.set(reg::ctl, 0);
		m.set(reg::mode, static_cast<std::uint32_t>(mode));
		m.set(reg::ffcr, formats);
		m.set(reg::ctl, capture);
	};
	start(lower, Mode::circular);
	lower.trace(100, 0x14);
	start(lower, Mode::circular);
	start(upper, Mode::hardware_fifo);
	upper.trace(200, 0x10);
	start(upper, Mode::hardware_fifo);
	upper.trace(200, 0x12);
	lower.trace(100, 0x16);
	lower.stop_by_flush();
	const auto frames = lower.read_ram();
	CHECK(of_source(frames, 0x10).empty());
	CHECK(of_source(frames, 0x14).empty());
	CHECK(of_source(frames, 0x12) == upper.sent[0x12]);
	CHECK(of_source(frames, 0x16) == lower.sent[0x16]);
}

TEST_CASE("What RRD shows does not change while software does not look", "[tmc][fifo]")
{
	Machine m({Kind::etb, false, 4096});
	m.set(reg::mode, static_cast<std::uint32_t>(Mode::software_fifo));
	m.start_fifo(0, 0);
	m.trace(600);
	CHECK(m.unit.read(reg::rrd) == 0xffff'ffff);
	/* The word that this makes visible was not the one that was read. */
	m.unit.was_read(reg::rrd);
	CHECK(m.unit.read(reg::rrp) == 0);
	m.unit.was_read(reg::rrd);
	CHECK(m.unit.read(reg::rrp) == 4);
	m.set(management::lar, 0);
	m.unit.was_read(reg::rrd);
	CHECK(m.unit.read(reg::rrp) == 4);
}

TEST_CASE(
	"An ETF behind which a software FIFO is full holds trace back, and gives it when there is room", "[tmc][fifo]")
{
	Machine upper({Kind::etf, false, 4096}), lower({Kind::etb, false, 1024});
	std::vector<bool> output;
	std::vector<std::uint8_t> frames;
	upper.unit.connect(lower.unit);
	lower.unit.connect_from(upper.unit);
	upper.unit.connect_full([&output](bool asserted) { output.push_back(asserted); });
	upper.set(reg::mode, static_cast<std::uint32_t>(Mode::hardware_fifo));
	upper.set(reg::bufwm, 512);
	upper.set(reg::ffcr, formats);
	upper.set(reg::ctl, capture);
	lower.set(reg::mode, static_cast<std::uint32_t>(Mode::software_fifo));
	lower.start_fifo(0, 0);
	for (unsigned i = 0; i < 30; i++)
		upper.trace(100);
	CHECK((upper.has(full) && lower.has(full)));
	CHECK(output == std::vector<bool>{true});
	/* What it holds has an end, too. */
	std::vector<std::uint8_t> more(5000, 0x77);
	more.resize(upper.unit.receive(0x10, more));
	CHECK(more.size() < 4096);
	CHECK(upper.unit.receive(0x10, more) == 0);
	upper.sent[id].insert(upper.sent[id].end(), more.begin(), more.end());
	/* It cannot stop before it has passed everything on. */
	upper.stop_by_flush();
	CHECK_FALSE(upper.has(ready));
	read_fifo(lower, frames);
	CHECK(upper.has(ready));
	lower.stop_by_flush();
	read_fifo(lower, frames);
	CHECK(upper.has(ready));
	CHECK(lower.has(ready));
	CHECK(of_source(frames, id) == upper.sent[id]);
	CHECK(output == std::vector<bool>{true, false});
}

TEST_CASE("An ETF lets trace through, in order, and all of it where what is below flushes", "[tmc]")
{
	Machine upper({Kind::etf, false, 4096}), lower;
	upper.unit.connect(lower.unit);
	lower.unit.connect_from(upper.unit);
	upper.set(reg::mode, static_cast<std::uint32_t>(Mode::hardware_fifo));
	upper.set(reg::ctl, capture);
	lower.start(0, 8 * page);
	for (unsigned i = 0; i < 40; i++)
		upper.trace(i * 13 % 200, i % 3 ? 0x10 : 0x14);
	lower.stop_by_flush();
	const auto frames = lower.bytes(0, lower.rwp());
	CHECK(of_source(frames, 0x10) == upper.sent[0x10]);
	CHECK(of_source(frames, 0x14) == upper.sent[0x14]);
	CHECK(lower.unit.statistics().discarded == 0);
}

TEST_CASE("A trigger is in the trace, and may stop it some words later", "[tmc]")
{
	for (const bool stops : {false, true}) {
		Machine m;
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
	Machine m;
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
		Machine m;
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
	Machine m;
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
	Machine m;
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
