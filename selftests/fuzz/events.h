/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Events: the slots of a program's events, and what is asked of them: by perf_event_open(), ioctl(), fcntl(), read(), poll(). What the kernel would
 * not tell of an event afterwards is in the Tally.
 */
#ifndef AUXPMU_FUZZ_EVENTS_H
#define AUXPMU_FUZZ_EVENTS_H

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <linux/perf_event.h>
#include <sys/types.h>

#include "kit/handle.h"
#include "machine.h"
#include "program.h"
#include "tally.h"

namespace auxpmu::fuzz
{

/* What an operation comes to besides an errno: it would have hit a bug of the kernel that is known. */
constexpr int avoided = -1;

class Events
{
public:
	Events(const Program &program, const Machine &machine, Tally &tally);

	/* An operation on events; an errno, or "avoided". */
	int act(const Operation &operation);
	/* The file of a slot, or -1. */
	int operator[](std::uint64_t n) const { return files[n % nr_events]; }
	/* What the kernel calls it; 0 if it is none. */
	static std::uint64_t id_of(int fd);

private:
	int ask(std::uint64_t n, unsigned long request, std::uint64_t argument) const;
	bool needed(int fd);
	int put(std::uint64_t slot, int fd);
	int open(const Operation &a);
	int set_whose(const Operation &a, pid_t &pid, UniqueFd &folder, unsigned long &flags) const;
	int close(std::uint64_t slot);
	perf_event_attr attr_of(const Operation &a) const;
	static bool raw_needs_leader(const std::byte *raw);
	int set_output(std::uint64_t from, std::uint64_t to);
	int set_filter(std::uint64_t from, std::uint64_t filter, std::uint64_t size);
	int modify(std::uint64_t which, std::uint64_t member, std::uint64_t value);
	int notify(const std::vector<std::uint64_t> &a);

	const Program &program;
	const Machine &machine;
	Tally &tally;
	std::array<std::atomic<int>, nr_events> files;
};

} // namespace auxpmu::fuzz

#endif /* AUXPMU_FUZZ_EVENTS_H */
