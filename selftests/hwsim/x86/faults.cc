// SPDX-License-Identifier: GPL-2.0-or-later
#include "faults.h"

#include "../base/fault_name.h"

namespace hwsim::x86
{
namespace
{

constexpr FaultName<Faults> all[] = {
	{"overflow", &Faults::overflow},
	{"topa-error", &Faults::topa_error},
	{"lost-pmi", &Faults::lost_pmi},
	{"late-pmi", &Faults::late_pmi},
	{"doubled-pmi", &Faults::doubled_pmi},
	{"spurious-pmi", &Faults::spurious_pmi},
	{"slow-flush", &Faults::slow_flush},
	{"gp", &Faults::gp},
	{"in-use", &Faults::in_use},
};

} // namespace

bool Faults::set(std::string_view text)
{
	return set_fault(*this, all, text);
}

std::string_view Faults::names()
{
	return "overflow:BYTES topa-error:BYTES lost-pmi:N late-pmi:INSTRUCTIONS doubled-pmi:N "
	       "spurious-pmi:INSTRUCTIONS slow-flush:BYTES gp:MSR in-use:1";
}

} // namespace hwsim::x86
