/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Tally: what came of a program's operations, in memory that all its processes share, so that it outlives each of them.
 */
#ifndef AUXPMU_FUZZ_TALLY_H
#define AUXPMU_FUZZ_TALLY_H

#include <array>
#include <atomic>
#include <cstdint>

#include <linux/perf_event.h>
#include <pthread.h>
#include <sys/types.h>

#include "program.h"

namespace auxpmu::fuzz
{

constexpr int nr_errors = 134;

/* What the kernel would not tell of an event: how it was opened, and whether it was ever redirected. */
struct KnownEvent {
	std::atomic<std::uint64_t> id;
	perf_event_attr attr; /* does not change once it is known */
	std::atomic<bool> redirected;
	std::atomic<bool> mapped[2]; /* ring and area: ever */
	std::atomic<bool> needed;    /* is another event to pause, resume or sample it? */
};

class Tally
{
public:
	/* A new one, of zeros. */
	static Tally &make();
	void give_back();

	struct OfKind {
		std::atomic<std::uint32_t> tried, done;
		/* Nobody was there to do it; it would have hit a bug of the kernel that is known. */
		std::atomic<std::uint32_t> skipped, avoided;
		std::array<std::atomic<std::uint32_t>, nr_errors> errors; /* by errno */
	};
	OfKind &of(Kind kind) { return kinds[static_cast<unsigned>(kind)]; }

	void remember(std::uint64_t id, const perf_event_attr &attr, bool redirected);
	/* Nothing when it is not known. */
	KnownEvent *find(std::uint64_t id);
	/* Is an event of this type of PMU needed? */
	bool any_needed(std::uint32_t type) const;

	/* Thread numbers of the actors, in the namespace of the first; 0: not there. */
	std::array<std::atomic<pid_t>, nr_actors> threads;
	std::atomic<std::uint32_t> begun; /* the operation that the first actor is at */
	/* Has a ring been mapped twice, which the kernel has the user pay twice, and gives back once? */
	std::atomic<bool> paid_twice;

	/* To be held by whoever redirects, or maps what may have been redirected.  Survives an owner who is killed. */
	void lock();
	void unlock() { ::pthread_mutex_unlock(&mutex); }

private:
	std::array<OfKind, nr_kinds> kinds;
	std::array<KnownEvent, 2048> known;
	std::atomic<std::uint32_t> nr_known;
	pthread_mutex_t mutex;
};

} // namespace auxpmu::fuzz

#endif /* AUXPMU_FUZZ_TALLY_H */
