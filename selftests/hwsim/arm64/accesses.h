/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Accesses: how often the kernel has accessed registers, for any program that executes the control hint on a vCPU of the virtual
 * hardware.
 */
#ifndef HWSIM_ARM64_ACCESSES_H
#define HWSIM_ARM64_ACCESSES_H

#include <cstdint>
#include <optional>

#include "control.h"
#include "hint.h"

namespace hwsim::arm64
{

/* System registers of trace units and buffers, and registers in memory. */
struct Accesses {
	/* In the guest: of the CPU that asks, since the machine was switched on; nothing on any other machine. */
	static std::optional<std::uint64_t> so_far()
	{
		const Answer answer = hint({});
		if (answer.signature != Control::signature)
			return {};
		return answer.result;
	}
};

} // namespace hwsim::arm64

#endif
