// SPDX-License-Identifier: GPL-2.0-or-later
#include "machine.h"

#include "../options.h"
#include "../translator.h"
#include "vcpu.h"

namespace hwsim::qemu
{
namespace
{

/* The blocks of an x86 machine. */
struct X86Translator : Translator<X86Vcpu, X86Translator> {
	using Instruction = x86::Instruction;

	static Instruction classify(std::span<const std::uint8_t> bytes) { return x86::classify(bytes); }
	/* QEMU does not know the instruction, and so not how long it is. */
	static bool is_longer(const Instruction &instruction) { return instruction.in_memory; }
	static bool is_ours(const Instruction &instruction) { return instruction.special != x86::Special::none; }
	/* CPUID does not end a block, so there is a next instruction, at which its answer is amended. */
	static bool is_amended(const Instruction &instruction) { return instruction.special == x86::Special::cpuid; }
	static std::uint64_t address_mask(const Place &state)
	{
		return state.mode == x86::pt::mode_64 ? ~std::uint64_t{0} : 0xffff'ffff;
	}
	static void look_at(qemu_plugin_tb *tb)
	{
		/* SDM volume 3, "First Instruction Executed". */
		constexpr std::uint64_t reset_vector = 0xffff'fff0;
		if (qemu_plugin_tb_vaddr(tb) == reset_vector)
			qemu_plugin_register_vcpu_tb_exec_cb(tb, on_reset_vector, CB_R_REGS, nullptr);
	}
	static void amend(X86Vcpu &vcpu) { vcpu.after_cpuid(); }

private:
	static void on_reset_vector(unsigned vcpu, void *) { processor(vcpu).at_reset_vector(); }
};

std::string profile_names()
{
	std::string names;
	for (const x86::Profile &profile : x86::profiles())
		names += " " + std::string(profile.name);
	return names;
}

} // namespace

bool X86Machine::option(std::string_view name, std::string_view value)
{
	if (name == "profile") {
		const auto found = x86::find_cores(value);
		if (!found)
			refuse("there is no profile " + std::string(value) + ", only" + profile_names() +
				", and two of them with + between, of which the first has the clock that the second "
				"wants");
		cores = *found;
		return true;
	}
	bool *const part = name == "pt"    ? &hardware.pt
			   : name == "pmu" ? &hardware.pmu
			   : name == "bts" ? &hardware.bts
			   : name == "lip" ? &lip
					   : nullptr;
	if (part)
		*part = on_or_off(name, value);
	return part;
}

void X86Machine::begin(unsigned)
{
	cores.even.pt.lip = cores.odd.pt.lip = lip;
	clock.emplace(cores.even.tsc_ticks_per_ns);
}

std::unique_ptr<Vcpu> X86Machine::make_vcpu(unsigned index)
{
	return std::make_unique<X86Vcpu>(index, *this);
}

qemu_tb_trans_cb X86Machine::translator() const
{
	return X86Translator::on_translation;
}

Machine *x86_machine()
{
	return new X86Machine;
}

} // namespace hwsim::qemu
