// SPDX-License-Identifier: GPL-2.0-or-later
#include "memory.h"

#include <algorithm>

namespace hwsim::qemu
{

/* QEMU appends what it reads. */
GByteArray *CpuMemory::empty()
{
	if (!bytes)
		bytes = g_byte_array_new();
	return g_byte_array_set_size(bytes, 0);
}

GByteArray *CpuMemory::fill(std::span<const std::uint8_t> from)
{
	empty();
	g_byte_array_set_size(bytes, static_cast<unsigned>(from.size()));
	std::ranges::copy(from, bytes->data);
	return bytes;
}

bool CpuMemory::read(std::uint64_t address, std::span<std::uint8_t> to)
{
	if (qemu_plugin_read_memory_hwaddr(address, empty(), to.size()))
		return false;
	std::copy_n(bytes->data, to.size(), to.begin());
	return true;
}

bool CpuMemory::write(std::uint64_t address, std::span<const std::uint8_t> from)
{
	return !qemu_plugin_write_memory_hwaddr(address, fill(from));
}

bool CpuMemory::read_linear(std::uint64_t address, std::span<std::uint8_t> to)
{
	if (!qemu_plugin_read_memory_vaddr(address, empty(), to.size()))
		return false;
	std::copy_n(bytes->data, to.size(), to.begin());
	return true;
}

bool CpuMemory::write_linear(std::uint64_t address, std::span<const std::uint8_t> from)
{
	return qemu_plugin_write_memory_vaddr(address, fill(from));
}

std::optional<std::uint64_t> CpuMemory::translate(std::uint64_t address)
{
	std::uint64_t physical = 0;
	if (!qemu_plugin_translate_vaddr(address, &physical))
		return {};
	return physical;
}

} // namespace hwsim::qemu
