// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Keeps the kernel's code as it is while tests open and close events: as long as this sleeps, the static keys of the scheduler's
 * perf hooks stay on (perf_sched_events, and that of context switches), and that of the tracepoint at the entry of system calls.
 *
 * Each time one is switched the kernel changes its code. QEMU drops its translation of that code before it writes the change; a vCPU that
 * translates the code in between keeps what was there. On x86 that may be an int3, and the guest dies of "int3" in __schedule(); elsewhere it is
 * the code of before, so that an event of a system call that was just opened counts none. See docs/testing.md.
 *
 *   hold_keys
 */
#include <cstdio>

#include <linux/perf_event.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace
{

/* With a process, for those are what the scheduler has to look for. */
bool hold(unsigned type, unsigned long config)
{
	perf_event_attr attr{};

	attr.size = sizeof(attr);
	attr.type = type;
	attr.config = config;
	return ::syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC) >= 0;
}

/* The number of the event at a system call that nobody makes here; 0 where the kernel has none. */
unsigned long system_call()
{
	unsigned long id = 0;
	std::FILE *file = std::fopen("/sys/kernel/tracing/events/syscalls/sys_enter_getpgid/id", "r");
	if (!file)
		return 0;
	if (std::fscanf(file, "%lu", &id) != 1)
		id = 0;
	std::fclose(file);
	return id;
}

} // namespace

int main()
{
	if (!hold(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CONTEXT_SWITCHES)) {
		std::perror("hold_keys: an event of context switches");
		return 1;
	}
	if (const unsigned long id = system_call(); id && !hold(PERF_TYPE_TRACEPOINT, id)) {
		std::perror("hold_keys: an event of a system call");
		return 1;
	}
	/* Whoever started it may go on. */
	std::puts("held");
	std::fflush(stdout);
	for (;;)
		::pause();
}
