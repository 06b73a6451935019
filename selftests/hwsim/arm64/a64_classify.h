/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The classifier tells which A64 instructions are branches, where direct branches lead, and which other instructions matter to a trace
 * unit. Each word is one instruction; an unallocated encoding is classified as none of these (Arm ARM, DDI0487, C4.1, "Branches,
 * Exception Generating and System instructions"). Instructions of an extension are recognized whether or not the processor implements
 * it: an unimplemented one raises an exception and is never seen executed.
 */
#ifndef HWSIM_ARM64_A64_CLASSIFY_H
#define HWSIM_ARM64_A64_CLASSIFY_H

#include <cstdint>

#include "../base/basic_block.h"

namespace hwsim::arm64
{

/* SVC, HVC, SMC and BRK also have the kind software_interrupt, and ISB the kind barrier; the others are not branches. */
enum class Special : std::uint8_t {
	none,
	svc, /* the preferred return address is the next instruction, as for HVC and SMC */
	hvc,
	smc,
	brk, /* the preferred return address is that of the BRK itself */
	isb,
	wait,             /* WFE, WFI, WFET and WFIT */
	transaction_start /* TSTART */
};

struct Instruction {
	Branch kind = Branch::none;
	Special special = Special::none;
	std::int64_t displacement = 0; /* of a direct branch, relative to the next instruction, as in BasicBlock */
};

constexpr unsigned instruction_size = 4;

Instruction classify(std::uint32_t word);

} // namespace hwsim::arm64

#endif
