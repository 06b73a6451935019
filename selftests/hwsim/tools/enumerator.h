/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a decoder's library has read may be none of the values of its enumeration: number() is it, as it is. */
#ifndef HWSIM_TOOLS_ENUMERATOR_H
#define HWSIM_TOOLS_ENUMERATOR_H

#include <cstring>

template <class Enumeration>
unsigned number(const Enumeration &value)
{
	unsigned plain = 0;
	static_assert(sizeof plain == sizeof value);
	std::memcpy(&plain, &value, sizeof plain);
	return plain;
}

#endif
