/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Faults: what silicon does rarely and never on demand. All off by default; each is one number that says when.
 */
#ifndef HWSIM_X86_FAULTS_H
#define HWSIM_X86_FAULTS_H

#include <cstdint>
#include <string_view>

#include "../base/injector.h"

namespace hwsim::x86
{

struct Faults {
	std::uint64_t overflow = 0;     /* every so many bytes of trace the internal buffer overflows */
	std::uint64_t topa_error = 0;   /* after so many bytes of trace, once: an operational error */
	std::uint64_t lost_pmi = 0;     /* one in so many performance interrupts is not delivered */
	std::uint64_t late_pmi = 0;     /* performance interrupts are delivered so many instructions later */
	std::uint64_t doubled_pmi = 0;  /* one in so many performance interrupts comes twice, in spite of the mask */
	std::uint64_t spurious_pmi = 0; /* a performance interrupt without a cause every so many instructions */
	std::uint64_t slow_flush = 0;   /* this many bytes of trace gather before they go to memory */
	std::uint64_t gp = 0;           /* writes of this MSR are general protection faults */
	std::uint64_t in_use = 0;       /* TraceEn is set when the kernel boots */

	InterruptFaults of_interrupts() const { return {lost_pmi, late_pmi, doubled_pmi, spurious_pmi}; }

	/* "name:number"; false if there is no such fault or number. */
	bool set(std::string_view text);
	static std::string_view names();
};

} // namespace hwsim::x86

#endif
