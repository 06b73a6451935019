/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Rules: where the SDM leaves processors free, this machine does what hurts a driver most, because some processor will. A rule that is
 * relaxed is one that such a bug hides behind; docs/virtual-hardware.md has them with their sections.
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
	/* While TraceEn is set the output registers and STATUS say what they said then. */
	bool stale_registers = true;
	/* Behind the last region output stays at the END entry until there is another byte. */
	bool late_end = true;
	/* Tables that do not begin a page are operational errors. */
	bool aligned_tables = true;
	/* Trace gathers in the unit; else what a program did is in memory when the kernel runs. */
	bool late_flush = true;
	/* No record of branches reaches the absolute maximum: it is a multiple of their size, and 1 more. */
	bool early_maximum = true;
	/* Performance interrupts skid by some instructions. */
	bool late_interrupts = true;
	/* PADs stand between packets, as silicon has them. */
	bool padding = true;
	/*
	 * The internal buffer overflows now and then. The only one that is not in force unless asked for: no driver can see it, and
	 * whoever compares a whole trace would have to excuse gaps.
	 */
	bool internal_overflow = false;

	/* By name, or "all" of them. False if there is no such rule. */
	bool set(std::string_view name, bool strict);
	static Rules lenient();
	static std::string names();
};

} // namespace hwsim::x86

#endif
