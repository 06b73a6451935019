// SPDX-License-Identifier: GPL-2.0-or-later
#include "vcpu.h"

#include <algorithm>
#include <cinttypes>
#include <cstring>
#include <utility>

#include "../x86/accesses.h"

namespace hwsim::qemu
{
namespace
{

constexpr std::uint32_t msr_tsc = 0x10, msr_tsc_aux = 0xc000'0103;
/* An x2APIC register that does not exist: QEMU answers its access with a general protection fault. */
constexpr std::uint32_t msr_that_faults = 0x8fe;
/* An address that is none, with five levels of page tables as with four: to go on there is a general protection fault. */
constexpr std::uint64_t nowhere = std::uint64_t{1} << 63;
constexpr std::uint64_t efer_lma = 1 << 10, cr4_pce = 1 << 8;
/* A bit that CR4 does not have. */
constexpr std::uint64_t cr4_that_faults = std::uint64_t{1} << 63;

} // namespace

Vcpu::Vcpu(unsigned number, Machine &of) : index(number), machine(of) {}

const char *Vcpu::init()
{
	if (!registers.find())
		return "a register is missing: is this qemu-system-x86_64?";
	find_hot();
	if (!open_logs())
		return "the truth log or the raw trace cannot be written";
	spurious_at = settings.faults.spurious_pmi;
	rearm();
	review_needs();
	return nullptr;
}

/* Prefix, name of the log, kind of log, number of the vCPU. */
std::string Vcpu::log_path(const std::string &prefix, const char *kind) const
{
	if (settings.log == x86::Control::no_log)
		return "/dev/null";
	return prefix + (settings.log.empty() ? "" : "." + settings.log) + kind + "." + std::to_string(index);
}

bool Vcpu::open_logs()
{
	const std::uint64_t limit = settings.log == x86::Control::no_log ? UINT64_MAX : machine.limit;
	if (!machine.truth.empty() && !(truth.open(log_path(machine.truth, ""), limit) &&
					      bts_truth.open(log_path(machine.truth, ".bts"), limit)))
		return false;
	if (machine.blocks && !blocks.open(log_path(machine.truth, ".blocks"), limit))
		return false;
	if (!machine.raw.empty())
		raw.reset(std::fopen(log_path(machine.raw, "").c_str(), "wb"));
	return machine.raw.empty() || raw;
}

/* After a reset there is no paging, and no page tables (SDM volume 3, "Processor State After Reset"); a program may come here, too. */
void Vcpu::at_reset_vector()
{
	if (registers[Reg::cr3])
		return;
	machine.control->reset();
	take_over();
}

/* Whether programs are traced or their branches stored may have changed. Registers change in the kernel, so that no instruction of a program stands on both sides. */
void Vcpu::note_duty()
{
	const bool now_traced = pt.is_on(3), now_stored = bts.watches(3);
	if (now_traced == traced.is_on() && now_stored == stored.is_on())
		return;
	collect();
	traced.set(now_traced, totals[1].instructions);
	stored.set(now_stored, totals[1].instructions);
}

/* Somebody has given a command. */
void Vcpu::take_over()
{
	const x86::Settings before = settings, next = machine.control->settings();
	version = machine.control->version();
	if (next.log != before.log)
		finish();
	settings = next;
	if (next.log != before.log)
		open_logs();
	pt.set_faults(settings.faults);
	pt.set_rules(settings.rules);
	bts.set_rules(settings.rules);
	collect();
	if (settings.resets != before.resets) {
		pt.reset();
		perfmon.reset();
		vmx.reset();
		bts.reset();
		lbr.reset();
		debugctl_changed();
	}
	if (settings.losses != before.losses) {
		to_lose = settings.loss.to != x86::Loss::To::nothing;
		if (to_lose && !settings.loss.at)
			lose();
	}
	if (settings.faults.spurious_pmi != before.faults.spurious_pmi)
		spurious_at = totals[0].instructions + totals[1].instructions + settings.faults.spurious_pmi;
	rearm();
	review_needs();
}

void Vcpu::lose()
{
	to_lose = false;
	pt.lose(settings.loss);
	bts.lose(settings.loss);
	debugctl_changed();
}

/* Or what else says which branches are stored. */
void Vcpu::debugctl_changed()
{
	perfmon.freeze_on_request(bts.freezes_counters(), bts.freezes_records());
	lbr.switch_by_debugctl(bts.keeps_records());
	stores_branches = stores(0) || stores(3);
	note_duty();
	watch(0);
	review_needs();
}

// --- what translated blocks have to do -----------------------------------------------------

/* While it traces or stores branches: the instructions that interrupts skid by are counted, and those of programs beside the truth. */
unsigned Vcpu::tracing_needs() const
{
	const bool counted = settings.rules.late_interrupts || !machine.truth.empty();
	return flow_instrumentation | (machine.hardware.pmu && counted ? count_instrumentation : no_instrumentation);
}

unsigned Vcpu::needs_now() const
{
	const x86::Faults &faults = settings.faults;
	unsigned needs = no_instrumentation;
	if (pt.is_switched_on() || stores_branches)
		needs |= tracing_needs();
	if (machine.hardware.pmu &&
		(perfmon.counting() || faults.late_pmi || faults.doubled_pmi || faults.spurious_pmi))
		needs |= count_instrumentation;
	return needs;
}

/* After a change of what is traced or counted. */
void Vcpu::review_needs()
{
	const unsigned needs = needs_now();
	needed = needs;
	if (needs)
		machine.enough_since = 0;
	if (needs & ~machine.instrumentation.load())
		machine.translate_anew();
}

/*
 * Before a register is written that takes effect with the next instruction: blocks have to be translated for it by then. If they are not the
 * instruction is begun again, until they are.
 */
void Vcpu::require(unsigned instrumentation, const Site &site)
{
	if (!(instrumentation & ~machine.instrumentation.load()))
		return;
	needed |= instrumentation;
	machine.translate_anew();
	uncount(*site.block, site.index);
	hot->position = 0;
	leave_for(block_pc + site.offset);
}

/* Out of the block, in a callback of on_instruction(). */
void Vcpu::leave_for(std::uint64_t pc)
{
	Unwinder::restore(left_at);
	qemu_plugin_set_pc(pc);
}

void Vcpu::instrumentation_changed()
{
	if (!(machine.instrumentation & (flow_instrumentation | count_instrumentation)))
		hot->position = 0;
}

/*
 * The plugin interface shows the selector but not the descriptor, so CS.L is taken from the selectors that Linux uses for 32-bit
 * code: 0x23 for compatibility mode, 0x08 while booting.
 */
Place Vcpu::place(std::uint64_t pc, std::uint64_t cs)
{
	const bool long_mode = registers[Reg::efer] & efer_lma;
	const bool narrow = !long_mode || cs == 0x23 || cs == 0x08;
	return {pc, static_cast<std::uint8_t>(cs & 3), narrow ? x86::pt::mode_32 : x86::pt::mode_64};
}

Place Vcpu::state()
{
	return place(0, registers[Reg::cs]);
}

/*
 * SDM volume 3, "64-Bit Mode Stack Frame": delivery has pushed where to return to, its CS and RFLAGS, with an error code on top or
 * without.
 */
Vcpu::Frame Vcpu::frame()
{
	Frame words{};
	memory.load_linear(registers[Reg::rsp], words);
	return words;
}

std::optional<unsigned> Vcpu::find_return(const Frame &frame, std::uint64_t address)
{
	for (const unsigned rip : {0u, 1u})
		if (frame[rip] == address)
			return rip;
	return {};
}

/*
 * What the handler that is about to run has interrupted. The last block cannot say it: SYSRET and IRET leave for another level, and a
 * pending interrupt comes before the first block there. Of INT3 and its like QEMU says where they are, and they push what is behind them.
 */
Place Vcpu::interrupted(const Frame &words, std::uint64_t from, const BasicBlock *block)
{
	const bool by_software =
		block && block->kind == Branch::software_interrupt && !((block->address + block->last - from) & 0xfff);
	/* INT n that the program may not is a fault, which pushes where it is. */
	for (const std::uint64_t behind : {by_software ? block->sizes.back() : 0, 0})
		if (const auto rip = find_return(words, from + behind))
			return place(from, words[*rip + 1]);
	counted.strange_frames++;
	return place(from, registers[Reg::cs]);
}

/*
 * SDM volume 3, "Instruction-Breakpoint Exception Condition": what is pushed for a fault has RF set, so that the instruction is not
 * met as a breakpoint again; for a trap it has not. QEMU 11 sets RF for interrupts, too, which it does not announce as exceptions.
 */
Cause Vcpu::cause(const Frame &words, std::uint64_t from)
{
	constexpr std::uint64_t rflags_rf = 1 << 16;
	const auto rip = find_return(words, from);
	return announced && rip && (words[*rip + 2] & rflags_rf) ? Cause::fault : Cause::interrupt;
}

/* The handler is to return elsewhere. */
void Vcpu::put_return(std::uint64_t from, std::uint64_t to)
{
	if (const auto rip = find_return(frame(), from))
		memory.store_linear(registers[Reg::rsp] + *rip * sizeof to, to);
	else
		counted.strange_frames++;
}

// --- the flow ---------------------------------------------------------------------------

void Vcpu::enter(const BasicBlock &block)
{
	const unsigned n = side(block.level);
	if (hot->gate[n] >> Hot::instruction_shift >= gates[n].due)
		settle();
	if (gates[n].watched)
		follow(block);
}

void Vcpu::follow(const BasicBlock &block)
{
	const bool finished = hot->position & Hot::finished;
	const auto read_pc = [this] {
		return registers[Reg::rip];
	};
	const auto tell = [this](const Transfer &transfer) {
		pt.plain_transfer(transfer);
		if (transfer.taken)
			truth.write(transfer.from, transfer.to.pc);
	};
	hot->position = reinterpret_cast<std::uint64_t>(&block);
	if (pt.is_plain() && !stores_branches &&
		tracker.step(block, finished, read_pc, tell, [this] { return pt.return_address(); })) {
		if (++unseen % x86::pt::PtUnit::dozen)
			return;
		pt.arrive_by_the_dozen(tracker.here());
		if (pt.enabled())
			return;
	} else {
		tracker.enter(block, finished, read_pc);
		if (pt.enabled() && gates[0].watched && gates[1].watched)
			return;
	}
	watch(block.level);
}

/*
 * QEMU announces exceptions twice: as such, with no change of address, and then, delivered, as interrupts. Nothing comes between. The
 * control registers are those of the handler already.
 */
void Vcpu::discontinuity(std::uint64_t from, std::uint64_t to)
{
	if (from == to) {
		announced = true;
		return;
	}
	if (refused) {
		/* An interrupt may have come before the fault: then the handler returns to the instruction, which is refused again. */
		put_return(from, *refused);
		from = *std::exchange(refused, {});
	}
	if (faulting) {
		registers.set(faulting->first, faulting->second);
		faulting.reset();
	}
	const bool finished = hot->position & Hot::finished;
	const BasicBlock *block = hot->block();
	if (counts() || tracker.active()) {
		const Frame words = frame();
		const Cause why = cause(words, from);
		uncount_fault(why, from);
		if (tracker.active()) {
			counted.discontinuities++;
			Place handler = state();
			handler.pc = to;
			tracker.discontinuity(
				interrupted(words, from, finished ? block : nullptr), handler, finished, why);
			watch(handler.level);
		}
	}
	announced = false;
	hot->position = 0;
}

void Vcpu::keep_block()
{
	find_hot();
	tracker.keep_block();
	std::uint64_t &position = hot->position;
	if (const BasicBlock *block = hot->block(); block && block != &kept) {
		kept = *block;
		position = reinterpret_cast<std::uint64_t>(&kept) | (position & Hot::finished);
	}
}

/*
 * Tells translated blocks whether to call. In a level that is watched all are to, because it is the first block of another one
 * that tells how this one was left; what runs unseen ends what the tracker knows.
 */
void Vcpu::watch(std::uint8_t level)
{
	const bool here = watches(level);
	const bool watched[] = {here || watches(0), here || watches(3)};
	for (const unsigned n : {0u, 1u})
		if (watched[n] != gates[n].watched)
			set_gate(n, watched[n]);
	if (!here)
		tracker.forget();
}

void Vcpu::set_gate(unsigned n, bool watched)
{
	Gate &gate = gates[n];
	const std::uint64_t base = Hot::limit + Hot::no_branches - (watched ? 0 : allowance << Hot::instruction_shift);
	hot->gate[n] += base - gate.base;
	gate = {base, (base >> Hot::instruction_shift) + allowance, watched};
}

void Vcpu::store_branch(const Transfer &branch)
{
	if (lbr.is_on() && !perfmon.records_frozen())
		lbr.record(branch, machine.clock->tsc());
	if (bts.watches(branch.level))
		store_in_area(branch);
}

void Vcpu::store_in_area(const Transfer &branch)
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

void Vcpu::straight(const BasicBlock &block, std::uint64_t pc, std::uint64_t end)
{
	pt.straight(block, pc, end);
}

void Vcpu::transfer(const Transfer &transfer)
{
	const bool was = pt.tells_branches();
	pt.transfer(transfer);
	if (was && (transfer.taken || !pt.tells_branches()))
		truth.write(transfer.from, pt.tells_branches() ? transfer.to.pc : pt.left_for());
	if (transfer.taken)
		store_branch(transfer);
}

void Vcpu::interrupt(const Place &from, const Place &to)
{
	const bool was = pt.tells_branches();
	pt.interrupt(from, to);
	if (was)
		truth.write(from.pc, pt.tells_branches() ? to.pc : pt.left_for());
	store_branch({Branch::far, true, from.pc, from.pc, from.level, to});
}

void Vcpu::address_space(std::uint64_t from)
{
	const bool was = pt.tells_branches();
	pt.address_space(from);
	if (was && !pt.tells_branches())
		truth.write(from, 0);
}

void Vcpu::arrive(const Place &here)
{
	const bool was = pt.tells_branches();
	pt.arrive(here);
	/* Where it ends here the trace unit has told the edge, or lost what follows. */
	if (!was && pt.tells_branches())
		truth.write(0, here.pc);
}

// --- counting ---------------------------------------------------------------------------

/*
 * A block counts all its instructions when it begins. What of it does not run is taken back: behind an instruction that we
 * carried out, and from one that faults.
 */
void Vcpu::uncount(const BasicBlock &block, std::size_t from)
{
	const std::size_t size = block.sizes.size();
	if (from >= size || !counts())
		return;
	counted.taken_back += size - from;
	hot->gate[side(block.level)] -= (size - from) * Hot::instruction + is_branch(block.kind);
}

/*
 * Where the block began is not known here, but its page offset is. An interrupt comes between blocks, at an address that was reached
 * from the end of the last one: at which that block has nothing, or which its branch led to. Then all of it has run.
 */
void Vcpu::uncount_fault(Cause cause, std::uint64_t from)
{
	const std::uint64_t position = hot->position;
	const BasicBlock *block = hot->block();
	if (!block)
		return;
	const std::uint64_t offset = (from - block->address) & 0xfff;
	const bool at_last = offset == block->last;
	if ((position & Hot::finished) && (!at_last || cause != Cause::fault))
		return;
	if (at_last && (block->kind == Branch::conditional || block->kind == Branch::jump ||
			       block->kind == Branch::software_interrupt))
		return;
	std::uint64_t at = 0;
	for (std::size_t i = 0; i < block->sizes.size(); at += block->sizes[i++])
		if (at == offset)
			return uncount(*block, i);
}

std::uint64_t Vcpu::total(x86::Event event, bool kernel)
{
	const Totals &at = totals[kernel ? 0 : 1];
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

/* Brings the totals up to date. */
void Vcpu::collect()
{
	for (const unsigned n : {0u, 1u}) {
		const std::uint64_t base = gates[n].base, word = hot->gate[n];
		totals[n].instructions += (word >> Hot::instruction_shift) - (base >> Hot::instruction_shift);
		totals[n].branches += word % Hot::instruction - base % Hot::instruction;
		hot->gate[n] = base;
	}
	pass_time();
}

/* The clock does not say at which level its cycles passed: they are shared out as instructions are. */
void Vcpu::pass_time()
{
	const std::uint64_t now = machine.clock->tsc(), passed = now - cycles_at;
	const std::uint64_t kernel = totals[0].instructions - cycle_share[0],
			    user = totals[1].instructions - cycle_share[1];
	cycles_at = now;
	cycle_share[0] = totals[0].instructions;
	cycle_share[1] = totals[1].instructions;
	const auto in_user = kernel + user ? static_cast<std::uint64_t>(
						     static_cast<unsigned __int128>(passed) * user / (kernel + user))
					   : 0;
	totals[0].cycles += passed - in_user;
	totals[1].cycles += in_user;
}

/* Half of what may pass for each level: both run. */
void Vcpu::rearm()
{
	allowance = (std::min({perfmon.budget(), until_injection(), Hot::most_instructions}) + 1) / 2;
	for (const unsigned n : {0u, 1u})
		set_gate(n, gates[n].watched);
}

void Vcpu::settle()
{
	collect();
	if (perfmon.settle())
		performance_interrupt();
	inject();
	rearm();
}

// --- performance interrupts, and faults in them -------------------------------------------

/* Instructions by which a performance interrupt is late; to be counted they need the counters. */
std::uint64_t Vcpu::skid()
{
	constexpr unsigned most = 128;
	if (settings.faults.late_pmi)
		return settings.faults.late_pmi;
	return settings.rules.late_interrupts && counts() ? random() % most : 0;
}

void Vcpu::performance_interrupt()
{
	counted.pmi_asked++;
	/* SDM volume 3, "Freezing LBR and Performance Counters on PMI": up to version 3 the switch says it, from 4 on the status. */
	if (profile.pmu.version < 4 && bts.freezes_records()) {
		bts.switch_records_off();
		lbr.switch_by_debugctl(false);
	}
	const x86::Faults &faults = settings.faults;
	if (faults.lost_pmi && counted.pmi_asked % faults.lost_pmi == 0)
		return;
	const std::uint64_t skid = this->skid();
	if (!skid && !faults.doubled_pmi)
		return deliver();
	collect();
	const std::uint64_t now = totals[0].instructions + totals[1].instructions;
	/* One that is on its way is not put off by the next: branch trace store asks with each record. */
	if (skid)
		late_at = late_at ? late_at : now + skid;
	else
		deliver();
	/* While the handler of the first runs: two at once would be one NMI. */
	constexpr std::uint64_t within_handler = 200;
	if (faults.doubled_pmi && counted.pmi_asked % faults.doubled_pmi == 0)
		doubled_at = now + skid + within_handler;
	rearm();
}

void Vcpu::inject()
{
	const std::uint64_t now = totals[0].instructions + totals[1].instructions;
	if (late_at && now >= late_at) {
		late_at = 0;
		deliver();
	}
	if (doubled_at && now >= doubled_at) {
		doubled_at = 0;
		counted.pmi_doubled += apic.repeat();
	}
	if (settings.faults.spurious_pmi && now >= spurious_at) {
		spurious_at = now + settings.faults.spurious_pmi;
		deliver();
	}
}

/* Instructions, as budget() has them. */
std::uint64_t Vcpu::until_injection() const
{
	const std::uint64_t now = totals[0].instructions + totals[1].instructions;
	std::uint64_t least = x86::Perfmon::unlimited;
	for (const std::uint64_t at : {late_at, doubled_at, settings.faults.spurious_pmi ? spurious_at : 0})
		if (at)
			least = std::min(least, at > now ? at - now : 1);
	return least;
}

// --- what the trace unit asks for -----------------------------------------------------

void Vcpu::topa_interrupt()
{
	if (bts.freezes_counters())
		collect();
	perfmon.set_topa_interrupt();
	performance_interrupt();
}

void Vcpu::trace_bytes(std::span<const std::uint8_t> bytes)
{
	newest_output = std::chrono::steady_clock::now();
	if (raw)
		std::fwrite(bytes.data(), 1, bytes.size(), raw.get());
}

// --- instructions -------------------------------------------------------------------------

void Vcpu::before(const Site &site, std::uintptr_t caller)
{
	using x86::Special;
	left_at = caller;
	if (version != machine.control->version())
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

void Vcpu::set_edx_eax(std::uint64_t value)
{
	registers.set(Reg::rax, static_cast<std::uint32_t>(value));
	registers.set(Reg::rdx, value >> 32);
}

/* Leaves are QEMU's with bits added, which is done after QEMU's answer; see the translator. */
void Vcpu::cpuid(const Site &site)
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

/* Apart from command(), which never returns: nobody would destroy the text. */
bool Vcpu::carry_out()
{
	std::string text(std::min<std::uint64_t>(registers[Reg::rdx], x86::Control::longest), 0);
	const std::span<std::uint8_t> bytes(reinterpret_cast<std::uint8_t *>(text.data()), text.size());
	return memory.read_linear(registers[Reg::rcx], bytes) && machine.control->command(text);
}

void Vcpu::command(const Site &site)
{
	const bool done = carry_out();
	if (done)
		take_over();
	registers.set(Reg::rax, done ? 0 : 1);
	registers.set(Reg::rbx, x86::Control::signature);
	skip(site);
}

void Vcpu::tell_accesses(const Site &site)
{
	registers.set(Reg::rax, static_cast<std::uint32_t>(counted.msr_reads));
	registers.set(Reg::rcx, static_cast<std::uint32_t>(counted.msr_writes));
	registers.set(Reg::rdx, static_cast<std::uint32_t>(pt.statistics().starts));
	registers.set(Reg::rbx, x86::Accesses::signature);
	skip(site);
}

void Vcpu::tell_duty(const Site &site)
{
	uncount(*site.block, site.index + 1);
	collect();
	registers.set(Reg::rax, static_cast<std::uint32_t>(traced.until(totals[1].instructions)));
	registers.set(Reg::rcx, static_cast<std::uint32_t>(stored.until(totals[1].instructions)));
	registers.set(Reg::rdx, 0);
	registers.set(Reg::rbx, x86::Duty::signature);
	jump_behind(site);
}

void Vcpu::after_cpuid()
{
	if (!x86::cpuid_differs(cpuid_leaf))
		return;
	const auto word = [this](Reg reg) {
		return static_cast<std::uint32_t>(registers[reg]);
	};
	const x86::CpuidResult native = {word(Reg::rax), word(Reg::rbx), word(Reg::rcx), word(Reg::rdx)};
	const x86::CpuidResult result = x86::cpuid(profile, machine.hardware, cpuid_leaf, cpuid_subleaf, native);
	registers.set(Reg::rax, result.eax);
	registers.set(Reg::rbx, result.ebx);
	registers.set(Reg::rcx, result.ecx);
	registers.set(Reg::rdx, result.edx);
}

/* Outside of the kernel RDMSR and WRMSR fault, which QEMU does well. */
void Vcpu::rdmsr(const Site &site)
{
	if (registers.privilege())
		return;
	counted.msr_reads++;
	const auto msr = static_cast<std::uint32_t>(registers[Reg::rcx]);
	if (msr == msr_tsc) {
		set_edx_eax(machine.clock->tsc());
	} else if (machine.hardware.pt && x86::pt::PtRegisters::owns(msr)) {
		if (pt.read_faults(msr))
			return fault_msr();
		set_edx_eax(pt.read(msr));
	} else if (machine.hardware.pmu && x86::Perfmon::owns(msr)) {
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

void Vcpu::wrmsr(const Site &site)
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
	if (machine.hardware.pt && x86::pt::PtRegisters::owns(msr)) {
		if (pt.write_faults(msr, value) || (msr == x86::pt::msr::ctl && vmx.forbids_trace()) ||
			(pt.switches_on(msr, value) && excludes(bts.read(x86::Bts::debugctl))))
			return fault_msr();
		if (pt.switches_on(msr, value))
			require(tracing_needs(), site);
		write_pt(msr, value, block_pc + site.offset);
	} else if (machine.hardware.pmu && x86::Perfmon::owns(msr)) {
		if (perfmon.write_faults(msr, value))
			return fault_msr();
		if (perfmon.counts_after(msr, value))
			require(count_instrumentation, site);
		uncount(*site.block, site.index + 1);
		collect();
		if (perfmon.write(msr, value))
			performance_interrupt();
		rearm();
		review_needs();
		jump_behind(site);
	} else if (bts.owns(msr)) {
		if (bts.write_faults(msr, value) ||
			(msr == x86::Bts::debugctl && pt.is_switched_on() && excludes(value)))
			return fault_msr();
		if (bts.switches_on(msr, value))
			require(tracing_needs(), site);
		bts.write(msr, value);
		debugctl_changed();
	} else if (lbr.owns(msr)) {
		if (lbr.write_faults(msr, value))
			return fault_msr();
		if (lbr.switches_on(msr, value))
			require(tracing_needs(), site);
		const bool was_on = lbr.is_on();
		lbr.write(msr, value);
		/* Kernels write all records at each switch of tasks. */
		if (lbr.is_on() != was_on)
			debugctl_changed();
	} else if (x86::Vmx::owns(msr)) {
		if (vmx.write_faults(msr, value))
			return fault_msr();
		vmx.write(value);
	} else {
		return;
	}
	skip(site);
}

/* "at" is the instruction that does it. */
void Vcpu::write_pt(std::uint32_t msr, std::uint64_t value, std::uint64_t at)
{
	tracker.reach(at);
	/* In front of the mark of a loss, should there be no room for it. */
	if (pt.tells_branches() && pt.switches_off(msr, value))
		truth.write(at, 0);
	pt.write(msr, value, at);
	note_duty();
	watch(0);
	review_needs();
}

/* Lets QEMU raise the fault, by an operand that it refuses; the guest's own comes back before its handler runs. */
void Vcpu::fault(Reg operand, std::uint64_t that_faults)
{
	counted.faults++;
	faulting = {operand, registers[operand]};
	registers.set(operand, that_faults);
}

void Vcpu::fault_msr()
{
	fault(Reg::rcx, msr_that_faults);
}

/*
 * RDPMC has no operand that QEMU refuses as it should, and VMXON is none of its instructions. So the program goes on where nothing can, and the frame of the fault that this
 * is gets the address of the instruction, which has not retired. 32-bit code has no such place, and keeps what QEMU says.
 */
void Vcpu::refuse(const Site &site)
{
	counted.faults++;
	refused = block_pc + site.offset;
	uncount(*site.block, site.index);
	hot->position = 0;
	leave_for(nowhere);
}

void Vcpu::rdtsc(const Site &site)
{
	const std::uint64_t tsc = machine.clock->tsc();
	if (machine.instrumentation.load(std::memory_order_relaxed) & ~needed.load(std::memory_order_relaxed))
		machine.consider_less(tsc);
	set_edx_eax(tsc);
	if (site.instruction.special == x86::Special::rdtscp)
		registers.set(Reg::rcx, tsc_aux);
	skip(site);
}

/* In the kernel, or where it lets programs (CR4.PCE); else QEMU raises the fault. */
void Vcpu::rdpmc(const Site &site)
{
	std::uint64_t value = 0;
	if (registers.privilege() && !(registers[Reg::cr4] & cr4_pce))
		return;
	if (!machine.hardware.pmu || !perfmon.read_counter(static_cast<std::uint32_t>(registers[Reg::rcx]), value)) {
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

std::optional<x86::MemoryOperand> Vcpu::operand_at(std::uint64_t pc)
{
	/* The next page need not be there. */
	std::uint8_t bytes[15];
	const std::size_t in_page = std::min<std::uint64_t>(sizeof bytes, 0x1000 - (pc & 0xfff));
	const bool whole = memory.read_linear(pc, bytes);
	if (!whole && !memory.read_linear(pc, std::span(bytes).first(in_page)))
		return {};
	return x86::memory_operand(std::span(bytes).first(whole ? sizeof bytes : in_page));
}

std::uint32_t Vcpu::operand_size(std::uint64_t address, std::uint32_t read)
{
	const auto operand = operand_at(address);
	return operand ? operand->length : read;
}

/* QEMU does it; we look where the table is. */
void Vcpu::lidt(const Site &site)
{
	std::uint8_t bytes[10];
	if (read_operand(site, bytes))
		std::memcpy(&idt, bytes + 2, sizeof idt);
}

std::optional<std::uint8_t> Vcpu::vector_of(std::uint64_t handler)
{
	/* SDM volume 3, "64-Bit Mode IDT": 16 bytes, the offset in three parts. */
	std::uint8_t gate[16];
	for (unsigned vector = 0; idt && vector < 256; vector++) {
		if (!memory.read_linear(idt + 16 * vector, gate))
			return {};
		std::uint64_t low, high;
		std::memcpy(&low, gate, 8);
		std::memcpy(&high, gate + 8, 8);
		if (((low & 0xffff) | (low >> 32 & 0xffff'0000) | high << 32) == handler)
			return static_cast<std::uint8_t>(vector);
	}
	return {};
}

bool Vcpu::is_iret(std::uint64_t at)
{
	std::uint8_t code[2] = {};
	memory.read_linear(at, code);
	return code[0] == 0xcf || (code[0] == 0x48 && code[1] == 0xcf);
}

bool Vcpu::read_operand(const Site &site, std::span<std::uint8_t> to)
{
	const std::uint64_t pc = block_pc + site.offset;
	const auto operand = operand_at(pc);
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

/* QEMU does not know PTWRITE: what we do not carry out is an invalid instruction. */
void Vcpu::ptwrite(const Site &site)
{
	if (!machine.hardware.pt || !profile.pt.ptwrite)
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

/* QEMU refuses CR4.VMXE, but keeps it where it is set from outside. */
void Vcpu::mov_to_cr4(const Site &site)
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

/* An instruction that ends so is over. */
void Vcpu::end(x86::Vmx::End how, const Site &site)
{
	using End = x86::Vmx::End;
	if (how == End::general_protection && site.block->mode == x86::pt::mode_64)
		refuse(site);
	if (how == End::done || how == End::failed)
		skip(site);
}

void Vcpu::vmxon(const Site &site)
{
	std::uint8_t bytes[8];
	std::optional<std::uint64_t> region;
	if (read_operand(site, bytes)) {
		region.emplace();
		std::memcpy(&*region, bytes, sizeof bytes);
	}
	const auto how = vmx.enter(registers[Reg::cr4], registers.privilege(), region, memory);
	/* SDM volume 3, "VMXON": where Intel PT may not be used in VMX operation it ends. */
	if (how == x86::Vmx::End::done && vmx.forbids_trace() && machine.hardware.pt)
		write_pt(x86::pt::msr::ctl, pt.read(x86::pt::msr::ctl) & ~x86::pt::ctl::trace_en,
			block_pc + site.offset);
	end(how, site);
}

void Vcpu::vmxoff(const Site &site)
{
	end(vmx.leave(registers.privilege()), site);
}

// --- the end --------------------------------------------------------------------------------

void Vcpu::finish()
{
	truth.flush();
	bts_truth.flush();
	blocks.flush();
	if (machine.truth.empty() || !machine.hardware.pmu)
		return;
	if (std::FILE *file = std::fopen(log_path(machine.truth, ".counted").c_str(), "w")) {
		std::fprintf(file, "%" PRIu64 "\n", traced.until(totals[1].instructions) - traced_before);
		std::fclose(file);
	}
	traced_before = traced.until(totals[1].instructions);
	if (raw)
		std::fflush(raw.get());
}

std::string Vcpu::statistics() const
{
	const FlowTracker::Counts &flow = tracker.statistics();
	const x86::pt::PtUnit::Counts &trace = pt.statistics();
	const x86::Bts::Counts &store = bts.statistics();
	const long long quiet =
		std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() - newest_output)
			.count();
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
		counted.faults, counted.taken_back, store.records, store.dropped, store.unmapped,
		truth.missing() + bts_truth.missing() + blocks.missing(), bts.watches(0) || bts.watches(3),
		pt.is_switched_on(), quiet);
	std::string all = text;
	if (flow.impossible) {
		std::snprintf(text, sizeof text,
			"hwsim: cpu %u: the first impossible successor: %" PRIx64 " kind %u finished %d to %" PRIx64
			"\n",
			index, flow.first.start, static_cast<unsigned>(flow.first.kind), flow.first.finished,
			flow.first.to);
		all += text;
	}
	return all;
}

} // namespace hwsim::qemu
