/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * BackwardRing: the data ring of an event with attr.write_backward, which keeps the newest records.
 *
 * The kernel writes the ring from its end to its beginning and overwrites old records: data_head counts down from 0, and the
 * newest record begins there, so that a reader finds record after record, newest first, without having read earlier ones.
 * data_head counts every byte ever written, and so tells whether the ring has wrapped, and how much was overwritten since the
 * last reading.
 *
 * To read, stop the writer first: Event::pause_output(), dump(), Event::resume_output().
 */
#ifndef AUXPMU_KIT_BACKWARD_RING_H
#define AUXPMU_KIT_BACKWARD_RING_H

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>

#include <linux/perf_event.h>

#include "kit/data_ring.h"
#include "kit/event.h"
#include "kit/record.h"
#include "kit/result.h"

namespace auxpmu
{

/* The result of one reading of a backward ring. */
struct Dump {
	std::uint64_t records = 0; /* records handed out */
	std::uint64_t bytes = 0;   /* bytes of these records */
	std::uint64_t written = 0; /* bytes written since the previous reading */
	std::uint64_t overwritten =
		0; /* bytes of "written" that are gone: the oldest ones, and the remains of a record that is cut */
	bool wrapped = false; /* has the ring been filled since it was created? */
	bool corrupt = false; /* did the ring hold anything that is not a record? */
};

/* Reads any memory with this layout. It knows nothing of mappings, and remembers where the last reading ended. */
class BackwardReader
{
public:
	BackwardReader() = default;
	explicit BackwardReader(std::span<const std::byte> memory)
		: ring(memory), scratch(std::make_unique<std::byte[]>(largest_record))
	{
	}

	/*
	 * Hands each record written since the last reading to use(const RecordView &), newest first. The view is valid only
	 * during the call.
	 */
	template <class Use>
	Dump read(std::uint64_t head, Use &&use)
	{
		Dump dump;

		dump.written = newest - head;
		dump.wrapped = 0 - head > ring.size();
		const std::uint64_t there = std::min<std::uint64_t>(dump.written, ring.size());
		while (there - dump.bytes >= sizeof(perf_event_header)) {
			const std::uint64_t left = there - dump.bytes;
			perf_event_header header;

			copy(head + dump.bytes, &header, sizeof(header));
			const bool cut = header.size > left && dump.written > ring.size();
			if (header.size < sizeof(header) || header.size % 8 || (header.size > left && !cut))
				dump.corrupt = true;
			if (dump.corrupt || cut)
				break;
			use(view_at(head + dump.bytes, header));
			dump.bytes += header.size;
			dump.records++;
		}
		dump.overwritten = dump.corrupt ? 0 : dump.written - dump.bytes;
		newest = head;
		return dump;
	}

private:
	static constexpr std::size_t largest_record = 65536;

	void copy(std::uint64_t at, void *to, std::size_t count) const noexcept
	{
		const std::size_t offset = at & (ring.size() - 1);
		const std::size_t first = std::min(count, ring.size() - offset);

		std::memcpy(to, ring.data() + offset, first);
		std::memcpy(static_cast<std::byte *>(to) + first, ring.data(), count - first);
	}
	RecordView view_at(std::uint64_t at, const perf_event_header &header) noexcept
	{
		const std::size_t offset = at & (ring.size() - 1);
		const std::size_t body = header.size - sizeof(header);

		if (offset + header.size <= ring.size())
			return {header, ring.subspan(offset + sizeof(header), body)};
		copy(at + sizeof(header), scratch.get(), body);
		return {header, {scratch.get(), body}};
	}

	std::span<const std::byte> ring;
	std::unique_ptr<std::byte[]> scratch; /* for a record that wraps */
	std::uint64_t newest = 0;
};

class BackwardRing
{
public:
	BackwardRing() = default;
	/* Maps the user page and a ring of the given size; attr of the event must have write_backward set. */
	static Result<BackwardRing> map(const Event &event, std::size_t bytes)
	{
		auto mapped = DataRing::map(event, bytes, DataAccess::read_only);

		if (!mapped)
			return mapped.error();
		BackwardRing ring;
		ring.mapping = std::move(*mapped);
		ring.reader = BackwardReader(ring.mapping.memory());
		return ring;
	}

	/* Hands out the records since the last dump, newest first. Call it while output is paused. */
	template <class Use>
	Dump dump(Use &&use)
	{
		return reader.read(mapping.head(), std::forward<Use>(use));
	}

	/* For AuxRing::map(), which needs the user page and the offset behind the ring. */
	const DataRing &data() const noexcept { return mapping; }

private:
	DataRing mapping;
	BackwardReader reader;
};

} // namespace auxpmu

#endif /* AUXPMU_KIT_BACKWARD_RING_H */
