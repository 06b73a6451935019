// SPDX-License-Identifier: GPL-2.0-or-later
#include "machine.h"

#include <cstring>

#include "../options.h"
#include "../translator.h"
#include "../virtual_clock.h"
#include "vcpu.h"

namespace hwsim::qemu
{
namespace
{

/* The blocks of an arm64 machine. */
struct Arm64Translator : Translator<Arm64Vcpu, Arm64Translator> {
	using Instruction = Arm64Vcpu::Instruction;

	static Instruction classify(std::span<const std::uint8_t> bytes)
	{
		std::uint32_t word = 0;
		if (bytes.size() != arm64::instruction_size) /* of T32 */
			return {};
		std::memcpy(&word, bytes.data(), sizeof word);
		return {arm64::classify(word), arm64::system_access(word)};
	}
	static bool is_longer(const Instruction &) { return false; }
	static bool is_ours(const Instruction &instruction)
	{
		return instruction.access.kind != arm64::SystemAccess::Kind::none;
	}
	static bool is_amended(const Instruction &) { return false; }
	static std::uint64_t address_mask(const Place &) { return ~std::uint64_t{0}; }
	static void look_at(qemu_plugin_tb *) {}
	static void amend(Arm64Vcpu &) {}
};

} // namespace

bool Arm64Machine::option(std::string_view name, std::string_view value)
{
	bool *const part = name == "ete" ? &ete : name == "trbe" ? &trbe : nullptr;
	if (part)
		*part = on_or_off(name, value);
	return part;
}

void Arm64Machine::begin()
{
	if (!ete || !trbe)
		refuse("ete=on goes with trbe=on: there is no other sink, and no other trace unit");
	if (!VirtualClock::find())
		refuse("this QEMU does not export qemu_clock_get_ns(), which timestamps take; build it with "
		       "--enable-modules");
}

std::unique_ptr<Vcpu> Arm64Machine::make_vcpu(unsigned index)
{
	return std::make_unique<Arm64Vcpu>(index, *this);
}

qemu_tb_trans_cb Arm64Machine::translator() const
{
	return Arm64Translator::on_translation;
}

Machine *arm64_machine()
{
	return new Arm64Machine;
}

} // namespace hwsim::qemu
