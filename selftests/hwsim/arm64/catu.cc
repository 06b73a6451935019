// SPDX-License-Identifier: GPL-2.0-or-later
#include "catu.h"

namespace hwsim::arm64
{
namespace
{

/* A table fills a page: it has pointers to data pages, and in its last two entries links to the neighbouring tables. */
constexpr std::uint64_t data_page = 4096, pages_per_table = 256, link_to_next = 511, entry_size = 8;
constexpr std::uint64_t valid = 1;

} // namespace

using namespace catu;

Catu::Catu(GuestMemory &memory) : Component({0x000b'b9ee, 0, 0, 0, 0}), guest(memory)
{
	show(reg::status, ready);
}

bool Catu::put(std::uint32_t offset, std::uint32_t value)
{
	switch (offset) {
	case reg::control:
		if ((value & enable) && !shows(reg::control, enable))
			show(reg::status, ready);
		show(offset, value & enable);
		return true;
	case reg::mode:
	case reg::irqen:
		value &= 1;
		break;
	case reg::axictrl:
	case reg::sladdrhi:
	case reg::inaddrhi:
		break;
	case reg::sladdrlo:
		value &= ~std::uint32_t{data_page - 1};
		break;
	case reg::inaddrlo:
		value &= ~std::uint32_t{pages_per_table * data_page - 1};
		break;
	default:
		return false;
	}
	/* While the CATU is enabled, writes to registers other than CONTROL are ignored. */
	if (!shows(reg::control, enable))
		show(offset, value);
	return true;
}

std::optional<std::uint64_t> Catu::entry(std::uint64_t table, std::uint64_t index)
{
	std::uint64_t value = 0;
	if (!guest.load(table + index * entry_size, value))
		return fail(axi_error);
	if (!(value & valid))
		return fail(address_error);
	return value & ~(data_page - 1);
}

std::optional<std::uint64_t> Catu::translate(std::uint64_t address, Walk &walk)
{
	if (!shows(reg::control, enable) || read(reg::mode) != catu::translate)
		return address;
	const std::uint64_t first = pair(reg::inaddrlo);
	if (address < first)
		return fail(address_error);
	const std::uint64_t page = (address - first) / data_page;
	if (!walk.n)
		walk.table = pair(reg::sladdrlo);
	for (; walk.n < page / pages_per_table && walk.table; walk.n++)
		walk.table = entry(*walk.table, link_to_next);
	const auto found = walk.table ? entry(*walk.table, page % pages_per_table) : std::nullopt;
	return found ? std::optional(*found + address % data_page) : std::nullopt;
}

} // namespace hwsim::arm64
