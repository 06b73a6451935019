/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Liveness: is an event still on, or has the kernel switched it off (its buffer was full)?
 *
 * The kernel tells in one way only: the time enabled of an event that is off stands still.  But so does that of any event
 * while perf's clock stands still, which it does where the kernel does not trust the TSC (virtual machines, machines whose
 * TSCs differ) from one tick after the last tick on until the next comes (kernel/sched/clock.c, sched_clock_local()).
 * So a second event, which nobody switches off, tells whether there was time to count.
 */
#ifndef AUXPMU_KIT_LIVENESS_H
#define AUXPMU_KIT_LIVENESS_H

#include <utility>

#include "kit/event.h"

namespace auxpmu
{

class Liveness
{
public:
	enum class State {
		on,
		off,
		unknown, /* no time has passed for either: a thread that does not run, or a clock that stands */
	};

	/* Opens the second event, a software event that counts nothing, for the thread and CPU that event follows. */
	static Result<Liveness> watch(const Event &event);

	/* How event, of the same thread and CPU, is at this moment.  Never waits.  Needs what Event::times() needs. */
	Result<State> look(const Event &event) const;

private:
	explicit Liveness(Event reference) : clock(std::move(reference)) {}

	Event clock;
};

} // namespace auxpmu

#endif /* AUXPMU_KIT_LIVENESS_H */
