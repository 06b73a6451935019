/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * DataRing: the ring of records that mmap() of an event provides, and the user page in front of it.
 *
 * There is one consumer. The kernel publishes records through data_head, which is loaded with acquire; the consumer gives room
 * back through data_tail, which is stored with release after the records have been read. Nothing here allocates or throws after
 * map().
 */
#ifndef AUXPMU_KIT_DATA_RING_H
#define AUXPMU_KIT_DATA_RING_H

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>

#include <linux/perf_event.h>

#include "kit/event.h"
#include "kit/handle.h"
#include "kit/record.h"
#include "kit/result.h"

namespace auxpmu
{

/*
 * How the data ring is mapped. The kernel never overwrites records of a writable ring: when it is full, new records are lost
 * and counted. In a read-only ring it overwrites the oldest records.
 */
enum class DataAccess { read_write, read_only };

class DataRing
{
public:
	DataRing() = default;
	/*
	 * Maps the user page and a ring of the given size (a power of two of pages). With read_only the ring is first mapped
	 * read-only, which makes the kernel overwrite it, and then once more writable, because the offset of an AUX area has to
	 * be written to the user page.
	 */
	static Result<DataRing> map(const Event &event, std::size_t bytes, DataAccess access = DataAccess::read_write);
	/* Takes over a user page and a ring that are already mapped writable. */
	static DataRing over(Mapping mapped);

	/*
	 * Hands each available record to use(const RecordView &), oldest first, and gives its room back. The view is valid only
	 * during the call. Returns the number of records.
	 */
	template <class Use>
	std::size_t drain(Use &&use)
	{
		const std::uint64_t end = head();
		std::size_t records = 0;

		if (end - position > length)
			skip_overwritten(end);
		while (end - position >= sizeof(perf_event_header)) {
			RecordView view = view_at(position);

			if (view.header.size < sizeof(perf_event_header) || view.header.size % 8 ||
				view.header.size > end - position) {
				broken = true;
				position = end;
				break;
			}
			use(static_cast<const RecordView &>(view));
			position += view.header.size;
			records++;
			set_tail(position);
		}
		set_tail(position);
		return records;
	}

	/* Bytes the kernel has written since the ring was created; loaded with acquire. */
	std::uint64_t head() const noexcept { return __atomic_load_n(&page().data_head, __ATOMIC_ACQUIRE); }
	/* Bytes that the kernel overwrote in a read-only ring before they were read; their records are lost. */
	std::uint64_t overwritten() const noexcept { return overrun; }
	/* Did the ring hold bytes that are not a record? Never, unless someone else writes to the ring. */
	bool corrupt() const noexcept { return broken; }

	perf_event_mmap_page &page() const noexcept { return *reinterpret_cast<perf_event_mmap_page *>(control()); }
	/* Size of the ring in bytes. */
	std::size_t size() const noexcept { return length; }
	/* The ring itself, without the user page. */
	std::span<const std::byte> memory() const noexcept { return {bytes, length}; }
	explicit operator bool() const noexcept { return static_cast<bool>(ring); }
	/* Unmaps the ring; the kernel keeps it as long as an AUX area is mapped. */
	void unmap() noexcept
	{
		writable.reset();
		ring.reset();
	}

private:
	std::byte *control() const noexcept { return writable ? writable.data() : ring.data(); }
	void set_tail(std::uint64_t tail) noexcept { __atomic_store_n(&page().data_tail, tail, __ATOMIC_RELEASE); }
	void skip_overwritten(std::uint64_t end) noexcept
	{
		overrun += end - position;
		position = end;
	}
	RecordView view_at(std::uint64_t at) noexcept;
	void copy(std::uint64_t at, void *to, std::size_t bytes) const noexcept;

	Mapping ring;
	Mapping writable;                     /* only when ring is read-only */
	std::unique_ptr<std::byte[]> scratch; /* for a record that wraps: 64 KiB, the largest there is */
	const std::byte *bytes = nullptr;
	std::size_t length = 0;
	std::uint64_t position = 0;
	std::uint64_t overrun = 0;
	bool broken = false;
};

} // namespace auxpmu

#endif /* AUXPMU_KIT_DATA_RING_H */
