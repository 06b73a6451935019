/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Control: what can be changed while the machine runs, by commands that a program in the guest gives (hwsim-ctl). Commands come on any
 * vCPU; each takes the settings over in its own thread, when it next executes an instruction that the plugin carries out. Which faults and
 * rules there are, and how registers can be lost, is said by an architecture (x86/control.h).
 */
#ifndef HWSIM_BASE_CONTROL_H
#define HWSIM_BASE_CONTROL_H

#include <atomic>
#include <mutex>
#include <string>
#include <string_view>

namespace hwsim
{

/* Those that each architecture has. */
struct Settings {
	/* Stands between the prefix and the vCPU in the names of truth logs and raw traces; none if empty. */
	std::string log;
	unsigned resets = 0;
	unsigned losses = 0; /* how often it was said that registers are to be lost */
};

class Control
{
public:
	static constexpr std::string_view no_log = "-";
	/*
	 * "log NAME": truth and raw trace of what comes go to files of this name, or with no_log nowhere; "lose ..."; and what set()
	 * knows. False if it is none of these.
	 */
	bool command(std::string_view text);

	/* The machine was reset; its registers are what they were when it was switched on. */
	void reset();

	/* Changes with every command; cheap. */
	unsigned version() const { return changes.load(std::memory_order_acquire); }

	/* What there is, for whoever names another. */
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
