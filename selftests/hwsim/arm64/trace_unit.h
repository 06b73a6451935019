/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * TraceUnit: the trace unit of one processor, an ETE or an ETMv4. It decides what is traced (IHI0064, "ViewInst"; Arm ARM, D5, "Trace
 * filtering"), passes elements to the PacketStream, and carries out register writes. It listens to the flow of its vCPU, whose levels are
 * exception levels; only A64 code is traced.
 *
 * Filtering is decided at the instruction that a P0 element leads to, and holds until the next P0 element. In addition, trace starts within
 * straight-line code that enters an address range or reaches a start address. One instruction counts as one cycle.
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

/* Place::mode of A64 code, the only code that is traced. */
constexpr std::uint8_t mode_a64 = 1;

/* What the trace unit requires of its processor. */
class TraceProcessor
{
public:
	virtual std::uint32_t context_id() = 0;
	/* CONTEXTIDR_EL2; only asked for where the processor has EL2. */
	virtual std::uint32_t virtual_context_id() { return 0; }
	/* The type of the exception just taken, whose handler starts at this address. */
	virtual etm::Exception exception_type(std::uint64_t handler) = 0;
	/* The sink has taken these bytes. */
	virtual void trace_bytes(std::span<const std::uint8_t>) {}
	/* Trace starts at this address, within straight-line code or after an overflow. */
	virtual void begins(std::uint64_t at) = 0;
	/* Trace is being lost: that of the latest instructions does not reach the sink. */
	virtual void lost() {}
	/* From now on trace reaches the sink again. */
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
	/* False if there is no such register or it is read-only. */
	bool write(std::uint32_t offset, std::uint64_t value);
	static bool switches_on(std::uint32_t offset, std::uint64_t value)
	{
		return offset == etm::reg::prgctlr && (value & etm::bits::en);
	}
	/* TRFCR_EL1 of the processor, TRFCR_EL2 of a host's, controls which exception levels may be traced; without FEAT_TRF all of them may. */
	std::uint64_t filter_control() const { return trfcr; }
	void set_filter_control(std::uint64_t value);
	void set_os_lock(bool locked);
	/* Its processor was powered down: trace ends, and registers have lost their contents. */
	void lose_context();
	/* The sink has been switched on or off. */
	void sink_changed();
	/* TSB CSYNC: writes the trace generated so far to the sink. */
	void synchronize_buffer() { flush(); }

	/* The registers that a decoder needs, in one line (tools/etm_unit.h); TRCCONFIGR and the trace ID are as they were when trace was last enabled. */
	std::string description() const;
	/* TRCTRACEIDR: identifies this unit's bytes in a sink that captures several sources. */
	std::uint8_t trace_id() const { return static_cast<std::uint8_t>(registers[etm::reg::traceidr]); }
	bool is_switched_on() const { return registers.enabled(); }
	/* May code at this exception level be traced now? */
	bool watches(std::uint8_t level) const { return allowed >> level & 1; }
	bool is_on(std::uint8_t level) const { return watches(level); }
	/* Is the current instruction being traced? */
	bool enabled() const { return stream.enabled(); }
	/*
	 * Was the last element a taken branch, an exception, or the start of trace? If trace ends here, the instruction reached by it is
	 * not in the trace.
	 */
	bool at_target() const { return nothing_since; }
	/* If not at_target(): the address of the last element's instruction, an untaken branch or a barrier. */
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
	 * While only branches matter (no address ranges, resources, cycle counting or overflow), the caller may pass a branch within an
	 * exception level to plain_transfer(), and report arrivals in batches by arrive_by_the_dozen().
	 */
	bool is_plain() const { return plain && stream.enabled() && !stream.overflowing(); }
	[[gnu::always_inline]] void plain_transfer(const Transfer &transfer)
	{
		tell(transfer);
		since = transfer.to.pc;
	}
	/* The predicted target of the next return: the return address of the last call. It saves most reads of the actual target. */
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
	/* The most bytes that may wait for the sink; more of them cause an overflow. */
	static constexpr std::size_t fifo_size = 2048;
	/* Arrivals between two ticks, at which work other than branches is done. */
	static constexpr unsigned arrivals_per_tick = dozen;
	/* Ticks between two checks whether a timestamp is requested. */
	static constexpr unsigned ticks_per_timestamp = 8;
	/* An overflow injected by the fault lasts at least this many ticks. */
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
	std::uint32_t vm_id();
	etm::Context context(std::uint8_t level);
	void tick(const Place &here);
	void timestamp();
	void timestamp_if_due();
	void flush();
	void send();
	void begin_overflow();
	void end_overflow(const Place &here);

	etm::Registers registers;
	etm::Resources resources{registers};
	etm::PacketStream stream;
	Clock &clock;
	TraceSink &sink;
	TraceProcessor &processor;
	std::vector<std::uint8_t> fifo;
	std::uint64_t trfcr = 0;
	/* When it was last enabled: TRCCONFIGR and the trace ID. */
	std::uint64_t configured = 0;
	std::uint8_t identified = 0;
	std::uint8_t allowed = 0; /* one bit per exception level that may be traced */
	bool plain = false;       /* see is_plain() */
	bool filters = false;     /* does anything but the exception level decide what is traced? */
	bool started = false;     /* state of the start/stop logic: TRCVICTLR.SSSTATUS */
	bool nothing_since = false;
	std::uint64_t since = 0;      /* the first instruction after the last P0 element */
	std::uint8_t level_since = 0; /* its exception level */
	unsigned arrivals = 0, ticks = 0;
	std::array<std::uint64_t, 64> calls{}; /* return addresses of calls, as a ring */
	unsigned depth = 0;
	std::uint64_t overflow_every = 0, next_overflow = UINT64_MAX;
	unsigned overflow_left = 0;
	Counts counts;
};

} // namespace hwsim::arm64

#endif
