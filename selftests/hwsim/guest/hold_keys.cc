// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Keeps the kernel's code as it is while tests open and close events: as long as this sleeps, the static keys of the scheduler's
 * perf hooks stay on (perf_sched_events, and that of context switches).
 *
 * Each time one is switched the kernel writes int3 into its code, tells all CPUs, and takes it out again. QEMU can translate the
 * int3 between telling itself that the code changes and changing it; a CPU that then comes to it finds nobody responsible, and
 * the guest dies of "int3" in __schedule(). See docs/testing.md.
 *
 *   hold_keys
 */
#include <cstdio>

#include <linux/perf_event.h>
#include <sys/syscall.h>
#include <unistd.h>

int main()
{
	perf_event_attr switches{};

	switches.size = sizeof(switches);
	switches.type = PERF_TYPE_SOFTWARE;
	switches.config = PERF_COUNT_SW_CONTEXT_SWITCHES;
	/* With a process, for those are what the scheduler has to look for. */
	if (::syscall(SYS_perf_event_open, &switches, 0, -1, -1, PERF_FLAG_FD_CLOEXEC) < 0) {
		std::perror("hold_keys: an event of context switches");
		return 1;
	}
	/* Whoever started it may go on. */
	std::puts("held");
	std::fflush(stdout);
	for (;;)
		::pause();
}
