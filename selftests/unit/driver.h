// SPDX-License-Identifier: GPL-2.0-only
// AUX buffers for the unit tests of the drivers' pure parts: pages somewhere in memory, in blocks according to a layout, with
// the maps that the framework makes of them. These maps are the only code shared with the code under test; they have tests of
// their own.
#pragma once

#include "layout.h"

#include <algorithm>
#include <cstring>

#define private backend // the members of this name are not valid C++
extern "C" {
#include "auxpmu.h"
}
#undef private

namespace unit
{

class Buffer
{
public:
	// Regions are chunks, split into parts of at most `granule` bytes. Memory that is only referred to by address is not
	// allocated.
	Buffer(const Layout &layout, bool overwrite, std::uint64_t granule, bool there, Random &random)
		: chunks_(layout), regions_(split(layout, overwrite ? ~std::uint64_t{0} : granule))
	{
		std::memset(static_cast<void *>(&buffer_), 0, sizeof(buffer_));
		buffer_.chunks = *chunks_.get();
		buffer_.regions = *regions_.get();
		buffer_.size = layout.bytes();
		buffer_.overwrite = overwrite;
		place(layout, there, random);
		buffer_.pages = pages_.data();
	}

	auxpmu_buffer *get() { return &buffer_; }
	auxpmu_buffer *operator->() { return &buffer_; }
	const auxpmu_chunks &regions() const { return buffer_.regions; }
	std::byte *at(std::uint64_t offset) const
	{
		return static_cast<std::byte *>(pages_[offset / 4096]) + offset % 4096;
	}

private:
	static Layout split(const Layout &layout, std::uint64_t granule)
	{
		Layout split{layout.page_shift, {}};

		for (auto order : layout.orders) {
			unsigned part = order;
			while ((layout.page() << part) > granule)
				part--;
			split.orders.insert(split.orders.end(), std::size_t{1} << (order - part), part);
		}
		return split;
	}

	// Each block lies at a multiple of its size, as with the page allocator, in any order, and no two are adjacent.
	void place(const Layout &layout, bool there, Random &random)
	{
		std::vector<std::size_t> order(layout.orders.size());
		std::vector<std::uint64_t> where(layout.orders.size());
		std::uint64_t next = 0x200000000000; // far from this program's own mappings

		std::iota(order.begin(), order.end(), 0);
		std::shuffle(order.begin(), order.end(), random);
		for (auto n : order) {
			const auto bytes = layout.page() << layout.orders[n];

			if (there) {
				memory_.emplace_back(std::aligned_alloc(bytes, bytes), std::free);
				std::memset(memory_.back().get(), 0, bytes);
				where[n] = reinterpret_cast<std::uint64_t>(memory_.back().get());
			} else {
				where[n] = next = (next + 2 * bytes) & ~(bytes - 1);
				next += bytes;
			}
		}
		for (std::size_t n = 0; n < where.size(); n++)
			for (std::uint64_t page = 0; page < std::uint64_t{1} << layout.orders[n]; page++)
				pages_.push_back(reinterpret_cast<void *>(where[n] + page * layout.page()));
	}

	Map chunks_, regions_;
	std::vector<void *> pages_;
	std::vector<std::unique_ptr<void, void (*)(void *)>> memory_;
	auxpmu_buffer buffer_;
};

} // namespace unit
