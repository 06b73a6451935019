// SPDX-License-Identifier: GPL-2.0-only
#include "books.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <format>
#include <functional>
#include <span>
#include <thread>
#include <utility>

#include <fcntl.h>
#include <linux/capability.h>
#include <linux/perf_event.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../uapi/linux/auxpmu.h"
#include "kit/event.h"
#include "kit/pmu.h"
#include "kit/statistics.h"

namespace auxpmu::fuzz
{

namespace
{

/* What no program may have the kernel say. */
constexpr const char *splats[] = {"WARNING:", "BUG:", "BUG ", "Oops", "KASAN", "KFENCE", "UBSAN", "general protection",
	"Call Trace", "INFO: task", "INFO: rcu", "possible circular locking", "inconsistent lock state",
	"sleeping function called", "list_del corruption", "list_add corruption",
	"refcount_t:", "scheduling while atomic", "Bad page"};

/* What the kernel says of its own, whatever the PMU: the functions that warn (docs/compatibility.md). */
constexpr const char *own[] = {
#include "forgiven.inc"
};

bool any_in(std::span<const char *const> words, const std::string &text)
{
	return std::any_of(words.begin(), words.end(), [&](const char *word) { return text.find(word) != text.npos; });
}

/* How far each counter shows that a program got. */
constexpr const char *counters[] = {"sessions", "begins", "committed", "overwritten", "wraps", "interrupts",
	"truncations", "partials", "lost_unit", "lost_space", "begin_failures", "unmapped", "wrong_pmu", "unsuited",
	"arm_failures", "busy", "samples", "sample_no_trace"};

/* Of each module of ours that is there. */
std::string module_users()
{
	std::string all;

	for (const char *name : {"auxpmu", "auxpmu_synth", "auxpmu_pt", "auxpmu_bts"})
		if (auto users = read_small_file(std::format("/sys/module/{}/refcnt", name)))
			all += (all.empty() ? "" : " and ") + *users;
	return all;
}

bool comes_true(const std::function<bool()> &condition, std::chrono::seconds patience)
{
	const auto end = std::chrono::steady_clock::now() + patience;

	while (!condition()) {
		if (std::chrono::steady_clock::now() > end)
			return false;
		std::this_thread::sleep_for(std::chrono::milliseconds(1));
	}
	return true;
}

/* --- memory on somebody's account --- */

constexpr std::size_t ring_pages = 128;

bool map_ring()
{
	perf_event_attr attr = dummy_attr();

	attr.exclude_kernel = 1;
	const long fd = ::syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
	return fd >= 0 && ::mmap(nullptr, (1 + ring_pages) * page_size(), PROT_READ | PROT_WRITE, MAP_SHARED,
				  static_cast<int>(fd), 0) != MAP_FAILED;
}

/*
 * The kernel does not tell what it counts of a user's rings, but it lets nobody have more than so much for each CPU: whoever
 * has nothing can map exactly that many rings, and not one more.
 */
bool account_is_empty(uid_t user)
{
	const pid_t child = ::fork();
	int status;

	if (!child) {
		__user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
		__user_cap_data_struct none[2]{};
		const rlimit nothing{0, 0};
		const long cpus = ::sysconf(_SC_NPROCESSORS_ONLN);

		if (::setrlimit(RLIMIT_MEMLOCK, &nothing) || ::setresuid(user, user, user) ||
			::syscall(SYS_capset, &header, none))
			::_exit(2);
		for (long n = 0; n < cpus; n++)
			if (!map_ring())
				::_exit(1);
		::_exit(map_ring() ? 3 : 0);
	}
	return child > 0 && ::waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

void prepare_accounts()
{
	/* A page for each ring's user page. */
	(void)write_small_file(
		"/proc/sys/kernel/perf_event_mlock_kb", std::to_string((1 + ring_pages) * page_size() / 1024));
	(void)write_small_file("/proc/sys/kernel/perf_event_paranoid", "1");
}

/* --- counters --- */

std::vector<std::string> units()
{
	std::vector<std::string> found;
	std::error_code error;

	for (const auto &entry : std::filesystem::directory_iterator(AUXPMU_DEBUGFS, error))
		found.push_back(entry.path().filename());
	return found;
}

/* Of all that was ever traced. */
std::string out_of_balance(const std::string &unit)
{
	auto counted = Statistics::read(unit);

	if (!counted)
		return std::format("{}: {}", unit, counted.error().text);
	const Statistics &all = *counted;
	if (all["produced"] + all["padded"] != all["committed"] + all["lost_unit"] + all["lost_space"])
		return std::format("{}: produced and padded is not committed and lost: {}", unit, all.text());
	if (all["begins"] != all["ends"])
		return std::format("{}: not as many ends as begins: {}", unit, all.text());
	return {};
}

} // namespace

Books::Books(bool control, std::string name)
	: without(control), pmu(std::move(name)), log(::open("/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC))
{
	::lseek(log.get(), 0, SEEK_END);
	if (!without)
		users = module_users();
}

std::vector<std::string> Books::complaints()
{
	std::vector<std::string> found;
	char line[8192];

	for (;;) {
		const auto got = ::read(log.get(), line, sizeof(line));

		if (got < 0 && errno == EPIPE)
			continue; /* the log overtook us */
		if (got <= 0)
			return found;
		std::string text(line, static_cast<std::size_t>(got));
		text = text.substr(text.find(';') + 1);
		text = text.substr(0, text.find('\n'));
		if (!any_in(splats, text))
			continue;
		/* With the trace that follows, behind the complaint of another processor, it may be. */
		if (text.starts_with("WARNING:") && any_in(own, text)) {
			traces_forgiven++;
			std::printf("# forgiven: %s\n", text.c_str());
		} else if (traces_forgiven && text.starts_with("Call Trace")) {
			traces_forgiven--;
		} else if (found.empty()) {
			found.push_back("the kernel complained: " + text);
		}
	}
}

std::vector<std::string> Books::wrong(std::optional<uid_t> user, bool faulty)
{
	std::vector<std::string> found;

	if (!without) {
		for (const auto &unit : units()) {
			if (!comes_true(
				    [&] {
					    auto buffers = BufferLine::read(unit);
					    return buffers && buffers->empty();
				    },
				    patience))
				found.push_back(unit + ": buffers are left");
			std::string said;
			if (!comes_true(
				    [&] {
					    said = out_of_balance(unit);
					    return said.empty();
				    },
				    patience))
				found.push_back(said);
		}
		if (!comes_true([&] { return module_users() == users; }, patience))
			found.push_back(
				std::format("the module has {} users, before it had {}", module_users(), users));
		/* Of the one that stays; a module that was loaded anew counts from 0. */
		if (auto counted = Statistics::read(pmu)) {
			const auto now = (*counted)["contract_violations"];

			if (now > violations && !faulty)
				found.push_back(
					std::format("{} contract violations: {}", now - violations, counted->text()));
			violations = now;
		}
	}
	prepare_accounts();
	if (user && !comes_true([user] { return account_is_empty(*user); }, patience))
		found.push_back(std::format("memory is left on the account of user {}", *user));
	for (auto &said : complaints())
		found.push_back(std::move(said));
	return found;
}

std::map<std::string, std::uint64_t> Books::reached()
{
	std::map<std::string, std::uint64_t> delta;
	auto counted = Statistics::read(pmu);

	if (without || !counted)
		return delta;
	for (const char *counter : counters) {
		const std::uint64_t now = (*counted)[counter], last = before[counter];

		/* A module that was loaded anew counts from 0. */
		delta[counter] = now < last ? now : now - last;
		before[counter] = now;
	}
	return delta;
}

} // namespace auxpmu::fuzz
