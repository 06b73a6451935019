// SPDX-License-Identifier: GPL-2.0-only
#include "kit/data_ring.h"

#include <algorithm>
#include <cerrno>
#include <utility>

namespace auxpmu
{

namespace
{

constexpr std::size_t largest_record = 65536;

} // namespace

DataRing DataRing::over(Mapping mapped)
{
	DataRing ring;

	ring.ring = std::move(mapped);
	ring.scratch = std::make_unique<std::byte[]>(largest_record);
	ring.bytes = ring.ring.data() + page_size();
	ring.length = ring.ring.size() - page_size();
	ring.position = ring.page().data_tail;
	return ring;
}

Result<DataRing> DataRing::map(const Event &event, std::size_t bytes, DataAccess access)
{
	const std::size_t all = bytes + page_size();
	const int protection = access == DataAccess::read_write ? PROT_READ | PROT_WRITE : PROT_READ;

	void *address = ::mmap(nullptr, all, protection, MAP_SHARED, event.fd(), 0);
	if (address == MAP_FAILED) {
		int code = errno;

		return Error{code, explain_map_data(code, all)};
	}
	DataRing ring = over(Mapping(address, all));
	if (access == DataAccess::read_only) {
		address = ::mmap(nullptr, all, PROT_READ | PROT_WRITE, MAP_SHARED, event.fd(), 0);
		if (address == MAP_FAILED) {
			int code = errno;

			return Error{code, "second, writable " + explain_map_data(code, all)};
		}
		ring.writable = Mapping(address, all);
	}
	return ring;
}

void DataRing::copy(std::uint64_t at, void *to, std::size_t count) const noexcept
{
	const std::size_t offset = at & (length - 1);
	const std::size_t first = std::min(count, length - offset);

	std::memcpy(to, bytes + offset, first);
	std::memcpy(static_cast<std::byte *>(to) + first, bytes, count - first);
}

RecordView DataRing::view_at(std::uint64_t at) noexcept
{
	const std::size_t offset = at & (length - 1);
	RecordView view{};

	/* Record sizes are multiples of 8 bytes, so a header never wraps; copy() could handle one that did. */
	copy(at, &view.header, sizeof(view.header));
	if (view.header.size < sizeof(view.header))
		return view;
	const std::size_t body = view.header.size - sizeof(view.header);
	if (offset + view.header.size <= length) {
		view.body = {bytes + offset + sizeof(view.header), body};
	} else if (view.header.size <= length) {
		copy(at + sizeof(view.header), scratch.get(), body);
		view.body = {scratch.get(), body};
	}
	return view;
}

} // namespace auxpmu
