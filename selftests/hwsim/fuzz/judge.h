/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Judges: is what a trace says what single steps said? They know neither the truth log nor the tracker that both the log and the trace
 * come from.
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

/* Wants each branch that a decoder finds. */
using Tell = std::function<void(std::uint64_t from, std::uint64_t to)>;

/*
 * libipt's walk along an Intel PT trace has to be over these instructions, one after the other, all of them; the bytes it reads are those
 * that the steps saw. Fills in their sizes. Each payload of PTWRITE has to be there, in order,
 * where they are told at all. Empty, or what is wrong.
 */
std::string judge_pt(
	std::vector<Executed> &executed, std::vector<std::uint8_t> trace, bool tells_payloads, const Tell &tell);

/*
 * Records of branch trace store have to be of each branch between these instructions, whose sizes are known, in order. Those from the
 * kernel and to it, which nothing here knows of, are passed over.
 */
std::string judge_bts(const std::vector<Executed> &executed, const std::vector<std::uint8_t> &trace, const Tell &tell);

} // namespace hwsim::fuzz

#endif
