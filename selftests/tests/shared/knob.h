/* SPDX-License-Identifier: GPL-2.0-only */
/* System settings that a test changes while it runs. */
#ifndef AUXPMU_TESTS_KNOB_H
#define AUXPMU_TESTS_KNOB_H

#include <filesystem>
#include <string>

#include <grp.h>
#include <sys/mount.h>
#include <unistd.h>

#include <catch2/catch_test_macros.hpp>

#include "kit/pmu.h"
#include "shared/fixture.h"

namespace auxpmu::test
{

/* Writes a file of procfs or sysfs, and restores it in the destructor; false if writing failed. */
class Knob
{
public:
	Knob(std::string file, const std::string &value) : path(std::move(file))
	{
		if (auto now = read_small_file(path))
			before = *now;
		/* If the file lists choices, take the selected one. */
		if (auto open = before.find_first_of("[("), close = before.find_first_of("])");
			close != std::string::npos)
			before = before.substr(open + 1, close - open - 1);
		good = !before.empty() && write_small_file(path, value);
	}
	~Knob()
	{
		if (good)
			static_cast<void>(write_small_file(path, before));
	}
	Knob(const Knob &) = delete;
	explicit operator bool() const { return good; }

private:
	std::string path, before;
	bool good = false;
};

/* Takes CPU 1 offline and online; the destructor brings it back. Skips the test if it cannot go offline. */
class Cpu1
{
public:
	Cpu1()
	{
		if (!write_small_file(file, "1"))
			SKIP("there is no CPU 1 that can go offline");
	}
	~Cpu1() { static_cast<void>(write_small_file(file, "1")); }
	Cpu1(const Cpu1 &) = delete;
	void offline() { write_small_file(file, "0").value(); }
	void online() { write_small_file(file, "1").value(); }

private:
	static constexpr const char *file = "/sys/devices/system/cpu/cpu1/online";
};

/* Sets what users may do, by sysctl kernel.perf_event_paranoid. */
struct Paranoid : Knob {
	explicit Paranoid(int value) : Knob("/proc/sys/kernel/perf_event_paranoid", std::to_string(value)) {}
};

/* Allows everyone to open events of synthetic and modelled PMUs. */
struct Unprivileged : Knob {
	Unprivileged() : Knob("/sys/module/auxpmu_synth/parameters/unprivileged", "1") {}
};

/*
 * Prevents throttling, so that all samples arrive. perf measures the time they take and lowers the maximum sample rate if they
 * take long, as on a busy host; the lowered rate stays, and the rate can be set only while perf measures.
 */
struct NoThrottling {
	Knob rate{"/proc/sys/kernel/perf_event_max_sample_rate", "100000"};
	Knob share{"/proc/sys/kernel/perf_cpu_time_max_percent", "0"};
};

/* Skips the test where units cannot be modelled; mounts configfs if it is not mounted. */
inline void need_configfs()
{
	need_synthetic();
	if (!std::filesystem::exists(AUXPMU_CONFIGFS))
		::mount("configfs", "/sys/kernel/config", "configfs", 0, nullptr);
	if (!std::filesystem::exists(AUXPMU_CONFIGFS))
		SKIP("no configfs: this kernel has none, or it cannot be mounted by this user");
}

/* Makes this process run as user nobody: no capabilities, no groups. */
inline bool become_nobody()
{
	constexpr uid_t nobody = 65534;

	return ::setgroups(0, nullptr) == 0 && ::setresgid(nobody, nobody, nobody) == 0 &&
	       ::setresuid(nobody, nobody, nobody) == 0;
}

} // namespace auxpmu::test

#endif /* AUXPMU_TESTS_KNOB_H */
