// SPDX-License-Identifier: GPL-2.0-only
// drivers/pt/topa.c: a trace unit follows the tables as in SDM volume 3, "Table of
// Physical Addresses", over buffers of any shape: where each byte lands, where the unit interrupts and stops, and the
// position that the driver derives.
#include "driver.h"
#include "processor.h"

extern "C" {
#include "../../drivers/pt/caps.h"
#include "../../drivers/pt/topa.h"
}

#include <algorithm>
#include <catch2/catch_get_random_seed.hpp>
#include <catch2/catch_test_macros.hpp>

using namespace unit;

namespace
{

constexpr std::uint64_t page = 4096;
constexpr std::uint64_t no_limit = ~std::uint64_t{0};

// The regions of a buffer, derived from its layout alone.
struct Regions {
	struct Region {
		std::uint64_t offset, length;
		std::uint64_t bus; // its bus address
	};
	std::vector<Region> all;
	std::uint64_t size = 0;

	Regions(const Layout &layout, std::uint64_t granule, Buffer &buffer)
	{
		for (auto order : layout.orders) {
			const auto block = page << order, length = std::min(block, granule);

			for (std::uint64_t at = 0; at < block; at += length, size += length)
				all.push_back({size, length, virt_to_phys(buffer.at(size))});
		}
	}
	// The region that holds the byte at this position.
	std::size_t at(std::uint64_t position) const
	{
		auto behind = std::upper_bound(all.begin(), all.end(), position % size,
			[](std::uint64_t offset, const Region &region) { return offset < region.offset; });
		return static_cast<std::size_t>(behind - all.begin()) - 1;
	}
	// The end of the region that holds the byte at this position.
	std::uint64_t end(std::uint64_t position) const
	{
		const auto &region = all[at(position)];
		return position - position % size + region.offset + region.length;
	}
};

// The output of the unit: the two registers, and the result of following the tables.
class Output
{
public:
	Output(pt_output begin, bool eager, bool single_entry)
		: base(begin.base), index(begin.index), offset(begin.offset), eager_(eager), single_entry_(single_entry)
	{
		follow();
	}

	// Writes bytes; reports bus address and length of each piece in a region. Stops at an entry with STOP set.
	template <class Piece>
	std::uint64_t write(std::uint64_t bytes, Piece &&piece)
	{
		std::uint64_t written = 0;

		while (written < bytes && !stopped) {
			while (end_of_table())
				follow_link();
			const auto entry = at(index);
			const auto length = page << (entry >> 6 & 15), region = entry & ~std::uint64_t{0xfff};

			// Reserved bits that are set, and a region that is not aligned to its size, are an operational error.
			ENSURE((entry & 0xc2a) == 0);
			ENSURE(region % length == 0);
			ENSURE(offset < length);
			const auto part = std::min(bytes - written, length - offset);
			piece(region + offset, part);
			written += part;
			offset += part;
			if (offset < length)
				break;
			if (entry & 4)
				interrupted.push_back(written);
			if (entry & 16) {
				stopped = true; // and the position stays
				break;
			}
			offset = 0;
			index++;
			if (eager_)
				follow();
		}
		return written;
	}
	pt_output registers() const { return {base, index, static_cast<u32>(offset)}; }

	phys_addr_t base;
	u32 index;
	std::uint64_t offset;
	bool stopped = false;
	std::vector<std::uint64_t> interrupted; // number of bytes after which it interrupted

private:
	std::uint64_t at(u32 entry) const
	{
		ENSURE(entry < 512);
		return static_cast<const u64 *>(phys_to_virt(base))[entry];
	}
	bool end_of_table() const { return at(index) & 1; }
	void follow_link()
	{
		const auto entry = at(index);

		// An END entry holds only an address besides END; if the unit supports only single-entry tables, the second
		// entry points to the table itself.
		ENSURE((entry & 0xffe) == 0);
		ENSURE(index > 0);
		if (single_entry_)
			ENSURE((index == 1 && (entry & ~std::uint64_t{0xfff}) == base));
		base = entry & ~std::uint64_t{0xfff};
		index = 0;
	}
	void follow()
	{
		while (eager_ && end_of_table())
			follow_link();
	}

