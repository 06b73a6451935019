/* SPDX-License-Identifier: GPL-2.0-only */
/* A stretch of this thread, recorded on the CPU it is on: all of the trace, and what is said of it. */
#ifndef AUXPMU_MACHINE_STRETCH_H
#define AUXPMU_MACHINE_STRETCH_H

#include <cstddef>
#include <functional>
#include <sched.h>
#include <string>
#include <vector>

#include "kit/pmu.h"
#include "kit/result.h"

namespace auxpmu::machine
{

/* While it lives this thread runs on one CPU only. */
class Pinned
{
public:
	explicit Pinned(unsigned cpu);
	~Pinned();
	Pinned(const Pinned &) = delete;

private:
	cpu_set_t before;
};

struct Stretch {
	std::vector<std::byte> trace;
	unsigned partials = 0; /* records that say that some is missing */
	bool framed = false;   /* as CoreSight's sinks have it, with trace IDs */
	bool ran = false;      /* the event was on its PMU for a while */
};

/* filters: as of perf record --filter. */
Result<Stretch> record_stretch(const Pmu &pmu, const std::function<void()> &run, const std::string &filters = "");

} // namespace auxpmu::machine

#endif /* AUXPMU_MACHINE_STRETCH_H */
