/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Faults: events that are rare on silicon and cannot be provoked there. All are off by default; each is one number that says when it
 * occurs.
 */
#ifndef HWSIM_ARM64_FAULTS_H
#define HWSIM_ARM64_FAULTS_H

#include <cstdint>
#include <string_view>

namespace hwsim::arm64
{

struct Faults {
	/* The trace unit's FIFO overflows once per this many bytes of trace. */
	std::uint64_t overflow = 0;
	/* A write to the trace buffer is aborted once per this many bytes. */
	std::uint64_t external_abort = 0;
	/* One in this many maintenance interrupts is not delivered. */
	std::uint64_t lost_interrupt = 0;
	/* One in this many is not delivered before trace is lost that waits for the buffer. */
	std::uint64_t late_interrupt = 0;
	/* A maintenance interrupt without a reason comes each time that the trace unit has written this often in programs. */
	std::uint64_t spurious_interrupt = 0;
	/* Address comparators that TRCIDR4 tells of are not there: RAZ/WI. */
	std::uint64_t no_comparators = 0;
	/* TRCSTATR.IDLE is never set. */
	std::uint64_t never_idle = 0;
	/* FFCR.FlushMan of a TMC is never cleared. */
	std::uint64_t flush_never_ends = 0;
	/* STS.TMCReady of a TMC is never set. */
	std::uint64_t never_ready = 0;
	/* A write of a TMC fails once per this many bytes. */
	std::uint64_t memory_error = 0;
	/* Half of the last frame is missing where a flush stops a TMC. */
	std::uint64_t frames_cut = 0;
	/* An external debugger has claimed the shared components (funnels, replicators, TMCs, CATUs). */
	std::uint64_t claimed = 0;

	/* Parses "name:number"; false if there is no such fault or the number is invalid. */
	bool set(std::string_view text);
	static std::string_view names();
};

} // namespace hwsim::arm64

#endif
