// SPDX-License-Identifier: GPL-2.0-or-later
#include "vcpu.h"

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <utility>

namespace hwsim::qemu
{
namespace
{

constexpr std::uint64_t efer_lma = 1 << 10;
constexpr std::uint8_t programs = X86Vcpu::program_level;

} // namespace

X86Vcpu::X86Vcpu(unsigned number, X86Machine &with)
	: TracedVcpu(number, with), hardware(with.hardware), control(with.control()), clock(*with.clock),
	  profile(with.cores.of(number))
{
}

const char *X86Vcpu::init()
{
	if (!registers.find())
		return "a register is missing: is this qemu-system-x86_64?";
	find_words();
	if (!open_logs())
		return "the truth log or the raw trace cannot be written";
	injector.set_faults(settings.faults.of_interrupts(), 0);
	rearm();
	review_needs();
	return nullptr;
}

// --- settings, and what follows from them and from registers -------------------------------

bool X86Vcpu::open_logs()
{
	return logs.open(settings.log) && (!logs.has_truth() || logs.open_truth(bts_truth, ".bts"));
}

/* After a reset there is no paging, and CR3 is 0 (SDM volume 3, "Processor State After Reset"); a program may run at this address, too. */
void X86Vcpu::at_reset_vector()
{
	if (registers[Reg::cr3])
		return;
	control.reset();
	take_over();
}

/* A command has changed the settings. */
void X86Vcpu::take_over()
{
	const x86::Settings before = settings, next = control.settings();
	version = control.version();
	if (next.log != before.log)
		finish();
	settings = next;
	if (next.log != before.log)
		open_logs();
	pt.set_faults(settings.faults);
	pt.set_rules(settings.rules);
	bts.set_rules(settings.rules);
	collect();
	if (settings.resets != before.resets)
		reset();
	if (settings.losses != before.losses) {
		to_lose = settings.loss.to != x86::Loss::To::nothing;
		if (to_lose && !settings.loss.at)
			lose();
	}
	injector.set_faults(settings.faults.of_interrupts(), counter.instructions());
	rearm();
	review_needs();
}

void X86Vcpu::reset()
{
	pt.reset();
	perfmon.reset();
	vmx.reset();
	bts.reset();
	lbr.reset();
	debugctl_changed();
}

void X86Vcpu::lose()
{
	to_lose = false;
	pt.lose(settings.loss);
	bts.lose(settings.loss);
	debugctl_changed();
}

/* IA32_DEBUGCTL has changed, or another register that says which branches are stored. */
void X86Vcpu::debugctl_changed()
{
	perfmon.freeze_on_request(bts.freezes_counters(), bts.freezes_records());
	lbr.switch_by_debugctl(bts.keeps_records());
	stores_branches = stores(0) || stores(programs);
	looks_at_all = stores_branches || injector.is_put_off();
	note_duty();
	watch(0);
	review_needs();
}

/*
 * Tracing of programs, or storing of their branches, may have been switched. Only the kernel writes the registers, so each instruction of a
 * program is on one side of such a change.
 */
void X86Vcpu::note_duty()
{
	const bool now_traced = pt.is_on(programs), now_stored = bts.watches(programs);
	if (now_traced == traced.is_on() && now_stored == stored.is_on())
		return;
	collect();
	traced.set(now_traced, counter.user().instructions);
	stored.set(now_stored, counter.user().instructions);
}

/* What tracing, or storing branches, needs. With a truth log instructions of programs are counted, too. */
unsigned X86Vcpu::tracing_needs() const
{
	return flow_instrumentation | (hardware.pmu && logs.has_truth() ? count_instrumentation : no_instrumentation);
}

unsigned X86Vcpu::needs_now() const
{
	const x86::Faults &faults = settings.faults;
	unsigned needs = no_instrumentation;
	if (pt.is_switched_on() || stores_branches)
		needs |= tracing_needs();
	if (hardware.pmu && (perfmon.counting() || faults.late_pmi || faults.doubled_pmi || faults.spurious_pmi))
		needs |= count_instrumentation;
	return needs;
}

// --- where it is ----------------------------------------------------------------------------

/*
 * The plugin interface shows the selector but not the descriptor, so CS.L is taken from the selectors that Linux uses for 32-bit
 * code: 0x23 for compatibility mode, 0x08 while booting.
 */
Place X86Vcpu::place(std::uint64_t pc, std::uint64_t cs)
{
	const bool long_mode = registers[Reg::efer] & efer_lma;
	const bool narrow = !long_mode || cs == 0x23 || cs == 0x08;
	return {pc, static_cast<std::uint8_t>(cs & 3), narrow ? x86::pt::mode_32 : x86::pt::mode_64};
}

Place X86Vcpu::state()
{
	return place(0, registers[Reg::cs]);
}

/*
 * Level and mode of the code that the handler, which is about to run, has interrupted. The last block does not tell: SYSRET and IRET leave for
 * another level, and a pending interrupt comes before the first block there. For INT3 and its like QEMU tells the address of the instruction,
 * but the frame has the one behind it.
 */
Place X86Vcpu::interrupted(const x86::StackFrame &frame, std::uint64_t from, const BasicBlock *block)
{
	const bool by_software =
		block && block->kind == Branch::software_interrupt && !((block->address + block->last - from) & 0xfff);
	/* INT n that a program must not use is a fault, whose frame has the address of the instruction itself. */
	for (const std::uint64_t behind : {by_software ? block->sizes.back() : 0, 0})
		if (const auto cs = frame.code_segment(from + behind))
			return place(from, *cs);
	counted.strange_frames++;
	return place(from, registers[Reg::cs]);
}

/* Before the handler runs, undoes what was changed to raise a fault. Returns the address at which the guest has to see the interruption. */
std::uint64_t X86Vcpu::put_right(std::uint64_t from)
{
	if (refused) {
		/* An interrupt may have come before the fault: then the handler returns to the instruction, which is refused again. */
		if (!frame().redirect(memory, from, *refused))
			counted.strange_frames++;
		from = *std::exchange(refused, {});
	}
	if (faulting) {
		registers.set(faulting->first, faulting->second);
		faulting.reset();
	}
	return from;
}

// --- the flow ---------------------------------------------------------------------------

/* Called at HLT, or when the whole machine is stopped. */
void X86Vcpu::idle()
{
	asleep_from = clock.tsc();
	counter.pass_time(asleep_from);
}

/*
 * QEMU may wake the thread only for work of its own, and then the vCPU sleeps on. So the trace unit is told with the interrupt that ends the
 * sleep; there registers can be read, too.
 */
void X86Vcpu::resume()
{
	const std::uint64_t now = clock.tsc();
	counter.wake_up(now);
	slept = slept.value_or(0) + now - asleep_from;
}

/*
 * QEMU announces an exception twice: first as an exception, with no change of address; then, when it is delivered, as an interrupt. Nothing
 * comes between. Control registers are already those of the handler. QEMU 11 sets RF for interrupts, too, but does not announce them first; so
 * a fault is an announced exception with RF set.
 */
void X86Vcpu::discontinuity(std::uint64_t from, std::uint64_t to)
{
	if (from == to) {
		announced = true;
		return;
	}
	from = put_right(from);
	if (slept)
		pt.wake(*std::exchange(slept, {}));
	if (counts() || tracker.active()) {
		const x86::StackFrame words = frame();
		const Cause why = announced && words.has_resume_flag(from) ? Cause::fault : Cause::interrupt;
		if (counts())
			counter.uncount_fault(why, from);
		if (tracker.active()) {
			const bool finished = counter.finished();
			const BasicBlock *block = finished ? counter.block() : nullptr;
			counted.discontinuities++;
			Place handler = state();
			handler.pc = to;
			tracker.discontinuity(interrupted(words, from, block), handler, finished, why);
			watch(handler.level);
		}
	}
	announced = false;
	counter.leave();
}

void X86Vcpu::straight(const BasicBlock &block, std::uint64_t pc, std::uint64_t end)
{
	pt.straight(block, pc, end);
}

void X86Vcpu::transfer(const Transfer &transfer)
{
	witness.transfer(transfer);
	if (transfer.taken)
		store_branch(transfer);
}

void X86Vcpu::interrupt(const Place &from, const Place &to)
{
	witness.interrupt(from, to);
	store_branch({Branch::far, true, from.pc, from.pc, from.level, to});
}

void X86Vcpu::store_branch(const Transfer &branch)
{
	if (lbr.is_on() && !perfmon.records_frozen())
		lbr.record(branch, clock.tsc());
	if (bts.watches(branch.level))
		store_in_area(branch);
}

void X86Vcpu::store_in_area(const Transfer &branch)
{
	const std::uint64_t before = bts.statistics().dropped;
	if (bts.record(branch.from, branch.to.pc)) {
		if (bts.freezes_counters())
			collect();
		perfmon.request();
		performance_interrupt();
	}
	bts_truth.write(bts.statistics().dropped == before ? branch.from : branch.from ^ dropped, branch.to.pc);
}

// --- what trace unit and counters ask for -------------------------------------------------

bool X86Vcpu::is_iret(std::uint64_t at)
{
	std::uint8_t code[2] = {};
	memory.read_linear(at, code);
	return code[0] == 0xcf || (code[0] == 0x48 && code[1] == 0xcf);
}

void X86Vcpu::topa_interrupt()
{
	if (bts.freezes_counters())
		collect();
	perfmon.set_topa_interrupt();
	performance_interrupt();
}

void X86Vcpu::trace_bytes(std::span<const std::uint8_t> bytes)
{
	newest_output = std::chrono::steady_clock::now();
	logs.trace_bytes(bytes);
}

std::uint64_t X86Vcpu::total(x86::Event event, bool kernel)
{
	const BasicBlockCounter::Totals &at = kernel ? counter.kernel() : counter.user();
	switch (event) {
	case x86::Event::instructions:
		return at.instructions;
	case x86::Event::branches:
		return at.branches;
	case x86::Event::cycles:
		return at.cycles;
	case x86::Event::wakeups:
		return at.wakeups;
	case x86::Event::none:
		break;
	}
	return 0;
}

// --- counters, and performance interrupts -------------------------------------------------

void X86Vcpu::rearm()
{
	counter.allow(std::min(perfmon.budget(), injector.until_next(counter.instructions(), x86::Perfmon::unlimited)));
}

void X86Vcpu::settle()
{
	collect();
	if (perfmon.settle())
		performance_interrupt();
	inject();
	rearm();
}

void X86Vcpu::performance_interrupt()
{
	const bool delivered = injector.ask();
	/*
	 * SDM volume 3, "Freezing LBR and Performance Counters on PMI": up to version 3 this clears LBR of IA32_DEBUGCTL, from 4 on it sets a
	 * bit of the status.
	 */
	if (profile.pmu.version < 4 && bts.freezes_records()) {
		bts.switch_records_off();
		lbr.switch_by_debugctl(false);
	}
	if (!delivered)
		return;
	const std::uint64_t late = injector.delay(settings.rules.late_interrupts);
	if (injector.is_plain(late))
		return deliver();
	if (!counts() && !watches(state().level))
		return deliver();
	if (!counts()) {
		injector.put_off(late);
		looks_at_all = true;
		return;
	}
	collect();
	if (injector.plan(late, counter.instructions()))
		deliver();
	rearm();
}

/* An interrupt that was put off comes now. */
void X86Vcpu::come_late()
{
	looks_at_all = stores_branches;
	deliver();
}

void X86Vcpu::inject()
{
	const Injector::Due due = injector.take_due(counter.instructions());
	if (due.late)
		deliver();
	if (due.doubled)
		counted.pmi_doubled += apic.repeat();
	if (due.spurious)
		deliver();
}

// --- the end --------------------------------------------------------------------------------

void X86Vcpu::finish()
{
	logs.flush();
	bts_truth.flush();
	if (!logs.has_truth() || !hardware.pmu)
		return;
	const std::uint64_t so_far = traced.until(counter.user().instructions);
	logs.write_line(".counted", std::to_string(so_far - traced_before));
	traced_before = so_far;
}

std::string X86Vcpu::statistics() const
{
	const FlowTracker::Counts &flow = tracker.statistics();
	const x86::pt::PtUnit::Counts &trace = pt.statistics();
	const x86::Bts::Counts &store = bts.statistics();
	char text[1024];
	std::snprintf(text, sizeof text,
		"hwsim: cpu %u: blocks %" PRIu64 " pc-reads %" PRIu64 " restarts %" PRIu64 " impossible %" PRIu64
		" discontinuities %" PRIu64 " strange-frames %" PRIu64 " unseen %" PRIu64 " starts %" PRIu64
		" syncs %" PRIu64 " bytes %" PRIu64 " lost %" PRIu64 " stops %" PRIu64 " errors %" PRIu64
		" overflows %" PRIu64 " interrupts %" PRIu64 " pmi %" PRIu64 " doubled %" PRIu64 " masked %" PRIu64
		" faults %" PRIu64 " taken-back %" PRIu64 " bts %" PRIu64 " dropped %" PRIu64 " unmapped %" PRIu64
		" unlogged %" PRIu64 " storing %d on %d quiet-ms %lld\n",
		index, flow.blocks, flow.reads, flow.restarts, flow.impossible, counted.discontinuities,
		counted.strange_frames, trace.unseen, trace.starts, trace.syncs, trace.bytes, trace.lost, trace.stops,
		trace.errors, trace.overflows, trace.interrupts, counted.pmi, counted.pmi_doubled, counted.pmi_masked,
		counted.faults, counter.taken_back(), store.records, store.dropped, store.unmapped,
		logs.missing() + bts_truth.missing(), bts.watches(0) || bts.watches(programs), pt.is_switched_on(),
		quiet_ms());
	return text + first_impossible();
}

} // namespace hwsim::qemu
