// SPDX-License-Identifier: GPL-2.0-or-later
#include "options.h"

#include <charconv>
#include <cstdio>
#include <cstdlib>

namespace hwsim::qemu
{

void refuse(const std::string &why)
{
	std::fprintf(stderr, "hwsim: %s\n", why.c_str());
	std::exit(1);
}

bool on_or_off(std::string_view name, std::string_view value)
{
	if (value != "on" && value != "off")
		refuse(std::string(name) + " is on or off, not " + std::string(value));
	return value == "on";
}

std::uint64_t gibibytes(std::string_view name, std::string_view value)
{
	std::uint64_t number = 0;
	const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
	if (error != std::errc{} || end != value.data() + value.size() || !number || number >> 30)
		refuse(std::string(name) + " is a number of GiB, 1 or more, not " + std::string(value));
	return number << 30;
}

} // namespace hwsim::qemu
