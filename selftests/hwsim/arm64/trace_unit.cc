// SPDX-License-Identifier: GPL-2.0-or-later
#include "trace_unit.h"

#include <algorithm>
#include <cinttypes>
#include <cstdio>

namespace hwsim::arm64
{
namespace
{

/* Are "a" and "b" equal in all of their low four bytes, except those whose bit is set in "mask"? */
bool agree(std::uint64_t a, std::uint64_t b, std::uint64_t mask)
{
	for (unsigned byte = 0; byte < 4; byte++)
		if (!(mask >> byte & 1) && ((a ^ b) >> 8 * byte & 0xff))
			return false;
	return true;
}

} // namespace

using namespace etm;

TraceUnit::TraceUnit(const Features &features, Clock &time, TraceSink &to, TraceProcessor &around, const Faults &faults)
	: registers(features), clock(time), sink(to), processor(around)
{
	set_faults(faults);
}

void TraceUnit::set_faults(const Faults &now)
{
	registers.set_never_idle(now.never_idle);
	registers.set_no_comparators(now.no_comparators);
	if (now.overflow == overflow_every)
		return;
	overflow_every = now.overflow;
	next_overflow = overflow_every ? counts.bytes + overflow_every : UINT64_MAX;
}

// --- registers ------------------------------------------------------------------------------

bool TraceUnit::write(std::uint32_t offset, std::uint64_t value)
{
	const bool was = registers.enabled();
	if (!registers.write(offset, value))
		return false;
	if (registers.enabled() != was)
		was ? stop() : start();
	else if (offset == reg::oslar)
		review();
	return true;
}

std::string TraceUnit::description() const
{
	const Features &has = registers.features;
	char text[256];
	std::snprintf(text, sizeof text,
		"configr 0x%" PRIx64 " idr0 0x%" PRIx32 " idr1 0x%" PRIx32 " idr2 0x%" PRIx32 " idr8 0x%" PRIx32
		" devarch 0x%" PRIx32 " traceid 0x%x",
		configured, has.idr0, has.idr1, has.idr2, has.idr8, has.devarch, identified);
	return text;
}

void TraceUnit::set_filter_control(std::uint64_t value)
{
	/* TRFCR_EL1: TS, E1TRE, E0TRE; TRFCR_EL2: TS, CX, E2TRE, E0HTRE */
	trfcr = value & (registers.features.has_el2() ? 0x6b : 0x63);
	review();
}

void TraceUnit::set_os_lock(bool locked)
{
	registers.set_os_lock(locked);
	review();
}

void TraceUnit::lose_context()
{
	write(reg::prgctlr, 0);
	registers.lose();
	set_filter_control(0);
}

/* A decoder must be able to read the trace in a buffer without that in the previous one. */
void TraceUnit::sink_changed()
{
	if (sink.enabled())
		stream.request_sync();
	review();
}

void TraceUnit::start()
{
	counts.starts++;
	configured = registers[reg::configr];
	identified = trace_id();
	const auto is = [this](std::uint64_t bit) {
		return registers.is_set(reg::configr, bit);
	};
	StreamConfig config;
	config.ete = registers.features.is_ete();
	config.return_stack = is(bits::rs);
	config.broadcast = is(bits::bb);
	if (is(bits::cci))
		config.cycle_threshold = std::max<std::uint32_t>(
			static_cast<std::uint32_t>(registers[reg::ccctlr]), registers.features.least_cycle_threshold());
	/* TRCSYNCPR.PERIOD: a power of two, 256 bytes at least. */
	if (const std::uint64_t period = registers[reg::syncpr])
		config.sync_period = std::uint32_t{1} << std::clamp<std::uint64_t>(period, 8, 20);
	stream.start(config);
	resources.start();
	started = registers.is_set(reg::victlr, bits::ssstatus);
	filters = registers[reg::viiectlr] || starts_or_stops() || !started || registers[reg::victlr] % 256 != 1;
	plain = !filters && !config.cycle_threshold && (!resources.in_use() || is(bits::ts));
	arrivals = ticks = 0;
	review();
}

/* Pending trace goes to the sink; what the sink does not take is lost, because a trace unit that is idle holds no trace. */
void TraceUnit::stop()
{
	review();
	stream.stop();
	flush();
	if (!fifo.empty() && sink.wait())
		send();
	if (!fifo.empty() || stream.overflowing()) {
		counts.lost += fifo.size();
		fifo.clear();
		processor.lost();
	}
	registers.set(reg::victlr,
		(registers[reg::victlr] & ~bits::ssstatus) | (started ? bits::ssstatus : std::uint64_t{0}));
}

/* Arm ARM, D5.2, "Prohibited regions"; the bit of the kernel's level is the same in TRFCR_EL1 and TRFCR_EL2. */
bool TraceUnit::may_trace(unsigned level) const
{
	return !registers.features.has_trace_filter() || (trfcr >> (level ? 1 : 0) & 1);
}

/* Recomputes which exception levels may be traced: prohibited regions, the exception levels of ViewInst, the OS lock, and the sink. */
void TraceUnit::review()
{
	allowed = 0;
	if (registers.enabled() && !registers.os_locked() && sink.enabled())
		for (const unsigned level : {0u, registers.features.kernel_level()})
			if (may_trace(level) && !(registers[reg::victlr] >> (bits::exlevel_ns + level) & 1))
				allowed |= static_cast<std::uint8_t>(1 << level);
	if (stream.enabled() && !watches(level_since))
		disable();
}

// --- what is traced -------------------------------------------------------------------------

/* TRCACATR<n>: EXLEVEL, CONTEXTTYPE */
bool TraceUnit::comparator_takes(unsigned n, std::uint8_t level)
{
	const std::uint64_t control = registers[reg::acatr + 8 * n];
	if (control >> (bits::comparator_exlevel_ns + level) & 1)
		return false;
	return (!(control & bits::compares_cid) ||
		       agree(processor.context_id(), registers[reg::cidcvr], registers[reg::cidcctlr0])) &&
	       (!(control & bits::compares_vmid) ||
		       agree(vm_id(), registers[reg::vmidcvr], registers[reg::vmidcctlr0]));
}

/* Does an address range match? Each set bit of "pairs" selects a pair of address comparators; a range includes both of its ends. */
bool TraceUnit::matches(std::uint64_t pairs, std::uint64_t pc, std::uint8_t level)
{
	for (unsigned n = 0; n < registers.features.address_pairs(); n++)
		if ((pairs >> n & 1) && comparator_takes(2 * n, level) && comparator_takes(2 * n + 1, level) &&
			pc >= registers[reg::acvr + 16 * n] && pc <= registers[reg::acvr + 16 * n + 8])
			return true;
	return false;
}

/* IHI0064, "ViewInst": include and exclude ranges, the start/stop logic, and an event. */
bool TraceUnit::is_viewed(std::uint64_t pc, std::uint8_t level)
{
	const std::uint64_t ranges = registers[reg::viiectlr];
	return started && (!(ranges & 0xff) || matches(ranges & 0xff, pc, level)) &&
	       !matches(ranges >> 16 & 0xff, pc, level) && resources.happened(registers[reg::victlr] & 0xff);
}

/* An address that is both a start and a stop address starts trace. */
void TraceUnit::note_start_stop(std::uint64_t pc)
{
	const std::uint64_t control = registers[reg::vissctlr];
	bool starts = false, stops = false;
	for (unsigned n = 0; n < registers.features.address_pairs() * 2; n++)
		if (registers[reg::acvr + 8 * n] == pc) {
			starts |= control >> n & 1;
			stops |= control >> (16 + n) & 1;
		}
	if (starts || stops)
		started = starts;
}

/*
 * Without EL2, and of a host's code, there is only one VMID; with TRCCONFIGR.VMIDOPT CONTEXTIDR_EL2 takes its place, if TRFCR_EL2.CX lets
 * it be traced.
 */
std::uint32_t TraceUnit::vm_id()
{
	constexpr std::uint64_t cx = 1 << 3;
	const bool seen = !registers.features.has_trace_filter() || (trfcr & cx);
	return registers.is_set(reg::configr, bits::vmidopt) && seen ? processor.virtual_context_id() : 0;
}

Context TraceUnit::context(std::uint8_t level)
{
	Context now;
	now.level = level;
	if (registers.is_set(reg::configr, bits::vmid))
		now.vmid = vm_id();
	if (registers.is_set(reg::configr, bits::cid))
		now.context_id = processor.context_id();
	return now;
}

void TraceUnit::enable(const Place &at)
{
	stream.enable({at.pc}, context(at.level));
	since = at.pc;
	level_since = at.level;
	nothing_since = true;
	timestamp();
}

void TraceUnit::disable()
{
	stream.disable();
	if (stream.pending().size() > flush_at / 2)
		flush();
}

/* A P0 element has been traced, and execution continues at "to": decides whether the code there is traced. */
void TraceUnit::led_to(const Place &to)
{
	since = to.pc;
	level_since = to.level;
	if (starts_or_stops() && watches(to.level))
		note_start_stop(to.pc);
	if (!watches(to.level) || to.mode != mode_a64 || (filters && !is_viewed(to.pc, to.level)))
		disable();
}

// --- the flow -------------------------------------------------------------------------------

void TraceUnit::straight(const BasicBlock &block, std::uint64_t pc, std::uint64_t end)
{
	if (plain || !watches(block.level) || block.mode != mode_a64)
		return;
	const auto instructions = static_cast<std::uint32_t>((end - pc) / instruction_size);
	resources.advance(instructions, pc);
	if (filters)
		for (std::uint64_t at = pc; at < end; at += instruction_size) {
			if (starts_or_stops() && at != since)
				note_start_stop(at);
			if (stream.enabled() || !is_viewed(at, block.level))
				continue;
			enable({at, block.level, block.mode});
			processor.begins(at);
		}
	if (stream.enabled())
		stream.cycles(instructions);
	if (resources.happened(registers[reg::eventctl0r] & 0xff)) {
		if (registers.is_set(reg::eventctl1r, 1) && stream.enabled())
			stream.event(1);
		if (registers.is_set(reg::eventctl1r, bits::atb))
			sink.trigger();
	}
}

void TraceUnit::transfer(const Transfer &transfer)
{
	if (!stream.enabled())
		return;
	tell(transfer);
	led_to(transfer.to);
}

void TraceUnit::interrupt(const Place &from, const Place &to)
{
	if (!stream.enabled())
		return;
	stream.exception(processor.exception_type(to.pc), {from.pc});
	nothing_since = true;
	led_to(to);
	if (stream.enabled())
		stream.handler({to.pc}, context(to.level));
}

/* ISB is a P0 element; a new context identifier takes effect after it, CONTEXTIDR_EL2 in the place of a VMID included. */
void TraceUnit::barrier(std::uint64_t, const Place &next)
{
	if (!stream.enabled())
		return;
	stream.executed();
	nothing_since = false;
	led_to(next);
	if (stream.enabled() && registers.is_set(reg::configr, bits::cid | bits::vmid))
		stream.context(context(next.level));
}

void TraceUnit::arrive(const Place &here)
{
	if (!stream.enabled()) {
		if (!watches(here.level) || here.mode != mode_a64)
			return;
		if (starts_or_stops())
			note_start_stop(here.pc);
		since = here.pc;
		if (filters && !is_viewed(here.pc, here.level))
			return;
		enable(here);
	}
	if (++arrivals >= arrivals_per_tick)
		tick(here);
}

// --- beside branches ------------------------------------------------------------------------

void TraceUnit::tick(const Place &here)
{
	arrivals = 0;
	ticks++;
	if (stream.overflowing()) {
		flush();
		if (overflow_left)
			overflow_left--;
		else if (fifo.empty())
			end_overflow(here);
		return;
	}
	if (stream.pending().size() >= flush_at || !fifo.empty())
		flush();
	if (counts.bytes >= next_overflow && !stream.overflowing()) {
		begin_overflow();
		overflow_left = overflow_ticks;
	}
	if (stream.overflowing())
		return;
	if (stream.sync_due()) {
		counts.syncs++;
		stream.sync({since}, context(level_since));
		timestamp();
	}
	timestamp_if_due();
}

void TraceUnit::timestamp()
{
	if (!registers.is_set(reg::configr, bits::ts) || stream.overflowing())
		return;
	counts.timestamps++;
	stream.timestamp(clock.counter());
}

/*
 * TRCTSCTLR selects the event that requests timestamps. While "plain" is set, nothing else uses resources and they are not evaluated: the
 * event counts as always occurring, as one from a counter of a few cycles does.
 */
void TraceUnit::timestamp_if_due()
{
	if (ticks % ticks_per_timestamp)
		return;
	const std::uint64_t event = registers[reg::tsctlr] & 0xff;
	if (event && (plain || resources.happened(event)))
		timestamp();
}

/* Trace that the sink does not take waits in the FIFO. If too much waits, an overflow begins, which lasts until the FIFO is empty. */
void TraceUnit::flush()
{
	send();
	if (fifo.size() > fifo_size && !stream.overflowing() && !sink.wait())
		begin_overflow();
}

void TraceUnit::send()
{
	const auto told = stream.pending();
	counts.bytes += told.size();
	fifo.insert(fifo.end(), told.begin(), told.end());
	stream.taken();
	const std::size_t taken = sink.take(fifo), gone = fifo.size() > taken ? sink.gone() : 0;
	processor.trace_bytes(std::span(fifo).first(taken));
	fifo.erase(fifo.begin(), fifo.begin() + static_cast<std::ptrdiff_t>(taken + gone));
	if (gone) {
		counts.lost += gone;
		processor.lost();
	}
}

void TraceUnit::begin_overflow()
{
	counts.overflows++;
	overflow_left = 0;
	if (overflow_every)
		next_overflow = counts.bytes + overflow_every;
	stream.begin_overflow();
	processor.lost();
}

void TraceUnit::end_overflow(const Place &here)
{
	stream.end_overflow({since}, context(here.level));
	nothing_since = true;
	processor.resumed();
	processor.begins(since);
	timestamp();
}

} // namespace hwsim::arm64
