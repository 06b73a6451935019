// SPDX-License-Identifier: GPL-2.0-only
#include "kit/event.h"

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <format>

#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include "kit/pmu.h"

namespace auxpmu
{

namespace
{

constexpr const char *paranoid_file = "/proc/sys/kernel/perf_event_paranoid";
constexpr const char *mlock_file = "/proc/sys/kernel/perf_event_mlock_kb";
constexpr const char *rate_file = "/proc/sys/kernel/perf_event_max_sample_rate";

std::string knob(const char *file)
{
	return read_small_file(file).value_or("unreadable");
}

std::string describe(const perf_event_attr &attr, Target target)
{
	std::string who = target.pid == -1  ? "everybody"
			  : target.pid == 0 ? "this thread"
					    : std::format("thread {}", target.pid);
	std::string where = target.cpu == -1 ? "any CPU" : std::format("CPU {}", target.cpu);

	return std::format("perf_event_open of PMU type {}, config {:#x}, config1 {:#x}, for {} on {}", attr.type + 0,
		static_cast<std::uint64_t>(attr.config), static_cast<std::uint64_t>(attr.config1), who, where);
}

std::string errno_text(int code)
{
	const char *name = ::strerrorname_np(code);

	return std::format("{} ({})", name ? name : "error", std::strerror(code));
}

/*
 * Describes the memory that perf_mmap() may pin: perf_event_mlock_kb per online CPU for each user, and RLIMIT_MEMLOCK per
 * process on top.
 */
std::string memory_limits(std::size_t bytes)
{
	rlimit limit{};
	long cpus = ::sysconf(_SC_NPROCESSORS_ONLN);

	::getrlimit(RLIMIT_MEMLOCK, &limit);
	return std::format(
		"{} KiB asked for; the limits are perf_event_mlock_kb = {} KiB for each of {} CPUs and user, and "
		"RLIMIT_MEMLOCK = {} for what goes beyond.  Ask for less, raise one of them, set "
		"perf_event_paranoid to -1, or run with CAP_IPC_LOCK",
		bytes / 1024, knob(mlock_file), cpus,
		limit.rlim_cur == RLIM_INFINITY ? std::string("unlimited")
						: std::format("{} KiB", limit.rlim_cur / 1024));
}

} // namespace

std::string explain_open(int code, const perf_event_attr &attr, Target target)
{
	std::string text = describe(attr, target) + ": " + errno_text(code) + ": ";

	switch (code) {
	case EACCES:
	case EPERM:
		text += std::format(
			"perf_event_paranoid is {}: without CAP_PERFMON 2 allows own threads and user space only "
			"(exclude_kernel), 1 the kernel too, 0 whole CPUs; 3 (Debian) allows nothing.  Lower it with "
			"sysctl kernel.perf_event_paranoid, or run with CAP_PERFMON.  A PMU may ask for CAP_PERFMON "
			"itself; it then says so in the kernel log",
			knob(paranoid_file));
		break;
	case EBUSY:
		text += "the PMU is exclusive and somebody else has it: it serves one event per thread and CPU, and "
			"either threads "
			"or whole CPUs at a time.  Close the other event";
		break;
	case EINVAL:
		text += attr.inherit && target.cpu == -1
				? "an inherited event on any CPU could never have a ring: open one per CPU"
				: std::format(
					  "the PMU refuses this config, or the event's options do not fit together "
					  "(aux_sample_size needs an AUX event as group leader, a sample rate must not "
					  "exceed perf_event_max_sample_rate = {}).  A PMU of auxpmu tells the reason "
					  "in "
					  "the kernel log",
					  knob(rate_file));
		break;
	case ENOENT:
	case ENXIO:
		text += "no PMU of that type takes this event: is its module loaded?";
		break;
	case ENODEV:
		text += target.cpu >= 0 ? std::format("CPU {} is offline, or the PMU does not serve it", target.cpu)
					: "the PMU is gone, or cannot do this here";
		break;
	case ESRCH:
		text += "no such thread";
		break;
	case EOPNOTSUPP:
		text += "the PMU cannot sample, exclude, or pause as asked";
		break;
	case E2BIG:
		text += "this kernel does not know all of perf_event_attr: leave new members zero";
		break;
	case EMFILE:
	case ENFILE:
		text += "too many open files: raise RLIMIT_NOFILE (ulimit -n), or close some";
		break;
	case ENOSYS:
		text += "this kernel has no perf events (CONFIG_PERF_EVENTS)";
		break;
	default:
		text += "see perf_event_open(2) and the kernel log";
	}
	return text;
}

std::string explain_map_data(int code, std::size_t bytes)
{
	std::string text = std::format("mmap of a data ring of {} bytes and its user page: {}: ",
		bytes - std::min(bytes, page_size()), errno_text(code));

	if (code == EINVAL && !std::has_single_bit(bytes - page_size()))
		return text + "the ring must be a power of two of pages, and one page more for the user page";
	if (code == EINVAL)
		return text + "an inherited event on any CPU cannot be mapped, nor one whose output goes elsewhere in "
			      "another size";
	if (code == EBUSY)
		return text + "the event's output goes to the ring of another event: map that one";
	if (code == EPERM)
		return text + memory_limits(bytes);
	if (code == ENOMEM)
		return text + "no memory for it, or the process has too many mappings (vm.max_map_count)";
	return text + "see perf_event_open(2)";
}

std::string explain_map_aux(int code, std::size_t bytes, bool overwrite)
{
	std::string text = std::format("mmap of an AUX area of {} bytes ({}): {}: ", bytes,
		overwrite ? "read-only, so overwriting" : "writable, so full trace", errno_text(code));

	if (code == EINVAL && (bytes % page_size() || !std::has_single_bit(bytes)))
		return text + std::format("the size must be a power of two of pages of {} bytes", page_size());
	switch (code) {
	case EINVAL:
		return text + "aux_offset and aux_size of the user page must hold this offset and size, behind the "
			      "data ring, and an "
			      "AUX area that is mapped already must be mapped again exactly alike";
	case EPERM:
		return text + memory_limits(bytes);
	case EOPNOTSUPP:
		return text + "this PMU has no AUX area";
	case EBUSY:
	case EEXIST:
		return text + "the ring has an AUX area already";
	case ENODEV:
		return text + "the PMU is gone";
	case ENOMEM:
		return text +
		       std::format(
			       "the kernel found no memory, or the PMU cannot use what it found.  The largest AUX area "
			       "perf can hold is 2 GiB (a page table of one block, MAX_ORDER).  A PMU that needs "
			       "contiguous memory gets no block above 4 MiB (MAX_ORDER), in full-trace mode none above "
			       "aux_watermark (half of the area unless set), and less when memory is fragmented: ask "
			       "for "
			       "a smaller area, or free memory (echo 1 > /proc/sys/vm/compact_memory).  A PMU of "
			       "auxpmu "
			       "tells in the kernel log what size and order it wanted");
	}
	return text + "see perf_event_open(2) and the kernel log";
}

perf_event_attr dummy_attr() noexcept
{
	perf_event_attr attr{};

	attr.size = sizeof(attr);
	attr.type = PERF_TYPE_SOFTWARE;
	attr.config = PERF_COUNT_SW_DUMMY;
	return attr;
}

void set_aux_action(perf_event_attr &attr, AuxAction action) noexcept
{
	const auto value = static_cast<std::uint32_t>(action);

	std::memcpy(reinterpret_cast<std::byte *>(&attr) + offsetof(perf_event_attr, aux_sample_size) +
			    sizeof(attr.aux_sample_size),
		&value, sizeof(value));
}

Result<Event> Event::open(const perf_event_attr &attr, Target target, int group_fd)
{
	Event event;
	long fd = ::syscall(SYS_perf_event_open, &attr, target.pid, target.cpu, group_fd, PERF_FLAG_FD_CLOEXEC);

	if (fd < 0)
		return Error{errno, explain_open(errno, attr, target)};
	event.file = UniqueFd(static_cast<int>(fd));
	event.asked = attr;
	event.follows = target;
	return event;
}

Result<void> Event::enable() const noexcept
{
	if (::ioctl(fd(), PERF_EVENT_IOC_ENABLE, 0))
		return Error{errno, "PERF_EVENT_IOC_ENABLE: " + errno_text(errno)};
	return {};
}

Result<void> Event::disable() const noexcept
{
	if (::ioctl(fd(), PERF_EVENT_IOC_DISABLE, 0))
		return Error{errno, "PERF_EVENT_IOC_DISABLE: " + errno_text(errno)};
	return {};
}

Result<void> Event::restart() const noexcept
{
	auto stopped = disable();

	return stopped ? enable() : stopped;
}

Result<void> Event::pause_output() const noexcept
{
	if (::ioctl(fd(), PERF_EVENT_IOC_PAUSE_OUTPUT, 1))
		return Error{errno, "PERF_EVENT_IOC_PAUSE_OUTPUT: " + errno_text(errno)};
	return {};
}

Result<void> Event::resume_output() const noexcept
{
	if (::ioctl(fd(), PERF_EVENT_IOC_PAUSE_OUTPUT, 0))
		return Error{errno, "PERF_EVENT_IOC_PAUSE_OUTPUT: " + errno_text(errno)};
	return {};
}

Result<void> Event::set_filter(const std::string &filters) const
{
	if (::ioctl(fd(), PERF_EVENT_IOC_SET_FILTER, filters.c_str())) {
		int code = errno;

		return Error{code,
			std::format("PERF_EVENT_IOC_SET_FILTER \"{}\": {}: {}", filters, errno_text(code),
				code == EOPNOTSUPP
					? "the PMU has fewer filters (nr_addr_filters in its sysfs folder), not this "
					  "kind, or the event follows no task and so no file can be mapped"
					: "the PMU has none, it is not written as in perf-record(1), or its addresses "
					  "are not the kernel's, though no file is named")};
	}
	return {};
}

Result<void> Event::set_output(const Event &target) const
{
	if (::ioctl(fd(), PERF_EVENT_IOC_SET_OUTPUT, target.fd())) {
		int code = errno;

		return Error{code,
			"PERF_EVENT_IOC_SET_OUTPUT: " + errno_text(code) +
				": both events must follow the same thread or CPU, with the same clock and direction, "
				"neither may be mapped the other way round, and two AUX events share a ring only when "
				"they are of one PMU"};
	}
	return {};
}

Result<Event::Times> Event::times() const
{
	std::uint64_t words[3];
	constexpr std::uint64_t format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;

	if (asked.read_format != format)
		return Error{
			EINVAL, "the times of an event are known only when it was opened with read_format for them"};
	if (::read(fd(), words, sizeof(words)) != sizeof(words))
		return Error{errno, "read of the event's times: " + errno_text(errno)};
	return Times{words[1], words[2]};
}

} // namespace auxpmu
