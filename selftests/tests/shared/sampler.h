/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Code shared by the tests of AUX samples: an event of the PMU under test with a member that takes samples of its trace, and
 * the proof of the contents of such a sample.
 */
#ifndef AUXPMU_TESTS_SAMPLER_H
#define AUXPMU_TESTS_SAMPLER_H

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <sys/syscall.h>
#include <unistd.h>

#include "shared/fixture.h"
#include "shared/tracepoint.h"

namespace auxpmu::test
{

/* Makes a member at_syscall("getppid") overflow. */
inline void sample_here()
{
	::syscall(SYS_getppid);
}

/* Makes a member at_syscall("getpgid") overflow; the number is in its raw data. */
inline void sample_numbered(unsigned number)
{
	::syscall(SYS_getpgid, number);
}
/* The number, or 0 if these are not the raw data of a getpgid(). */
std::uint64_t number_of(std::span<const std::byte> raw);

/* Skips the test where samples cannot hold trace. */
void need_sampling();

/* A member at this system call, or with the given attr, that takes samples of this many bytes of trace. */
perf_event_attr sampling_member(const std::string &name, std::uint32_t bytes);
perf_event_attr sampling_member(perf_event_attr asked, std::uint32_t bytes);

/*
 * The error in a sample of size bytes of a trace of so many records, or "". A correct sample has zeros in front if there is
 * less trace, then records up to the newest, the first of which may be cut.
 */
std::string wrong_with(std::span<const std::byte> trace, const Setup &setup, std::uint64_t records, std::size_t size);
/*
 * Likewise when the number of records is not known: sets newest to the number that follows the newest one, or 0 if there is
 * none.
 */
std::string wrong_with_any(
	std::span<const std::byte> trace, const Setup &setup, std::size_t size, std::uint64_t &newest);

bool all_zero(std::span<const std::byte> bytes);

/* An event of the PMU under test and, in its group, a member that takes samples of its trace. */
class Sampler
{
public:
	Sampler(const Setup &wanted, std::uint32_t bytes, const std::string &at = "getppid");
	/* filter is for a member at a tracepoint. */
	Sampler(const Setup &wanted, const perf_event_attr &member, const std::string &filter = "");

	/* The trace in the available samples, oldest first; other records are dropped. */
	std::vector<std::vector<std::byte>> samples();
	/* Records made so far: the requested ones, and one for each time the event was scheduled in. */
	std::uint64_t records() const;
	void emit(std::uint64_t bytes);
	/* Counts bytes that were requested in another way. */
	void count(std::uint64_t bytes) { emitted += bytes; }
	/* Takes one sample at getppid and returns its trace. */
	std::vector<std::byte> sample();

	Tracer tracer;
	perf_event_attr attr;
	Event member;

private:
	std::uint64_t emitted = 0;
};

} // namespace auxpmu::test

#endif /* AUXPMU_TESTS_SAMPLER_H */