	bool eager_, single_entry_;
};

// A buffer with its tables.
struct Topa {
	Layout layout;
	Buffer buffer;
	Regions regions;
	pt_topa *topa;

	Topa(const Layout &from, bool overwrite, std::uint64_t granule, Random &random)
		: layout(from), buffer(from, overwrite, granule, false, random),
		  regions(from, overwrite ? no_limit : granule, buffer), topa(pt_topa_make(buffer.get()))
	{
		ENSURE(topa != nullptr);
		buffer->backend = topa;
	}
	~Topa() { pt_topa_free(topa); }
	Topa(const Topa &) = delete;

	// Which regions are marked, in the order in which the unit passes through them, lap by lap.
	std::vector<std::pair<std::uint64_t, std::uint64_t>> marks() const
	{
		std::vector<std::pair<std::uint64_t, std::uint64_t>> found;
		phys_addr_t table = virt_to_phys(topa->tables[0]);
		std::uint64_t n = 0;

		for (std::uint64_t left = regions.all.size() * (topa->nr_tables / topa->lap), index = 0; left;
			index++) {
			const auto entry = static_cast<const u64 *>(phys_to_virt(table))[index];

			if (entry & 1) {
				table = entry & ~std::uint64_t{0xfff};
				index = ~std::uint64_t{0};
				continue;
			}
			if (entry & 0x14)
				found.emplace_back(n, entry & 0x14);
			n++;
			left--;
		}
		return found;
	}
};

// The bytes must land where the buffer continues, and nowhere else.
struct Landing {
	const Regions &regions;
	std::uint64_t position;

	void operator()(std::uint64_t bus, std::uint64_t bytes)
	{
		const auto &region = regions.all[regions.at(position)];

		ENSURE(bus == region.bus + (position % regions.size - region.offset));
		ENSURE(position % regions.size + bytes <= region.offset + region.length);
		position += bytes;
	}
};

std::vector<Layout> layouts(Random &random)
{
	std::vector<Layout> all;

	for (unsigned pages = 1; pages <= 8; pages *= 2)
		for (auto &orders : all_tilings(pages))
			all.push_back({12, orders});
	for (unsigned n = 0; n < 40; n++)
		all.push_back(random_layout(random, 12, std::uint64_t{1} << pick(random, 4, 9), 6));
	// More regions than one, two, and four tables hold; and exactly as many as one holds.
	for (std::uint64_t pages : {512, 1024, 2048, 4096})
		all.push_back({12, std::vector<unsigned>(pages, 0)});
	all.push_back(random_layout(random, 12, 4096, 2));
	for (int regions : {509, 510, 511, 1020, 1021}) {
		// Exactly this many blocks: pages, and a few blocks as large as needed, one of which is split until the number
		// is right.
		const std::uint64_t pages = regions > 512 ? 4096 : 1024;
		Layout exact{12, std::vector<unsigned>(static_cast<std::size_t>(regions) - 12, 0)};
		for (auto left = pages - exact.pages(); left; left &= left - 1)
			exact.orders.push_back(static_cast<unsigned>(__builtin_ctzll(left)));
		while (exact.orders.size() < static_cast<std::size_t>(regions))
			exact.orders.push_back(--exact.orders.back());
		ENSURE((exact.pages() == pages && exact.orders.size() == static_cast<std::size_t>(regions)));
		all.push_back(exact);
	}
	return all;
}

void several_entries()
{
	processor = {};
	processor.caps[PT_TOPA_MULTIPLE_ENTRIES] = 1;
}

} // namespace

