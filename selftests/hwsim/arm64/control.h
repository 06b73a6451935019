/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Control of an arm64 machine: the commands that set its faults, and the hint instruction by which a guest program gives a command
 * (SystemAccess).
 */
#ifndef HWSIM_ARM64_CONTROL_H
#define HWSIM_ARM64_CONTROL_H

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "../base/control.h"
#include "faults.h"

namespace hwsim::arm64
{

struct Settings : hwsim::Settings {
	Faults faults;
};

class Control final : public hwsim::Control
{
public:
	Settings settings() const;
	std::string faults() const override { return std::string(Faults::names()); }
	std::string rules() const override { return "none"; }

	/*
	 * The hint takes the address of a command in X0 and its length in X1. It sets X0 to 0 if the command was carried out, and X1 to
	 * this signature in any case; on a machine without the plugin X1 still holds the length. Without a command, with length 0, it
	 * sets X0 to how often registers were accessed (Accesses).
	 */
	static constexpr std::uint64_t signature = 0x4953'5748;
	static constexpr std::size_t longest = 256;
	/* The command that is of the processor alone which gives it, from its kernel; not one of command(). */
	static constexpr std::string_view lose_context = "lose context";

private:
	/* Carries out "fault NAME:NUMBER"; number 0 switches the fault off. */
	bool set(std::string_view verb, std::string_view object) override;

	Settings now; /* except the common ones, which the base class keeps */
};

} // namespace hwsim::arm64

#endif
