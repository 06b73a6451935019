// SPDX-License-Identifier: GPL-2.0-or-later
#include "guest.h"

#include <cstdlib>
#include <cstring>

#include "../qemu/arm64/registers.h"
#include "retired.h"

namespace hwsim
{

std::unique_ptr<RetiredGuest> make_retired_x86();

namespace
{

using qemu::Arm64Registers;

class Arm64Guest final : public RetiredGuest
{
public:
	Arm64Guest()
	{
		if (!registers.find())
			std::abort();
	}
	bool in_kernel() const override { return registers[Arm64Registers::Reg::cpsr] >> 2 & 3; }
	bool asks(std::span<const std::uint8_t> instruction) const override
	{
		return word(instruction) == Retired::hint;
	}
	Question question() const override
	{
		return {registers.operand(0) == Retired::cpuid_leaf, registers.operand(1), registers.operand(2),
			static_cast<std::uint32_t>(registers.operand(3))};
	}

private:
	static std::uint32_t word(std::span<const std::uint8_t> instruction)
	{
		std::uint32_t word = 0;
		if (instruction.size() == sizeof word)
			std::memcpy(&word, instruction.data(), sizeof word);
		return word;
	}

	Arm64Registers registers;
};

} // namespace

std::unique_ptr<RetiredGuest> RetiredGuest::make(std::string_view target)
{
	if (target == "x86_64")
		return make_retired_x86();
	if (target == "aarch64")
		return std::make_unique<Arm64Guest>();
	return {};
}

} // namespace hwsim
