/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Judge of programs in ring 0: checks that a trace says exactly what single steps said, wherever the registers that the program wrote have
 * tracing on. Where that is follows from the SDM alone; the judge shares nothing with the virtual hardware.
 */
#ifndef HWSIM_FUZZ_KERNEL_JUDGE_H
#define HWSIM_FUZZ_KERNEL_JUDGE_H

#include <string>

#include "judge.h"
#include "kernel_run.h"

namespace hwsim::fuzz
{

struct KernelCounts {
	std::size_t steps = 0, instructions = 0, places = 0, payloads = 0, address_spaces = 0, stops = 0, edges = 0;
};

/* Empty, or what is wrong. The memory of the program has to be mapped as the traced run left it. */
std::string judge_kernel(
	const Program &program, const KernelSteps &steps, KernelTrace trace, const Tell &tell, KernelCounts &counts);

} // namespace hwsim::fuzz

#endif
