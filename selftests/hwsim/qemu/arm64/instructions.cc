// SPDX-License-Identifier: GPL-2.0-or-later
/* The instructions that Arm64Vcpu carries out in QEMU's place. A function that does not return continues at the next instruction. */
#include "vcpu.h"

#include <algorithm>
#include <utility>

namespace hwsim::qemu
{
namespace
{

/* ID_AA64DFR0_EL1: a trace unit with system registers, TRFCR_EL1, a trace buffer. */
constexpr std::uint64_t trace_ver = std::uint64_t{1} << 4, trace_filt = std::uint64_t{1} << 40,
			trace_buffer = std::uint64_t{1} << 44;
/* CPACR_EL1.TTA, CPTR_EL2.TTA of a host: accesses to the trace unit's registers are trapped. */
constexpr std::uint64_t trap_trace = std::uint64_t{1} << 28;

} // namespace

void Arm64Vcpu::before(const Site &site, std::uintptr_t caller)
{
	using Kind = arm64::SystemAccess::Kind;
	left_at = caller;
	if (version != control.version())
		take_over();
	if (site.instruction.access.kind != Kind::trace_synchronization)
		synchronized = false;
	switch (site.instruction.access.kind) {
	case Kind::read:
	case Kind::write:
		return system_access(site);
	case Kind::trace_synchronization:
		/* QEMU then executes the instruction as a NOP. */
		return synchronize_trace(site.block->level);
	case Kind::context_synchronization:
		/* QEMU executes it. */
		return trbe.context_synchronization();
	case Kind::command:
		return command(site);
	case Kind::none:
		return;
	}
}

/* Erratum 2054223: where trace is prohibited, one TSB CSYNC alone does nothing. */
void Arm64Vcpu::synchronize_trace(std::uint8_t level)
{
	if (errata.synchronizes_at_second && !unit.watches(level) && !std::exchange(synchronized, true))
		return;
	unit.synchronize_buffer();
	trbe.synchronize();
}

/* A separate function because command() never returns and would not destroy the string. */
bool Arm64Vcpu::carry_out(const Site &site)
{
	std::string text(std::min<std::uint64_t>(registers[Reg::x1], arm64::Control::longest), 0);
	const std::span<std::uint8_t> bytes(reinterpret_cast<std::uint8_t *>(text.data()), text.size());
	if (!memory.read_linear(registers[Reg::x0], bytes))
		return false;
	if (text != arm64::Control::lose_context)
		return control.command(text);
	if (site.block->level != kernel_level)
		return false;
	lose_context();
	return true;
}

/* As if this processor had been powered down, and up again. */
void Arm64Vcpu::lose_context()
{
	const Before was = look();
	counted.contexts_lost++;
	unit.lose_context();
	trbe.lose_context();
	if (page)
		whole.registers().update(*parts.etm->page, *page, memory);
	follow_write(was, kernel_level);
}

void Arm64Vcpu::command(const Site &site)
{
	if (!registers[Reg::x1]) {
		registers.set(Reg::x0, counted.accesses);
		registers.set(Reg::x1, arm64::Control::signature);
		skip(site);
	}
	const bool done = carry_out(site);
	if (done)
		take_over();
	registers.set(Reg::x0, done ? 0 : 1);
	registers.set(Reg::x1, arm64::Control::signature);
	skip(site);
}

/*
 * Trapped accesses, accesses to registers that do not exist, and accesses by programs are left to QEMU, which treats them as undefined
 * instructions (the kernel emulates one of these, a program's read of ID_AA64DFR0_EL1).
 */
void Arm64Vcpu::system_access(const Site &site)
{
	const arm64::SystemAccess &access = site.instruction.access;
	const auto offset = arm64::trace_register_offset(access.reg);
	if (site.block->level != kernel_level ||
		(access.reg == arm64::sysreg::midr_el1 && !whole.coresight().topology.midr))
		return;
	if (!has(access.reg)) {
		counted.refused++;
		return;
	}
	if (offset && (of_kernel(Reg::cpacr_el1, Reg::cptr_el2) & trap_trace)) {
		counted.refused++;
		return;
	}
	if (access.kind == arm64::SystemAccess::Kind::read) {
		const auto value = read_register(access.reg);
		if (!value) {
			counted.refused++;
			return;
		}
		registers.set_operand(access.operand, *value);
	} else {
		const std::uint64_t value = registers.operand(access.operand);
		if (offset && unit.switches_on(*offset, value))
			require(flow_instrumentation, site);
		const Before was = look();
		if (!write_register(access.reg, value)) {
			counted.refused++;
			return;
		}
		follow_write(was, site.block->level);
		/* QEMU implements this register, too, and has to see the write. */
		if (access.reg == arm64::sysreg::oslar_el1)
			return;
	}
	counted.accesses++;
	skip(site);
}

/* Does the topology give this processor the register? */
bool Arm64Vcpu::has(std::uint16_t reg) const
{
	using namespace arm64;
	if (trace_register_offset(reg))
		return parts.has_system_registers();
	if (reg == sysreg::trfcr_el1)
		return parts.ete;
	if (reg == sysreg::trfcr_el2 || reg == sysreg::trfcr_el12)
		return parts.ete && kernel_level == 2;
	if (reg >= sysreg::trblimitr_el1 && reg <= sysreg::trbidr_el1)
		return parts.trbe;
	return true;
}

void Arm64Vcpu::follow_write(const Before &was, std::uint8_t level)
{
	if (was.enabled && !unit.enabled())
		witness.ended(was.at_target, was.told);
	port.set_id(unit.trace_id());
	watch(level);
	review_needs();
}

std::optional<std::uint64_t> Arm64Vcpu::read_register(std::uint16_t reg)
{
	using namespace arm64;
	if (reg == sysreg::id_aa64dfr0_el1)
		return registers[Reg::id_aa64dfr0_el1] | (parts.has_system_registers() ? trace_ver : 0) |
		       (parts.ete ? trace_filt : 0) | (parts.trbe ? trace_buffer : 0);
	if (reg == sysreg::midr_el1)
		return whole.coresight().topology.midr;
	if (reg == sysreg::trfcr_el1 || reg == sysreg::trfcr_el2)
		return unit.filter_control();
	if (reg == sysreg::trfcr_el12)
		return filter_control_of_guests;
	if (reg >= sysreg::trblimitr_el1 && reg <= sysreg::trbidr_el1)
		return trbe.read(static_cast<trbe::Reg>(reg - sysreg::trblimitr_el1));
	return unit.read(*trace_register_offset(reg));
}

bool Arm64Vcpu::write_register(std::uint16_t reg, std::uint64_t value)
{
	using namespace arm64;
	if (reg == sysreg::oslar_el1) {
		unit.set_os_lock(value & 1);
		return true;
	}
	if (reg == sysreg::trfcr_el1 || reg == sysreg::trfcr_el2) {
		const bool programs = unit.watches(program_level), kernel = unit.watches(kernel_level);
		unit.set_filter_control(value);
		if (programs != unit.watches(program_level) || kernel != unit.watches(kernel_level))
			trbe.allowance_changed();
		return true;
	}
	if (reg == sysreg::trfcr_el12) {
		filter_control_of_guests = value;
		return true;
	}
	if (reg >= sysreg::trblimitr_el1 && reg <= sysreg::trbidr_el1) {
		const bool was = trbe.enabled();
		if (!trbe.write(static_cast<trbe::Reg>(reg - sysreg::trblimitr_el1), value))
			return false;
		if (trbe.enabled() != was)
			unit.sink_changed();
		return true;
	}
	return unit.write(*trace_register_offset(reg), value);
}

// --- registers in memory --------------------------------------------------------------------

void Arm64Vcpu::access(qemu_plugin_meminfo_t info, std::uint64_t physical)
{
	RegisterWindow &window = whole.registers();
	if (!window.contains(physical))
		return;
	if (version != control.version())
		take_over();
	counted.accesses++;
	if (qemu_plugin_mem_is_store(info))
		store(info, physical);
	else
		window.load(index, physical, memory);
	whole.interrupts().deliver(memory);
}

void Arm64Vcpu::store(qemu_plugin_meminfo_t info, std::uint64_t physical)
{
	RegisterWindow &window = whole.registers();
	const unsigned bytes = 1u << qemu_plugin_mem_size_shift(info);
	const auto value = qemu_plugin_mem_get_value(info).data;
	const std::uint64_t stored = bytes == 8   ? value.u64
				     : bytes == 4 ? value.u32
				     : bytes == 2 ? value.u16
						  : value.u8;
	if (page && window.page_of(physical) == *parts.etm->page) {
		store_to_page(physical, stored, bytes);
		return;
	}
	if (window.flushes(physical, stored))
		unit.synchronize_buffer();
	window.store(index, physical, stored, bytes, memory);
}

/* If the store enables the trace unit, trace begins with the first block that is translated with flow instrumentation. */
void Arm64Vcpu::store_to_page(std::uint64_t physical, std::uint64_t value, unsigned bytes)
{
	const Before was = look();
	const bool known =
		RegisterWindow::by_words(physical, value, bytes, [&](std::uint32_t offset, std::uint32_t word) {
			const bool taken = page->write(offset, word);
			memory.store(physical - physical % arm64::Component::page + offset, page->read(offset));
			return taken;
		});
	if (!known)
		whole.registers().count_refused();
	whole.registers().update(*parts.etm->page, *page, memory);
	follow_write(was, kernel_level);
}

} // namespace hwsim::qemu
