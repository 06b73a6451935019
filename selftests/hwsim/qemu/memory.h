/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * CpuMemory: the guest's memory, through the plugin interface. Only usable inside a callback of a vCPU; linear addresses are that
 * vCPU's.
 */
#ifndef HWSIM_QEMU_MEMORY_H
#define HWSIM_QEMU_MEMORY_H

#include <cstdint>
#include <optional>

#include "../base/memory.h"
#include "api.h"

namespace hwsim::qemu
{

class CpuMemory final : public GuestMemory
{
public:
	bool read(std::uint64_t address, std::span<std::uint8_t> to) override;
	bool write(std::uint64_t address, std::span<const std::uint8_t> from) override;
	bool read_linear(std::uint64_t address, std::span<std::uint8_t> to) override;
	bool write_linear(std::uint64_t address, std::span<const std::uint8_t> from) override;
	/* The physical address to which the vCPU, at its present level, translates this linear one; empty if there is none. */
	std::optional<std::uint64_t> translate(std::uint64_t address);

private:
	GByteArray *fill(std::span<const std::uint8_t> from);
	GByteArray *empty();

	GByteArray *bytes = nullptr;
};

} // namespace hwsim::qemu

#endif
