// SPDX-License-Identifier: GPL-2.0-only
// The contract of module/chunks.h: the map tells which chunk holds
// each byte, and where regions end. The oracle is a plain array with one entry per page (or byte), filled
// by walking the blocks.
#include "layout.h"

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <cerrno>

using namespace unit;

namespace
{

struct Facts {
	std::vector<std::uint32_t> owner;  // of each page
	std::vector<std::uint64_t> offset; // of each chunk, in bytes
	std::vector<std::uint64_t> length;

	explicit Facts(const Layout &layout)
	{
		std::uint64_t at = 0;
		for (auto order : layout.orders) {
			const auto length_in_pages = std::uint64_t{1} << order;
			owner.insert(owner.end(), length_in_pages, static_cast<std::uint32_t>(offset.size()));
			offset.push_back(at);
			length.push_back(length_in_pages * layout.page());
			at += length_in_pages * layout.page();
		}
	}
};

// Empty if the map agrees with the facts about every chunk and about the first and last byte (or, when bytes are few, every
// byte) of every page.
std::string disagreement(const Layout &layout, bool every_byte)
{
	const Map map(layout);
	const Facts facts(layout);
	const auto [smallest, largest] = std::minmax_element(layout.orders.begin(), layout.orders.end());

	if (map->nr != layout.orders.size())
		return "number of chunks, " + layout.text();
	if (map.alike() != (*smallest == *largest))
		return "alike, " + layout.text();
	if (map->order != *smallest)
		return "smallest order, " + layout.text();
	if ((map->first == nullptr) != map.alike())
		return "table, " + layout.text();
	if (map->nr_pages != layout.pages() || map->page_shift != layout.page_shift)
		return "size changed, " + layout.text();
	if (auxpmu_chunks_bytes(map.get()) != layout.bytes())
		return "bytes, " + layout.text();
	for (u32 n = 0; n < map->nr; ++n) {
		const auto chunk = auxpmu_chunk_nth(map.get(), n);
		if (chunk.offset != facts.offset[n] || chunk.length != facts.length[n])
			return "chunk " + std::to_string(n) + ", " + layout.text();
	}
	for (std::uint64_t page = 0; page < facts.owner.size(); ++page) {
		const auto step = every_byte ? 1 : layout.page() - 1;
		for (std::uint64_t byte = 0; byte < layout.page(); byte += std::max<std::uint64_t>(step, 1)) {
			const auto offset = page * layout.page() + byte;
			const auto index = auxpmu_chunk_index(map.get(), offset);
			const auto chunk = auxpmu_chunk_at(map.get(), offset);
			if (index != facts.owner[page])
				return "index of byte " + std::to_string(offset) + ", " + layout.text();
			if (chunk.offset != facts.offset[index] || chunk.length != facts.length[index])
				return "chunk at byte " + std::to_string(offset) + ", " + layout.text();
		}
	}
	return {};
}

// Where regions end in one lap, as offsets from 1 to the size of the buffer.
std::vector<std::uint64_t> region_ends(const Layout &layout, std::uint64_t granule)
{
	std::vector<std::uint64_t> ends;
	std::uint64_t at = 0;
	for (auto order : layout.orders) {
		const auto length = layout.page() << order;
		for (std::uint64_t done = 0; done < length;) {
			done += std::min(length, granule);
			ends.push_back(at + done);
		}
		at += length;
	}
	return ends;
}

// Empty if floor and ceil agree, for every byte of one lap that begins at `base`, with a search through all ends.
std::string region_disagreement(const Layout &layout, std::uint64_t granule, std::uint64_t base)
{
	const Map map(layout);
	const auto size = layout.bytes();
	std::vector<bool> is_end(size + 1, false);
	for (auto end : region_ends(layout, granule))
		is_end[end] = true;
	is_end[0] = true; // the end of the previous lap, or the very beginning
	std::uint64_t floor = base;
	for (std::uint64_t offset = 0; offset <= size; ++offset) {
		const auto where = [&] {
			return " of " + std::to_string(base + offset) + " granule " + std::to_string(granule) + ", " +
			       layout.text();
		};
		if (is_end[offset])
			floor = base + offset;
		if (auxpmu_region_floor(map.get(), granule, base + offset) != floor)
			return "floor" + where();
		auto end = offset;
		while (!is_end[end])
			++end;
		if (auxpmu_region_ceil(map.get(), granule, base + offset) != base + end)
			return "ceil" + where();
	}
	return {};
}

int scan(u32 nr_pages, const std::vector<unsigned> &notes)
{
	auxpmu_chunks map{};
	bool alike = false;
	map.nr_pages = nr_pages;
	map.page_shift = 12;
	return auxpmu_chunks_scan(&map, note_of, &notes, &alike);
}

} // namespace

TEST_CASE("every tiling of a buffer of up to 16 pages is mapped, byte for byte")
{
	std::size_t layouts = 0;
	for (unsigned pages : {1U, 2U, 4U, 8U, 16U})
		for (const auto &orders : all_tilings(pages)) {
			const auto wrong = disagreement({3, orders}, true);
			if (!wrong.empty())
				FAIL(wrong);
			++layouts;
		}
	SUCCEED(layouts << " layouts");
	CHECK(layouts == 1 + 2 + 6 + 56 + 5272);
}

TEST_CASE("buffers of 32 and 64 pages are mapped, with chunks all alike and with chunks of mixed orders at odd offsets")
{
	Random random(1);
	for (unsigned pages : {32U, 64U}) {
		for (unsigned order = 0; (1U << order) <= pages; ++order)
			ENSURE(disagreement({4, std::vector<unsigned>(pages >> order, order)}, true).empty());
		for (int i = 0; i < 4000; ++i) {
			const auto wrong = disagreement(random_layout(random, 3, pages, pages == 32 ? 5 : 6), true);
			if (!wrong.empty())
				FAIL(wrong);
		}
	}
	SUCCEED();
}

