/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Numbers as commands and options have them: decimal, octal or hexadecimal, and nothing behind. */
#ifndef HWSIM_BASE_NUMBER_H
#define HWSIM_BASE_NUMBER_H

#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>

namespace hwsim
{

inline std::optional<std::uint64_t> number(std::string_view text)
{
	const std::string digits(text);
	char *end = nullptr;
	const std::uint64_t value = std::strtoull(digits.c_str(), &end, 0);
	if (digits.empty() || *end)
		return {};
	return value;
}

} // namespace hwsim

#endif
