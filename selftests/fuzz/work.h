/* SPDX-License-Identifier: GPL-2.0-only */
/* Work of a program's own: what events count, and what a breakpoint is on. */
#ifndef AUXPMU_FUZZ_WORK_H
#define AUXPMU_FUZZ_WORK_H

#include <cstdint>

namespace auxpmu::fuzz
{

/* What a breakpoint is on: written behind all work. */
extern std::uint64_t watched;

void work(std::uint64_t what, std::uint64_t amount);

} // namespace auxpmu::fuzz

#endif /* AUXPMU_FUZZ_WORK_H */
