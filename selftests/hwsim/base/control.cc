// SPDX-License-Identifier: GPL-2.0-or-later
#include "control.h"

#include <algorithm>
#include <cctype>

namespace hwsim
{
namespace
{

/* The name becomes part of a file name. */
bool harmless(std::string_view name)
{
	return std::ranges::all_of(
		name, [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '-' || c == '_'; });
}

} // namespace

bool Control::command(std::string_view text)
{
	const auto blank = text.find(' ');
	const std::string_view verb = text.substr(0, blank);
	const std::string_view object = blank == text.npos ? "" : text.substr(blank + 1);
	const std::lock_guard guard(lock);
	if (verb == "log" && harmless(object))
		common.log = object;
	else if (!set(verb, object))
		return false;
	common.losses += verb == "lose";
	changes.fetch_add(1, std::memory_order_release);
	return true;
}

void Control::reset()
{
	const std::lock_guard guard(lock);
	common.resets++;
	changes.fetch_add(1, std::memory_order_release);
}

} // namespace hwsim
