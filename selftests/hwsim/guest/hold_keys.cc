// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Prevents the kernel from patching its code while tests open and close events: as long as this program sleeps, the static keys of the
 * scheduler's perf hooks (perf_sched_events, and that of context switches) and of the system call entry tracepoint stay enabled.
 *
 * The kernel patches its code whenever a static key is switched. QEMU drops its translation of that code before it writes the change, and a
 * vCPU that translates the code in between keeps a stale translation. On x86 that may contain an int3, and the guest dies of "int3" in
 * __schedule(); elsewhere it is the old code, and an event just opened on a system call counts nothing. See docs/testing.md.
 *
 *   hold_keys
 */
#include <cstdio>

#include <linux/perf_event.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace
{

/* Opens an event for a process, because only such events enable the scheduler's hooks. */
bool hold(unsigned type, unsigned long config)
{
	perf_event_attr attr{};

	attr.size = sizeof(attr);
	attr.type = type;
	attr.config = config;
	return ::syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC) >= 0;
}

/* The tracepoint ID of a system call that no test makes; 0 if the kernel has no such tracepoint. */
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
	/* Tells the caller that the keys are enabled. */
	std::puts("held");
	std::fflush(stdout);
	for (;;)
		::pause();
}
