/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What tests of samples of trace share: an event of the PMU under test with a member that takes samples of its trace, and the
 * proof of what such a sample holds.
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
/* The number, or 0 when these are not the raw data of a getpgid(). */
std::uint64_t number_of(std::span<const std::byte> raw);

/* Skips the test where samples cannot hold trace. */
void need_sampling();

/* A member at that system call, or as asked, that takes samples of that many bytes of trace. */
perf_event_attr sampling_member(const std::string &name, std::uint32_t bytes);
perf_event_attr sampling_member(perf_event_attr asked, std::uint32_t bytes);

/*
 * What is wrong with a sample of size bytes of a trace of that many records, or "". Right is: zeros in front if there is less
 * trace, then records up to the newest, of which the first may be cut.
 */
std::string wrong_with(std::span<const std::byte> trace, const Setup &setup, std::uint64_t records, std::size_t size);
/* The same when it is not known how many records there were: sets newest to the number behind the newest, 0 for none. */
std::string wrong_with_any(
	std::span<const std::byte> trace, const Setup &setup, std::size_t size, std::uint64_t &newest);

bool all_zero(std::span<const std::byte> bytes);

/* An event of the PMU under test and, in its group, a member that takes samples of its trace. */
class Sampler
{
public:
	Sampler(const Setup &wanted, std::uint32_t bytes, const std::string &at = "getppid");
	/* A filter of a member at a tracepoint. */
	Sampler(const Setup &wanted, const perf_event_attr &member, const std::string &filter = "");

	/* The trace in the samples there are, oldest first; other records go nowhere. */
	std::vector<std::vector<std::byte>> samples();
	/* Records made so far: those asked for, and one for each time the event came to the CPU. */
	std::uint64_t records() const;
	void emit(std::uint64_t bytes);
	/* Bytes were asked for otherwise. */
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
