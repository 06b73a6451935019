/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * AuxRing: the AUX area of an event, which the trace unit writes and one consumer reads in place.
 *
 * Full trace (mapped writable): the kernel publishes bytes by aux_head, loaded with acquire; the consumer gives room back by
 * aux_tail, stored with release. The unit never writes into room that has not been given back. When there is none the event is
 * switched off; to go on, move aux_tail and call Event::restart().
 *
 * Overwrite (mapped read-only): the unit keeps the newest bytes and aux_tail means nothing.  Look at it while the event is
 * disabled.  Nothing here allocates or throws after map().
 */
#ifndef AUXPMU_KIT_AUX_RING_H
#define AUXPMU_KIT_AUX_RING_H

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "kit/data_ring.h"
#include "kit/event.h"
#include "kit/handle.h"
#include "kit/result.h"

namespace auxpmu
{

enum class AuxMode { full_trace, overwrite };

/* A stretch of a ring: what wraps comes in two parts, older first. */
struct Spans {
	std::span<const std::byte> first;
	std::span<const std::byte> second;

	std::size_t size() const noexcept { return first.size() + second.size(); }
};

/* The trace in an overwriting buffer, oldest byte first. */
struct Snapshot {
	Spans spans;
	std::uint64_t from = 0; /* position of the oldest byte, when "certain" */
	std::uint64_t to = 0;   /* aux_head */
	/*
	 * Is it known how much of the buffer was ever written?  Only where aux_head is monotonic; elsewhere spans are the whole
	 * buffer, which may hold zero bytes that nobody wrote.
	 */
	bool certain = false;
	bool wrapped = false; /* only when certain */
	/* snapshot_since(): bytes between the two snapshots that newer ones have overwritten. */
	std::uint64_t missed = 0;
};

/* The bytes of positions [from, to) in a ring of a power of two of bytes, at most all of them. */
inline Spans ring_view(std::span<const std::byte> ring, std::uint64_t from, std::uint64_t to) noexcept
{
	const std::size_t count = std::min<std::uint64_t>(to - from, ring.size());
	const std::size_t offset = from & (ring.size() - 1);
	const std::size_t before_end = std::min(count, ring.size() - offset);

	return {ring.subspan(offset, before_end), ring.first(count - before_end)};
}

/* What an overwriting buffer holds when aux_head is head. */
inline Snapshot ring_snapshot(std::span<const std::byte> ring, std::uint64_t head, bool monotonic) noexcept
{
	Snapshot shot;

	shot.to = head;
	shot.certain = monotonic;
	shot.wrapped = monotonic && shot.to > ring.size();
	shot.from = !monotonic || shot.wrapped ? shot.to - ring.size() : 0;
	shot.spans = ring_view(ring, shot.from, shot.to);
	return shot;
}

/* The same without the bytes that an earlier snapshot (of the same ring, and certain) held. */
inline Snapshot ring_snapshot_since(
	std::span<const std::byte> ring, std::uint64_t head, bool monotonic, const Snapshot &earlier) noexcept
{
	Snapshot shot = ring_snapshot(ring, head, monotonic);

	if (shot.from > earlier.to)
		shot.missed = shot.from - earlier.to;
	else
		shot.from = earlier.to;
	shot.spans = ring_view(ring, shot.from, shot.to);
	return shot;
}

class AuxRing
{
public:
	AuxRing() = default;
	/*
	 * Maps an AUX area of bytes behind data's ring.  monotonic_head: Pmu::monotonic_aux_head() of the PMU that writes.
	 * data must stay where it is (its user page holds head and tail) as long as the AuxRing is used.
	 */
	static Result<AuxRing> map(
		const DataRing &data, const Event &event, std::size_t bytes, AuxMode mode, bool monotonic_head = false);
	/* Takes over an area of data's ring that is mapped already, in the way of mode. */
	static AuxRing over(const DataRing &data, Mapping mapped, AuxMode mode, bool monotonic_head = false);

	/* Bytes written so far (full trace, or monotonic), else the offset behind the newest byte; acquire. */
	std::uint64_t head() const noexcept { return __atomic_load_n(&page->aux_head, __ATOMIC_ACQUIRE); }
	/* Bytes given back so far. */
	std::uint64_t tail() const noexcept { return position; }

	/* Full trace: what has been written and not yet given back. */
	Spans readable() const noexcept { return view(position, head()); }
	/* Full trace: gives count bytes back; release. */
	void consume(std::uint64_t count) noexcept
	{
		position += count;
		__atomic_store_n(&page->aux_tail, position, __ATOMIC_RELEASE);
	}

	/* Overwrite: the trace in the area, while the event is disabled. */
	Snapshot snapshot() const noexcept { return ring_snapshot(bytes(), head(), monotonic); }
	/*
	 * The same without the bytes that earlier (of this area, and certain) held: such snapshots, one after the other, are
	 * the whole trace except the bytes "missed".
	 */
	Snapshot snapshot_since(const Snapshot &earlier) const noexcept
	{
		return ring_snapshot_since(bytes(), head(), monotonic, earlier);
	}

	/* The bytes of positions [from, to), at most a whole buffer of them. */
	Spans view(std::uint64_t from, std::uint64_t to) const noexcept { return ring_view(bytes(), from, to); }

	std::size_t size() const noexcept { return area.size(); }
	AuxMode mode() const noexcept { return how; }
	explicit operator bool() const noexcept { return static_cast<bool>(area); }
	/* Unmaps; the kernel stops the event if it is running, and it needs disable() and enable() once mapped anew. */
	void unmap() noexcept { area.reset(); }

private:
	std::span<const std::byte> bytes() const noexcept { return {area.data(), area.size()}; }

	Mapping area;
	perf_event_mmap_page *page = nullptr;
	AuxMode how = AuxMode::full_trace;
	bool monotonic = false;
	std::uint64_t position = 0;
};

} // namespace auxpmu

#endif /* AUXPMU_KIT_AUX_RING_H */
