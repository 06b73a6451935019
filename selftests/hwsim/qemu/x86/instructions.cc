// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The instructions that X86Vcpu carries out in QEMU's place, except RDMSR and WRMSR (msr.cc). Functions that do not return have continued
 * behind them.
 */
#include "vcpu.h"

#include <algorithm>
#include <cstring>

#include "../../x86/accesses.h"
#include "../../x86/duty.h"

namespace hwsim::qemu
{
namespace
{

/* Not canonical with four or five levels of page tables: to continue there is a general protection fault. */
constexpr std::uint64_t nowhere = std::uint64_t{1} << 63;
constexpr std::uint64_t cr4_pce = 1 << 8;
/* A bit that CR4 does not have. */
constexpr std::uint64_t cr4_that_faults = std::uint64_t{1} << 63;

} // namespace

void X86Vcpu::before(const Site &site, std::uintptr_t caller)
{
	using x86::Special;
	left_at = caller;
	if (version != control.version())
		take_over();
	switch (site.instruction.special) {
	case Special::cpuid:
		return cpuid(site);
	case Special::rdmsr:
		return rdmsr(site);
	case Special::wrmsr:
		return wrmsr(site);
	case Special::rdtsc:
	case Special::rdtscp:
		return rdtsc(site);
	case Special::ptwrite:
		return ptwrite(site);
	case Special::rdpmc:
		return rdpmc(site);
	case Special::lidt:
		return lidt(site);
	case Special::mov_to_cr4:
		return mov_to_cr4(site);
	case Special::vmxon:
		return vmxon(site);
	case Special::vmxoff:
		return vmxoff(site);
	case Special::none:
		return;
	}
}

void X86Vcpu::set_edx_eax(std::uint64_t value)
{
	registers.set(Reg::rax, static_cast<std::uint32_t>(value));
	registers.set(Reg::rdx, value >> 32);
}

// --- CPUID ------------------------------------------------------------------------------------

/* QEMU answers most leaves itself, and the plugin adds bits to the answer at the next instruction; see the translator. */
void X86Vcpu::cpuid(const Site &site)
{
	cpuid_leaf = static_cast<std::uint32_t>(registers[Reg::rax]);
	if (cpuid_leaf == x86::Control::cpuid_leaf)
		return command(site);
	if (cpuid_leaf == x86::Accesses::cpuid_leaf)
		return tell_accesses(site);
	if (cpuid_leaf == x86::Duty::cpuid_leaf)
		return tell_duty(site);
	cpuid_subleaf = static_cast<std::uint32_t>(registers[Reg::rcx]);
}

/* A function of its own, because command() never returns, and would not destroy the text. */
bool X86Vcpu::carry_out()
{
	std::string text(std::min<std::uint64_t>(registers[Reg::rdx], x86::Control::longest), 0);
	const std::span<std::uint8_t> bytes(reinterpret_cast<std::uint8_t *>(text.data()), text.size());
	return memory.read_linear(registers[Reg::rcx], bytes) && control.command(text);
}

void X86Vcpu::command(const Site &site)
{
	const bool done = carry_out();
	if (done)
		take_over();
	registers.set(Reg::rax, done ? 0 : 1);
	registers.set(Reg::rbx, x86::Control::signature);
	skip(site);
}

void X86Vcpu::tell_accesses(const Site &site)
{
	registers.set(Reg::rax, static_cast<std::uint32_t>(counted.msr_reads));
	registers.set(Reg::rcx, static_cast<std::uint32_t>(counted.msr_writes));
	registers.set(Reg::rdx, static_cast<std::uint32_t>(pt.statistics().starts));
	registers.set(Reg::rbx, x86::Accesses::signature);
	skip(site);
}

void X86Vcpu::tell_duty(const Site &site)
{
	uncount(*site.block, site.index + 1);
	collect();
	registers.set(Reg::rax, static_cast<std::uint32_t>(traced.until(counter.user().instructions)));
	registers.set(Reg::rcx, static_cast<std::uint32_t>(stored.until(counter.user().instructions)));
	registers.set(Reg::rdx, 0);
	registers.set(Reg::rbx, x86::Duty::signature);
	jump_behind(site);
}

void X86Vcpu::after_cpuid()
{
	if (!x86::cpuid_differs(cpuid_leaf))
		return;
	const auto word = [this](Reg reg) {
		return static_cast<std::uint32_t>(registers[reg]);
	};
	const x86::CpuidResult native = {word(Reg::rax), word(Reg::rbx), word(Reg::rcx), word(Reg::rdx)};
	const x86::CpuidResult result = x86::cpuid(profile, hardware, cpuid_leaf, cpuid_subleaf, native);
	registers.set(Reg::rax, result.eax);
	registers.set(Reg::rbx, result.ebx);
	registers.set(Reg::rcx, result.ecx);
	registers.set(Reg::rdx, result.edx);
}

// --- faults -----------------------------------------------------------------------------------

/* Lets QEMU raise the fault, by giving the instruction an operand that QEMU refuses; the guest's value comes back before its handler runs. */
void X86Vcpu::fault(Reg operand, std::uint64_t that_faults)
{
	counted.faults++;
	faulting = {operand, registers[operand]};
	registers.set(operand, that_faults);
}

/*
 * There is no operand for which QEMU raises the right fault at RDPMC, and VMXON is unknown to QEMU. So the program continues at an address
 * where it cannot, and in the frame of the resulting fault that address is replaced by that of the instruction, which has not retired. 32-bit
 * code has no such address, so that it gets QEMU's own exception.
 */
void X86Vcpu::refuse(const Site &site)
{
	counted.faults++;
	refused = block_pc + site.offset;
	uncount(*site.block, site.index);
	leave_for(nowhere);
}

// --- time and counters ------------------------------------------------------------------------

void X86Vcpu::rdtsc(const Site &site)
{
	const std::uint64_t tsc = clock.tsc();
	if (has_more_than_needed())
		machine.consider_less(tsc);
	set_edx_eax(tsc);
	if (site.instruction.special == x86::Special::rdtscp)
		registers.set(Reg::rcx, tsc_aux);
	skip(site);
}

/* For the kernel, and for programs if CR4.PCE is set; otherwise QEMU raises the fault. */
void X86Vcpu::rdpmc(const Site &site)
{
	std::uint64_t value = 0;
	if (registers.privilege() && !(registers[Reg::cr4] & cr4_pce))
		return;
	if (!hardware.pmu || !perfmon.read_counter(static_cast<std::uint32_t>(registers[Reg::rcx]), value)) {
		if (site.block->mode == x86::pt::mode_64)
			refuse(site);
		return;
	}
	uncount(*site.block, site.index + 1);
	settle();
	perfmon.read_counter(static_cast<std::uint32_t>(registers[Reg::rcx]), value);
	set_edx_eax(value);
	jump_behind(site);
}

// --- operands in memory -----------------------------------------------------------------------

std::uint32_t X86Vcpu::operand_size(std::uint64_t address, std::uint32_t read)
{
	const auto operand = x86::memory_operand_at(memory, address);
	return operand ? operand->length : read;
}

bool X86Vcpu::read_operand(const Site &site, std::span<std::uint8_t> to)
{
	const std::uint64_t pc = block_pc + site.offset;
	const auto operand = x86::memory_operand_at(memory, pc);
	if (!operand || site.block->mode != x86::pt::mode_64)
		return false;
	using Segment = x86::MemoryOperand::Segment;
	const std::uint64_t base = operand->segment == Segment::fs   ? registers[Reg::fs_base]
				   : operand->segment == Segment::gs ? registers[Reg::gs_base]
								     : 0;
	const std::uint64_t address = operand->address(
		[this](unsigned n) { return registers[static_cast<Reg>(n)]; }, pc + operand->length, base);
	return memory.read_linear(address, to);
}

/* QEMU carries out LIDT; this notes where the table is. */
void X86Vcpu::lidt(const Site &site)
{
	std::uint8_t bytes[10];
	std::uint64_t base;
	if (!read_operand(site, bytes))
		return;
	std::memcpy(&base, bytes + 2, sizeof base);
	idt.move(base);
}

/* QEMU does not know PTWRITE: where this returns it is an invalid instruction. */
void X86Vcpu::ptwrite(const Site &site)
{
	if (!hardware.pt || !profile.pt.ptwrite)
		return;
	std::uint64_t value = 0;
	if (!site.instruction.in_memory)
		value = registers[static_cast<Reg>(site.instruction.operand)];
	else if (std::uint8_t bytes[8] = {}; read_operand(site, std::span(bytes).first(site.instruction.wide ? 8 : 4)))
		std::memcpy(&value, bytes, sizeof value);
	else
		return;
	tracker.reach(block_pc + site.offset);
	pt.ptwrite(block_pc + site.offset, value, site.instruction.wide);
	skip(site);
}

// --- VMX operation --------------------------------------------------------------------------

/* QEMU refuses a MOV that sets CR4.VMXE, but keeps the bit if the plugin sets it. */
void X86Vcpu::mov_to_cr4(const Site &site)
{
	const auto operand = static_cast<Reg>(site.instruction.operand);
	const std::uint64_t value = registers[operand];
	if (registers.privilege())
		return;
	if (vmx.cr4_faults(value))
		return fault(operand, cr4_that_faults);
	if (!(value & x86::Vmx::cr4_vmxe))
		return;
	registers.set(Reg::cr4, value);
	skip(site);
}

/* How a VMX instruction ends. An invalid opcode is left to QEMU. */
void X86Vcpu::end(x86::Vmx::End how, const Site &site)
{
	using End = x86::Vmx::End;
	if (how == End::general_protection && site.block->mode == x86::pt::mode_64)
		refuse(site);
	if (how == End::done || how == End::failed)
		skip(site);
}

void X86Vcpu::vmxon(const Site &site)
{
	std::uint8_t bytes[8];
	std::optional<std::uint64_t> region;
	if (read_operand(site, bytes)) {
		region.emplace();
		std::memcpy(&*region, bytes, sizeof bytes);
	}
	const auto how = vmx.enter(registers[Reg::cr4], registers.privilege(), region, memory);
	/* SDM volume 3, "VMXON": clears TraceEn if Intel PT may not be used in VMX operation. */
	if (how == x86::Vmx::End::done && vmx.forbids_trace() && hardware.pt)
		write_pt(x86::pt::msr::ctl, pt.read(x86::pt::msr::ctl) & ~x86::pt::ctl::trace_en,
			block_pc + site.offset);
	end(how, site);
}

void X86Vcpu::vmxoff(const Site &site)
{
	end(vmx.leave(registers.privilege()), site);
}

} // namespace hwsim::qemu
