/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a judge says, put together as by printf(). */
#ifndef HWSIM_FUZZ_TEXT_H
#define HWSIM_FUZZ_TEXT_H

#include <cstdio>
#include <string>

namespace hwsim::fuzz
{

std::string text(const char *format, auto... values)
{
	char line[256];
	std::snprintf(line, sizeof line, format, values...);
	return line;
}

} // namespace hwsim::fuzz

#endif
