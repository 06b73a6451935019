// SPDX-License-Identifier: GPL-2.0-or-later
/* TMCs that are FIFOs: read by software while they fill, or passing trace on; what waits in them, and what flushes it (DDI0461). */
#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <array>

#include "tmc_machine.h"

using namespace hwsim::arm64;
using namespace hwsim::arm64::tmc;

namespace
{

/* An ETF, which passes trace on to another TMC. */
struct Chain {
	explicit Chain(Config of_lower = {}) : lower(of_lower)
	{
		upper.unit.connect(lower.unit);
		lower.unit.connect_from(upper.unit);
	}
	TmcMachine upper{Config{Kind::etf, false, 4096}}, lower;
};

/* Reads a software FIFO until there is nothing, as 2.2.2, "Standard usage models for the TMC", has it. */
void read_fifo(TmcMachine &m, std::vector<std::uint8_t> &frames)
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
		TmcMachine m(config);
		std::vector<bool> output;
		std::vector<std::uint8_t> frames, all;
		m.unit.connect_full([&output](bool asserted) { output.push_back(asserted); });
		m.set(reg::bufwm, 256);
		m.start(Mode::software_fifo, 8 * page, page);
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
		m.stop_by_flush();
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
	TmcMachine m({Kind::etb, false, 4096});
	std::vector<std::uint8_t> frames, all(5000, 0x5a);
	m.start(Mode::software_fifo);
	all.resize(m.unit.receive(id, all));
	CHECK(all.size() < 4096);
	CHECK(m.has(full));
	m.unit.trigger(id);
	m.stop_by_flush();
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
	TmcMachine m({Kind::etr, true});
	std::vector<std::uint8_t> frames, all(20'000);
	for (std::size_t i = 0; i < all.size(); i++)
		all[i] = static_cast<std::uint8_t>(i * 11 + i / 256);
	m.start(Mode::software_fifo_2, 16 * page, 2 * page);
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
	m.stop_by_flush();
	read();
	CHECK(m.has(ready));
	const bool same = of_source(frames, id) == all;
	CHECK(same);
	CHECK(m.unit.read(reg::rurp) == 0);
	/* An older one has no such mode, nor register, and takes the number for mode 1. */
	TmcMachine older;
	CHECK_FALSE(older.unit.write(reg::rurp, 16));
	older.start(static_cast<Mode>(3), 0, page);
	CHECK(older.unit.read(reg::mode) == 3);
	older.trace(600);
	older.unit.was_read(reg::rrd);
	CHECK(older.unit.read(reg::rrd) != 0xffff'ffff);
	/* An ETB is no hardware FIFO, either. */
	TmcMachine etb({Kind::etb, false, 4096});
	etb.start(Mode::hardware_fifo);
	etb.trace(600);
	etb.unit.was_read(reg::rrd);
	CHECK(etb.unit.read(reg::rrd) != 0xffff'ffff);
}

TEST_CASE("What there is room for is taken", "[tmc][fifo]")
{
	TmcMachine m({Kind::etb, false, 1024});
	CHECK(m.unit.room(id) == SIZE_MAX);
	m.start(Mode::software_fifo);
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
	TmcMachine link({Kind::etf, false, 1024});
	link.start(Mode::hardware_fifo);
	link.trace(1000);
	CHECK(link.unit.room(id) == 24);
}

TEST_CASE("The output FULL is of an enabled TMC", "[tmc][fifo]")
{
	for (const Mode mode : {Mode::software_fifo, Mode::circular}) {
		TmcMachine m({Kind::etb, false, 4096});
		std::vector<bool> output;
		m.unit.connect_full([&output](bool asserted) { output.push_back(asserted); });
		m.start(mode);
		(void)m.unit.receive(id, std::vector<std::uint8_t>(6000, 1));
		CHECK(output == std::vector<bool>{true});
		m.set(reg::ctl, 0);
		CHECK(output == std::vector<bool>{true, false});
	}
}

TEST_CASE("A trigger that flushes what passes it on sends nothing twice", "[tmc]")
{
	Chain chain;
	auto &[upper, lower] = chain;
	upper.start(Mode::hardware_fifo);
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
	Chain chain({Kind::etb, false, 1024});
	auto &[upper, lower] = chain;
	std::vector<std::uint8_t> frames;
	upper.start(Mode::hardware_fifo);
	lower.start(Mode::software_fifo);
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
	lower.start(Mode::software_fifo);
	upper.trace(3000);
	lower.stop_by_flush();
	lower.set(reg::ctl, 0);
	CHECK(lower.unit.read(reg::ffcr) == (formats | stop_on_flush));
	CHECK(lower.unit.statistics().discarded >= 2900);
	CHECK_FALSE(upper.unit.holds());
}

TEST_CASE("What was in it when it was disabled does not come with the next start", "[tmc]")
{
	Chain chain({Kind::etb, false, 4096});
	auto &[upper, lower] = chain;
	lower.start(Mode::circular);
	lower.trace(100, 0x14);
	lower.set(reg::ctl, 0);
	lower.start(Mode::circular);
	upper.start(Mode::hardware_fifo);
	upper.trace(200, 0x10);
	upper.set(reg::ctl, 0);
	upper.start(Mode::hardware_fifo);
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
	TmcMachine m({Kind::etb, false, 4096});
	m.start(Mode::software_fifo);
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
	Chain chain({Kind::etb, false, 1024});
	auto &[upper, lower] = chain;
	std::vector<bool> output;
	std::vector<std::uint8_t> frames;
	upper.unit.connect_full([&output](bool asserted) { output.push_back(asserted); });
	upper.set(reg::bufwm, 512);
	upper.start(Mode::hardware_fifo);
	lower.start(Mode::software_fifo);
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
	Chain chain;
	auto &[upper, lower] = chain;
	upper.start(Mode::hardware_fifo);
	lower.start(0, 8 * page);
	for (unsigned i = 0; i < 40; i++)
		upper.trace(i * 13 % 200, i % 3 ? 0x10 : 0x14);
	lower.stop_by_flush();
	const auto frames = lower.bytes(0, lower.rwp());
	CHECK(of_source(frames, 0x10) == upper.sent[0x10]);
	CHECK(of_source(frames, 0x14) == upper.sent[0x14]);
	CHECK(lower.unit.statistics().discarded == 0);
}
