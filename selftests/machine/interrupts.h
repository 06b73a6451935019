/* SPDX-License-Identifier: GPL-2.0-only */
/* How a unit's interrupts come: how far the unit has gone on when one is served, and whether one is missing. */
#ifndef AUXPMU_MACHINE_INTERRUPTS_H
#define AUXPMU_MACHINE_INTERRUPTS_H

#include <cstdint>
#include <string>
#include <string_view>

#include "work.h"

#include "kit/pmu.h"
#include "kit/result.h"

namespace auxpmu::machine
{

/* The sum of CPU 0's counts in those lines of /proc/interrupts that have these words. */
std::uint64_t interrupts_on_0(std::string_view words);

struct Interrupts {
	unsigned records = 0;        /* of the area: so many times trace was handed over */
	unsigned windows = 0;        /* that ended by an interrupt */
	unsigned missed = 0;         /* in which one was due and did not come */
	std::uint64_t overshoot = 0; /* median of the bytes from where it was due to where the unit was stopped */

	std::string text() const;
};

/* Traces this thread on one CPU until so many windows have ended. */
Result<Interrupts> measure_interrupts(const Pmu &pmu, Density density, unsigned windows);

} // namespace auxpmu::machine

#endif /* AUXPMU_MACHINE_INTERRUPTS_H */
