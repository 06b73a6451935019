/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Event: one perf event, from perf_event_open() to close(). Errors explain the kernel's errno: which limit was hit, and what to
 * do.
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

/* Whom an event follows, and where. */
struct Target {
	pid_t pid; /* 0: the calling thread, -1: everybody */
	int cpu;   /* -1: any */

	static constexpr Target task(pid_t pid = 0) noexcept { return {pid, -1}; }
	static constexpr Target on_cpu(int cpu) noexcept { return {-1, cpu}; }
	static constexpr Target task_on_cpu(pid_t pid, int cpu) noexcept { return {pid, cpu}; }
};

/* attr of a software event that counts nothing: to read its times, to lend its ring, to be in the way. */
perf_event_attr dummy_attr() noexcept;

/* attr.aux_action; in older headers it is the reserved word behind aux_sample_size. */
enum class AuxAction : std::uint32_t { start_paused = 1, pause = 2, resume = 4 };
void set_aux_action(perf_event_attr &attr, AuxAction action) noexcept;

class Event
{
public:
	/* perf_event_open(); the descriptor is close-on-exec. The error says what was asked and why the kernel refused it. */
	static Result<Event> open(const perf_event_attr &attr, Target target, int group_fd = -1);

	/* PERF_EVENT_IOC_ENABLE and _DISABLE.  ENABLE does nothing to an event that is not off. */
	Result<void> enable() const noexcept;
	Result<void> disable() const noexcept;
	/*
	 * Go on after PERF_AUX_FLAG_TRUNCATED, when room was given back: disable(), then enable(). The kernel switches the
	 * event off a moment after the consumer can see the record; an enable() alone in that moment does nothing, and the
	 * event stays off.
	 */
	Result<void> restart() const noexcept;
	/*
	 * PERF_EVENT_IOC_PAUSE_OUTPUT: nothing is written to the data ring of this event until it is resumed; a
	 * PERF_RECORD_LOST then counts the records that were not written. Does not affect the AUX area.
	 */
	Result<void> pause_output() const noexcept;
	Result<void> resume_output() const noexcept;
	/*
	 * PERF_EVENT_IOC_SET_FILTER: address filters, as perf record --filter has them: "filter 0x1000/0x80@/bin/ls", "stop
	 * 0xffffffff81000000/16", several with commas.
	 */
	Result<void> set_filter(const std::string &filters) const;
	/* PERF_EVENT_IOC_SET_OUTPUT: records (and, for an AUX event, trace) go to the ring of target. */
	Result<void> set_output(const Event &target) const;

	struct Times {
		std::uint64_t enabled; /* ns since it was opened in which it was enabled */
		std::uint64_t running; /* ns of those in which it was on its PMU */
	};
	/* Needs read_format with both total times and nothing else. */
	Result<Times> times() const;

	int fd() const noexcept { return file.get(); }
	const perf_event_attr &attr() const noexcept { return asked; }
	Target target() const noexcept { return follows; }
	/* Closes the descriptor: mappings stay. */
	void close() noexcept { file.reset(); }

private:
	UniqueFd file;
	perf_event_attr asked{};
	Target follows{};
};

/* One sentence about why perf_event_open() failed with that errno. */
std::string explain_open(int code, const perf_event_attr &attr, Target target);

/* The same for the mmap() of a data ring (user page included), and of an AUX area of that many bytes. */
std::string explain_map_data(int code, std::size_t bytes);
std::string explain_map_aux(int code, std::size_t bytes, bool overwrite);

} // namespace auxpmu

#endif /* AUXPMU_KIT_EVENT_H */
