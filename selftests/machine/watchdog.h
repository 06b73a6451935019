/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The machine's watchdog: restarts it if it hangs. It is told that all is well by a thread that goes over all processors, so that one
 * which is stuck with interrupts off is enough.
 */
#ifndef AUXPMU_MACHINE_WATCHDOG_H
#define AUXPMU_MACHINE_WATCHDOG_H

#include <atomic>
#include <memory>
#include <string>
#include <thread>

#include "kit/handle.h"
#include "kit/result.h"

namespace auxpmu::machine
{

class Watchdog
{
public:
	/* A device such as /dev/watchdog0. The error says why it cannot be had. */
	static Result<std::unique_ptr<Watchdog>> start(const std::string &device);
	/* Switches it off. */
	~Watchdog();
	Watchdog(const Watchdog &) = delete;

	/* "i6300ESB timer, 60 s" */
	const std::string &text() const noexcept { return says; }

private:
	explicit Watchdog(UniqueFd device) : file(std::move(device)) {}
	void go_round();

	UniqueFd file;
	std::string says;
	int seconds = 0;
	std::atomic<bool> over{false};
	std::thread thread;
};

} // namespace auxpmu::machine

#endif /* AUXPMU_MACHINE_WATCHDOG_H */
