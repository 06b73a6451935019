/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Vmx: VMX operation of one processor as far as a hypervisor gets without a guest, and as far as it concerns Intel PT: SDM volume
 * 3, "VMX Instruction Reference" (VMXON, VMXOFF), "VMX Capability Reporting Facility", "Enabling and Entering VMX Operation".
 * Virtual machines cannot be run: VMCLEAR and what follows it are invalid instructions.
 */
#ifndef HWSIM_X86_VMX_H
#define HWSIM_X86_VMX_H

#include <cstdint>
#include <optional>

#include "../base/memory.h"
#include "profile.h"

namespace hwsim::x86
{

class Vmx
{
public:
	/* How an instruction ends. "failed" is VMfail without its RFLAGS, which the plugin interface does not let us write. */
	enum class End : std::uint8_t { done, failed, invalid_opcode, general_protection };

	static constexpr std::uint64_t cr4_vmxe = 1 << 13;
	static constexpr std::uint32_t feature_control = 0x3a, first_capability = 0x480, last_capability = 0x491;

	explicit Vmx(const Profile &of) : profile(of) {}
	void reset()
	{
		control = 0;
		operating = false;
	}

	static bool owns(std::uint32_t msr)
	{
		return msr == feature_control || (msr >= first_capability && msr <= last_capability);
	}
	/* Empty: a general protection fault. */
	std::optional<std::uint64_t> read(std::uint32_t msr) const;
	bool write_faults(std::uint32_t msr, std::uint64_t value) const;
	void write(std::uint64_t value) { control = value; }

	/* Is a write of this value to CR4 a general protection fault? */
	bool cr4_faults(std::uint64_t value) const { return operating && !(value & cr4_vmxe); }
	/* "operand": the address of the region, which VMXON has in memory; empty if it cannot be read. */
	End enter(std::uint64_t cr4, unsigned level, std::optional<std::uint64_t> operand, GuestMemory &memory);
	End leave(unsigned level);

	/* Is a write of IA32_RTIT_CTL a fault now? */
	bool forbids_trace() const { return operating && !profile.trace_in_vmx; }

private:
	const Profile &profile;
	std::uint64_t control = 0; /* IA32_FEATURE_CONTROL */
	bool operating = false;
};

} // namespace hwsim::x86

#endif
