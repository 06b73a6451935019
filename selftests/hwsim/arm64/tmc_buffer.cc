// SPDX-License-Identifier: GPL-2.0-or-later
#include "tmc_buffer.h"

#include <algorithm>

namespace hwsim::arm64
{
namespace
{

/* 4 GiB, more memory than any guest has. */
constexpr std::uint64_t most_pages = std::uint64_t{1} << 20;
/* Types of the 32-bit entries of a scatter-gather table. */
constexpr unsigned last_entry = 1, link_entry = 3, entry_type = 3;

} // namespace

void TmcBuffer::find(std::uint64_t base, std::uint64_t size, bool scattered)
{
	bytes = size;
	pages.clear();
	physical.clear();
	if (scattered) {
		find_scattered(base);
	} else {
		const std::uint64_t count = std::min((size + page_size - 1) / page_size, most_pages);
		for (std::uint64_t n = 0; n < count; n++)
			pages.push_back(base + n * page_size);
	}
	Catu::Walk walk;
	for (const std::uint64_t page : pages)
		physical.push_back(catu ? catu->translate(page, walk) : page);
}

/*
 * Entries of 4 bytes, with the page number from bit 4 on; the last entry of a table links to the next table. The list is all the memory
 * there is, whatever RSZ says.
 */
void TmcBuffer::find_scattered(std::uint64_t table)
{
	std::uint64_t at = table;
	for (std::uint64_t reads = 0; reads < most_pages; reads++) {
		std::uint32_t entry = 0;
		if (!guest.load(at, entry) || !(entry & entry_type))
			break;
		const std::uint64_t page = std::uint64_t{entry >> 4} * page_size;
		if ((entry & entry_type) == link_entry) {
			at = page;
			continue;
		}
		pages.push_back(page);
		if ((entry & entry_type) == last_entry)
			break;
		at += sizeof entry;
	}
	bytes = pages.size() * page_size;
}

std::optional<std::uint64_t> TmcBuffer::address(std::uint64_t offset) const
{
	if (!in_memory())
		return offset;
	const std::uint64_t n = offset / page_size;
	return n < pages.size() ? std::optional(pages[n] + offset % page_size) : std::nullopt;
}

std::optional<std::uint64_t> TmcBuffer::physical_address(std::uint64_t offset) const
{
	const std::uint64_t n = offset / page_size;
	return n < physical.size() && physical[n] ? std::optional(*physical[n] + offset % page_size) : std::nullopt;
}

bool TmcBuffer::store(std::uint64_t offset, std::span<const std::uint8_t> frames)
{
	if (!in_memory()) {
		std::ranges::copy(frames, ram.begin() + static_cast<std::ptrdiff_t>(offset));
		return true;
	}
	const auto at = physical_address(offset);
	return at && guest.write(*at, frames);
}

std::optional<std::uint32_t> TmcBuffer::load(std::uint64_t offset)
{
	std::uint32_t word = 0;
	if (!in_memory()) {
		std::copy_n(ram.begin() + static_cast<std::ptrdiff_t>(offset), sizeof word,
			reinterpret_cast<std::uint8_t *>(&word));
		return word;
	}
	const auto at = physical_address(offset);
	return at && guest.load(*at, word) ? std::optional(word) : std::nullopt;
}

} // namespace hwsim::arm64
