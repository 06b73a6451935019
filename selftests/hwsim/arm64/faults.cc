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
	{"late-interrupt", &Faults::late_interrupt},
	{"spurious-interrupt", &Faults::spurious_interrupt},
	{"no-comparators", &Faults::no_comparators},
	{"never-idle", &Faults::never_idle},
	{"flush-never-ends", &Faults::flush_never_ends},
	{"never-ready", &Faults::never_ready},
	{"memory-error", &Faults::memory_error},
	{"frames-cut", &Faults::frames_cut},
	{"claimed", &Faults::claimed},
};

} // namespace

bool Faults::set(std::string_view text)
{
	return set_fault(*this, all, text);
}

std::string_view Faults::names()
{
	return "overflow:BYTES external-abort:BYTES lost-interrupt:N late-interrupt:N spurious-interrupt:N "
	       "no-comparators:1 never-idle:1 flush-never-ends:1 never-ready:1 memory-error:BYTES frames-cut:1 "
	       "claimed:1";
}

} // namespace hwsim::arm64
