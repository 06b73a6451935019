/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Recorder: an AUX event, its data ring and its AUX area, with the steps that every consumer performs: wait, take the trace,
 * take the records, continue after the area was full, and take the rest when the event is off.
 *
 * For one thread. Trace and records are handed out in place. Their room is given back when the function that took them returns,
 * so copy what you want to keep. If this function throws, nothing is given back, and the same bytes are handed out again.
 * Nothing here allocates between start() and finish() unless it fails.
 */
#ifndef AUXPMU_KIT_RECORDER_H
#define AUXPMU_KIT_RECORDER_H

#include <cstddef>
#include <utility>
#include <variant>
#include <vector>

#include <linux/perf_event.h>

#include "kit/aux_ring.h"
#include "kit/backward_ring.h"
#include "kit/data_ring.h"
#include "kit/event.h"
#include "kit/record.h"
#include "kit/result.h"

namespace auxpmu
{

class Recorder
{
public:
	/* What is to be recorded, and into what. */
	struct Setup {
		perf_event_attr attr{}; /* of the AUX event; with write_backward its records are overwritten as well */
		Target target{};
		std::size_t data_bytes = 0; /* size of the data ring: a power of two of pages */
		std::size_t aux_bytes = 0;  /* size of the AUX area: likewise a power of two of pages */
		AuxMode mode = AuxMode::full_trace;
		bool monotonic_head = false; /* Pmu::monotonic_aux_head() of the PMU */
	};

	/*
	 * Opens the event and maps ring and area. The error is that of the failed step: Event::open(), or one of the two map().
	 */
	static Result<Recorder> open(const Setup &setup);

	/* Takes over an event and its rings, which are already mapped, with aux behind ring. */
	Recorder(Event event, DataRing ring, AuxRing aux) noexcept
		: leader(std::move(event)), forward(std::move(ring)), area(std::move(aux))
	{
	}

	/*
	 * Opens one more event in the group of the AUX event, to take samples of the trace or to pause and resume it. Its
	 * records go to the same ring. It is closed with the Recorder. Records do not identify their event, unless all events
	 * have PERF_SAMPLE_IDENTIFIER.
	 */
	Result<void> add_member(const perf_event_attr &attr, Target target);

	/* PERF_EVENT_IOC_ENABLE. After is_full(), use it only if the event is known to be off already; see restart(). */
	Result<void> start() noexcept { return resumed(leader.enable()); }

	enum class Wake {
		ready,   /* there is trace or a record to take */
		over,    /* the thread that the event follows is gone: nothing more will come */
		nothing, /* the timeout has expired, or a signal was caught */
	};
	/*
	 * Waits for at most this many milliseconds; -1: without limit. Areas and rings in overwrite mode never wake the waiter.
	 */
	Result<Wake> wait(int milliseconds) const;

	/*
	 * Full trace: calls take(const Spans &) with the trace in the area, if any; aux().tail() is the position of its first
	 * byte. Does nothing in overwrite mode: see aux().snapshot().
	 */
	template <class TakeTrace>
	void drain_trace(TakeTrace &&take)
	{
		if (area.mode() != AuxMode::full_trace)
			return;
		const Spans spans = area.readable();

		if (!spans.size())
			return;
		take(spans);
		area.consume(spans.size());
	}

	/*
	 * Calls take(const RecordView &) with each record in the ring, oldest first; decode() reads it. For a backward ring use
	 * backward(). Returns the number of records.
	 */
	template <class TakeRecord>
	std::size_t drain_records(TakeRecord &&take)
	{
		if (!forward)
			return 0;
		return forward.drain([&](const RecordView &view) {
			take(view);
			notice(view);
		});
	}

	/*
	 * Takes the trace, then the records, which may also describe trace of the next call. If a record says that the area
	 * became full, also takes the trace written in between: then all room has been given back, and is_full() says that
	 * restart() is needed.
	 */
	template <class TakeTrace, class TakeRecord>
	void drain(TakeTrace &&trace, TakeRecord &&record)
	{
		drain_trace(trace);
		drain_records(record);
		if (stopped)
			drain_trace(trace);
	}

	/* Has a record carried TRUNCATED since the event was started? Then the event is off, or will be in a moment. */
	bool is_full() const noexcept { return stopped; }
	/* Event::restart(): continues after is_full(), when room has been given back. */
	Result<void> restart() noexcept { return resumed(leader.restart()); }

	/* Switches the event off, on whatever CPU it runs, and takes the rest. */
	template <class TakeTrace, class TakeRecord>
	Result<void> finish(TakeTrace &&trace, TakeRecord &&record)
	{
		if (auto off = leader.disable(); !off)
			return off;
		drain(trace, record);
		return {};
	}

	/*
	 * The event itself: to enable, disable, filter or pause it, to read its times, or to poll it along with other
	 * descriptors.
	 */
	const Event &event() const noexcept { return leader; }
	const std::vector<Event> &members() const noexcept { return others; }
	const AuxRing &aux() const noexcept { return area; }
	/* For write_backward: call dump() on it while output is paused. */
	BackwardRing &backward() noexcept { return newest_first; }

private:
	Recorder() = default;

	void notice(const RecordView &view) noexcept
	{
		if (view.header.type != PERF_RECORD_AUX)
			return;
		const Record record = decode(view, leader.attr());
		const auto *aux = std::get_if<AuxRecord>(&record);

		stopped |= aux && aux->truncated();
	}
	Result<void> resumed(Result<void> outcome) noexcept
	{
		if (outcome)
			stopped = false;
		return outcome;
	}

	Event leader;
	std::vector<Event> others;
	/* One of these two is in use. */
	DataRing forward;
	BackwardRing newest_first;
	AuxRing area;
	bool stopped = false;
};

} // namespace auxpmu

#endif /* AUXPMU_KIT_RECORDER_H */
