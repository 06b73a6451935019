// SPDX-License-Identifier: GPL-2.0-or-later
#include "loss.h"

#include "../base/number.h"

namespace hwsim::x86
{

bool Loss::set(std::string_view text)
{
	constexpr std::string_view when = " at ", other = "other:";
	Loss next;
	if (text == "nothing") {
		*this = next;
		return true;
	}
	if (const auto blank = text.find(when); blank != text.npos) {
		const auto msr = number(text.substr(blank + when.size()));
		if (!msr || !*msr || *msr > UINT32_MAX)
			return false;
		next.at = static_cast<std::uint32_t>(*msr);
		text = text.substr(0, blank);
	}
	if (text == "reset") {
		next.to = To::reset;
	} else if (text.starts_with(other)) {
		const auto base = number(text.substr(other.size()));
		/* The address of a ToPA table: of a page, within the 40 bits of physical addresses. */
		if (!base || (*base & 0xfff) || *base >> 40)
			return false;
		next.to = To::other;
		next.base = *base;
	} else {
		return false;
	}
	*this = next;
	return true;
}

} // namespace hwsim::x86
