// SPDX-License-Identifier: GPL-2.0-only
#include "watchdog.h"

#include <cerrno>
#include <chrono>
#include <cstring>
#include <fcntl.h>
#include <format>
#include <sched.h>
#include <sys/ioctl.h>

#include <linux/watchdog.h>

#include "state.h"

namespace auxpmu::machine
{

/* Longer than the kernel itself waits before it complains of a processor that is stuck (watchdog_thresh: 10 s and 20 s). */
constexpr int patience = 60;

Result<std::unique_ptr<Watchdog>> Watchdog::start(const std::string &device)
{
	std::unique_ptr<Watchdog> watchdog(new Watchdog(UniqueFd(open(device.c_str(), O_WRONLY | O_CLOEXEC))));
	watchdog_info info{};
	int timeout = patience;

	if (!watchdog->file)
		return Error{errno,
			std::format("the watchdog {} cannot be had: {}; name another one with --watchdog, or none",
				device, errno == EBUSY ? "somebody uses it" : std::strerror(errno))};
	ioctl(watchdog->file.get(), WDIOC_GETSUPPORT, &info);
	/* it may know one time only */
	if (ioctl(watchdog->file.get(), WDIOC_SETTIMEOUT, &timeout) &&
		ioctl(watchdog->file.get(), WDIOC_GETTIMEOUT, &timeout))
		timeout = patience;
	info.identity[sizeof info.identity - 1] = 0;
	watchdog->seconds = timeout;
	watchdog->says = std::format("{}, {} s", reinterpret_cast<const char *>(info.identity), timeout);
	watchdog->thread = std::thread([&one = *watchdog] { one.go_round(); });
	return watchdog;
}

void Watchdog::go_round()
{
	while (!over) {
		for (unsigned cpu : online_cpus()) {
			cpu_set_t one;

			CPU_ZERO(&one);
			CPU_SET(cpu, &one);
			sched_setaffinity(0, sizeof one, &one);
		}
		ioctl(file.get(), WDIOC_KEEPALIVE, 0);
		for (int n = 0; n < seconds * 2 && !over; n++)
			std::this_thread::sleep_for(std::chrono::milliseconds(100));
	}
}

Watchdog::~Watchdog()
{
	over = true;
	if (thread.joinable())
		thread.join();
	/* the letter by which a watchdog is told that this is on purpose */
	if (file && write(file.get(), "V", 1) != 1)
		ioctl(file.get(), WDIOC_KEEPALIVE, 0);
}

} // namespace auxpmu::machine