TEST_CASE("a buffer of 2 GiB is mapped, with one chunk, with half a million, and with anything between")
{
	Random random(2);
	constexpr std::uint64_t pages = 512 * 1024;
	for (unsigned order : {0U, 1U, 10U, 18U, 19U})
		ENSURE(disagreement({12, std::vector<unsigned>(pages >> order, order)}, false).empty());
	for (int i = 0; i < 12; ++i)
		ENSURE(disagreement(random_layout(random, 12, pages, i < 6 ? 10 : 19), false).empty());
	auto odd = std::vector<unsigned>{0};
	for (unsigned order = 0; order < 19; ++order)
		odd.push_back(order);
	CHECK(disagreement({12, odd}, false).empty());
	std::reverse(odd.begin(), odd.end());
	CHECK(disagreement({12, odd}, false).empty());
}

TEST_CASE("a buffer of larger pages, and of more bytes than 32 bits can count, is mapped")
{
	Random random(3);
	for (unsigned page_shift : {14U, 16U})
		for (int i = 0; i < 20; ++i)
			ENSURE(disagreement(random_layout(random, page_shift, 1024, 10), false).empty());
	for (unsigned order : {17U, 18U})
		ENSURE(disagreement({16, std::vector<unsigned>((256 * 1024) >> order, order)}, false).empty());
	CHECK(disagreement({16, {0, 0, 1, 17, 16, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2}}, false).empty());
}

TEST_CASE("blocks that do not tile the buffer are refused")
{
	for (u32 nr_pages : {1U, 2U, 4U, 8U, 64U}) {
		std::vector<unsigned> notes(nr_pages, 0);
		ENSURE(scan(nr_pages, notes) == 0);
		for (u32 page = 0; page < nr_pages; ++page)
			for (unsigned order = 0; order < 12; ++order) {
				notes.assign(nr_pages, 0);
				notes[page] = order;
				const bool fits = page + (std::uint64_t{1} << order) <= nr_pages;
				CAPTURE(nr_pages, page, order);
				ENSURE(scan(nr_pages, notes) == (fits ? 0 : -EINVAL));
			}
	}
	SUCCEED();
}

TEST_CASE("an order no allocator can mean is refused and computes nothing undefined")
{
	for (unsigned order :
		{19U, 20U, 31U, 32U, 33U, 63U, 64U, 65U, 255U, 256U, 0x7fffffffU, 0x80000000U, 0xffffffffU})
		for (u32 nr_pages : {1U, 2U, 1024U, 256U * 1024U}) {
			std::vector<unsigned> notes(nr_pages, 0);
			CAPTURE(order, nr_pages);
			notes[0] = order;
			ENSURE(scan(nr_pages, notes) == -EINVAL);
			notes[0] = 0;
			notes[nr_pages - 1] = order;
			ENSURE(scan(nr_pages, notes) == -EINVAL);
		}
	SUCCEED();
}

TEST_CASE("region ends are found below and above every position of small buffers")
{
	std::size_t maps = 0;
	for (unsigned page_shift : {0U, 2U, 3U})
		for (unsigned pages : {1U, 2U, 4U, 8U, 16U}) {
			if (pages == 16 && page_shift != 0)
				continue;
			for (const auto &orders : all_tilings(pages))
				for (std::uint64_t granule = 1U << page_shift;
					granule <= 2 * (std::uint64_t{pages} << page_shift); granule *= 2) {
					const Layout layout{page_shift, orders};
					for (std::uint64_t lap : {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{5},
						     (std::uint64_t{1} << 32) / layout.bytes() - 1,
						     (std::uint64_t{1} << 63) / layout.bytes() - 1}) {
						const auto wrong =
							region_disagreement(layout, granule, lap * layout.bytes());
						if (!wrong.empty())
							FAIL(wrong);
					}
					++maps;
				}
		}
	SUCCEED(maps << " maps");
}

TEST_CASE("region ends are found in buffers of up to 2 GiB")
{
	Random random(4);
	for (int i = 0; i < 60; ++i) {
		const auto layout = random_layout(random, 12, std::uint64_t{1} << pick(random, 0, 19),
			static_cast<unsigned>(pick(random, 0, 19)));
		const Map map(layout);
		const auto granule = std::uint64_t{4096} << pick(random, 0, 19);
		const auto ends = region_ends(layout, granule);
		for (int j = 0; j < 300; ++j) {
			const auto lap = pick(random, 0, (std::uint64_t{1} << 63) / layout.bytes());
			const auto base = lap * layout.bytes();
			auto offset = pick(random, 1, layout.bytes());
			if (j % 2) // next to an end
				offset = std::clamp<std::uint64_t>(
					ends[pick(random, 0, ends.size() - 1)] + pick(random, 0, 2) - 1, 1,
					layout.bytes());
			const auto at_or_above = std::lower_bound(ends.begin(), ends.end(), offset);
			const auto above = std::upper_bound(ends.begin(), ends.end(), offset);
			CAPTURE(layout.text(), granule, base, offset);
			ENSURE(auxpmu_region_ceil(map.get(), granule, base + offset) == base + *at_or_above);
			ENSURE(auxpmu_region_floor(map.get(), granule, base + offset) ==
				base + (above == ends.begin() ? 0 : above[-1]));
		}
	}
	SUCCEED();
}
