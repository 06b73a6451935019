/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * TraceUnit: the trace unit of one processor, an ETE or an ETMv4. Decides what is traced (IHI0064, "ViewInst"; Arm ARM, D5, "Trace
 * filtering") and says it to the PacketStream; carries out what its registers are told. Listens to the flow of its vCPU; the levels of that
 * are exception levels, the only mode that is traced is A64.
 *
 * What is traced is decided where a P0 element has led to, and stays so up to the next one; but straight code that comes into an address
 * range, or to where the trace starts, is traced from there on. A cycle is an instruction.
 */
#ifndef HWSIM_ARM64_TRACE_UNIT_H
#define HWSIM_ARM64_TRACE_UNIT_H

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "../base/flow.h"
#include "a64_classify.h"
#include "clock.h"
#include "etm_registers.h"
#include "etm_resources.h"
#include "etm_stream.h"
#include "faults.h"
#include "trace_sink.h"

namespace hwsim::arm64
{

/* Of Place: AArch64; nothing else is traced. */
constexpr std::uint8_t mode_a64 = 1;

/* What the unit needs of the processor around it. */
class TraceProcessor
{
public:
	virtual std::uint32_t context_id() = 0;
	/* Of the exception whose handler begins here. */
	virtual etm::Exception exception_type(std::uint64_t handler) = 0;
	/* Bytes that were written to memory. */
	virtual void trace_bytes(std::span<const std::uint8_t>) {}
	/* Tracing begins, within straight code or behind a loss. */
	virtual void begins(std::uint64_t at) = 0;
	/* Trace of what has just happened did not get to memory. */
	virtual void lost() {}
	/* What comes now does again. */
	virtual void resumed() {}

protected:
	~TraceProcessor() = default;
};

class TraceUnit final : public FlowListener
{
public:
	struct Counts {
		std::uint64_t bytes = 0;
		std::uint64_t lost = 0; /* bytes that were discarded */
		std::uint64_t syncs = 0, starts = 0, overflows = 0, timestamps = 0;
	};

	TraceUnit(const etm::Features &features, Clock &clock, TraceSink &sink, TraceProcessor &around,
		const Faults &faults);
	void set_faults(const Faults &now);

	std::optional<std::uint64_t> read(std::uint32_t offset) const { return registers.read(offset); }
	/* False where there is no such register, or it can only be read. */
	bool write(std::uint32_t offset, std::uint64_t value);
	static bool switches_on(std::uint32_t offset, std::uint64_t value)
	{
		return offset == etm::reg::prgctlr && (value & etm::bits::en);
	}
	/* TRFCR_EL1 of the processor: which levels may be traced. Without FEAT_TRF all may. */
	std::uint64_t filter_control() const { return trfcr; }
	void set_filter_control(std::uint64_t value);
	void set_os_lock(bool locked);
	/* The sink has been switched on or off. */
	void sink_changed();
	/* TSB CSYNC: what was told is in memory. */
	void synchronize_buffer() { flush(); }

	/* What a decoder has to know, in one line (tools/etm_unit.h): registers by name, TRCCONFIGR as it was when last switched on. */
	std::string description() const;
	/* TRCTRACEIDR: whose the bytes are, where a sink has those of several. */
	std::uint8_t trace_id() const { return static_cast<std::uint8_t>(registers[etm::reg::traceidr]); }
	bool is_switched_on() const { return registers.enabled(); }
	/* Are the blocks of this exception level of any interest now? */
	bool watches(std::uint8_t level) const { return allowed >> level & 1; }
	bool is_on(std::uint8_t level) const { return watches(level); }
	/* Is the instruction that runs now part of the trace? */
	bool enabled() const { return stream.enabled(); }
	/* Has nothing been told since the last branch, exception or beginning? Then the trace does not have where that has led to. */
	bool at_target() const { return nothing_since; }
	/* Otherwise: the branch not taken, or the barrier, that has been. */
	std::uint64_t last_told() const { return since - instruction_size; }

	/* For the Witness. */
	bool tells_branches() const { return stream.enabled(); }
	std::uint64_t left_for() const { return 0; }

	void straight(const BasicBlock &block, std::uint64_t pc, std::uint64_t end) override;
	void transfer(const Transfer &transfer) override;
	void interrupt(const Place &from, const Place &to) override;
	void address_space(std::uint64_t) override {}
	void barrier(std::uint64_t at, const Place &next) override;
	void arrive(const Place &here) override;

	/*
	 * While nothing but branches matters (no ranges, no resources, no cycles, no overflow) a branch within a level may be told so, and
	 * arrivals by the dozen.
	 */
	bool is_plain() const { return plain && stream.enabled() && !stream.overflowing(); }
	[[gnu::always_inline]] void plain_transfer(const Transfer &transfer)
	{
		tell(transfer);
		since = transfer.to.pc;
	}
	/* Where the last call that has not returned wants to: a guess, that saves most of the reading of targets. */
	std::uint64_t return_address() const { return calls[depth % calls.size()]; }
	static constexpr unsigned dozen = 32;
	void arrive_by_the_dozen(const Place &here)
	{
		arrivals += dozen - 1;
		arrive(here);
	}

	const Counts &statistics() const { return counts; }

private:
	static constexpr std::size_t flush_at = 1024;
	/* What waits for the sink in between. */
	static constexpr std::size_t fifo_size = 2048;
	/* How often it is looked whether there is something to do beside branches. */
	static constexpr unsigned arrivals_per_tick = dozen;
	/* Ticks between two timestamps, where one is always asked for. */
	static constexpr unsigned ticks_per_timestamp = 8;
	/* An overflow on demand lasts for so many ticks at least. */
	static constexpr unsigned overflow_ticks = 2;

	[[gnu::always_inline]] void tell(const Transfer &transfer)
	{
		nothing_since = transfer.taken;
		switch (transfer.kind) {
		case Branch::conditional:
			if (!transfer.taken)
				return stream.not_taken();
			[[fallthrough]];
		case Branch::jump:
			return stream.direct({transfer.to.pc});
		case Branch::call:
			calls[++depth % calls.size()] = transfer.next;
			return stream.call({transfer.to.pc}, {transfer.next});
		case Branch::indirect_call:
			calls[++depth % calls.size()] = transfer.next;
			return stream.indirect_call({transfer.to.pc}, {transfer.next});
		case Branch::ret:
			depth--;
			return stream.ret({transfer.to.pc});
		case Branch::far:
			return stream.exception_return({transfer.to.pc}, context(transfer.to.level));
		default:
			return stream.indirect({transfer.to.pc});
		}
	}
	void start();
	void stop();
	void review();
	bool may_trace(unsigned level) const;
	void enable(const Place &at);
	void disable();
	void led_to(const Place &to);
	bool starts_or_stops() const { return registers[etm::reg::vissctlr]; }
	void note_start_stop(std::uint64_t pc);
	bool comparator_takes(unsigned n, std::uint8_t level);
	bool matches(std::uint64_t pairs, std::uint64_t pc, std::uint8_t level);
	bool is_viewed(std::uint64_t pc, std::uint8_t level);
	etm::Context context(std::uint8_t level);
	void tick(const Place &here);
	void timestamp();
	void timestamp_if_due();
	void flush();
	void begin_overflow();
	void end_overflow(const Place &here);

	etm::Registers registers;
	etm::Resources resources{registers};
	etm::PacketStream stream;
	Clock &clock;
	TraceSink &sink;
	TraceProcessor &processor;
	std::vector<std::uint8_t> fifo;
	std::uint64_t trfcr = 0, configured = 0;
	std::uint8_t allowed = 0; /* a bit for each exception level */
	bool plain = false;       /* see is_plain() */
	bool filters = false;     /* anything beside the exception level decides */
	bool started = false;     /* the start/stop logic: TRCVICTLR.SSSTATUS */
	bool nothing_since = false;
	std::uint64_t since = 0;      /* the first instruction behind the last P0 element */
	std::uint8_t level_since = 0; /* its exception level */
	unsigned arrivals = 0, ticks = 0;
	std::array<std::uint64_t, 64> calls{}; /* where they return to */
	unsigned depth = 0;
	std::uint64_t overflow_every = 0, next_overflow = UINT64_MAX;
	unsigned overflow_left = 0;
	Counts counts;
};

} // namespace hwsim::arm64

#endif
