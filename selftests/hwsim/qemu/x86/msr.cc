// SPDX-License-Identifier: GPL-2.0-or-later
/* RDMSR and WRMSR of X86Vcpu: which unit a register belongs to, what is refused, and what else changes with a write. */
#include "vcpu.h"

namespace hwsim::qemu
{
namespace
{

constexpr std::uint32_t msr_tsc = 0x10, msr_tsc_aux = 0xc000'0103;
/* An x2APIC register that does not exist: QEMU answers its access with a general protection fault. */
constexpr std::uint32_t msr_that_faults = 0x8fe;

} // namespace

void X86Vcpu::fault_msr()
{
	fault(Reg::rcx, msr_that_faults);
}

/* Programs get a fault for RDMSR and WRMSR; QEMU raises that by itself. */
void X86Vcpu::rdmsr(const Site &site)
{
	if (registers.privilege())
		return;
	counted.msr_reads++;
	const auto msr = static_cast<std::uint32_t>(registers[Reg::rcx]);
	if (msr == msr_tsc) {
		set_edx_eax(clock.tsc());
	} else if (hardware.pt && x86::pt::PtRegisters::owns(msr)) {
		if (pt.read_faults(msr))
			return fault_msr();
		set_edx_eax(pt.read(msr));
	} else if (hardware.pmu && x86::Perfmon::owns(msr)) {
		if (perfmon.read_faults(msr))
			return fault_msr();
		uncount(*site.block, site.index + 1);
		settle();
		set_edx_eax(perfmon.read(msr));
		jump_behind(site);
	} else if (bts.owns(msr)) {
		set_edx_eax(bts.read(msr));
	} else if (lbr.owns(msr)) {
		set_edx_eax(lbr.read(msr));
	} else if (x86::Vmx::owns(msr)) {
		const auto value = vmx.read(msr);
		if (!value)
			return fault_msr();
		set_edx_eax(*value);
	} else {
		return;
	}
	skip(site);
}

void X86Vcpu::wrmsr(const Site &site)
{
	if (registers.privilege())
		return;
	counted.msr_writes++;
	const auto msr = static_cast<std::uint32_t>(registers[Reg::rcx]);
	const std::uint64_t value = static_cast<std::uint32_t>(registers[Reg::rax]) | registers[Reg::rdx] << 32;
	if (msr == msr_tsc_aux)
		tsc_aux = value;
	if (to_lose && msr == settings.loss.at)
		lose();
	if (settings.faults.gp && msr == settings.faults.gp)
		return fault_msr();
	bool done;
	if (hardware.pt && x86::pt::PtRegisters::owns(msr))
		done = write_trace_msr(msr, value, site);
	else if (hardware.pmu && x86::Perfmon::owns(msr))
		done = write_counter_msr(msr, value, site);
	else if (bts.owns(msr))
		done = write_debug_msr(msr, value, site);
	else if (lbr.owns(msr))
		done = write_record_msr(msr, value, site);
	else if (x86::Vmx::owns(msr))
		done = write_vmx_msr(msr, value);
	else
		return;
	if (!done)
		return fault_msr();
	skip(site);
}

bool X86Vcpu::write_trace_msr(std::uint32_t msr, std::uint64_t value, const Site &site)
{
	if (pt.write_faults(msr, value) || (msr == x86::pt::msr::ctl && vmx.forbids_trace()) ||
		(pt.switches_on(msr, value) && excludes(bts.read(x86::Bts::debugctl))))
		return false;
	if (pt.switches_on(msr, value))
		require(tracing_needs(), site);
	write_pt(msr, value, block_pc + site.offset);
	return true;
}

/* "at": the address of the instruction that writes. */
void X86Vcpu::write_pt(std::uint32_t msr, std::uint64_t value, std::uint64_t at)
{
	tracker.reach(at);
	if (pt.switches_off(msr, value))
		witness.switch_off(at);
	pt.write(msr, value, at);
	note_duty();
	watch(0);
	review_needs();
}

/*
 * What was counted before the write belongs to the old settings, so it is collected first. Returns only if the write is
 * refused.
 */
bool X86Vcpu::write_counter_msr(std::uint32_t msr, std::uint64_t value, const Site &site)
{
	if (perfmon.write_faults(msr, value))
		return false;
	if (perfmon.counts_after(msr, value))
		require(count_instrumentation, site);
	uncount(*site.block, site.index + 1);
	collect();
	if (perfmon.write(msr, value))
		performance_interrupt();
	rearm();
	review_needs();
	jump_behind(site);
}

bool X86Vcpu::write_debug_msr(std::uint32_t msr, std::uint64_t value, const Site &site)
{
	if (bts.write_faults(msr, value) || (msr == x86::Bts::debugctl && pt.is_switched_on() && excludes(value)))
		return false;
	if (bts.switches_on(msr, value))
		require(tracing_needs(), site);
	bts.write(msr, value);
	debugctl_changed();
	return true;
}

bool X86Vcpu::write_record_msr(std::uint32_t msr, std::uint64_t value, const Site &site)
{
	if (lbr.write_faults(msr, value))
		return false;
	if (lbr.switches_on(msr, value))
		require(tracing_needs(), site);
	const bool was_on = lbr.is_on();
	lbr.write(msr, value);
	/* Kernels write all records at each context switch. */
	if (lbr.is_on() != was_on)
		debugctl_changed();
	return true;
}

bool X86Vcpu::write_vmx_msr(std::uint32_t msr, std::uint64_t value)
{
	if (vmx.write_faults(msr, value))
		return false;
	vmx.write(value);
	return true;
}

} // namespace hwsim::qemu
