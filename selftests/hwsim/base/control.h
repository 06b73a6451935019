/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Control: the settings that can be changed while the machine runs, by commands of a program in the guest (hwsim-ctl). Commands come on
 * any vCPU; each vCPU adopts the settings in its own thread, when it next executes an instruction that the plugin carries out. The
 * architecture defines the faults and rules, and how registers can be lost (x86/control.h).
 */
#ifndef HWSIM_BASE_CONTROL_H
#define HWSIM_BASE_CONTROL_H

#include <atomic>
#include <mutex>
#include <string>
#include <string_view>

namespace hwsim
{

/* Settings that every architecture has. */
struct Settings {
	/* In the names of truth logs and raw traces, between prefix and number of the vCPU; left out if empty. */
	std::string log;
	unsigned resets = 0;
	unsigned losses = 0; /* number of "lose" commands */
};

class Control
{
public:
	static constexpr std::string_view no_log = "-";
	/*
	 * "log NAME": truth and raw trace go to files of this name from now on, or nowhere if it is no_log. All other commands, "lose ..."
	 * among them, are the architecture's, see set(). False if it is none of these.
	 */
	bool command(std::string_view text);

	/* The machine was reset; its registers are what they were when it was switched on. */
	void reset();

	/* Changes with every command; cheap. */
	unsigned version() const { return changes.load(std::memory_order_acquire); }

	/* The names that exist, for the error if another one is given. */
	virtual std::string faults() const = 0;
	virtual std::string rules() const = 0;

protected:
	~Control() = default;
	/* A command of the architecture, with the lock held. False, and no change, if it is none. */
	virtual bool set(std::string_view verb, std::string_view object) = 0;

	mutable std::mutex lock; /* of the settings */
	Settings common;

private:
	std::atomic<unsigned> changes{0};
};

} // namespace hwsim

#endif
