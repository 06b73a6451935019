/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * PtRegisters: the Intel PT registers of one processor and the faults their writes can raise: SDM volume 3, "Trace Control
 * Registers", in the reading of KVM (vmx_rtit_ctl_check and the RTIT cases of vmx_set_msr). PtUnit carries out what a write
 * does beyond changing the value.
 */
#ifndef HWSIM_X86_PT_REGISTERS_H
#define HWSIM_X86_PT_REGISTERS_H

#include <array>
#include <cstdint>

#include "profile.h"
#include "pt_bits.h"
#include "pt_output.h"

namespace hwsim::x86::pt
{

class PtRegisters
{
public:
	explicit PtRegisters(const PtCapabilities &of) : capabilities(of), ctl_valid(valid_ctl_bits(of)) {}

	static bool owns(std::uint32_t msr)
	{
		return msr == msr::output_base || msr == msr::output_mask_ptrs ||
		       (msr >= msr::ctl && msr <= msr::cr3_match) || (msr >= msr::addr0_a && msr <= msr::addr3_b);
	}
	void reset();
	/*
	 * As they are after another owner: OUTPUT_BASE is "base", TraceEn is clear, and no register holds what it did
	 * before.
	 */
	void leave(std::uint64_t base);
	/* Would RDMSR, or WRMSR of this value, be a general protection fault? */
	bool read_faults(std::uint32_t msr) const;
	bool write_faults(std::uint32_t msr, std::uint64_t value) const;

	std::uint64_t read(std::uint32_t msr) const;
	/* Only for values that do not fault. */
	void write(std::uint32_t msr, std::uint64_t value);

	bool is_set(std::uint64_t ctl_bits) const { return (ctl & ctl_bits) == ctl_bits; }
	unsigned range_config(unsigned n) const { return ctl::addr_cfg(n).of(ctl); }
	/* The bounds of a range are part of it. */
	bool in_range(unsigned n, std::uint64_t ip) const { return ip >= address[2 * n] && ip <= address[2 * n + 1]; }

	OutputRegisters output;
	std::uint64_t ctl = 0;
	std::uint64_t status = 0; /* Error and Stopped; the other bits are made up when read */
	std::uint32_t byte_count = 0;
	std::uint64_t cr3_match = 0;
	std::array<std::uint64_t, 8> address{}; /* ADDR0_A, ADDR0_B, ... */

	const PtCapabilities &capabilities;

private:
	static std::uint64_t valid_ctl_bits(const PtCapabilities &of);
	bool exists(std::uint32_t msr) const;
	bool ctl_faults(std::uint64_t value) const;

	std::uint64_t ctl_valid;
};

} // namespace hwsim::x86::pt

#endif
