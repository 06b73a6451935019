/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Faults: what silicon does rarely and never on demand. All off by default; each is one number that says when.
 */
#ifndef HWSIM_ARM64_FAULTS_H
#define HWSIM_ARM64_FAULTS_H

#include <cstdint>
#include <string_view>

namespace hwsim::arm64
{

struct Faults {
	std::uint64_t overflow = 0;         /* every so many bytes of trace the trace unit's FIFO overflows */
	std::uint64_t external_abort = 0;   /* every so many bytes a write to the trace buffer is aborted */
	std::uint64_t lost_interrupt = 0;   /* every so many maintenance interrupts one is not delivered */
	std::uint64_t never_idle = 0;       /* TRCSTATR.IDLE is never set */
	std::uint64_t flush_never_ends = 0; /* FFCR.FlushMan of a TMC is never cleared */
	std::uint64_t never_ready = 0;      /* STS.TMCReady is 0 */
	std::uint64_t memory_error = 0;     /* every so many bytes a write of an ETR fails */
	std::uint64_t claimed = 0;          /* a debugger from outside has trace units, funnels, TMCs */

	/* "name:number"; false if there is no such fault or number. */
	bool set(std::string_view text);
	static std::string_view names();
};

} // namespace hwsim::arm64

#endif
