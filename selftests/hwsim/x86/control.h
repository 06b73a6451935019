/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Control of an x86 machine: the commands about its faults, rules and registers. A program in the guest gives a command by CPUID. */
#ifndef HWSIM_X86_CONTROL_H
#define HWSIM_X86_CONTROL_H

#include <cstddef>
#include <cstdint>

#include "../base/control.h"
#include "faults.h"
#include "loss.h"
#include "rules.h"

namespace hwsim::x86
{

struct Settings : hwsim::Settings {
	Faults faults;
	Rules rules;
	/* The loss of registers that comes next, or came last. */
	Loss loss;
};

class Control final : public hwsim::Control
{
public:
	Settings settings() const;
	std::string faults() const override { return std::string(Faults::names()); }
	std::string rules() const override { return Rules::names(); }

	/* CPUID with this in EAX, the address of a command in RCX and its length in RDX. EAX is then 0 if it was carried out. */
	static constexpr std::uint32_t cpuid_leaf = 0x4857'5349;
	/* EBX afterwards, whether the command was carried out or not; on a machine without the plugin it is something else. */
	static constexpr std::uint32_t signature = 0x4953'5748;
	static constexpr std::size_t longest = 256;

private:
	/* "fault NAME:NUMBER", 0 is off; "lenient RULE", "strict RULE"; "lose ...", see Loss. */
	bool set(std::string_view verb, std::string_view object) override;

	Settings now; /* except the common ones */
};

} // namespace hwsim::x86

#endif
