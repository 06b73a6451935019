/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * AuxRing: the AUX area of an event, which the trace unit writes and one consumer reads in place.
 *
 * Full trace (mapped writable): the kernel publishes bytes through aux_head, loaded with acquire; the consumer gives room back
 * through aux_tail, stored with release. The unit never writes into room that has not been given back. When no room is left the
 * event is switched off; to continue, advance aux_tail and call Event::restart().
 *
 * Overwrite (mapped read-only): the unit keeps the newest bytes and aux_tail has no meaning. Read the area while the event is
 * disabled. Nothing here allocates or throws after map().
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

/* A range of a ring; a range that wraps is in two parts, the older one first. */
struct Spans {
	std::span<const std::byte> first;
	std::span<const std::byte> second;

	std::size_t size() const noexcept { return first.size() + second.size(); }
};

/* The trace in an overwrite-mode buffer, oldest byte first. */
struct Snapshot {
	Spans spans;
	std::uint64_t from = 0; /* position of the oldest byte, if "certain" */
	std::uint64_t to = 0;   /* aux_head */
	/*
	 * Is it known how much of the buffer was ever written? Only if aux_head is monotonic; otherwise spans cover the whole
	 * buffer, which may contain zero bytes that were never written.
	 */
	bool certain = false;
	bool wrapped = false; /* only when certain */
	/* snapshot_since(): bytes between the two snapshots that newer ones have overwritten. */
	std::uint64_t missed = 0;
};

/* The bytes at positions [from, to) in a ring whose size is a power of two, at most the whole ring. */
inline Spans ring_view(std::span<const std::byte> ring, std::uint64_t from, std::uint64_t to) noexcept
{
	const std::size_t count = std::min<std::uint64_t>(to - from, ring.size());
	const std::size_t offset = from & (ring.size() - 1);
	const std::size_t before_end = std::min(count, ring.size() - offset);

	return {ring.subspan(offset, before_end), ring.first(count - before_end)};
}

/* The contents of an overwrite-mode buffer whose aux_head is head. */
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
	 * Maps an AUX area of the given size behind the ring of data. monotonic_head: Pmu::monotonic_aux_head() of the PMU that
	 * writes. data must not move as long as the AuxRing is used, because its user page holds head and tail.
	 */
	static Result<AuxRing> map(
		const DataRing &data, const Event &event, std::size_t bytes, AuxMode mode, bool monotonic_head = false);
	/* Takes over an area of data's ring that is already mapped, with the access that mode requires. */
	static AuxRing over(const DataRing &data, Mapping mapped, AuxMode mode, bool monotonic_head = false);

	/* Bytes written so far (full trace, or monotonic), otherwise the offset behind the newest byte; loaded with acquire. */
	std::uint64_t head() const noexcept { return __atomic_load_n(&page->aux_head, __ATOMIC_ACQUIRE); }
	/* Bytes given back so far. */
	std::uint64_t tail() const noexcept { return position; }

	/* Full trace: the bytes that have been written and not yet given back. */
	Spans readable() const noexcept { return view(position, head()); }
	/* Full trace: gives count bytes back; stored with release. */
	void consume(std::uint64_t count) noexcept
	{
		position += count;
		__atomic_store_n(&page->aux_tail, position, __ATOMIC_RELEASE);
	}

	/* Overwrite: the trace in the area. Call it while the event is disabled. */
	Snapshot snapshot() const noexcept { return ring_snapshot(bytes(), head(), monotonic); }
	/*
	 * Likewise, without the bytes that an earlier snapshot of this area held, which must be certain: successive snapshots
	 * of this kind are the whole trace except the bytes "missed".
	 */
	Snapshot snapshot_since(const Snapshot &earlier) const noexcept
	{
		return ring_snapshot_since(bytes(), head(), monotonic, earlier);
	}

	/* The bytes at positions [from, to), at most a whole buffer. */
	Spans view(std::uint64_t from, std::uint64_t to) const noexcept { return ring_view(bytes(), from, to); }

	std::size_t size() const noexcept { return area.size(); }
	AuxMode mode() const noexcept { return how; }
	explicit operator bool() const noexcept { return static_cast<bool>(area); }
	/* Unmaps the area; the kernel stops the event if it is running. Once mapped anew, it needs disable() and enable(). */
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
