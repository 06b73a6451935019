/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The shrinker: of a program that fails makes a short one that still does, by leaving out halves, quarters and so on down to
 * single operations, as long as that helps.  What "fails" means is its caller's: a run here, or a guest that is booted.
 */
#ifndef AUXPMU_FUZZ_SHRINK_H
#define AUXPMU_FUZZ_SHRINK_H

#include <cstddef>
#include <functional>

#include "program.h"

namespace auxpmu::fuzz
{

struct Shrunk {
	Program program;
	unsigned tries = 0;
	bool whole = false; /* is no operation left that could go alone?  Else the tries ran out. */
};

/* fails(program) is true of the one that is handed in, and is asked at most so many times. */
Shrunk shrink(const Program &program, const std::function<bool(const Program &)> &fails, unsigned most_tries = 1000);

} // namespace auxpmu::fuzz

#endif /* AUXPMU_FUZZ_SHRINK_H */
