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
	{"flush-never-ends", &Faults::flush_never_ends},
	{"never-ready", &Faults::never_ready},
	{"memory-error", &Faults::memory_error},
	{"claimed", &Faults::claimed},
};

} // namespace

bool Faults::set(std::string_view text)
{
	return set_fault(*this, all, text);
}

std::string_view Faults::names()
{
	return "overflow:BYTES external-abort:BYTES lost-interrupt:N never-idle:1 flush-never-ends:1 "
	       "never-ready:1 memory-error:BYTES claimed:1";
}

} // namespace hwsim::arm64
