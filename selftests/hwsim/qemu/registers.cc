// SPDX-License-Identifier: GPL-2.0-or-later
#include "registers.h"

#include <algorithm>
#include <cstring>

namespace hwsim::qemu
{

bool CpuRegisters::find(std::span<const std::string_view> names, std::size_t required)
{
	bytes = g_byte_array_new();
	GArray *list = qemu_plugin_get_registers();
	const auto *descriptors = reinterpret_cast<const qemu_plugin_reg_descriptor *>(list->data);
	for (unsigned i = 0; i < list->len; i++) {
		const auto at = std::ranges::find(names, std::string_view(descriptors[i].name));
		if (at != names.end())
			handles[static_cast<std::size_t>(at - names.begin())] = descriptors[i].handle;
	}
	g_array_free(list, 1);
	return !std::ranges::count(std::span(handles).first(required), nullptr);
}

/* QEMU appends what it reads. */
std::uint64_t CpuRegisters::read(std::size_t place) const
{
	std::uint64_t value = 0;
	g_byte_array_set_size(bytes, 0);
	if (qemu_plugin_read_register(handles[place], bytes))
		std::memcpy(&value, bytes->data, std::min<std::size_t>(bytes->len, sizeof value));
	return value;
}

void CpuRegisters::write(std::size_t place, std::uint64_t value)
{
	g_byte_array_set_size(bytes, sizeof value);
	std::memcpy(bytes->data, &value, sizeof value);
	qemu_plugin_write_register(handles[place], bytes);
}

} // namespace hwsim::qemu
