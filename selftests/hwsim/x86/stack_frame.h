/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * StackFrame: the stack frame that delivery of an interrupt or exception has pushed, read when the handler is about to run: SDM volume 3,
 * "64-Bit Mode Stack Frame": return address, CS and RFLAGS, with an error code on top or without. The caller has to know the return
 * address: its place shows whether there is an error code.
 */
#ifndef HWSIM_X86_STACK_FRAME_H
#define HWSIM_X86_STACK_FRAME_H

#include <array>
#include <cstdint>
#include <optional>

#include "../base/memory.h"

namespace hwsim::x86
{

class StackFrame
{
public:
	/* All zero if it is not there. */
	StackFrame(GuestMemory &memory, std::uint64_t rsp) : top(rsp) { memory.load_linear(rsp, words); }

	/* CS of the interrupted code, if the handler returns to this address. */
	std::optional<std::uint64_t> code_segment(std::uint64_t address) const
	{
		const auto rip = find(address);
		return rip ? std::optional(words[*rip + 1]) : std::nullopt;
	}
	/*
	 * SDM volume 3, "Instruction-Breakpoint Exception Condition": RFLAGS pushed for a fault have RF set, so that the instruction does
	 * not hit a breakpoint again; those pushed for a trap do not.
	 */
	bool has_resume_flag(std::uint64_t address) const
	{
		constexpr std::uint64_t rflags_rf = 1 << 16;
		const auto rip = find(address);
		return rip && (words[*rip + 2] & rflags_rf);
	}
	/* Makes the handler return to "to" instead of "from". False if "from" is not its return address. */
	bool redirect(GuestMemory &memory, std::uint64_t from, std::uint64_t to) const
	{
		const auto rip = find(from);
		if (rip)
			memory.store_linear(top + *rip * sizeof to, to);
		return rip.has_value();
	}

private:
	/* Which of the words has this address. */
	std::optional<unsigned> find(std::uint64_t address) const
	{
		for (const unsigned rip : {0u, 1u})
			if (words[rip] == address)
				return rip;
		return {};
	}

	const std::uint64_t top;
	std::array<std::uint64_t, 4> words{};
};

} // namespace hwsim::x86

#endif
