/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Control: what can be changed while the machine runs, by commands that a program in the guest gives with CPUID (Vcpu, hwsim-ctl).
 * Commands come on any vCPU; each takes the settings over in its own thread, when it next executes an instruction of ours.
 */
#ifndef HWSIM_X86_CONTROL_H
#define HWSIM_X86_CONTROL_H

#include <atomic>
#include <mutex>
#include <string>
#include <string_view>

#include "faults.h"
#include "loss.h"
#include "rules.h"

namespace hwsim::x86
{

struct Settings {
	Faults faults;
	Rules rules;
	/* Stands between the prefix and the vCPU in the names of truth logs and raw traces; none if empty. */
	std::string log;
	unsigned resets = 0;
	/* What registers are to be lost, and how often that was said. */
	Loss loss;
	unsigned losses = 0;
};

class Control
{
public:
	static constexpr std::string_view no_log = "-";
	/*
	 * "fault NAME:NUMBER", 0 is off; "lenient RULE", "strict RULE"; "log NAME": truth and raw trace of what comes go to
	 * files of this name, or with no_log nowhere; "lose ...", see Loss. False if it is none of these.
	 */
	bool command(std::string_view text);

	/* The machine was reset; its registers are what they were when it was switched on. */
	void reset();

	/* Changes with every command; cheap. */
	unsigned version() const { return changes.load(std::memory_order_acquire); }
	Settings settings() const;

	/* CPUID with this in EAX, the address of a command in RCX and its length in RDX. EAX is then 0 if it was carried out. */
	static constexpr std::uint32_t cpuid_leaf = 0x4857'5349;
	/* What EBX is then, in any case: on a machine without the plugin it is something else. */
	static constexpr std::uint32_t signature = 0x4953'5748;
	static constexpr std::size_t longest = 256;

private:
	mutable std::mutex lock;
	Settings now;
	std::atomic<unsigned> changes{0};
};

} // namespace hwsim::x86

#endif
