/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A run of a program in a process of its own: by single steps, which say what it executes, or traced by a PMU that has an AUX area.
 * Both runs execute the same instructions.
 */
#ifndef HWSIM_FUZZ_RUN_H
#define HWSIM_FUZZ_RUN_H

#include <array>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "instruction.h"
#include "kit/pmu.h"
#include "program.h"

namespace hwsim::fuzz
{

/* The program has not done what all programs are made to do: end, with status 0, in time. */
struct Stray : std::runtime_error {
	using std::runtime_error::runtime_error;
};

/* An instruction that was executed. */
struct Executed {
	std::uint64_t ip = 0;
	std::array<std::uint8_t, 15> bytes{}; /* at ip, as they were when it was executed */
	std::uint8_t available = 0;           /* how many of them could be read */
	std::uint64_t led_from = 0;           /* where a signal interrupted the program, and led it here; or 0 */
	std::uint8_t size = 0;                /* of the instruction; filled in by judge_pt() */
	bool branches = false;                /* even to the next instruction; likewise */
	Payload payload{};                    /* of PTWRITE */
};

/*
 * From the first instruction that is traced to the last, without those that are not traced (Around). A repeated instruction is there
 * once.
 */
std::vector<Executed> run_stepped(const Program &program, const std::vector<unsigned> &kept);

/* Returns all of the AUX area. */
std::vector<std::uint8_t> run_traced(
	const Program &program, const std::vector<unsigned> &kept, const auxpmu::Pmu &pmu, const perf_event_attr &attr);

} // namespace hwsim::fuzz

#endif
