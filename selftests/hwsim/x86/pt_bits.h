/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Numbers and bits of the Intel PT registers: SDM volume 4, and volume 3 "Trace Control Registers".
 */
#ifndef HWSIM_X86_PT_BITS_H
#define HWSIM_X86_PT_BITS_H

#include <cstdint>

namespace hwsim::x86::pt
{

namespace msr
{
constexpr std::uint32_t output_base = 0x560, output_mask_ptrs = 0x561, ctl = 0x570, status = 0x571, cr3_match = 0x572,
			addr0_a = 0x580, addr3_b = 0x587;
}

namespace ctl
{
constexpr std::uint64_t trace_en = 1 << 0, cyc_en = 1 << 1, os = 1 << 2, user = 1 << 3, power_events = 1 << 4,
			fup_on_ptw = 1 << 5, fabric_en = 1 << 6, cr3_filter = 1 << 7, topa = 1 << 8, mtc_en = 1 << 9,
			tsc_en = 1 << 10, dis_retc = 1 << 11, ptw_en = 1 << 12, branch_en = 1 << 13,
			event_en = std::uint64_t{1} << 31, dis_tnt = std::uint64_t{1} << 55;

/* Fields of several bits. */
struct Field {
	unsigned shift;
	unsigned width;

	constexpr std::uint64_t mask() const { return ((std::uint64_t{1} << width) - 1) << shift; }
	constexpr unsigned of(std::uint64_t value) const { return static_cast<unsigned>((value & mask()) >> shift); }
};
constexpr Field mtc_freq = {14, 4}, cyc_thresh = {19, 4}, psb_freq = {24, 4};
constexpr Field addr_cfg(unsigned n)
{
	return {32 + 4 * n, 4};
}
} // namespace ctl

/* Values of ADDRn_CFG. */
constexpr unsigned range_unused = 0, range_filter = 1, range_stop = 2;

namespace status
{
constexpr std::uint64_t filter_en = 1 << 0, context_en = 1 << 1, trigger_en = 1 << 2, error = 1 << 4, stopped = 1 << 5;
constexpr ctl::Field byte_count = {32, 17};
} // namespace status

} // namespace hwsim::x86::pt

#endif
