// SPDX-License-Identifier: GPL-2.0-only
#include "state.h"

#include <cerrno>
#include <fcntl.h>
#include <format>
#include <fstream>
#include <sstream>
#include <sys/mount.h>
#include <unistd.h>

#include "command.h"

#include "kit/handle.h"
#include "kit/pmu.h"

namespace auxpmu::machine
{
namespace
{

/* Settings that tests of perf change. The kernel lowers the sample rate by itself, so what was there comes back. */
constexpr const char *setting_files[] = {
	"/proc/sys/kernel/perf_event_paranoid",
	"/proc/sys/kernel/perf_cpu_time_max_percent",
	"/proc/sys/kernel/perf_event_max_sample_rate",
	"/proc/sys/kernel/perf_event_mlock_kb",
	"/proc/sys/kernel/nmi_watchdog",
	"/proc/sys/kernel/randomize_va_space",
	"/proc/sys/kernel/sched_rt_runtime_us",
	"/proc/sys/kernel/core_pattern",
	"/sys/devices/system/cpu/online",
};

/* "0-2,5": the numbers */
std::vector<unsigned> numbers_of(const std::string &list)
{
	std::vector<unsigned> numbers;
	std::istringstream in(list);

	for (std::string range; std::getline(in, range, ',');) {
		unsigned first = 0, last = 0;
		const int found = std::sscanf(range.c_str(), "%u-%u", &first, &last);

		for (unsigned one = first; found > 0 && one <= (found == 2 ? last : first); one++)
			numbers.push_back(one);
	}
	return numbers;
}

/* The first words of a file's lines, or the second ones. */
std::set<std::string> column(const char *file, bool second)
{
	std::set<std::string> words;
	std::ifstream in(file);

	for (std::string line; std::getline(in, line);) {
		std::istringstream one(line);
		std::string a, b;

		one >> a >> b;
		words.insert(second ? b : a);
	}
	return words;
}

/* Others come and go while this runs, and are nobody's business here: a module for a disk that is plugged in, and its mount. */
bool is_module_of_tests(const std::string &name)
{
	return name.starts_with("auxpmu") || name == "msr";
}
bool is_mount_of_tests(const std::string &at)
{
	return at.starts_with("/sys/") || at.starts_with("/tmp/auxpmu-check.");
}

/* What is gone, and what is new and of_tests(). */
void compare(std::vector<std::string> &found, const std::set<std::string> &before, const std::set<std::string> &after,
	const char *what, bool (*of_tests)(const std::string &))
{
	for (const auto &one : before)
		if (!after.contains(one))
			found.push_back(std::format("{} {} is gone", what, one));
	for (const auto &one : after)
		if (!before.contains(one) && of_tests(one))
			found.push_back(std::format("{} {} is new", what, one));
}

std::string msr_file(unsigned cpu)
{
	return std::format("/dev/cpu/{}/msr", cpu);
}

/* What cannot be brought back is found by differences(). */
void set(const std::string &file, std::string_view text)
{
	static_cast<void>(write_small_file(file, text));
}

} // namespace

State State::read()
{
	State state;

	for (const char *file : setting_files)
		if (auto text = read_small_file(file))
			state.settings[file] = *text;
	state.loaded = column("/proc/modules", false);
	state.mounts = column("/proc/self/mounts", true);
	for (const auto &name : Pmu::names())
		state.units.insert(name);
	return state;
}

void State::restore() const
{
	const State now = read();

	for (const auto &[file, text] : settings) {
		const auto is = now.settings.find(file);

		if (is != now.settings.end() && is->second == text)
			continue;
		/* a rate is taken while there is a limit, and then the limit itself again */
		if (file.ends_with("max_sample_rate"))
			set("/proc/sys/kernel/perf_cpu_time_max_percent", "25");
		if (file.ends_with("/online"))
			for (unsigned cpu : numbers_of(text))
				set(std::format("/sys/devices/system/cpu/cpu{}/online", cpu), "1");
		else
			set(file, text);
	}
	if (const auto percent = settings.find("/proc/sys/kernel/perf_cpu_time_max_percent"); percent != settings.end())
		set(percent->first, percent->second);
	for (const auto &one : now.mounts)
		if (!mounts.contains(one) && is_mount_of_tests(one))
			umount2(one.c_str(), MNT_DETACH);
	for (const auto &one : now.loaded)
		if (!loaded.contains(one) && is_module_of_tests(one))
			execute({.words = {"modprobe", "-r", one}, .limit = std::chrono::seconds(60)});
	for (const auto &one : loaded)
		if (!now.loaded.contains(one))
			execute({.words = {"modprobe", one}, .limit = std::chrono::seconds(60)});
}

std::vector<std::string> State::differences(const State &after) const
{
	std::vector<std::string> found;

	for (const auto &[file, text] : settings) {
		const auto is = after.settings.find(file);

		if (is == after.settings.end() || is->second != text)
			found.push_back(std::format(
				"{} was {}, and is {}", file, text, is == after.settings.end() ? "gone" : is->second));
	}
	compare(found, loaded, after.loaded, "module", is_module_of_tests);
	compare(found, mounts, after.mounts, "mount", is_mount_of_tests);
	compare(found, units, after.units, "PMU", [](const std::string &) { return true; });
	return found;
}

std::vector<unsigned> online_cpus()
{
	return numbers_of(read_small_file("/sys/devices/system/cpu/online").value_or("0"));
}

std::uint64_t read_register(unsigned cpu, std::uint32_t number)
{
	const UniqueFd file(open(msr_file(cpu).c_str(), O_RDONLY | O_CLOEXEC));
	std::uint64_t value = 0;

	if (!file || pread(file.get(), &value, sizeof value, number) != sizeof value)
		return 0;
	return value;
}

int write_register(unsigned cpu, std::uint32_t number, std::uint64_t value)
{
	const UniqueFd file(open(msr_file(cpu).c_str(), O_WRONLY | O_CLOEXEC));

	if (!file || pwrite(file.get(), &value, sizeof value, number) != sizeof value)
		return errno;
	return 0;
}

Registers read_registers(const std::vector<std::uint32_t> &numbers)
{
	Registers all;

	for (unsigned cpu : online_cpus()) {
		const UniqueFd file(open(msr_file(cpu).c_str(), O_RDONLY | O_CLOEXEC));

		for (std::uint32_t number : numbers)
			if (std::uint64_t value;
				file && pread(file.get(), &value, sizeof value, number) == sizeof value)
				all[std::format("CPU {} MSR {:#x}", cpu, number)] = value;
	}
	return all;
}

} // namespace auxpmu::machine
