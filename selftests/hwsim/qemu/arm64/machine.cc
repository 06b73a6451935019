// SPDX-License-Identifier: GPL-2.0-or-later
#include "machine.h"

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <fstream>

#include "../../base/number.h"
#include "../big_lock.h"
#include "../options.h"
#include "../translator.h"
#include "../virtual_clock.h"
#include "vcpu.h"

namespace hwsim::qemu
{
namespace
{

/* Translates the blocks of an arm64 machine. */
struct Arm64Translator : Translator<Arm64Vcpu, Arm64Translator> {
	using Instruction = Arm64Vcpu::Instruction;

	static Instruction classify(std::span<const std::uint8_t> bytes)
	{
		std::uint32_t word = 0;
		if (bytes.size() != arm64::instruction_size) /* T32 */
			return {};
		std::memcpy(&word, bytes.data(), sizeof word);
		return {arm64::classify(word), arm64::system_access(word)};
	}
	static bool is_longer(const Instruction &) { return false; }
	static bool is_ours(const Instruction &instruction)
	{
		using Kind = arm64::SystemAccess::Kind;
		if (instruction.access.kind == Kind::context_synchronization)
			return static_cast<const Arm64Machine &>(*machine).errata().wants_second_isb;
		return instruction.access.kind != Kind::none;
	}
	static bool is_amended(const Instruction &) { return false; }
	static std::uint64_t address_mask(const Place &) { return ~std::uint64_t{0}; }
	/* For memory-mapped registers: adds a callback to all memory accesses of kernel code that may belong to a driver. */
	static void look_at(qemu_plugin_tb *tb)
	{
		auto &vcpu = static_cast<Arm64Vcpu &>(*this_vcpu);
		if (!vcpu.has_begun())
			vcpu.begin();
		const auto &its = static_cast<const Arm64Machine &>(*machine);
		if (!its.may_be_driver(qemu_plugin_tb_vaddr(tb)))
			return;
		for (std::size_t i = 0; i < qemu_plugin_tb_n_insns(tb); i++)
			qemu_plugin_register_vcpu_mem_cb(
				qemu_plugin_tb_get_insn(tb, i), on_access, CB_NO_REGS, MEM_RW, nullptr);
	}
	static void on_access(unsigned vcpu, qemu_plugin_meminfo_t info, std::uint64_t address, void *)
	{
		const qemu_plugin_hwaddr *where = qemu_plugin_get_hwaddr(info, address);
		if (where)
			processor(vcpu).access(info, qemu_plugin_hwaddr_phys_addr(where));
	}
	static void amend(Arm64Vcpu &) {}
};

} // namespace

bool Arm64Machine::option(std::string_view name, std::string_view value)
{
	if (name == "profile") {
		profile = value;
	} else if (name == "registers") {
		const auto at = number(value);
		if (!at || *at % arm64::Component::page)
			refuse("registers= is the address of a page, not " + std::string(value));
		registers_at = *at;
	} else if (name == "everywhere") {
		everywhere = on_or_off(name, value);
	} else {
		return false;
	}
	return true;
}

void Arm64Machine::begin(unsigned cpus)
{
	if (!VirtualClock::find() || !BigLock::find())
		refuse("this QEMU does not export qemu_clock_get_ns(), which timestamps take, and bql_locked(), for "
		       "processors that wait for each other; build it with --enable-modules");
	std::ifstream file(profile);
	if (!file)
		refuse(profile.empty()
				? "profile=FILE says which CoreSight components there are (hwsim/arm64/topologies)"
				: "profile=" + profile + " cannot be read");
	const std::string text{std::istreambuf_iterator<char>(file), {}};
	try {
		shared.emplace(arm64::Topology::read(text, cpus), memory,
			[this](unsigned number, bool asserted) { shared_interrupts.set(number, asserted); });
	} catch (const std::exception &error) {
		refuse(profile + ": " + error.what());
	}
	window.emplace(*shared, registers_at);
	if (!window->empty() && !registers_at)
		refuse("registers=ADDRESS says where in memory the registers of " + profile + " are");
}

/*
 * If the kernel runs where it was linked, modules are in the 2 GiB from MODULES_VADDR on, below the kernel. MODULES_VADDR depends on the
 * number of address bits (arch/arm64/include/asm/memory.h). Built-in drivers and randomized kernels need everywhere=on, which is slower.
 */
bool Arm64Machine::may_be_driver(std::uint64_t address) const
{
	constexpr std::uint64_t kernel_half = std::uint64_t{1} << 63, modules = std::uint64_t{1} << 31;
	constexpr unsigned address_bits[] = {48, 47, 42, 39}; /* for page sizes of 4 or 64, 16, 64, and 4 KiB */
	if (window->empty() || !(address & kernel_half))
		return false;
	return everywhere || std::ranges::any_of(address_bits, [address](unsigned bits) {
		return address + (std::uint64_t{1} << (bits - 1)) < modules;
	});
}

void Arm64Machine::take_over(const arm64::Faults &faults)
{
	const std::lock_guard guard(shared->lock);
	shared->set_faults(faults);
	shared->for_each(
		[this](unsigned page, arm64::Component &component) { window->update(page, component, memory); });
}

std::string Arm64Machine::statistics() const
{
	if (window->empty())
		return "";
	const arm64::Tmc::Counts sinks = shared->tmc_statistics();
	char text[512];
	std::snprintf(text, sizeof text,
		"hwsim: sinks: starts %" PRIu64 " captured %" PRIu64 " discarded %" PRIu64 " overwritten %" PRIu64
		" full %" PRIu64 " flushes %" PRIu64 " errors %" PRIu64 " refused %" PRIu64 " waits %" PRIu64
		" timed-out %" PRIu64 " capturing %u \n",
		sinks.starts, sinks.bytes, sinks.discarded, sinks.overwritten, sinks.wraps, sinks.flushes, sinks.errors,
		window->refused_stores(), shared->waited().begun, shared->waited().timed_out, shared->tmcs_on());
	return text;
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
