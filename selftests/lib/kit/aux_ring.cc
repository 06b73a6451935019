// SPDX-License-Identifier: GPL-2.0-only
#include "kit/aux_ring.h"

#include <cerrno>
#include <utility>

namespace auxpmu
{

AuxRing AuxRing::over(const DataRing &data, Mapping mapped, AuxMode mode, bool monotonic_head)
{
	AuxRing ring;

	ring.page = &data.page();
	ring.area = std::move(mapped);
	ring.how = mode;
	ring.monotonic = monotonic_head;
	if (mode == AuxMode::full_trace) {
		/* The ring's head outlives an AUX area: what an earlier one held is not in this one. */
		ring.position = ring.head();
		ring.consume(0);
	}
	return ring;
}

Result<AuxRing> AuxRing::map(
	const DataRing &data, const Event &event, std::size_t bytes, AuxMode mode, bool monotonic_head)
{
	const std::uint64_t offset = page_size() + data.size();
	const bool overwrite = mode == AuxMode::overwrite;

	data.page().aux_offset = offset;
	data.page().aux_size = bytes;
	void *address = ::mmap(nullptr, bytes, overwrite ? PROT_READ : PROT_READ | PROT_WRITE, MAP_SHARED, event.fd(),
		static_cast<off_t>(offset));
	if (address == MAP_FAILED) {
		int code = errno;

		return Error{code, explain_map_aux(code, bytes, overwrite)};
	}
	return over(data, Mapping(address, bytes), mode, monotonic_head);
}

} // namespace auxpmu
