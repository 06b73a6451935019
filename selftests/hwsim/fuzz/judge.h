/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Judges: check that a trace says what single steps said. They use neither the truth log nor the flow tracker, from which both the log
 * and the trace come.
 */
#ifndef HWSIM_FUZZ_JUDGE_H
#define HWSIM_FUZZ_JUDGE_H

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "run.h"

namespace hwsim::fuzz
{

/* Called with each branch that a decoder finds. */
using Tell = std::function<void(std::uint64_t from, std::uint64_t to)>;

/*
 * libipt's walk along an Intel PT trace has to be over exactly these instructions, one after the other; libipt reads the bytes that the
 * steps saw. Fills in the sizes of the instructions. Where PTWRITEs are told at all, each payload has to be there, in order. Returns what
 * is wrong; empty if nothing is.
 */
std::string judge_pt(
	std::vector<Executed> &executed, std::vector<std::uint8_t> trace, bool tells_payloads, const Tell &tell);

/*
 * The records of branch trace store have to be those of the branches between these instructions, whose sizes are known, in order. Records
 * from and to the kernel are skipped, because steps do not see the kernel.
 */
std::string judge_bts(const std::vector<Executed> &executed, const std::vector<std::uint8_t> &trace, const Tell &tell);

} // namespace hwsim::fuzz

#endif
