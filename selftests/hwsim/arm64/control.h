/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Control of an arm64 machine: the commands about its faults, and how a program in the guest gives one: by a hint (SystemAccess).
 */
#ifndef HWSIM_ARM64_CONTROL_H
#define HWSIM_ARM64_CONTROL_H

#include <cstddef>
#include <cstdint>

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
	 * The hint takes the address of a command in X0 and its length in X1. X0 is then 0 if it was carried out, and X1 this in any
	 * case: on a machine without the plugin it is still the length.
	 */
	static constexpr std::uint64_t signature = 0x4953'5748;
	static constexpr std::size_t longest = 256;

private:
	/* "fault NAME:NUMBER", 0 is off. */
	bool set(std::string_view verb, std::string_view object) override;

	Settings now; /* but for those that are common */
};

} // namespace hwsim::arm64

#endif
