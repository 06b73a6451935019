// SPDX-License-Identifier: GPL-2.0-only
#include "machine.h"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <format>
#include <stdexcept>
#include <utility>

#include <fcntl.h>
#include <spawn.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../uapi/linux/auxpmu.h"
#include "kit/pmu.h"

extern char **environ;

namespace auxpmu::fuzz
{

namespace
{

constexpr const char *groups = "/tmp/fuzz-groups";

void set(const std::string &file, const std::string &value)
{
	if (auto outcome = write_small_file(file, value); !outcome)
		throw std::runtime_error(outcome.error().text);
}

bool loaded()
{
	return ::access("/sys/module/auxpmu", F_OK) == 0;
}

} // namespace

int load_module()
{
	const char *const words[] = {"modprobe", "-a", "auxpmu", "auxpmu_synth", nullptr};
	pid_t pid;
	int status;

	if (::posix_spawnp(&pid, words[0], nullptr, nullptr, const_cast<char **>(words), environ) ||
		::waitpid(pid, &status, 0) != pid)
		return errno;
	return status ? EIO : 0;
}

int unload_module()
{
	/* What is in use keeps what it stands on. */
	for (const char *module : {"auxpmu_synth", "auxpmu"})
		if (::syscall(SYS_delete_module, module, O_NONBLOCK) && errno != ENOENT)
			return errno;
	return 0;
}

Machine::Machine(bool control, std::string name) : without(control), pmu(std::move(name))
{
	utsname names;
	unsigned major = 0;

	if (::uname(&names) == 0 && std::sscanf(names.release, "%u", &major) == 1)
		newest = major >= 7;
	tracepoint = std::strtoull(
		read_small_file("/sys/kernel/tracing/events/syscalls/sys_enter_getppid/id").value_or("0").c_str(),
		nullptr, 10);
	/* Samples that come faster than they can be taken would be all that a slow machine does. */
	set("/proc/sys/kernel/perf_event_max_sample_rate", "2000");
	::mkdir(groups, 0755);
	if (::mount("fuzz", groups, "cgroup2", 0, nullptr) && errno != EBUSY)
		std::printf("# no control groups: cgroup2 cannot be mounted\n");
}

std::string Machine::name_of(Type type) const
{
	switch (type) {
	case Type::synth:
		return hardware() ? pmu : AUXPMU_SYNTH_NAME;
	case Type::model0:
		return "fuzz0";
	case Type::model1:
		return "fuzz1";
	default:
		return {};
	}
}

std::uint64_t Machine::config_of(std::uint64_t config) const
{
	const std::uint64_t any = auxpmu_mix64(config);
	/* MTC, TSC and DisRETC (SDM, IA32_RTIT_CTL); branches are traced by themselves.  A branch trace store takes nothing. */
	constexpr std::uint64_t packets = 1 << 9 | 1 << 10 | 1 << 11;

	if (any % 16 == 0)
		return any >> 8;
	return pmu.ends_with("pt") ? any & packets : 0;
}

std::string Machine::model_folder(std::uint64_t model)
{
	return std::format("{}/fuzz{}", AUXPMU_CONFIGFS, model);
}

std::string Machine::group_folder(std::uint64_t group)
{
	return std::format("{}/{}", groups, group);
}

std::uint32_t Machine::type_of(Type type) const
{
	switch (type) {
	case Type::synth:
	case Type::model0:
	case Type::model1: {
		auto number = read_small_file(std::format("/sys/bus/event_source/devices/{}/type", name_of(type)));

		return number ? static_cast<std::uint32_t>(std::strtoul(number->c_str(), nullptr, 10)) : ~0u;
	}
	case Type::syscall:
		return PERF_TYPE_TRACEPOINT;
	case Type::cycles:
		return PERF_TYPE_HARDWARE;
	case Type::breakpoint:
		return PERF_TYPE_BREAKPOINT;
	case Type::other:
		return PERF_TYPE_HW_CACHE;
	default:
		return PERF_TYPE_SOFTWARE;
	}
}

void Machine::prepare(const Program &program) const
{
	set("/proc/sys/kernel/perf_event_paranoid", std::to_string(program.paranoid));
	if (!without)
		set("/sys/module/auxpmu_synth/parameters/unprivileged", "1");
	/* What was said once is said again, by whichever program it is that has the kernel say it. */
	(void)write_small_file("/sys/kernel/debug/clear_warn_once", "1");
}

void Machine::restore() const
{
	(void)write_small_file("/sys/devices/system/cpu/cpu1/online", "1");
	for (unsigned n = 0; n < nr_groups; n++)
		::rmdir(group_folder(n).c_str());
	if (without)
		return;
	if (!loaded() && load_module())
		throw std::runtime_error("auxpmu cannot be loaded any more");
	/* First: one of them has a unit stay. */
	for (const auto &unit : std::filesystem::directory_iterator(AUXPMU_DEBUGFS))
		for (const auto &fault : std::filesystem::directory_iterator(unit.path() / "faults"))
			set(fault.path().string(), "0");
	for (unsigned n = 0; n < nr_models; n++) {
		(void)write_small_file(model_folder(n) + "/live", "0");
		::rmdir(model_folder(n).c_str());
	}
}

void Machine::reload() const
{
	/* What holds the module is not the fuzzer's. */
	if (without || hardware())
		return;
	if (const int error = unload_module())
		throw std::runtime_error(std::format("auxpmu does not go: errno {}", error));
	if (load_module())
		throw std::runtime_error("auxpmu cannot be loaded any more");
}

} // namespace auxpmu::fuzz
