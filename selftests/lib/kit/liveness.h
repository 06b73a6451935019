/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Liveness: is an event still on, or has the kernel switched it off because its buffer was full?
 *
 * The only sign is that the enabled time of an event stands still while it is off. But the times of all events stand still
 * while perf's clock does: if the kernel does not trust the TSC (in virtual machines, or on machines whose TSCs differ), this
 * clock stops one tick after the last tick, until the next one (kernel/sched/clock.c, sched_clock_local()). A second event,
 * which nobody switches off, therefore shows whether time has passed.
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
		unknown, /* no time has passed for either event: the thread does not run, or the clock stands still */
	};

	/* Opens the second event, a software event that counts nothing, for the thread and CPU that the first one follows. */
	static Result<Liveness> watch(const Event &event);

	/*
	 * The state of event at this moment; it must follow the same thread and CPU. Never waits. Has the requirements of
	 * Event::times().
	 */
	Result<State> look(const Event &event) const;

private:
	explicit Liveness(Event reference) : clock(std::move(reference)) {}

	Event clock;
};

} // namespace auxpmu

#endif /* AUXPMU_KIT_LIVENESS_H */
