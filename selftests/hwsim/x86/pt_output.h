/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Output: carries trace bytes to memory by the ToPA tables or to the single range, and moves the output registers on as
 * hardware does: SDM volume 3, "Trace Output".
 */
#ifndef HWSIM_X86_PT_OUTPUT_H
#define HWSIM_X86_PT_OUTPUT_H

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "../base/memory.h"
#include "rules.h"

namespace hwsim::x86::pt
{

/* IA32_RTIT_OUTPUT_BASE and IA32_RTIT_OUTPUT_MASK_PTRS. */
struct OutputRegisters {
	std::uint64_t base = 0;
	std::uint64_t mask_ptrs = 0x7f;
};

struct OutputResult {
	bool interrupt = false; /* an entry with INT was filled */
	bool stopped = false;   /* an entry with STOP was filled: the rest of the bytes is lost */
	bool error = false;     /* a malformed table, or memory that does not answer */
	std::size_t written = 0;
};

/* One entry of a table. */
struct TopaEntry {
	static constexpr std::uint64_t end = 1 << 0, interrupt = 1 << 2, stop = 1 << 4;
	static constexpr std::uint64_t reserved = 0xc2a; /* bits 1, 3, 5, 10, 11 */

	std::uint64_t raw = 0;

	std::uint64_t base() const { return raw & 0x000f'ffff'ffff'f000; }
	std::uint64_t size() const { return std::uint64_t{4096} << ((raw >> 6) & 15); }
	bool has(std::uint64_t bit) const { return raw & bit; }
};

class Output
{
public:
	Output(GuestMemory &to, bool multiple_regions, const Rules &in_force)
		: memory(to), multiple(multiple_regions), rules(in_force)
	{
	}

	/*
	 * SDM, "Single Output Region ToPA Implementation": there INT interrupts before the region is full. By how many bytes it
	 * does not say; the kernel's driver counts on no more than 512 (TOPA_PMI_MARGIN).
	 */
	static constexpr std::uint64_t early = 384;

	/* TraceEn was set, with output by tables. */
	void start(const OutputRegisters &registers);
	OutputResult write(OutputRegisters &registers, bool topa, std::span<const std::uint8_t> bytes);

private:
	OutputResult to_range(OutputRegisters &registers, std::span<const std::uint8_t> bytes);
	OutputResult to_regions(OutputRegisters &registers, std::span<const std::uint8_t> bytes);
	bool load(std::uint64_t table, std::uint64_t index, TopaEntry &entry);
	bool read(std::uint64_t address, std::uint64_t &entry);
	bool malformed(const TopaEntry &entry, std::uint64_t table, std::uint64_t index) const;

	GuestMemory &memory;
	bool multiple;
	const Rules &rules;
	/* Pages of tables, as they were when TraceEn was set or output first came there. */
	struct Page {
		std::uint64_t address;
		std::array<std::uint64_t, 512> entries;
	};
	static constexpr std::size_t most_pages = 64;
	std::vector<Page> pages;
};

} // namespace hwsim::x86::pt

#endif
