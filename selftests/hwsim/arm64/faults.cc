// SPDX-License-Identifier: GPL-2.0-or-later
#include "faults.h"

#include "../base/fault_name.h"

namespace hwsim::arm64
{
namespace
{

constexpr FaultName<Faults> all[] = {
	{"overflow", &Faults::overflow},
	{"external-abort", &Faults::external_abort},
	{"lost-interrupt", &Faults::lost_interrupt},
	{"never-idle", &Faults::never_idle},
};

} // namespace

bool Faults::set(std::string_view text)
{
	return set_fault(*this, all, text);
}

std::string_view Faults::names()
{
	return "overflow:BYTES external-abort:BYTES lost-interrupt:N never-idle:1";
}

} // namespace hwsim::arm64
