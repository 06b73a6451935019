/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Liveness: is an event still on, or has the kernel switched it off (its buffer was full)?
 *
 * The only sign is that the time enabled of an event stands still when it is off. But the time of every event stands still
 * while perf's clock does: if the kernel does not trust the TSC (virtual machines, machines whose TSCs differ), it stops one
 * tick after the last tick until the next one (kernel/sched/clock.c, sched_clock_local()). So a second event, which nobody
 * switches off, tells whether time has passed.
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
		unknown, /* no time has passed for either: the thread does not run, or the clock stands */
	};

	/* Opens the second event, a software event that counts nothing, for the thread and CPU that event follows. */
	static Result<Liveness> watch(const Event &event);

	/*
	 * The state of event, of the same thread and CPU, at this moment. Never waits. Has the requirements of Event::times().
	 */
	Result<State> look(const Event &event) const;

private:
	explicit Liveness(Event reference) : clock(std::move(reference)) {}

	Event clock;
};

} // namespace auxpmu

#endif /* AUXPMU_KIT_LIVENESS_H */
