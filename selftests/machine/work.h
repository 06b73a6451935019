/* SPDX-License-Identifier: GPL-2.0-only */
/* What is executed to be traced: much trace for few instructions, or little; and calls, as many as can be computed. */
#ifndef AUXPMU_MACHINE_WORK_H
#define AUXPMU_MACHINE_WORK_H

#include <cstdint>

namespace auxpmu::machine
{

enum class Density { dense, sparse };

/* Some 10 000 branches, of which most are calls and returns; or as many, between which there is straight code. */
void work(Density density);

/* Calls itself; it is entered entries(n) times. */
unsigned recursion(unsigned n);
std::uint64_t entries(unsigned n);
/* The same by a pointer, with some 1000 cycles between two calls: no more trace than any sink can take. */
unsigned paced_recursion(unsigned n);

} // namespace auxpmu::machine

#endif /* AUXPMU_MACHINE_WORK_H */
