// SPDX-License-Identifier: GPL-2.0-or-later
#include "pt_unit.h"

#include <algorithm>

namespace hwsim::x86::pt
{

PtUnit::PtUnit(const Profile &profile, Clock &clock, GuestMemory &memory, Processor &around, const Faults &injected,
	const Rules &in_force, unsigned seed)
	: rules(in_force), random(seed), registers(profile.pt), stream(profile, clock),
	  output(memory, profile.pt.topa_multi, rules), processor(around)
{
	stream.pad(rules.padding);
	set_faults(injected);
	plan_overflow();
	reset();
}

void PtUnit::reset()
{
	if (packet_en)
		processor.lost();
	registers.reset();
	stream.taken();
	packet_en = false;
	if (faults.in_use)
		registers.ctl = ctl::trace_en | ctl::topa;
}

void PtUnit::lose(const Loss &loss)
{
	if (packet_en)
		processor.lost();
	if (loss.to == Loss::To::other)
		registers.leave(loss.base);
	else
		registers.reset();
	stream.taken();
	packet_en = false;
}

void PtUnit::set_faults(const Faults &now)
{
	const std::uint64_t bytes = bytes_made();
	const bool overflows = now.overflow != faults.overflow;
	if (now.topa_error != faults.topa_error)
		next_error = now.topa_error ? bytes + now.topa_error : 0;
	faults = now;
	if (overflows)
		plan_overflow();
	plain = false; /* until packets are enabled next */
}

void PtUnit::set_rules(const Rules &now)
{
	const bool overflows = now.internal_overflow != rules.internal_overflow;
	rules = now;
	stream.pad(rules.padding);
	if (overflows)
		plan_overflow();
}

// --- what is traced -------------------------------------------------------------------

bool PtUnit::context(std::uint8_t level) const
{
	if (!registers.is_set(level == 0 ? ctl::os : ctl::user))
		return false;
	return !registers.is_set(ctl::cr3_filter) || !((cr3 ^ registers.cr3_match) >> 5);
}

bool PtUnit::filter(std::uint64_t ip) const
{
	if (!filters)
		return true;
	for (unsigned n = 0; n < registers.capabilities.address_ranges; n++)
		if (registers.range_config(n) == range_filter && registers.in_range(n, ip))
			return true;
	return false;
}

bool PtUnit::in_stop_range(std::uint64_t ip) const
{
	for (unsigned n = 0; n < registers.capabilities.address_ranges; n++)
		if (registers.range_config(n) == range_stop && registers.in_range(n, ip))
			return true;
	return false;
}

/* While packets are enabled blocks of every level matter: the first one of a level that is not traced ends them. */
bool PtUnit::watches(std::uint8_t level) const
{
	return packet_en || is_on(level);
}

// --- the flow -----------------------------------------------------------------------------

void PtUnit::straight(const BasicBlock &block, std::uint64_t pc, std::uint64_t end)
{
	walk(block, pc, end);
	reached = 0;
}

/* Ranges may begin and end between the beginning of the block and a WRMSR or PTWRITE in its middle. */
void PtUnit::reach(const BasicBlock &block, std::uint64_t pc, std::uint64_t at)
{
	walk(block, pc, at + 1);
	reached = at;
}

void PtUnit::walk(const BasicBlock &block, std::uint64_t pc, std::uint64_t end)
{
	if (!ranges || !triggered() || !context(block.level))
		return;
	std::uint64_t ip = pc;
	for (const std::uint8_t size : block.sizes) {
		if (ip >= end)
			break;
		if (ip != pc && ip > reached)
			step(behind, ip, block);
		behind = ip;
		ip += size;
	}
}

/* Straight code goes on to the instruction at "ip": ranges begin and end inside blocks, too. */
void PtUnit::step(std::uint64_t from, std::uint64_t ip, const BasicBlock &block)
{
	if (!triggered())
		return;
	stream.begin();
	if (in_stop_range(ip)) {
		if (packet_en)
			edge(from, ip);
		stop_tracing(ip);
	} else if (packet_en && !filter(ip)) {
		edge(from, ip);
		leave_filter(ip);
	} else if (!packet_en && filter(ip)) {
		edge(0, ip);
		begin_packets({ip, block.level, block.mode});
	}
}

void PtUnit::begin_packets(const Place &here)
{
	/* Tell the time that has passed unseen first, so that a decoder does not give this an earlier one. */
	stream.tick();
	if (stream.sync_due())
		synchronize(nullptr);
	if (registers.is_set(ctl::branch_en)) {
		stream.enable(here.pc, exec_mode(here));
		if (ended_outside)
			processor.resumed();
		ended_outside = false;
	}
	packet_en = true;
	plain = registers.is_set(ctl::branch_en) && !registers.is_set(ctl::cr3_filter) &&
		!registers.is_set(ctl::event_en) && !ranges && !faults.overflow && !faults.slow_flush;
}

void PtUnit::edge(std::uint64_t from, std::uint64_t to)
{
	if (registers.is_set(ctl::branch_en))
		processor.filter_edge(from, to);
}

/* Without BranchEn no packet tells that PacketEn changes: SDM, "BranchEn", and table "COFI Type for Branch Instructions". */
void PtUnit::leave_filter(std::uint64_t ip)
{
	if (registers.is_set(ctl::branch_en))
		stream.disable(ip);
	end_packets();
	told_exit = ip;
}

/*
 * SDM, "Internal Buffer Overflow": if an overflow resolves while PacketEn is clear, there is OVF alone, and TIP.PGE comes when
 * packets are enabled next.
 */
void PtUnit::end_packets()
{
	packet_en = false;
	if (!stream.overflowing())
		return;
	stream.end_overflow();
	ended_outside = true;
}

/* With event trace MODE.Exec has the interrupt flag. */
std::uint8_t PtUnit::exec_mode(const Place &at)
{
	const bool enabled = registers.is_set(ctl::event_en) && processor.interrupts_enabled();
	return static_cast<std::uint8_t>(at.mode | (enabled ? mode_if : 0));
}

void PtUnit::leave_context()
{
	if (registers.is_set(ctl::branch_en))
		stream.disable();
	end_packets();
	told_exit = 0;
	if (!rules.late_flush)
		flush();
}

/* SDM, "Trace Stop": PacketEn goes down, the packet follows, Stopped is set. */
void PtUnit::stop_tracing(std::uint64_t ip)
{
	if (packet_en)
		leave_filter(ip);
	stream.trace_stop();
	registers.status |= status::stopped;
	processor.stopped();
	flush();
}

void PtUnit::transfer(const Transfer &transfer)
{
	behind = 0;
	if (!packet_en)
		return;
	stream.begin();
	const bool in_context = context(transfer.to.level);
	const bool in_filter = filter(transfer.to.pc);
	told_exit = 0;
	if (!in_context || !in_filter)
		overflow_at_exit();
	if (!registers.is_set(ctl::branch_en)) {
		if (!in_context || !in_filter)
			end_packets();
		return;
	}
	if (transfer.kind == Branch::software_interrupt) {
		event_packets(transfer.to.pc);
		stream.fup(transfer.from);
	}
	if (!in_context) {
		leave_context();
	} else if (in_stop_range(transfer.to.pc)) {
		stop_tracing(transfer.to.pc);
	} else if (!in_filter) {
		/* TIP.PGD with the target is enough: no TNT or TIP for a branch out of the filter. */
		leave_filter(transfer.to.pc);
	} else {
		branch_packet(transfer);
	}
}

/* SDM, table "COFI Type for Branch Instructions". */
void PtUnit::branch_packet(const Transfer &transfer)
{
	switch (transfer.kind) {
	case Branch::conditional:
	case Branch::call:
	case Branch::ret:
		plain_transfer(transfer);
		break;
	case Branch::indirect_call:
		stream.tip(transfer.to.pc);
		stream.call(transfer.next);
		break;
	case Branch::indirect_jump:
		stream.tip(transfer.to.pc);
		break;
	case Branch::far:
	case Branch::software_interrupt:
		if (registers.is_set(ctl::event_en) && processor.is_iret(transfer.from))
			stream.iret_event(transfer.from);
		stream.mode(exec_mode(transfer.to));
		stream.tip(transfer.to.pc);
		break;
	case Branch::jump:
	case Branch::none:
	case Branch::address_space:
	case Branch::barrier:
		break;
	}
}

/* SDM, "Event Trace": EVD and CFE go in front of the other packets of the event. */
void PtUnit::event_packets(std::uint64_t handler)
{
	if (registers.is_set(ctl::event_en))
		if (const auto vector = processor.vector_of(handler))
			stream.interrupt_event(*vector, processor.cr2());
}

void PtUnit::interrupt(const Place &from, const Place &to)
{
	behind = 0;
	if (!packet_en)
		return;
	stream.begin();
	const bool in_context = context(to.level);
	const bool in_filter = filter(to.pc);
	told_exit = 0;
	if (!in_context || !in_filter)
		overflow_at_exit();
	if (!registers.is_set(ctl::branch_en)) {
		if (!in_context || !in_filter)
			end_packets();
		return;
	}
	event_packets(to.pc);
	stream.fup(from.pc);
	if (!in_context) {
		leave_context();
	} else if (in_stop_range(to.pc)) {
		stop_tracing(to.pc);
	} else if (!in_filter) {
		leave_filter(to.pc);
	} else {
		stream.mode(exec_mode(to));
		stream.tip(to.pc);
	}
}

/* SDM, "PIP": at every MOV CR3 in a traced kernel; a CR3 filter may switch tracing at the next instruction. */
void PtUnit::address_space(std::uint64_t)
{
	cr3 = processor.cr3();
	if (!triggered() || !registers.is_set(ctl::os))
		return;
	stream.begin();
	if (context(0)) {
		stream.address_space(cr3);
	} else if (packet_en) {
		leave_context();
	}
}

void PtUnit::arrive(const Place &here)
{
	reached = 0;
	if (!triggered())
		return;
	if (!packet_en && registers.is_set(ctl::cr3_filter))
		cr3 = processor.cr3();
	const bool in_context = context(here.level);
	stream.begin();
	if (ranges && in_context && in_stop_range(here.pc)) {
		if (packet_en)
			edge(behind, here.pc);
		stop_tracing(here.pc);
		return;
	}
	const bool wanted = in_context && filter(here.pc);
	if (packet_en && wanted) {
		if (stream.overflowing() || overflow_due())
			overflow_inside(here);
		if (stream.sync_due())
			synchronize(&here);
		/* STI, CLI or POPF has changed the interrupt flag; SDM, "MODE.Exec": a FUP tells where. */
		if (registers.is_set(ctl::event_en | ctl::branch_en) && !stream.is_told(exec_mode(here))) {
			stream.mode(exec_mode(here));
			stream.fup(here.pc);
		}
	} else if (packet_en && in_context && behind) {
		edge(behind, here.pc);
		leave_filter(here.pc);
	} else if (packet_en) {
		counts.unseen++;
		leave_context();
	} else if (wanted) {
		begin_packets(here);
	}
	if (++arrivals >= arrivals_per_tick) {
		arrivals = 0;
		stream.tick();
	}
	flush_if_full();
}

/* SDM, table "Packet Generation under Different Enable Conditions", case 33b: whatever PacketEn and ContextEn are. */
void PtUnit::wake(std::uint64_t slept)
{
	if (!triggered())
		return;
	stream.wake(slept);
	if (!packet_en && stream.sync_due())
		synchronize(nullptr);
	flush_if_full();
}

// --- overflows of the internal buffer --------------------------------------------------------

/*
 * Overflows by the rule alternate: one begins between branches, the next loses the packets that would tell where the program
 * left the traced code.
 */
void PtUnit::plan_overflow()
{
	const std::uint64_t bytes = bytes_made();
	next_overflow = never;
	next_at_exit = !faults.overflow && !next_at_exit;
	if (faults.overflow)
		next_overflow = bytes + faults.overflow;
	else if (rules.internal_overflow)
		next_overflow = bytes + overflow_period + random() % overflow_period;
}

void PtUnit::begin_overflow()
{
	overflow_left = faults.overflow ? overflow_arrivals : 1 + random() % overflow_arrivals;
	plan_overflow();
	stream.begin_overflow();
	processor.lost();
	counts.overflows++;
}

/* SDM, "Internal Buffer Overflow": the loss ends with OVF, and a FUP tells where the program is. */
void PtUnit::overflow_inside(const Place &here)
{
	if (!stream.overflowing()) {
		/*
		 * An overflow that should begin where the program leaves the traced code begins here if it does not leave soon.
		 */
		if (!next_at_exit || bytes_made() >= next_overflow + overflow_period)
			begin_overflow();
		return;
	}
	if (overflow_left)
		overflow_left--;
	const bool branches = registers.is_set(ctl::branch_en);
	/*
	 * There is no place for MODE.Exec between OVF and FUP. If one got lost, the overflow lasts until the mode is again the
	 * last one told, or packets end.
	 */
	if (overflow_left || (branches && !stream.is_told(exec_mode(here))))
		return;
	stream.end_overflow();
	if (branches)
		stream.fup(here.pc);
	processor.resumed();
}

void PtUnit::overflow_at_exit()
{
	if (next_at_exit && overflow_due() && !stream.overflowing())
		begin_overflow();
}

void PtUnit::ptwrite(std::uint64_t ip, std::uint64_t payload, bool wide)
{
	if (!packet_en || !registers.is_set(ctl::ptw_en))
		return;
	const bool with_ip = registers.is_set(ctl::fup_on_ptw);
	stream.begin();
	stream.ptwrite(payload, wide, with_ip);
	if (with_ip)
		stream.fup(ip);
}

void PtUnit::synchronize(const Place *here)
{
	SyncState state;
	state.packets_enabled = here && registers.is_set(ctl::branch_en);
	if (registers.is_set(ctl::os))
		cr3 = processor.cr3();
	state.with_cr3 = registers.is_set(ctl::os) && context(here ? here->level : 0);
	state.cr3 = cr3;
	if (here) {
		state.ip = here->pc;
		state.mode = exec_mode(*here);
	}
	stream.sync(state);
	counts.syncs++;
}

// --- registers and output --------------------------------------------------------------

/* SDM, "Table of Physical Addresses (ToPA)": reads of the output registers while tracing is enabled may return stale values. */
std::uint64_t PtUnit::read(std::uint32_t msr)
{
	const bool of_output = msr == msr::output_base || msr == msr::output_mask_ptrs || msr == msr::status;
	std::uint64_t value;
	if (of_output && is_switched_on() && rules.stale_registers) {
		PtRegisters then = registers;
		then.output = stale.output;
		then.status = stale.status;
		then.byte_count = stale.byte_count;
		value = then.read(msr);
	} else {
		if (of_output && !faults.slow_flush)
			flush();
		value = registers.read(msr);
	}
	if (msr == msr::status && triggered()) {
		/* RDMSR runs in the kernel: the bits are those that hold there. */
		value |= status::trigger_en | (context(0) ? status::context_en : 0) |
			 (packet_en ? status::filter_en : 0);
	}
	return value;
}

void PtUnit::write(std::uint32_t msr, std::uint64_t value, std::uint64_t at)
{
	const bool was_on = registers.is_set(ctl::trace_en);
	if (msr == msr::ctl && was_on && !(value & ctl::trace_en))
		trace_off(at);
	registers.write(msr, value);
	if (msr == msr::ctl && !was_on && (value & ctl::trace_en))
		trace_on();
}

void PtUnit::trace_on()
{
	counts.starts++;
	stale = {registers.output, registers.status, registers.byte_count};
	if (registers.is_set(ctl::topa))
		output.start(registers.output);
	threshold = next_threshold();
	ranges = filters = false;
	for (unsigned n = 0; n < registers.capabilities.address_ranges; n++) {
		ranges |= registers.range_config(n) != range_unused;
		filters |= registers.range_config(n) == range_filter;
	}
	stream.start(registers.ctl, registers.byte_count);
	packet_en = false;
	behind = reached = 0;
	/* Error and Stopped stay until software clears them, and without TriggerEn there are no packets. */
	output_closed = !triggered();
	if (output_closed)
		stream.taken();
	cr3 = processor.cr3();
	/* SDM, "PSB": the first one comes with TraceEn, whatever runs then. */
	if (registers.byte_count == 0 && triggered())
		synchronize(nullptr);
}

/* Everything is in memory, and the registers say where, when the WRMSR is done. */
void PtUnit::trace_off(std::uint64_t at)
{
	if (triggered())
		stream.begin();
	if (stream.overflowing()) {
		end_packets();
	} else if (packet_en && triggered() && registers.is_set(ctl::branch_en)) {
		stream.fup(at);
		stream.disable();
	}
	packet_en = false;
	stream.stop();
	flush();
}

/* Bytes that gather before they go to memory. */
std::size_t PtUnit::next_threshold()
{
	const std::size_t usual = registers.capabilities.topa_multi ? flush_at : flush_at_single;
	const std::size_t most = registers.capabilities.topa_multi ? flush_late_at_most : flush_at_single;
	return rules.late_flush ? 1 + random() % most : usual;
}

void PtUnit::flush_if_full()
{
	if (stream.pending().size() >= (faults.slow_flush ? std::min(faults.slow_flush, flush_at_most) : threshold))
		flush();
}

void PtUnit::flush()
{
	threshold = next_threshold();
	const auto bytes = stream.pending();
	if (bytes.empty())
		return;
	OutputResult result;
	if (next_error && counts.bytes >= next_error) {
		result.error = true;
		next_error = 0;
	} else if (!output_closed)
		result = output.write(registers.output, registers.is_set(ctl::topa), bytes);
	processor.trace_bytes(bytes.first(result.written));
	counts.bytes += result.written;
	counts.lost += bytes.size() - result.written;
	const bool cut = result.written < bytes.size();
	stream.taken();
	registers.byte_count = stream.bytes_since_psb() & 0x1'ffff;
	if (result.error || result.stopped) {
		registers.status |= result.error ? status::error : status::stopped;
		counts.errors += result.error;
		counts.stops += result.stopped;
		output_closed = true;
		packet_en = false;
		processor.stopped();
		if (stream.drop_outcomes() || cut)
			processor.lost();
	} else if (cut) {
		processor.lost();
	}
	if (result.interrupt) {
		counts.interrupts++;
		processor.topa_interrupt();
	}
}

} // namespace hwsim::x86::pt
