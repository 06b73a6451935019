/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * TmcBuffer: the memory in which a TMC stores frames: the RAM of an ETB or ETF, or, for an ETR, pages of the machine's memory, which are
 * contiguous or listed in scatter-gather tables (DDI0461, "Scatter-gather"). Offsets and sizes are in bytes.
 */
#ifndef HWSIM_ARM64_TMC_BUFFER_H
#define HWSIM_ARM64_TMC_BUFFER_H

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "../base/memory.h"
#include "catu.h"

namespace hwsim::arm64
{

class TmcBuffer
{
public:
	static constexpr std::uint64_t page_size = 4096;

	/* A ram_size of 0 stands for the machine's memory, whose addresses the CATU translates, if there is one. */
	TmcBuffer(std::uint32_t ram_size, GuestMemory &memory, Catu *in_front)
		: guest(memory), catu(in_front), ram(ram_size), bytes(ram_size)
	{
	}

	/* Finds the pages of a buffer at this bus address. Later changes of the tables have no effect until the next call. */
	void find(std::uint64_t base, std::uint64_t size, bool scattered);

	bool in_memory() const { return ram.empty(); }
	/* What find() has found of the requested size; the size of the RAM. */
	std::uint64_t size() const { return bytes; }
	/* What RWP and RRP show for this offset: a bus address, or the offset in the RAM. */
	std::optional<std::uint64_t> address(std::uint64_t offset) const;

	/* Must not cross a page. False if nothing answers at that address. */
	bool store(std::uint64_t offset, std::span<const std::uint8_t> frames);
	std::optional<std::uint32_t> load(std::uint64_t offset);

private:
	void find_scattered(std::uint64_t table);
	std::optional<std::uint64_t> physical_address(std::uint64_t offset) const;

	GuestMemory &guest;
	Catu *const catu;
	std::vector<std::uint8_t> ram;
	std::uint64_t bytes;
	std::vector<std::uint64_t> pages; /* bus addresses */
	std::vector<std::optional<std::uint64_t>> physical;
};

} // namespace hwsim::arm64

#endif
