// SPDX-License-Identifier: GPL-2.0-or-later
#include "registers.h"

#include <algorithm>
#include <cstring>
#include <string_view>

namespace hwsim::qemu
{
namespace
{

constexpr std::string_view names[] = {"rax", "rcx", "rdx", "rbx", "rsp", "rbp", "rsi", "rdi", "r8", "r9", "r10", "r11",
	"r12", "r13", "r14", "r15", "rip", "cs", "cr3", "cr4", "efer", "cr2", "eflags", "fs_base", "gs_base"};
static_assert(std::size(names) == static_cast<std::size_t>(Reg::count));

} // namespace

bool CpuRegisters::find()
{
	bytes = g_byte_array_new();
	GArray *list = qemu_plugin_get_registers();
	const auto *descriptors = reinterpret_cast<const qemu_plugin_reg_descriptor *>(list->data);
	for (unsigned i = 0; i < list->len; i++) {
		const auto at = std::ranges::find(names, std::string_view(descriptors[i].name));
		if (at != std::end(names))
			handles[static_cast<std::size_t>(at - names)] = descriptors[i].handle;
	}
	g_array_free(list, 1);
	return std::ranges::find(handles, nullptr) == handles.end();
}

/* QEMU appends what it reads. */
std::uint64_t CpuRegisters::operator[](Reg reg) const
{
	std::uint64_t value = 0;
	g_byte_array_set_size(bytes, 0);
	if (qemu_plugin_read_register(handles[static_cast<std::size_t>(reg)], bytes))
		std::memcpy(&value, bytes->data, std::min<std::size_t>(bytes->len, sizeof value));
	return value;
}

void CpuRegisters::set(Reg reg, std::uint64_t value)
{
	g_byte_array_set_size(bytes, sizeof value);
	std::memcpy(bytes->data, &value, sizeof value);
	qemu_plugin_write_register(handles[static_cast<std::size_t>(reg)], bytes);
}

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

} // namespace hwsim::qemu
