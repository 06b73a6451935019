/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Event: one perf event, from perf_event_open() to close(). Errors explain the errno of the kernel: which limit was hit, and
 * what to do about it.
 */
#ifndef AUXPMU_KIT_EVENT_H
#define AUXPMU_KIT_EVENT_H

#include <cstddef>
#include <cstdint>
#include <string>

#include <linux/perf_event.h>
#include <sys/types.h>

#include "kit/handle.h"
#include "kit/result.h"

namespace auxpmu
{

/* The thread and the CPU that an event follows. */
struct Target {
	pid_t pid; /* 0: the calling thread, -1: everybody */
	int cpu;   /* -1: any */

	static constexpr Target task(pid_t pid = 0) noexcept { return {pid, -1}; }
	static constexpr Target on_cpu(int cpu) noexcept { return {-1, cpu}; }
	static constexpr Target task_on_cpu(pid_t pid, int cpu) noexcept { return {pid, cpu}; }
};

/*
 * The attr of a software event that counts nothing. Tests use it to read enabled times, to lend its ring, or to occupy a
 * context.
 */
perf_event_attr dummy_attr() noexcept;

/* Values of attr.aux_action; older headers have a reserved word there, behind aux_sample_size. */
enum class AuxAction : std::uint32_t { start_paused = 1, pause = 2, resume = 4 };
void set_aux_action(perf_event_attr &attr, AuxAction action) noexcept;

class Event
{
public:
	/* perf_event_open(); the descriptor is close-on-exec. The error says what was asked and why the kernel refused it. */
	static Result<Event> open(const perf_event_attr &attr, Target target, int group_fd = -1);

	/* PERF_EVENT_IOC_ENABLE and _DISABLE. ENABLE has no effect on an event that is not in the off state. */
	Result<void> enable() const noexcept;
	Result<void> disable() const noexcept;
	/*
	 * Continues after PERF_AUX_FLAG_TRUNCATED, once the consumer has given room back: disable(), then enable(). The kernel
	 * switches the event off a moment after the consumer can see the record; an enable() alone within that moment has no
	 * effect, and the event stays off.
	 */
	Result<void> restart() const noexcept;
	/*
	 * PERF_EVENT_IOC_PAUSE_OUTPUT: nothing is written to the data ring of this event until it is resumed; a
	 * PERF_RECORD_LOST then counts the records that were not written. Does not affect the AUX area.
	 */
	Result<void> pause_output() const noexcept;
	Result<void> resume_output() const noexcept;
	/*
	 * PERF_EVENT_IOC_SET_FILTER: address filters in the syntax of perf record --filter: "filter 0x1000/0x80@/bin/ls", "stop
	 * 0xffffffff81000000/16"; commas separate several filters.
	 */
	Result<void> set_filter(const std::string &filters) const;
	/* PERF_EVENT_IOC_SET_OUTPUT: records (and, for an AUX event, trace) go to the ring of target. */
	Result<void> set_output(const Event &target) const;

	struct Times {
		std::uint64_t enabled; /* ns for which the event has been enabled since it was opened */
		std::uint64_t running; /* ns of that time for which it was on its PMU */
	};
	/* Requires read_format to hold both total times and nothing else. */
	Result<Times> times() const;

	int fd() const noexcept { return file.get(); }
	const perf_event_attr &attr() const noexcept { return asked; }
	Target target() const noexcept { return follows; }
	/* Closes the descriptor; mappings stay. */
	void close() noexcept { file.reset(); }

private:
	UniqueFd file;
	perf_event_attr asked{};
	Target follows{};
};

/* Explains in one sentence why perf_event_open() failed with this errno. */
std::string explain_open(int code, const perf_event_attr &attr, Target target);

/* The same for mmap() of a data ring (bytes include the user page), and of an AUX area of the given size. */
std::string explain_map_data(int code, std::size_t bytes);
std::string explain_map_aux(int code, std::size_t bytes, bool overwrite);

} // namespace auxpmu

#endif /* AUXPMU_KIT_EVENT_H */