TEST_CASE("topa: a window is written where the buffer has it, interrupts where it should, and ends where it must")
{
	Random random(Catch::getSeed());
	unsigned windows = 0, tables = 0;

	several_entries();
	for (const auto &layout : layouts(random)) {
		const auto granule = page << pick(random, 0, 6);
		Topa one(layout, false, granule, random);
		const auto &regions = one.regions;
		std::uint64_t from = pick(random, 0, 3) ? 0 : pick(random, 0, 5 * regions.size);

		INFO(layout.text() << " granule " << granule);
		tables = std::max(tables, one.topa->nr_tables);
		ENSURE(one.topa->single_entry == false);
		for (unsigned n = 0; n < 25; n++, windows++) {
			auxpmu_window window{};
			u32 region = 0;

			window.from = from;
			window.to = regions.end(from + pick(random, 0, regions.size - 1));
			if (window.to > from + regions.size)
				window.to = regions.end(from);
			window.irq = std::min(window.to, regions.end(pick(random, from, window.to - 1)));

			const auto begin = pt_topa_place(one.buffer.get(), from, &region);
			pt_topa_mark(one.buffer.get(), &window);
			ENSURE(region == regions.at(from));
			ENSURE(begin.base % page == 0);

			// These two entries are marked, and no others.
			std::vector<std::pair<std::uint64_t, std::uint64_t>> marks = {
				{regions.at(window.to - 1), 0x14}};
			if (window.irq != window.to)
				marks.emplace_back(regions.at(window.irq - 1), 0x4);
			std::sort(marks.begin(), marks.end());
			ENSURE(one.marks() == marks);

			Output unit(begin, pick(random, 0, 1), false);
			const auto whole = window.to - from;
			const auto some = pick(random, 0, 1) ? whole : pick(random, 0, whole);
			const auto asked = some + (some == whole ? pick(random, 0, 1) * page : 0);
			Landing landing{regions, from};
			const auto written = unit.write(asked, landing);

			ENSURE(written == std::min(asked, whole));
			ENSURE(unit.stopped == (written == whole));
			std::vector<std::uint64_t> interrupts;
			for (auto at : {window.irq, window.to})
				if (at - from <= written && (interrupts.empty() || at != window.irq))
					interrupts.push_back(at - from);
			ENSURE(unit.interrupted == interrupts);

			const auto reached = pt_topa_reached(one.buffer.get(), unit.registers(), region);
			ENSURE(reached.full == unit.stopped);
			if (unit.stopped) {
				ENSURE(reached.region == regions.at(window.to - 1));
				ENSURE(reached.offset == (window.to - 1) % regions.size + 1);
			} else {
				ENSURE(reached.region == regions.at(from + written));
				ENSURE(reached.offset == (from + written) % regions.size);
			}
			from += written;
		}
	}
	CHECK(windows > 1000);
	CHECK(tables >= 8);
}

TEST_CASE("topa: the same window marked again, and one like it at another place")
{
	Random random(Catch::getSeed());
	Layout layout{12, {0, 0, 1, 2, 0, 0, 2, 1}};

	several_entries();
	Topa one(layout, false, 8192, random);
	using Marks = std::vector<std::pair<std::uint64_t, std::uint64_t>>;
	auto mark = [&](std::uint64_t irq, std::uint64_t to) {
		const auxpmu_window window{0, to, irq, false};

		pt_topa_mark(one.buffer.get(), &window);
		return one.marks();
	};
	// Regions: 0, 1: a page; 2: 2; 3, 4: 2 each; 5, 6: 1 each; 7, 8: 2 each; 9: 2
	CHECK(mark(4 * page, 8 * page) == Marks{{2, 4}, {4, 20}});
	CHECK(mark(4 * page, 8 * page) == Marks{{2, 4}, {4, 20}});
	CHECK(mark(2 * page, 8 * page) == Marks{{1, 4}, {4, 20}});
	CHECK(mark(2 * page, 4 * page) == Marks{{1, 4}, {2, 20}});
	CHECK(mark(4 * page, 4 * page) == Marks{{2, 20}});
	CHECK(mark(4 * page, 16 * page) == Marks{{2, 4}, {9, 20}});
	CHECK(mark(16 * page, 16 * page) == Marks{{9, 20}});
	CHECK(mark(no_limit, no_limit) == Marks{});
	CHECK(mark(no_limit, 2 * page) == Marks{{1, 20}});
}

