/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A run of a program in ring 0, by the module hwsim_ring0: by single steps, which say what it executes, or traced, by trace registers that
 * the program writes itself. Both runs execute the same instructions.
 */
#ifndef HWSIM_FUZZ_KERNEL_RUN_H
#define HWSIM_FUZZ_KERNEL_RUN_H

#include <cstdint>
#include <vector>

#include "program.h"
#include "ring0/ring0.h"

namespace hwsim::fuzz
{

struct KernelSteps {
	std::vector<ring0_step> steps;
	std::uint64_t cr3;    /* at the beginning */
	std::uint64_t faults; /* that it has had */
};
struct KernelTrace {
	std::vector<std::uint8_t> bytes;
	std::uint64_t cr3, faults; /* likewise */
	std::uint64_t status; /* IA32_RTIT_STATUS at the end */
};

/* Throws Stray where the program does not end as it has to. */
class KernelRuns
{
public:
	KernelRuns();
	~KernelRuns();
	KernelRuns(const KernelRuns &) = delete;
	KernelSteps stepped(const Program &program, const std::vector<unsigned> &kept) const;
	KernelTrace traced(const Program &program, const std::vector<unsigned> &kept) const;

private:
	void run(const Program &program, const std::vector<unsigned> &kept, ring0_run &run) const;

	int module;
};

} // namespace hwsim::fuzz

#endif
