/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Recorder: an AUX event, the ring of its records and the area of its trace, with the steps that every consumer goes through:
 * wait, take the trace, take the records, go on where the area was full, and take the rest when the event is off.
 *
 * For one thread.  Trace and records are handed out where they lie, and their room is given back when the function that took
 * them has returned: what is to be kept has to be copied.  If it throws, what it was called with stays, and comes again.
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
		perf_event_attr attr{}; /* of the AUX event; with write_backward its records are overwritten, too */
		Target target{};
		std::size_t data_bytes = 0; /* of the data ring: a power of two of pages */
		std::size_t aux_bytes = 0;  /* of the AUX area: the same */
		AuxMode mode = AuxMode::full_trace;
		bool monotonic_head = false; /* Pmu::monotonic_aux_head() of the PMU */
	};

	/* Opens the event and maps both.  The error is that of the step that failed: Event::open(), or one of the two map(). */
	static Result<Recorder> open(const Setup &setup);

	/* Of an event whose rings are mapped already; takes all three over.  aux was mapped behind ring. */
	Recorder(Event event, DataRing ring, AuxRing aux) noexcept
		: leader(std::move(event)), forward(std::move(ring)), area(std::move(aux))
	{
	}

	/*
	 * Opens one more event, in the group of the AUX event, whose records go to the same ring: to take samples of the trace,
	 * or to pause and resume it.  It is closed with the Recorder.  A record does not say whose it is, unless all of them have
	 * PERF_SAMPLE_IDENTIFIER.
	 */
	Result<void> add_member(const perf_event_attr &attr, Target target);

	/* PERF_EVENT_IOC_ENABLE.  After is_full() only if the event is known to be off already; see restart(). */
	Result<void> start() noexcept { return resumed(leader.enable()); }

	enum class Wake {
		ready,   /* there is something to take */
		over,    /* whom the event follows is gone: no more than what there is now will come */
		nothing, /* so much time has passed, or a signal came */
	};
	/* Waits for that many milliseconds at most; -1: for ever.  Overwritten areas and rings wake nobody. */
	Result<Wake> wait(int milliseconds) const;

	/*
	 * Full trace: calls take(const Spans &) with the trace that there is, if any; aux().tail() is then the position of its
	 * first byte.  In overwrite mode it does nothing: see aux().snapshot().
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
	 * Calls take(const RecordView &) with each record there is, oldest first; decode() reads it.  Of a backward ring there
	 * is no such order: see backward().  Returns how many there were.
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
	 * The trace, and then the records, which tell of trace that is taken already, or comes next time.  If the records say
	 * that the area became full, also what was written between the two: then all of its room has been given back, and
	 * is_full() says that it takes restart() to go on.
	 */
	template <class TakeTrace, class TakeRecord>
	void drain(TakeTrace &&trace, TakeRecord &&record)
	{
		drain_trace(trace);
		drain_records(record);
		if (stopped)
			drain_trace(trace);
	}

	/* Has a record said TRUNCATED since the event was started?  It is off then, or will be in a moment. */
	bool is_full() const noexcept { return stopped; }
	/* Event::restart(): goes on after is_full(), when room has been made. */
	Result<void> restart() noexcept { return resumed(leader.restart()); }

	/* Switches the event off, on whatever CPU it is, and takes what is left. */
	template <class TakeTrace, class TakeRecord>
	Result<void> finish(TakeTrace &&trace, TakeRecord &&record)
	{
		if (auto off = leader.disable(); !off)
			return off;
		drain(trace, record);
		return {};
	}

	/* To enable, disable, filter and pause it by hand, to look at its times, to wait for several: its descriptor. */
	const Event &event() const noexcept { return leader; }
	const std::vector<Event> &members() const noexcept { return others; }
	const AuxRing &aux() const noexcept { return area; }
	/* With write_backward: dump() while output is paused. */
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
	/* One of the two. */
	DataRing forward;
	BackwardRing newest_first;
	AuxRing area;
	bool stopped = false;
};

} // namespace auxpmu

#endif /* AUXPMU_KIT_RECORDER_H */
