// SPDX-License-Identifier: GPL-2.0-or-later
/* A file of its own, since each architecture has its own names of registers. */
#include <cstdlib>

#include "../qemu/x86/registers.h"
#include "guest.h"
#include "retired.h"

namespace hwsim
{
namespace
{

using qemu::Reg;

class X86Guest final : public RetiredGuest
{
public:
	X86Guest()
	{
		if (!registers.find())
			std::abort();
	}
	bool in_kernel() const override { return registers.privilege() == 0; }
	/* CPUID */
	bool asks(std::span<const std::uint8_t> instruction) const override
	{
		return instruction.size() >= 2 && instruction[0] == 0x0f && instruction[1] == 0xa2;
	}
	Question question() const override
	{
		return {static_cast<std::uint32_t>(registers[Reg::rax]) == Retired::cpuid_leaf, registers[Reg::rcx],
			registers[Reg::rdx], static_cast<std::uint32_t>(registers[Reg::rbx])};
	}

private:
	qemu::X86Registers registers;
};

} // namespace

std::unique_ptr<RetiredGuest> make_retired_x86()
{
	return std::make_unique<X86Guest>();
}

} // namespace hwsim
