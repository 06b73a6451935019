// SPDX-License-Identifier: GPL-2.0-only
// Buffers for the unit tests: a layout is the list of block orders an allocator might have handed over; from it come the
// chunk map under test (through the functions under test) and, computed separately, the plain facts to compare it with.
#pragma once

#include <cstdint>
#include <memory>
#include <numeric>
#include <random>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

extern "C" {
#include "chunks.h"
#include "core/state.h"
#include "window.h"
}

// A REQUIRE for loops: it reports only failures, because TAP prints a line for each assertion.
#define ENSURE(...)                                                                                                    \
	do {                                                                                                           \
		if (!(__VA_ARGS__))                                                                                    \
			FAIL(#__VA_ARGS__);                                                                            \
	} while (0)

namespace unit
{

struct Layout {
	unsigned page_shift = 3;
	std::vector<unsigned> orders; // of the blocks, in the order of the pages

	std::uint64_t pages() const
	{
		std::uint64_t sum = 0;
		for (auto order : orders)
			sum += std::uint64_t{1} << order;
		return sum;
	}
	std::uint64_t page() const { return std::uint64_t{1} << page_shift; }
	std::uint64_t bytes() const { return pages() * page(); }

	std::string text() const
	{
		std::ostringstream out;
		out << "page_shift " << page_shift << " orders";
		for (std::size_t i = 0; i < orders.size() && i < 40; ++i)
			out << ' ' << orders[i];
		return out.str();
	}
};

// What the allocator noted on each page: the order on the first page of a block, and a trap on the others, because the code
// must not read these.
constexpr unsigned not_a_first_page = 0xdead;

inline std::vector<unsigned> page_notes(const Layout &layout)
{
	std::vector<unsigned> notes;
	notes.reserve(layout.pages());
	for (auto order : layout.orders) {
		notes.push_back(order);
		notes.resize(notes.size() + (std::size_t{1} << order) - 1, not_a_first_page);
	}
	return notes;
}

inline unsigned note_of(const void *ctx, u32 page)
{
	return static_cast<const std::vector<unsigned> *>(ctx)->at(page);
}

// The chunk map of a layout, built as buffer.c does it: a scan, then a table only if the chunks differ.
class Map
{
public:
	explicit Map(const Layout &layout)
	{
		const auto notes = page_notes(layout);
		map_.nr_pages = static_cast<u32>(layout.pages());
		map_.page_shift = layout.page_shift;
		if (auxpmu_chunks_scan(&map_, note_of, &notes, &alike_) != 0)
			throw std::runtime_error("scan refuses " + layout.text());
		if (!alike_) {
			table_ = std::make_unique<u32[]>(map_.nr);
			auxpmu_chunks_fill(&map_, table_.get(), note_of, &notes);
		}
	}
	const auxpmu_chunks *get() const { return &map_; }
	const auxpmu_chunks *operator->() const { return &map_; }
	bool alike() const { return alike_; }

private:
	auxpmu_chunks map_{};
	bool alike_ = false;
	std::unique_ptr<u32[]> table_;
};

// Every way to split `pages` pages into blocks whose sizes are powers of two, at any offset.
inline std::vector<std::vector<unsigned>> all_tilings(unsigned pages)
{
	std::vector<std::vector<std::vector<unsigned>>> of(pages + 1);
	of[0] = {{}};
	for (unsigned n = 1; n <= pages; ++n)
		for (unsigned order = 0; (1U << order) <= n; ++order)
			for (auto tiling : of[n - (1U << order)]) {
				tiling.push_back(order);
				of[n].push_back(std::move(tiling));
			}
	return of[pages];
}

using Random = std::mt19937_64;

inline std::uint64_t pick(Random &random, std::uint64_t from, std::uint64_t to)
{
	return std::uniform_int_distribution<std::uint64_t>(from, to)(random);
}

// A layout as an allocator under memory pressure might produce it: its largest order changes as memory fragments.
inline Layout random_layout(Random &random, unsigned page_shift, std::uint64_t pages, unsigned max_order)
{
	Layout layout{page_shift, {}};
	unsigned top = static_cast<unsigned>(pick(random, 0, max_order));
	const bool uniform = pick(random, 0, 3) == 0;
	for (std::uint64_t left = pages; left > 0;) {
		if (!uniform && pick(random, 0, 7) == 0)
			top = static_cast<unsigned>(pick(random, 0, max_order));
		unsigned order = uniform ? top : static_cast<unsigned>(pick(random, top / 2, top));
		while ((std::uint64_t{1} << order) > left)
			--order;
		layout.orders.push_back(order);
		left -= std::uint64_t{1} << order;
	}
	return layout;
}

} // namespace unit
