// SPDX-License-Identifier: GPL-2.0-only
#include "mappings.h"

#include <algorithm>
#include <iterator>
#include <mutex>

#include <linux/perf_event.h>
#include <sys/mman.h>

#include "kit/handle.h"
#include "signals.h"

namespace auxpmu::fuzz
{

namespace
{

constexpr std::uintptr_t first_place = 0x100000000000;
constexpr std::size_t place_bytes = 64 << 20;
constexpr std::size_t aux_place = place_bytes / 2;

std::byte *place(std::uint64_t mapping, bool aux)
{
	return reinterpret_cast<std::byte *>(first_place + mapping * place_bytes + (aux ? aux_place : 0));
}

} // namespace

int Mappings::act(const Operation &operation)
{
	const auto &a = operation.arguments;
	const std::uint64_t mapping = a[0] % nr_mappings;

	switch (operation.kind) {
	case Kind::map_data:
		return map_data(mapping, a[1], a[2], a[3]);
	case Kind::map_aux:
		return map_aux(mapping, a[1], a[2], a[3]);
	case Kind::unmap:
		return unmap(mapping, a[1]);
	case Kind::unmap_part:
		return result_of(::munmap(place(mapping, a[1]) + std::min<std::uint64_t>(a[2], 64) * page_size(),
			std::clamp<std::uint64_t>(a[3], 1, 64) * page_size()));
	case Kind::move:
		return move(mapping, a[1] % nr_mappings, a[2], a[3]);
	case Kind::protect:
		return protect(mapping, a[1], a[2]);
	case Kind::advise:
		return advise(mapping, a[1], a[2]);
	case Kind::poke:
		return poke(mapping, a[1], a[2]);
	case Kind::drain:
		return drain(mapping);
	default:
		return EINVAL;
	}
}

template <class Body>
int Mappings::with_size(std::uint64_t mapping, bool aux, Body &&body)
{
	const std::size_t bytes = sizes[aux][mapping];

	return bytes ? body(place(mapping, aux), bytes) : ENOENT;
}

int Mappings::unmap(std::uint64_t mapping, bool aux)
{
	if (!sizes[aux][mapping].exchange(0))
		return ENOENT;
	return result_of(::munmap(place(mapping, aux), aux_place));
}

int Mappings::protect(std::uint64_t mapping, bool aux, std::uint64_t access)
{
	return with_size(mapping, aux, [&](std::byte *at, std::size_t bytes) {
		return result_of(::mprotect(at, bytes, static_cast<int>(access & 7)));
	});
}

int Mappings::advise(std::uint64_t mapping, bool aux, std::uint64_t advice)
{
	constexpr int advices[] = {MADV_DOFORK, MADV_DONTFORK, MADV_DODUMP, MADV_FREE, MADV_WILLNEED};

	return with_size(mapping, aux, [&](std::byte *at, std::size_t bytes) {
		return result_of(::madvise(at, bytes, advices[advice % std::size(advices)]));
	});
}

int Mappings::map_data(std::uint64_t mapping, std::uint64_t from, std::uint64_t pages, std::uint64_t ring)
{
	const std::size_t bytes = (1 + std::min<std::uint64_t>(pages, 1024)) * page_size();
	const int access = PROT_READ | (ring ? 0 : PROT_WRITE);

	if (::mmap(place(mapping, false), bytes, access, MAP_SHARED | MAP_FIXED, events[from], 0) == MAP_FAILED)
		return errno;
	sizes[0][mapping] = bytes;
	note_mapping(events[from], false);
	return 0;
}

/* Of one that writes into another's ring, or is not known, the ring may be mapped already. */
void Mappings::note_mapping(int fd, bool aux)
{
	KnownEvent *known = tally.find(Events::id_of(fd));

	if (!known || known->redirected || known->mapped[aux].exchange(true))
		tally.paid_twice = true;
}

/* The place of the area is told in the user page, which of a ring that is not writable has to become so. */
int Mappings::place_aux(std::uint64_t mapping, std::size_t bytes)
{
	const auto say = [&] {
		auto *page = reinterpret_cast<perf_event_mmap_page *>(place(mapping, false));

		return touching([&] {
			page->aux_offset = sizes[0][mapping];
			page->aux_size = bytes;
		});
	};
	if (!say())
		return 0;
	const std::size_t length = sizes[0][mapping];
	if (!length || ::mprotect(place(mapping, false), length, PROT_READ | PROT_WRITE))
		return EFAULT;
	const int error = say();
	::mprotect(place(mapping, false), length, PROT_READ);
	return error;
}

int Mappings::map_aux(std::uint64_t mapping, std::uint64_t from, std::uint64_t pages, std::uint64_t ring)
{
	const std::size_t bytes = std::min<std::uint64_t>(pages, 1024) * page_size();
	const int fd = events[from], access = PROT_READ | (ring ? 0 : PROT_WRITE);
	std::unique_lock<Tally> guard(tally, std::defer_lock);

	if (fd < 0)
		return EBADF;
	if (machine.miscounts_redirected()) {
		guard.lock();
		const KnownEvent *known = tally.find(Events::id_of(fd));
		/* One that is not known may be anything. */
		if (!known || known->redirected)
			return avoided;
	}
	if (const int error = place_aux(mapping, bytes))
		return error;
	if (::mmap(place(mapping, true), bytes, access, MAP_SHARED | MAP_FIXED, fd,
		    static_cast<off_t>(sizes[0][mapping].load())) == MAP_FAILED)
		return errno;
	sizes[1][mapping] = bytes;
	note_mapping(fd, true);
	return 0;
}

int Mappings::move(std::uint64_t mapping, std::uint64_t to, bool aux, std::uint64_t pages)
{
	return with_size(mapping, aux, [&](std::byte *at, std::size_t bytes) {
		const std::size_t wanted = pages % 2 ? bytes : std::clamp<std::uint64_t>(pages, 1, 1024) * page_size();

		if (::mremap(at, bytes, wanted, MREMAP_MAYMOVE | MREMAP_FIXED, place(to, aux)) == MAP_FAILED)
			return errno;
		sizes[aux][mapping] = 0;
		sizes[aux][to] = wanted;
		return 0;
	});
}

int Mappings::poke(std::uint64_t mapping, std::uint64_t member, std::uint64_t value)
{
	return with_size(mapping, false, [&](std::byte *at, std::size_t) {
		auto *page = reinterpret_cast<perf_event_mmap_page *>(at);

		return touching([&] {
			switch (member % 7) {
			case 0:
				page->data_tail = value;
				break;
			case 1:
				page->aux_head = value;
				break;
			case 2:
				page->aux_tail = value;
				break;
			case 3:
				page->aux_offset = value;
				break;
			case 4:
				page->aux_size = value;
				break;
			case 5:
				page->data_head = value;
				break;
			default:
				page->lock = static_cast<std::uint32_t>(value);
			}
		});
	});
}

/* Gives all room back, as a consumer does. */
int Mappings::drain(std::uint64_t mapping)
{
	return with_size(mapping, false, [&](std::byte *at, std::size_t) {
		auto *page = reinterpret_cast<perf_event_mmap_page *>(at);

		return touching([&] {
			__atomic_store_n(&page->data_tail, __atomic_load_n(&page->data_head, __ATOMIC_ACQUIRE),
				__ATOMIC_RELEASE);
			__atomic_store_n(
				&page->aux_tail, __atomic_load_n(&page->aux_head, __ATOMIC_ACQUIRE), __ATOMIC_RELEASE);
		});
	});
}

} // namespace auxpmu::fuzz
