/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The classifier: which of the A64 instructions is a branch, where to, and which ones matter to a trace unit although they are
 * none. One word is one instruction, and an encoding that is not allocated is no instruction of these (Arm ARM, DDI0487, C4.1,
 * "Branches, Exception Generating and System instructions"). Extensions are known whether the processor has them or not: what it
 * has not got raises an exception, and nobody gets to see it executed.
 */
#ifndef HWSIM_ARM64_A64_CLASSIFY_H
#define HWSIM_ARM64_A64_CLASSIFY_H

#include <cstdint>

#include "../base/basic_block.h"

namespace hwsim::arm64
{

/* The calls are also of the kind software_interrupt, and ISB is of the kind barrier; the others are no branches. */
enum class Special : std::uint8_t {
	none,
	svc, /* the exception returns behind it, as that of HVC and SMC does */
	hvc,
	smc,
	brk, /* the exception returns to it */
	isb,
	wait,             /* WFE, WFI and those with a timeout */
	transaction_start /* TSTART */
};

struct Instruction {
	Branch kind = Branch::none;
	Special special = Special::none;
	std::int64_t displacement = 0; /* of a direct branch, from the instruction behind it, as BasicBlock has it */
};

constexpr unsigned instruction_size = 4;

Instruction classify(std::uint32_t word);

} // namespace hwsim::arm64

#endif
