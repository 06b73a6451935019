/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The faults of an architecture by name, as options and commands give them. */
#ifndef HWSIM_BASE_FAULT_NAME_H
#define HWSIM_BASE_FAULT_NAME_H

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "number.h"

namespace hwsim
{

template <class Faults>
struct FaultName {
	std::string_view name;
	std::uint64_t Faults::*field;
};

/* "name:number"; false, and no change, if there is no such fault or number. */
template <class Faults, std::size_t size>
bool set_fault(Faults &faults, const FaultName<Faults> (&names)[size], std::string_view text)
{
	const auto colon = text.find(':');
	if (colon == text.npos)
		return false;
	const auto value = number(text.substr(colon + 1));
	if (!value)
		return false;
	for (const FaultName<Faults> &one : names)
		if (one.name == text.substr(0, colon)) {
			faults.*one.field = *value;
			return true;
		}
	return false;
}

} // namespace hwsim

#endif
