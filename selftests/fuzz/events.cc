// SPDX-License-Identifier: GPL-2.0-only
#include "events.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <format>
#include <mutex>
#include <string>

#include <fcntl.h>
#include <linux/hw_breakpoint.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "kit/event.h"
#include "signals.h"
#include "work.h"

namespace auxpmu::fuzz
{

namespace
{

constexpr std::size_t most_attr_bytes = 160;

} // namespace

Events::Events(const Program &of, const Machine &on, Tally &in) : program(of), machine(on), tally(in)
{
	for (auto &file : files)
		file = -1;
}

int Events::ask(std::uint64_t n, unsigned long request, std::uint64_t argument) const
{
	return result_of(::ioctl((*this)[n], request, argument));
}

int Events::act(const Operation &operation)
{
	const auto &a = operation.arguments;

	switch (operation.kind) {
	case Kind::open:
		return open(operation);
	case Kind::close:
		return close(a[0]);
	case Kind::dup:
		return put(a[1] % nr_events, ::fcntl((*this)[a[0]], F_DUPFD_CLOEXEC, 3));
	case Kind::read: {
		std::uint64_t values[512];

		return result_of(::read((*this)[a[0]], values, std::min<std::uint64_t>(a[1], sizeof(values))));
	}
	case Kind::poll: {
		pollfd one = {(*this)[a[0]], POLLIN, 0};

		return one.fd < 0 ? EBADF : result_of(::poll(&one, 1, 0));
	}
	case Kind::enable:
		return ask(a[0], PERF_EVENT_IOC_ENABLE, a[1]);
	case Kind::disable:
		return ask(a[0], PERF_EVENT_IOC_DISABLE, a[1]);
	case Kind::reset:
		return ask(a[0], PERF_EVENT_IOC_RESET, a[1]);
	case Kind::refresh:
		return ask(a[0], PERF_EVENT_IOC_REFRESH, a[1]);
	case Kind::period:
		return ask(a[0], PERF_EVENT_IOC_PERIOD, reinterpret_cast<std::uint64_t>(&a[1]));
	case Kind::set_output:
		return set_output(a[0], a[1]);
	case Kind::pause_output:
		return ask(a[0], PERF_EVENT_IOC_PAUSE_OUTPUT, a[1]);
	case Kind::filter:
		return set_filter(a[0], a[1], a[2]);
	case Kind::modify:
		return modify(a[0], a[1], a[2]);
	case Kind::id: {
		std::uint64_t id;

		return ask(a[0], PERF_EVENT_IOC_ID, reinterpret_cast<std::uint64_t>(&id));
	}
	case Kind::notify:
		return notify(a);
	default:
		return EINVAL;
	}
}

/* Whoever pauses, resumes or samples an event that is closed may have the kernel warn (docs/compatibility.md). */
bool Events::needed(int fd)
{
	const KnownEvent *known = fd < 0 ? nullptr : tally.find(id_of(fd));

	return known && known->needed;
}

/* Takes the place of what was in the slot. */
int Events::put(std::uint64_t slot, int fd)
{
	if (fd < 0)
		return errno;
	if (needed(files[slot])) {
		::close(fd);
		return avoided;
	}
	const int old = files[slot].exchange(fd);
	if (old >= 0)
		::close(old);
	return 0;
}

int Events::close(std::uint64_t slot)
{
	if (needed((*this)[slot]))
		return avoided;
	const int fd = files[slot % nr_events].exchange(-1);

	return fd < 0 ? EBADF : result_of(::close(fd));
}

std::uint64_t Events::id_of(int fd)
{
	std::uint64_t id = 0;

	return ::ioctl(fd, PERF_EVENT_IOC_ID, &id) ? 0 : id;
}

perf_event_attr Events::attr_of(const Operation &a) const
{
	constexpr std::uint64_t software[] = {PERF_COUNT_SW_CPU_CLOCK, PERF_COUNT_SW_TASK_CLOCK,
		PERF_COUNT_SW_CONTEXT_SWITCHES, PERF_COUNT_SW_PAGE_FAULTS, PERF_COUNT_SW_DUMMY};
	Type type = static_cast<Type>(std::min<std::uint64_t>(a[arg::type], static_cast<unsigned>(Type::other)));
	perf_event_attr attr{};

	attr.size = sizeof(attr);
	attr.config = a[arg::config];
	attr.config1 = a[arg::config1];
	attr.config2 = a[arg::config2];
	const bool hardware = machine.hardware() && type == Type::synth;
	if (machine.control() && is_aux(a[arg::type]) && !hardware)
		type = Type::clock;
	attr.type = machine.type_of(type);
	if (type >= Type::clock && type <= Type::dummy) {
		attr.config = software[static_cast<unsigned>(type) - static_cast<unsigned>(Type::clock)];
		attr.config1 = attr.config2 = 0;
	} else if (hardware) {
		attr.config = machine.config_of(attr.config);
		attr.config1 = attr.config2 = 0;
	} else if (type == Type::syscall) {
		attr.config = machine.syscall_id();
	} else if (type == Type::cycles) {
		attr.config = PERF_COUNT_HW_CPU_CYCLES;
	} else if (type == Type::breakpoint) {
		attr.config = 0;
		attr.bp_type = HW_BREAKPOINT_W;
		attr.bp_addr = reinterpret_cast<std::uint64_t>(&watched);
		attr.bp_len = HW_BREAKPOINT_LEN_8;
	}
	attr.sample_period = a[arg::period];
	attr.sample_type = a[arg::sample];
	attr.read_format = a[arg::read_format];
	std::memcpy(reinterpret_cast<std::byte *>(&attr) + offsetof(perf_event_attr, read_format) +
			    sizeof(attr.read_format),
		&a.arguments[arg::flags], sizeof(std::uint64_t));
	attr.wakeup_events = static_cast<std::uint32_t>(a[arg::wakeup]);
	attr.aux_watermark = static_cast<std::uint32_t>(a[arg::watermark]);
	attr.aux_sample_size = static_cast<std::uint32_t>(a[arg::aux_sample]);
	attr.branch_sample_type = a[arg::branches];
	if (a[arg::action])
		set_aux_action(attr, static_cast<AuxAction>(a[arg::action]));
	return attr;
}

/* Whom it is to be of: a thread, everybody, or a control group. */
int Events::set_whose(const Operation &a, pid_t &pid, UniqueFd &folder, unsigned long &flags) const
{
	switch (a[arg::who]) {
	case 1:
		pid = tally.threads[a[arg::whom] % nr_actors];
		if (!pid)
			return ESRCH;
		break;
	case 2:
		pid = -1;
		break;
	case 3:
		folder = UniqueFd(::open(
			Machine::group_folder(a[arg::whom] % nr_groups).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
		pid = folder.get();
		flags |= PERF_FLAG_PID_CGROUP;
	}
	return 0;
}

int Events::open(const Operation &a)
{
	std::byte raw[most_attr_bytes] = {};
	const perf_event_attr attr = attr_of(a);
	const bool group = a[arg::who] == 3;
	const bool leads = a[arg::leader], redirects = a[arg::output];
	unsigned long flags = a[arg::open_flags] & (PERF_FLAG_FD_CLOEXEC | PERF_FLAG_FD_NO_GROUP);
	UniqueFd folder;
	pid_t pid = 0;
	constexpr int cpus[] = {-1, 0, 1, 100};

	if (attr.type == ~0u)
		return ENODEV;
	std::memcpy(raw, &attr, sizeof(attr));
	if (const auto at = a[arg::spoil] >> 8; at && at <= sizeof(raw))
		raw[at - 1] = static_cast<std::byte>(a[arg::spoil]);
	/* The kernel's own driver warns of samples of an area that is written once (docs/compatibility.md). */
	if (machine.control() && machine.hardware() && attr.aux_sample_size)
		return avoided;
	if (const int error = set_whose(a, pid, folder, flags))
		return error;
	if (redirects)
		flags |= PERF_FLAG_FD_OUTPUT | (leads ? 0 : PERF_FLAG_FD_NO_GROUP);
	const int other = leads ? (*this)[a[arg::leader] - 1] : redirects ? (*this)[a[arg::output] - 1] : -1;
	std::unique_lock<Tally> guard(tally, std::defer_lock);
	if (redirects && machine.miscounts_redirected())
		guard.lock();
	if (group && !folder)
		return ENOENT;
	const long fd = ::syscall(SYS_perf_event_open, raw, pid, cpus[a[arg::cpu] % std::size(cpus)], other, flags);
	if (fd < 0)
		return errno;
	perf_event_attr asked;
	std::memcpy(&asked, raw, sizeof(asked));
	tally.remember(id_of(static_cast<int>(fd)), asked, redirects);
	if (KnownEvent *leader = leads && raw_needs_leader(raw) ? tally.find(id_of(other)) : nullptr)
		leader->needed = true;
	return put(a[arg::event] % nr_events, static_cast<int>(fd));
}

/* aux_sample_size, and aux_action behind it, which older headers have no name for. */
bool Events::raw_needs_leader(const std::byte *raw)
{
	std::uint32_t size_action[2];

	std::memcpy(size_action, raw + offsetof(perf_event_attr, aux_sample_size), sizeof(size_action));
	return size_action[0] || (size_action[1] & ~1u);
}

int Events::set_output(std::uint64_t from, std::uint64_t to)
{
	const int fd = (*this)[from], target = to ? (*this)[to - 1] : -1;
	const std::lock_guard<Tally> guard(tally);
	KnownEvent *known = fd < 0 ? nullptr : tally.find(id_of(fd));

	/* Children of it write to a ring whose end the core does not tell them of (docs/compatibility.md). */
	if (known && known->attr.inherit)
		return avoided;
	if (fd >= 0 && !known)
		return avoided;
	const int error = result_of(::ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, target));
	if (!error)
		known->redirected = target >= 0;
	return error;
}

int Events::set_filter(std::uint64_t from, std::uint64_t filter, std::uint64_t size)
{
	/* By its name: a link of /proc takes locks that the core holds (docs/compatibility.md). */
	static const std::string self = std::filesystem::read_symlink("/proc/self/exe");
	const std::string texts[] = {"", std::format("filter 0x0/{}@{}", size, self),
		std::format("filter 0x0/{0}@{1},filter 0x1000/{0}@{1}", size, self),
		std::format("stop 0x10@{0},start 0x1000@{0}", self), std::format("filter 0xffffffff81000000/{}", size),
		std::format("filter 0/{}@/usr/bin/env", size), "filter 0x/@,,"};

	return result_of(::ioctl((*this)[from], PERF_EVENT_IOC_SET_FILTER, texts[filter % std::size(texts)].c_str()));
}

/* Breakpoints can be modified, in where they are and whether they are on; the rest has to be as it was. */
int Events::modify(std::uint64_t which, std::uint64_t member, std::uint64_t value)
{
	const int fd = (*this)[which];
	const KnownEvent *known = fd < 0 ? nullptr : tally.find(id_of(fd));
	perf_event_attr attr{};

	attr.size = sizeof(attr);
	attr.type = PERF_TYPE_BREAKPOINT;
	if (known && known->attr.type == PERF_TYPE_BREAKPOINT)
		attr = known->attr;
	attr.bp_type = HW_BREAKPOINT_W;
	attr.bp_addr = reinterpret_cast<std::uint64_t>(&watched) + (member == 1 ? 8 : 0);
	attr.bp_len = member == 2 ? HW_BREAKPOINT_LEN_4 : HW_BREAKPOINT_LEN_8;
	attr.disabled = member == 3;
	if (member == 4)
		attr.type = machine.type_of(Type::synth);
	if (member == 5)
		attr.config = value;
	return result_of(::ioctl(fd, PERF_EVENT_IOC_MODIFY_ATTRIBUTES, &attr));
}

int Events::notify(const std::vector<std::uint64_t> &a)
{
	const int signals[] = {0, SIGUSR1, SIGRTMIN + 1};
	const int fd = (*this)[a[0]];
	const pid_t whom = tally.threads[a[1] % nr_actors];

	if (fd < 0 || !whom)
		return EBADF;
	/* Who can revoke the event would have the core lose what this allocates (docs/compatibility.md). */
	if (a[3] && program.root && machine.loses_revoked())
		return avoided;
	if (::fcntl(fd, F_SETOWN, whom) || ::fcntl(fd, F_SETSIG, signals[a[2] % std::size(signals)]))
		return errno;
	const int flags = ::fcntl(fd, F_GETFL);
	return result_of(::fcntl(fd, F_SETFL, a[3] ? flags | O_ASYNC : flags & ~O_ASYNC));
}

} // namespace auxpmu::fuzz
