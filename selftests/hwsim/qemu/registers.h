/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * CpuRegisters: registers of a vCPU, through the plugin interface, by their place in a list of names. Only usable inside a callback of
 * that vCPU. The lists, and names for the places, are an architecture's (x86/registers.h).
 */
#ifndef HWSIM_QEMU_REGISTERS_H
#define HWSIM_QEMU_REGISTERS_H

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "api.h"

namespace hwsim::qemu
{

class CpuRegisters
{
public:
	std::uint64_t read(std::size_t place) const;
	void write(std::size_t place, std::uint64_t value);

protected:
	/* Called in the vCPU's init callback, with at most "most" names. False if QEMU lacks one of the first ones, those that are required. */
	bool find(std::span<const std::string_view> names, std::size_t required);
	/* Does QEMU have this one? */
	bool is_there(std::size_t place) const { return handles[place]; }

private:
	static constexpr std::size_t most = 64;

	/* In the object itself, for speed: the program counter is read at many branches that are traced. */
	std::array<qemu_plugin_register *, most> handles{};
	GByteArray *bytes = nullptr;
};

} // namespace hwsim::qemu

#endif
