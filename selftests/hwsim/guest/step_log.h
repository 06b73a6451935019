/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The log of single steps (arm64): 64-bit addresses of instructions, in the order of execution. Instructions are at multiples of four, so
 * the lowest two bits say what an instruction is. Of a sequence from an exclusive load to its store the log has the attempt that
 * succeeded, and none before it: an interrupt makes a store fail, and whether one comes differs from run to run.
 */
#ifndef HWSIM_GUEST_STEP_LOG_H
#define HWSIM_GUEST_STEP_LOG_H

#include <cstdint>

namespace hwsim::step_log
{

constexpr std::uint64_t exclusive_load = 1, exclusive_store = 2, marks = 3;

} // namespace hwsim::step_log

#endif
