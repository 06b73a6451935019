// SPDX-License-Identifier: GPL-2.0-only
#include "tally.h"

#include <algorithm>
#include <cerrno>
#include <new>
#include <stdexcept>

#include <sys/mman.h>

namespace auxpmu::fuzz
{

Tally &Tally::make()
{
	void *memory = ::mmap(nullptr, sizeof(Tally), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (memory == MAP_FAILED)
		throw std::runtime_error("no memory to share");
	auto *tally = new (memory) Tally();
	pthread_mutexattr_t attributes;
	::pthread_mutexattr_init(&attributes);
	::pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
	::pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
	::pthread_mutex_init(&tally->mutex, &attributes);
	::pthread_mutexattr_destroy(&attributes);
	return *tally;
}

void Tally::give_back()
{
	::munmap(this, sizeof(*this));
}

void Tally::lock()
{
	if (::pthread_mutex_lock(&mutex) == EOWNERDEAD)
		::pthread_mutex_consistent(&mutex);
}

void Tally::remember(std::uint64_t id, const perf_event_attr &attr, bool redirected)
{
	const auto n = nr_known++;

	if (n >= known.size())
		return;
	known[n].attr = attr;
	known[n].redirected = redirected;
	known[n].id = id;
}

KnownEvent *Tally::find(std::uint64_t id)
{
	const auto end = known.begin() + std::min<std::size_t>(nr_known, known.size());
	const auto found = std::find_if(known.begin(), end, [id](const KnownEvent &one) { return one.id == id; });

	return found == end ? nullptr : &*found;
}

bool Tally::any_needed(std::uint32_t type) const
{
	const auto end = known.begin() + std::min<std::size_t>(nr_known, known.size());

	return std::any_of(
		known.begin(), end, [type](const KnownEvent &one) { return one.needed && one.attr.type == type; });
}

} // namespace auxpmu::fuzz
