/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Options of the plugin: values that several of them have. A wrong one ends QEMU. */
#ifndef HWSIM_QEMU_OPTIONS_H
#define HWSIM_QEMU_OPTIONS_H

#include <cstdint>
#include <string>
#include <string_view>

namespace hwsim::qemu
{

/* Prints the reason, and ends QEMU. */
[[noreturn]] void refuse(const std::string &why);

bool on_or_off(std::string_view name, std::string_view value);
/* As bytes. */
std::uint64_t gibibytes(std::string_view name, std::string_view value);

} // namespace hwsim::qemu

#endif