TEST_CASE("topa: a buffer that is overwritten is written round and round, and tells when it has been filled")
{
	Random random(Catch::getSeed());
	unsigned laps = 0;

	several_entries();
	for (const auto &layout : layouts(random)) {
		Topa one(layout, true, page, random);
		const auto &regions = one.regions;

		INFO(layout.text());
		ENSURE(one.topa->nr_tables == 2 * one.topa->lap);
		ENSURE((one.topa->loop != 0) == (one.topa->lap == 1));
		for (unsigned n = 0; n < 20; n++) {
			const auxpmu_window window{0, no_limit, no_limit, false};
			const std::uint64_t begins[] = {0, pick(random, 0, regions.size - 1), regions.size,
				pick(random, regions.size, 9 * regions.size)};
			const auto from = begins[n % 4];
			const std::uint64_t lengths[] = {regions.size - from % regions.size,
				pick(random, 0, regions.size - from % regions.size), pick(random, 0, 3 * regions.size),
				regions.end(from) - from};
			const auto bytes = lengths[n / 4 % 4];
			u32 region = 0;

			const auto begin = pt_topa_place(one.buffer.get(), from, &region);
			pt_topa_mark(one.buffer.get(), &window);
			ENSURE(region == regions.at(from));
			Output unit(begin, pick(random, 0, 1), false);
			Landing landing{regions, from};
			ENSURE(unit.write(bytes, landing) == bytes);
			ENSURE(unit.interrupted.empty());
			// If all regions are in one table, later laps stay in it.
			if (one.topa->loop && from + bytes > regions.size)
				ENSURE(unit.base == one.topa->loop);

			const auto reached = pt_topa_reached(one.buffer.get(), unit.registers(), region);
			ENSURE(reached.offset == (from + bytes) % regions.size);
			ENSURE(reached.region == regions.at(from + bytes));
			ENSURE(!reached.full);
			ENSURE(reached.lapped == (from + bytes >= regions.size));
			laps += bytes >= regions.size;
		}
	}
	CHECK(laps > 100);
}

TEST_CASE("topa: with one entry in a table, each region stops; overwriting, the first lap interrupts")
{
	Random random(Catch::getSeed());

	processor = {};
	for (const auto &layout : layouts(random))
		for (bool overwrite : {false, true}) {
			if (overwrite && layout.orders.size() > 1)
				continue; // refused before tables are made
			Topa one(layout, overwrite, page << pick(random, 0, 3), random);
			const auto &regions = one.regions;
			std::uint64_t from = pick(random, 0, 3 * regions.size);

			INFO(layout.text() << " overwrite " << overwrite);
			ENSURE(one.topa->single_entry);
			ENSURE(one.topa->nr_tables == 1);
			for (unsigned n = 0; n < 40; n++) {
				const bool first = from < regions.size;
				const auto end = regions.end(from);
				const auxpmu_window window{
					from, overwrite ? no_limit : end, overwrite && !first ? no_limit : end, false};
				u32 region = 0;

				const auto begin = pt_topa_place(one.buffer.get(), from, &region);
				pt_topa_mark(one.buffer.get(), &window);
				ENSURE(region == regions.at(from));
				Output unit(begin, pick(random, 0, 1), true);
				const auto bytes = pick(random, 0, 1) ? end - from : pick(random, 0, 2 * regions.size);
				Landing landing{regions, from};
				const auto written = unit.write(bytes, landing);

				const bool ended = bytes >= end - from;
				ENSURE(unit.stopped == (ended && !overwrite));
				ENSURE(written == (unit.stopped ? end - from : bytes));
				if (!overwrite || first)
					ENSURE(unit.interrupted.empty() == !ended);
				else
					ENSURE(unit.interrupted.empty());
				const auto reached = pt_topa_reached(one.buffer.get(), unit.registers(), region);
				ENSURE(reached.full == unit.stopped);
				ENSURE(reached.offset == (unit.stopped ? (end - 1) % regions.size + 1
								       : (from + written) % regions.size));
				ENSURE(reached.region == region);
				from += written;
				if (overwrite && n % 8 == 7)
					from = pick(random, 0, 2 * regions.size);
			}
		}
}

TEST_CASE("topa: without memory there are no tables, and nothing is kept")
{
	Random random(Catch::getSeed());
	const Layout layout{12, std::vector<unsigned>(2048, 0)};

	several_entries();
	Buffer buffer(layout, true, page, false, random);
	long needs = 0;
	for (pt_topa *topa = nullptr; !topa; needs++) {
		processor.allocations_left = needs;
		topa = pt_topa_make(buffer.get());
		if (!topa) {
			ENSURE(processor.allocated == 0);
			continue;
		}
		CHECK(processor.allocated == needs);
		pt_topa_free(topa);
		break;
	}
	CHECK(needs == 1 + 2 * 5);
	CHECK(processor.allocated == 0);
	processor = {};
}
