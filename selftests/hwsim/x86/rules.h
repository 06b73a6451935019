/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Rules: where the SDM leaves a choice, this machine does what hurts a driver most, because some processor will. While a rule is
 * relaxed the driver bugs that it shows stay hidden; docs/virtual-hardware.md has the rules with their sections.
 */
#ifndef HWSIM_X86_RULES_H
#define HWSIM_X86_RULES_H

#include <cstdint>
#include <string>
#include <string_view>

namespace hwsim::x86
{

struct Rules {
	/* ToPA entries are what they were when TraceEn was set. */
	bool cached_tables = true;
	/* While TraceEn is set the output registers and STATUS read as they were when it was set. */
	bool stale_registers = true;
	/* After the last region output stays at the END entry until there is another byte. */
	bool late_end = true;
	/* Tables that do not begin a page are operational errors. */
	bool aligned_tables = true;
	/* Trace gathers in the unit; if relaxed, trace of a program is in memory when the kernel runs. */
	bool late_flush = true;
	/* BTS records end before the absolute maximum, which should be a multiple of their size plus 1. */
	bool early_maximum = true;
	/* Performance interrupts skid by some instructions. */
	bool late_interrupts = true;
	/* PADs stand between packets, as silicon has them. */
	bool padding = true;
	/*
	 * The internal buffer overflows now and then. The only rule that is off by default: no driver can see it, and a comparison of
	 * whole traces would have to excuse gaps.
	 */
	bool internal_overflow = false;

	/* By name, or "all" of them. False if there is no such rule. */
	bool set(std::string_view name, bool strict);
	static Rules lenient();
	static std::string names();
};

} // namespace hwsim::x86

#endif
