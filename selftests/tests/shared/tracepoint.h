/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Events that occur exactly when a test triggers them: tracepoints on system calls that nothing else makes, and others.
 */
#ifndef AUXPMU_TESTS_TRACEPOINT_H
#define AUXPMU_TESTS_TRACEPOINT_H

#include <cstdint>
#include <format>
#include <string>

#include <linux/perf_event.h>
#include <unistd.h>

#include <catch2/catch_test_macros.hpp>

#include "kit/event.h"
#include "kit/pmu.h"

namespace auxpmu::test
{

/*
 * A member for the group of an AUX event that overflows at each hit of this tracepoint ("nmi/nmi_handler"). It is opened
 * enabled: the leader's ENABLE schedules it as well, while a member enabled alone has to wait for a context switch. Skips the
 * test if there is no such tracepoint.
 */
inline perf_event_attr at_tracepoint(const std::string &name)
{
	perf_event_attr attr{};

	attr.type = PERF_TYPE_TRACEPOINT;
	attr.size = sizeof(attr);
	attr.sample_period = 1;
	for (const char *root : {"/sys/kernel/tracing", "/sys/kernel/debug/tracing"})
		if (auto id = read_small_file(std::format("{}/events/{}/id", root, name))) {
			attr.config = std::stoull(*id);
			return attr;
		}
	SKIP("this kernel has no tracepoint " << name);
	return attr;
}

/* Likewise at each entry of this system call ("getppid"). */
inline perf_event_attr at_syscall(const std::string &name)
{
	return at_tracepoint("syscalls/sys_enter_" + name);
}

/*
 * An event that counts instead of sampling: samples are throttled, and from 7.x on throttling stops the event, which then no
 * longer counts.
 */
inline perf_event_attr counting(perf_event_attr attr)
{
	attr.sample_period = 0;
	return attr;
}

/* What a counting event has counted. */
inline std::uint64_t count_of(const Event &event)
{
	std::uint64_t count = 0;

	REQUIRE(::read(event.fd(), &count, sizeof(count)) == sizeof(count));
	return count;
}

} // namespace auxpmu::test

#endif /* AUXPMU_TESTS_TRACEPOINT_H */
