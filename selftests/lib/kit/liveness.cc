// SPDX-License-Identifier: GPL-2.0-only
#include "kit/liveness.h"

namespace auxpmu
{

Result<Liveness> Liveness::watch(const Event &event)
{
	auto attr = dummy_attr();

	attr.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
	attr.exclude_kernel = event.attr().exclude_kernel;
	auto clock = Event::open(attr, event.target());
	if (!clock)
		return clock.error();
	return Liveness(std::move(*clock));
}

Result<Liveness::State> Liveness::look(const Event &event) const
{
	/* The interval between the readings of the reference event lies within the interval between those of the event. */
	auto event_before = event.times();
	auto clock_before = clock.times();
	auto clock_after = clock.times();
	auto event_after = event.times();

	for (const auto *times : {&event_before, &clock_before, &clock_after, &event_after})
		if (!*times)
			return times->error();
	if (event_after->enabled != event_before->enabled)
		return State::on;
	return clock_after->enabled == clock_before->enabled ? State::unknown : State::off;
}

} // namespace auxpmu
