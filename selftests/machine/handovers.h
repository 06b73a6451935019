/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How a trace buffer is served that stops at the end of each window: whether its interrupt comes, and how late. The work is slow:
 * some hundred cycles for a byte of trace, so that what is made until an interrupt in time fits into any trace unit's FIFO.
 */
#ifndef AUXPMU_MACHINE_HANDOVERS_H
#define AUXPMU_MACHINE_HANDOVERS_H

#include <cstddef>

#include "kit/pmu.h"
#include "kit/result.h"

namespace auxpmu::machine
{

struct Handovers {
	unsigned stops = 0;         /* at the end of a window */
	unsigned missed = 0;        /* of these, which nobody noticed until as much trace was lost as a window takes */
	unsigned faults = 0;        /* stops elsewhere, at which trace is missing */
	unsigned overflows = 0;     /* of the trace unit's FIFO, */
	unsigned without_stops = 0; /* and of as much work in one window */
};

/* Traces this thread on one CPU, until so many windows should have ended. */
Result<Handovers> measure_handovers(const Pmu &pmu, unsigned windows);

} // namespace auxpmu::machine

#endif /* AUXPMU_MACHINE_HANDOVERS_H */
