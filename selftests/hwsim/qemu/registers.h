/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * CpuRegisters: the registers of a vCPU by name, and the guest's memory, through the plugin interface. Only usable inside a
 * callback of that vCPU.
 */
#ifndef HWSIM_QEMU_REGISTERS_H
#define HWSIM_QEMU_REGISTERS_H

#include <array>
#include <cstdint>

#include "../base/memory.h"
#include "api.h"

namespace hwsim::qemu
{

/* rax to r15 have the numbers that instructions code them with. */
enum class Reg : std::uint8_t {
	rax,
	rcx,
	rdx,
	rbx,
	rsp,
	rbp,
	rsi,
	rdi,
	r8,
	r9,
	r10,
	r11,
	r12,
	r13,
	r14,
	r15,
	rip,
	cs,
	cr3,
	cr4,
	efer,
	cr2,
	eflags,
	fs_base,
	gs_base,
	count
};

class CpuRegisters
{
public:
	/* In the vCPU's init callback. False if one is missing: then this is no x86-64 QEMU. */
	bool find();

	std::uint64_t operator[](Reg reg) const;
	void set(Reg reg, std::uint64_t value);
	unsigned privilege() const { return static_cast<unsigned>((*this)[Reg::cs] & 3); }

private:
	std::array<qemu_plugin_register *, static_cast<std::size_t>(Reg::count)> handles{};
	GByteArray *bytes = nullptr;
};

class CpuMemory final : public GuestMemory
{
public:
	bool read(std::uint64_t address, std::span<std::uint8_t> to) override;
	bool write(std::uint64_t address, std::span<const std::uint8_t> from) override;
	bool read_linear(std::uint64_t address, std::span<std::uint8_t> to) override;
	bool write_linear(std::uint64_t address, std::span<const std::uint8_t> from) override;

private:
	GByteArray *fill(std::span<const std::uint8_t> from);
	GByteArray *empty();

	GByteArray *bytes = nullptr;
};

} // namespace hwsim::qemu

#endif
