/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Catu: the address translation unit in front of an ETR (CoreSight Address Translation Unit TRM, 100806). It maps a window of input
 * addresses to pages listed in tables, each of which links to the next one. Nothing of them is kept but within a walk.
 */
#ifndef HWSIM_ARM64_CATU_H
#define HWSIM_ARM64_CATU_H

#include <optional>

#include "../base/memory.h"
#include "component.h"

namespace hwsim::arm64
{

namespace catu
{
namespace reg
{
constexpr std::uint32_t control = 0x000, mode = 0x004, axictrl = 0x008, irqen = 0x00c, sladdrlo = 0x020,
			sladdrhi = 0x024, inaddrlo = 0x028, inaddrhi = 0x02c, status = 0x100;
} // namespace reg
constexpr std::uint32_t enable = 1, translate = 1;
/* STATUS */
constexpr std::uint32_t address_error = 1 << 0, axi_error = 1 << 4, ready = 1 << 8;
} // namespace catu

class Catu final : public Component
{
public:
	explicit Catu(GuestMemory &memory);

	/* The table that has been reached. A walk is for ascending addresses, while the tables stay as they are. */
	struct Walk {
		std::uint64_t n = 0;
		std::optional<std::uint64_t> table;
	};

	/* Translates an address of the ETR. If there is no translation, sets an error bit in STATUS and returns nothing. */
	std::optional<std::uint64_t> translate(std::uint64_t address, Walk &walk);
	std::optional<std::uint64_t> translate(std::uint64_t address)
	{
		Walk walk;
		return translate(address, walk);
	}

private:
	bool put(std::uint32_t offset, std::uint32_t value) override;
	std::uint64_t pair(std::uint32_t low) const { return read(low) | std::uint64_t{read(low + 4)} << 32; }
	std::optional<std::uint64_t> entry(std::uint64_t table, std::uint64_t index);
	std::optional<std::uint64_t> fail(std::uint32_t how)
	{
		show(catu::reg::status, read(catu::reg::status) | how);
		return {};
	}

	GuestMemory &guest;
};

} // namespace hwsim::arm64

#endif
