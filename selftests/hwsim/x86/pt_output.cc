// SPDX-License-Identifier: GPL-2.0-or-later
#include "pt_output.h"

#include <algorithm>

namespace hwsim::x86::pt
{
namespace
{

/* Where output is, taken apart: an index and an offset into the region that it names. */
struct Position {
	std::uint64_t table;
	std::uint64_t index;
	std::uint64_t offset;

	explicit Position(const OutputRegisters &registers)
		: table(registers.base & ~std::uint64_t{0x7f}), index((registers.mask_ptrs >> 7) & 0x1ff'ffff),
		  offset(registers.mask_ptrs >> 32)
	{
	}
	void store(OutputRegisters &registers) const
	{
		registers.base = table;
		registers.mask_ptrs = offset << 32 | index << 7 | 0x7f;
	}
};

} // namespace

/*
 * SDM, "ToPA Errors". END must not be the first entry, nor have INT or STOP; its size means nothing. With one region per table it has to
 * lead back to its own table ("Single Output Region ToPA Implementation").
 */
bool Output::malformed(const TopaEntry &entry, std::uint64_t table, std::uint64_t index) const
{
	if (entry.raw & TopaEntry::reserved)
		return true;
	if (entry.has(TopaEntry::end))
		return index == 0 || entry.has(TopaEntry::interrupt | TopaEntry::stop) ||
		       (rules.aligned_tables && !multiple && entry.base() != table);
	return (!multiple && index != 0) || (entry.base() & (entry.size() - 1));
}

OutputResult Output::write(OutputRegisters &registers, bool topa, std::span<const std::uint8_t> bytes)
{
	return topa ? to_regions(registers, bytes) : to_range(registers, bytes);
}

/* A ring of mask + 1 bytes; the offset returns to zero at its end. */
OutputResult Output::to_range(OutputRegisters &registers, std::span<const std::uint8_t> bytes)
{
	OutputResult result;
	const std::uint64_t mask = (registers.mask_ptrs & 0xffff'ffff) | 0x7f;
	std::uint64_t offset = registers.mask_ptrs >> 32;
	/* SDM: mask must be contiguous ones, base aligned to it, offset inside; else an operational error. */
	if ((mask & (mask + 1)) || (registers.base & mask) || offset > mask) {
		result.error = true;
		return result;
	}
	while (!bytes.empty()) {
		const std::size_t size = std::min<std::uint64_t>(bytes.size(), mask + 1 - offset);
		if (!memory.write(registers.base + offset, bytes.first(size))) {
			result.error = true;
			break;
		}
		offset = (offset + size) & mask;
		bytes = bytes.subspan(size);
		result.written += size;
	}
	registers.mask_ptrs = offset << 32 | mask;
	return result;
}

/* SDM, "Table of Physical Addresses (ToPA)": while tracing is enabled processors may have cached any entry, and need not notice changes. */
void Output::start(const OutputRegisters &registers)
{
	const Position at(registers);
	std::uint64_t entry;
	pages.clear();
	if (rules.cached_tables)
		read(at.table + at.index * 8, entry);
}

bool Output::read(std::uint64_t address, std::uint64_t &entry)
{
	if (!rules.cached_tables)
		return memory.load(address, entry);
	const std::uint64_t page = address & ~std::uint64_t{0xfff};
	auto at = std::ranges::find(pages, page, &Page::address);
	if (at == pages.end()) {
		if (pages.size() == most_pages)
			pages.erase(pages.begin());
		at = pages.insert(pages.end(), {page, {}});
		if (!memory.load(page, at->entries)) {
			pages.pop_back();
			return false;
		}
	}
	entry = at->entries[(address & 0xfff) / 8];
	return true;
}

bool Output::load(std::uint64_t table, std::uint64_t index, TopaEntry &entry)
{
	if (rules.aligned_tables && (table & 0xfff))
		return false;
	return read(table + index * 8, entry.raw) && !malformed(entry, table, index);
}

/*
 * After a full region output goes on at the next entry. If that is END, it goes to the table where END leads, at once or with the next byte
 * (rule "late-end"). At a STOP output stays at the end of the full region.
 */
OutputResult Output::to_regions(OutputRegisters &registers, std::span<const std::uint8_t> bytes)
{
	OutputResult result;
	Position at(registers);
	while (!bytes.empty() && !result.stopped) {
		TopaEntry entry;
		if (!load(at.table, at.index, entry)) {
			result.error = true;
			break;
		}
		if (entry.has(TopaEntry::end)) {
			at.table = entry.base();
			at.index = 0;
			continue;
		}
		/* SDM, "ToPA Errors", "Illegal ToPA Output Offset". */
		if (at.offset >= entry.size()) {
			result.error = true;
			break;
		}
		const std::size_t size = std::min<std::uint64_t>(bytes.size(), entry.size() - at.offset);
		if (!memory.write(entry.base() + at.offset, bytes.first(size))) {
			result.error = true;
			break;
		}
		at.offset += size;
		bytes = bytes.subspan(size);
		result.written += size;
		if (!multiple && entry.size() - at.offset <= early)
			result.interrupt |= entry.has(TopaEntry::interrupt);
		if (at.offset < entry.size())
			continue;
		result.interrupt |= entry.has(TopaEntry::interrupt);
		if (entry.has(TopaEntry::stop)) {
			result.stopped = true;
			break;
		}
		at.index++;
		at.offset = 0;
		TopaEntry next;
		if (!rules.late_end && load(at.table, at.index, next) && next.has(TopaEntry::end)) {
			at.table = next.base();
			at.index = 0;
		}
	}
	at.store(registers);
	return result;
}

} // namespace hwsim::x86::pt
