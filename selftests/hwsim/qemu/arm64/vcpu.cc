// SPDX-License-Identifier: GPL-2.0-or-later
#include "vcpu.h"

#include <algorithm>
#include <cinttypes>
#include <cstdio>

#include "../big_lock.h"
#include "../virtual_clock.h"

namespace hwsim::qemu
{
namespace
{

using Kind = arm64::Topology::Kind;

/* PSTATE in the format of SPSR: the fields of the exception level and of AArch32 state. */
constexpr unsigned level_shift = 2;
constexpr std::uint64_t level_mask = 3, aarch32 = 1 << 4;

/* QEMU's machine "virt" with a GICv3: address and size of the processors' redistributors, and the trace buffer's private interrupt. */
constexpr std::uint64_t redistributors = 0x080a'0000, per_processor = 0x2'0000, sgi_base = 0x1'0000;
constexpr std::uint64_t set_pending = 0x200, clear_pending = 0x280;
constexpr unsigned trbe_interrupt = 31;

Place place_of(std::uint64_t pc, std::uint64_t pstate)
{
	const bool narrow = pstate & aarch32;
	const auto level = static_cast<std::uint8_t>(pstate >> level_shift & level_mask);
	return {pc, narrow ? Arm64Vcpu::program_level : level, narrow ? std::uint8_t{0} : arm64::mode_a64};
}

arm64::etm::Features features(bool etmv4, bool el2)
{
	const arm64::etm::Features has = etmv4 ? arm64::etm::etmv4 : arm64::etm::Features{};
	return el2 ? has.with_el2() : has;
}

} // namespace

Arm64Vcpu::Arm64Vcpu(unsigned number, Arm64Machine &with)
	: TracedVcpu(number, with), kernel_level(with.coresight().topology.el2 ? 2 : 1), whole(with),
	  control(with.control()), errata(with.errata()), parts{with.coresight().topology.of_cpu(Kind::ete, number),
								  with.coresight().topology.of_cpu(Kind::trbe, number),
								  with.coresight().topology.of_cpu(Kind::etm, number)},
	  port(with.coresight(), number, BigLock::is_free_of),
	  unit(features(parts.etm, with.coresight().topology.el2), virtual_counter,
		  parts.etm ? static_cast<arm64::TraceSink &>(port) : trbe, *this, settings.faults)
{
	if (parts.has_page())
		page.emplace(unit, parts.etm->skip_power_up);
}

const char *Arm64Vcpu::init()
{
	if (!registers.find())
		return "a register is missing: is this qemu-system-aarch64, and a 64-bit processor?";
	if (registers.have_el2() != (kernel_level == 2))
		return kernel_level == 2 ? "the topology says \"processors el2\", and QEMU's have no EL2: -machine "
					   "virtualization=on"
					 : "the processors have EL2, and the topology does not say \"processors el2\"";
	find_words();
	counter.allow(InlineWords::most_instructions);
	if (!logs.open(settings.log))
		return "the truth log or the raw trace cannot be written";
	constexpr std::uint64_t second_ns = 1'000'000'000;
	const std::uint64_t frequency = registers[Reg::cntfrq_el0];
	virtual_counter.period_ns = frequency ? std::max<std::uint64_t>(second_ns / frequency, 1) : 1;
	review_needs();
	return nullptr;
}

/* Called when the vCPU's first block is being translated: from now on the plugin can access memory. */
void Arm64Vcpu::begin()
{
	begun = true;
	whole.registers().show_all(memory);
	if (page)
		whole.registers().update(*parts.etm->page, *page, memory);
}

/* A command has changed the settings. */
void Arm64Vcpu::take_over()
{
	const arm64::Settings before = settings, next = control.settings();
	version = control.version();
	if (next.log != before.log)
		finish();
	settings = next;
	if (next.log != before.log)
		logs.open(settings.log);
	trbe.set_faults(settings.faults);
	unit.set_faults(settings.faults);
	whole.take_over(settings.faults);
}

// --- where it is ----------------------------------------------------------------------------

Place Arm64Vcpu::state()
{
	return place_of(0, registers[Reg::cpsr]);
}

/*
 * Called before the vCPU sleeps in WFI. Checks here for instrumentation that is no longer needed, because an idle machine executes no
 * instruction that the plugin carries out.
 */
void Arm64Vcpu::idle()
{
	if (has_more_than_needed())
		machine.consider_less(VirtualClock::ns());
}

// --- the flow ---------------------------------------------------------------------------

/*
 * QEMU reports an exception twice: first as an exception, with no change of address; then, when it is delivered, as an interrupt. "from"
 * is the preferred return address; PSTATE and the exception registers are already those of the handler. A branch cannot fault, unless
 * authentication of its target fails.
 */
void Arm64Vcpu::discontinuity(std::uint64_t from, std::uint64_t to)
{
	constexpr std::uint64_t failed_authentication = 0x1c;
	if (from == to)
		return;
	if (tracker.active()) {
		const bool finished = counter.finished();
		counted.discontinuities++;
		interrupted_at = from;
		const Place origin = place_of(from, of_kernel(Reg::spsr_el1, Reg::spsr_el2));
		Place handler = state();
		handler.pc = to;
		trbe.context_synchronization();
		if (unit.watches(origin.level) != unit.watches(handler.level))
			trbe.allowance_changed();
		const bool signature = syndrome() >> 26 == failed_authentication;
		tracker.discontinuity(origin, handler, finished, signature ? Cause::fault : Cause::interrupt);
		watch(handler.level);
	}
	counter.leave();
}

void Arm64Vcpu::straight(const BasicBlock &block, std::uint64_t pc, std::uint64_t end)
{
	unit.straight(block, pc, end);
}

/*
 * SVC, HVC, SMC and BRK are traced as exceptions, except PSCI calls: QEMU carries these out itself, and continues at the next
 * instruction.
 */
void Arm64Vcpu::transfer(const Transfer &transfer)
{
	if (transfer.kind == Branch::far)
		trbe.context_synchronization();
	if (transfer.kind == Branch::software_interrupt) {
		if (transfer.to.pc != transfer.next)
			witness.interrupt({interrupted_at, transfer.level, arm64::mode_a64}, transfer.to);
	} else {
		witness.transfer(transfer);
	}
}

/*
 * The type follows from the vector (Arm ARM, D1.3.2, "Exception vectors"), and for synchronous exceptions from ESR_ELx.EC (IHI0064,
 * "Exception types").
 */
arm64::etm::Exception Arm64Vcpu::exception_type(std::uint64_t handler)
{
	using arm64::etm::Exception;
	switch (handler & 0x180) {
	case 0x080:
		return Exception::irq;
	case 0x100:
		return Exception::fiq;
	case 0x180:
		return Exception::system_error;
	default:
		break;
	}
	switch (syndrome() >> 26 & 0x3f) {
	case 0x15: /* SVC, HVC, SMC */
	case 0x16:
	case 0x17:
		return Exception::call;
	case 0x20: /* instruction aborts */
	case 0x21:
		return Exception::instruction_fault;
	case 0x24: /* data aborts */
	case 0x25:
		return Exception::data_fault;
	case 0x22: /* misaligned PC or SP */
	case 0x26:
		return Exception::alignment;
	case 0x30: /* breakpoint, single step, BRK */
	case 0x31:
	case 0x32:
	case 0x33:
	case 0x3c:
		return Exception::instruction_debug;
	case 0x34: /* watchpoint */
	case 0x35:
		return Exception::data_debug;
	default:
		return Exception::trap;
	}
}

// --- what trace unit and buffer ask for -----------------------------------------------------

std::uint64_t Arm64Vcpu::VirtualCounter::counter()
{
	return VirtualClock::ns() / period_ns;
}

void Arm64Vcpu::trace_bytes(std::span<const std::uint8_t> bytes)
{
	newest_output = std::chrono::steady_clock::now();
	logs.trace_bytes(bytes);
	whole.interrupts().deliver(memory);
	/*
	 * Only where a program runs, which is interrupted at once: between sessions the in-tree driver dies of it. arm_trbe_irq_handler() hands
	 * a handle of NULL to etm_perf_sink_config() before it looks whether there is one (7.2).
	 */
	if (settings.faults.spurious_interrupt && state().level == program_level &&
		++writes % settings.faults.spurious_interrupt == 0) {
		counted.interrupts_spurious++;
		set_interrupt(true);
	}
}

/* Sets or clears the interrupt's pending state in the GIC. It is level-triggered: pending while it is asserted and not being served. */
void Arm64Vcpu::maintenance_interrupt(bool asserted)
{
	if (asserted) {
		counted.interrupts++;
		if (settings.faults.lost_interrupt && counted.interrupts % settings.faults.lost_interrupt == 0) {
			counted.interrupts_lost++;
			return;
		}
	}
	late_interrupt =
		asserted && settings.faults.late_interrupt && counted.interrupts % settings.faults.late_interrupt == 0;
	if (!late_interrupt)
		set_interrupt(asserted);
}

void Arm64Vcpu::lost()
{
	witness.lost();
	if (!late_interrupt)
		return;
	late_interrupt = false;
	counted.interrupts_late++;
	set_interrupt(true);
}

void Arm64Vcpu::set_interrupt(bool asserted)
{
	memory.store(redistributors + per_processor * index + sgi_base + (asserted ? set_pending : clear_pending),
		std::uint32_t{1} << trbe_interrupt);
}

// --- the end --------------------------------------------------------------------------------

void Arm64Vcpu::finish()
{
	logs.flush();
	/* The decoder of the raw trace needs the trace unit's registers; perf gets them from the driver. */
	if (logs.has_truth())
		logs.write_line(".unit", unit.description());
}

std::string Arm64Vcpu::statistics() const
{
	const FlowTracker::Counts &flow = tracker.statistics();
	const arm64::TraceUnit::Counts &trace = unit.statistics();
	const arm64::Trbe::Counts &buffer = trbe.statistics();
	char text[1024];
	std::snprintf(text, sizeof text,
		"hwsim: cpu %u: blocks %" PRIu64 " pc-reads %" PRIu64 " restarts %" PRIu64 " impossible %" PRIu64
		" discontinuities %" PRIu64 " accesses %" PRIu64 " refused %" PRIu64 " starts %" PRIu64
		" syncs %" PRIu64 " timestamps %" PRIu64 " bytes %" PRIu64 " lost %" PRIu64 " overflows %" PRIu64
		" buffers %" PRIu64 " stored %" PRIu64 " wraps %" PRIu64 " triggers %" PRIu64 " faults %" PRIu64
		" interrupts %" PRIu64 " lost-interrupts %" PRIu64 " late-interrupts %" PRIu64
		" spurious-interrupts %" PRIu64 " contexts-lost %" PRIu64 " unlogged %" PRIu64 " on %d quiet-ms %lld\n",
		index, flow.blocks, flow.reads, flow.restarts, flow.impossible, counted.discontinuities,
		counted.accesses, counted.refused, trace.starts, trace.syncs, trace.timestamps, trace.bytes, trace.lost,
		trace.overflows, buffer.starts, buffer.bytes, buffer.wraps, buffer.triggers, buffer.faults,
		counted.interrupts, counted.interrupts_lost, counted.interrupts_late, counted.interrupts_spurious,
		counted.contexts_lost, logs.missing(), unit.is_switched_on(), quiet_ms());
	return text + first_impossible();
}

} // namespace hwsim::qemu
