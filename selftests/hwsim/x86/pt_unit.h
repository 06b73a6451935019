/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * PtUnit: Intel PT of one logical processor. Decides what is traced (TriggerEn, ContextEn, FilterEn: SDM volume 3, "Trace Filtering") and
 * passes it to the PacketStream; carries out writes of its registers. Listens to the flow of its vCPU.
 */
#ifndef HWSIM_X86_PT_UNIT_H
#define HWSIM_X86_PT_UNIT_H

#include <cstdint>
#include <optional>
#include <random>

#include "../base/flow.h"
#include "../base/memory.h"
#include "clock.h"
#include "faults.h"
#include "loss.h"
#include "profile.h"
#include "pt_output.h"
#include "pt_registers.h"
#include "pt_stream.h"
#include "rules.h"

namespace hwsim::x86::pt
{

/* What the unit needs of the processor around it. */
class Processor
{
public:
	virtual std::uint64_t cr3() = 0;
	/* A ToPA region with INT was filled: GLOBAL_STATUS and the PMI. */
	virtual void topa_interrupt() = 0;
	/* This and the next three are called for event trace only. */
	virtual bool interrupts_enabled() { return false; }
	virtual std::uint64_t cr2() { return 0; }
	/* The vector of the interrupt or exception whose handler begins here; empty if no gate leads there. */
	virtual std::optional<std::uint8_t> vector_of(std::uint64_t) { return {}; }
	/* Is the instruction here an IRET? */
	virtual bool is_iret(std::uint64_t) { return false; }
	/* Bytes that were written to memory. */
	virtual void trace_bytes(std::span<const std::uint8_t>) {}
	/*
	 * An address range begins or ends in straight code: "from" is the last instruction before, or 0 where tracing begins;
	 * "to" the first one behind.
	 */
	virtual void filter_edge(std::uint64_t from, std::uint64_t to) = 0;
	/* Trace of what has just happened did not get to memory. */
	virtual void lost() {}
	/* After lost(): trace of what happens from here on gets to memory again, while packets are enabled. */
	virtual void resumed() {}
	/* Error or Stopped was set: nothing is traced from here on. */
	virtual void stopped() {}

protected:
	~Processor() = default;
};

class PtUnit final : public FlowListener
{
public:
	struct Counts {
		std::uint64_t bytes = 0;
		std::uint64_t lost = 0; /* bytes that had no room: after STOP or an error */
		std::uint64_t syncs = 0;
		std::uint64_t interrupts = 0;
		std::uint64_t stops = 0;
		std::uint64_t errors = 0;
		std::uint64_t starts = 0; /* TraceEn set */
		std::uint64_t overflows = 0;
		std::uint64_t unseen = 0; /* times that blocks ran unseen while packets were enabled */
	};

	/* "seed": for the random amounts of trace between flushes, and between overflows. */
	PtUnit(const Profile &profile, Clock &clock, GuestMemory &memory, Processor &around, const Faults &faults,
		const Rules &rules, unsigned seed = 1);

	/* SDM, "Processor state following reset": all zero. Trace that is not in memory by then is lost. */
	void reset();
	/* The registers are lost, and the trace that is not in memory yet. */
	void lose(const Loss &loss);
	/* From now on; in_use takes effect at reset() only. */
	void set_faults(const Faults &now);
	/* Likewise; ToPA entries that have been cached stay so until TraceEn is set anew. */
	void set_rules(const Rules &now);

	bool read_faults(std::uint32_t msr) const { return registers.read_faults(msr); }
	bool write_faults(std::uint32_t msr, std::uint64_t value) const { return registers.write_faults(msr, value); }
	std::uint64_t read(std::uint32_t msr);
	/* WRMSR at the address "at", which the trace tells if the write ends it. */
	void write(std::uint32_t msr, std::uint64_t value, std::uint64_t at);

	bool is_switched_on() const { return registers.is_set(ctl::trace_en); }
	static bool switches_on(std::uint32_t msr, std::uint64_t value)
	{
		return msr == msr::ctl && (value & ctl::trace_en);
	}
	static bool switches_off(std::uint32_t msr, std::uint64_t value)
	{
		return msr == msr::ctl && !(value & ctl::trace_en);
	}
	/* Does the unit have to see blocks of this privilege level now? */
	bool watches(std::uint8_t level) const;
	/* Is this level to be traced by the control register? */
	bool is_on(std::uint8_t level) const
	{
		return triggered() && registers.is_set(level == 0 ? ctl::os : ctl::user);
	}
	/* PacketEn: is the instruction that runs now part of the trace? */
	bool enabled() const { return packet_en; }
	/* Are branches in the trace now (PacketEn and BranchEn)? */
	bool tells_branches() const { return packet_en && registers.is_set(ctl::branch_en); }
	/* Where the program went when it left the traced code, if the trace tells that; or 0. */
	std::uint64_t left_for() const { return told_exit; }

	void straight(const BasicBlock &block, std::uint64_t pc, std::uint64_t end) override;
	void reach(const BasicBlock &block, std::uint64_t pc, std::uint64_t at) override;
	void transfer(const Transfer &transfer) override;
	void interrupt(const Place &from, const Place &to) override;
	void address_space(std::uint64_t from) override;
	void arrive(const Place &here) override;
	void ptwrite(std::uint64_t ip, std::uint64_t payload, bool wide);
	/* The processor has slept in HLT, for so many ticks of the TSC, and an interrupt wakes it. */
	void wake(std::uint64_t slept);
	/*
	 * True while packets are enabled and nothing but branches matters within a level (no ranges, no CR3 filter, no event trace). Then a
	 * branch within the level may be told by plain_transfer(), and arrivals by arrive_by_the_dozen().
	 */
	bool is_plain() const { return plain && packet_en; }
	[[gnu::always_inline]] void plain_transfer(const Transfer &transfer)
	{
		stream.begin();
		switch (transfer.kind) {
		case Branch::conditional:
			stream.conditional(transfer.taken);
			break;
		case Branch::call:
			/* A call of the next instruction only fetches the IP, and no RET belongs to it. */
			if (transfer.to.pc != transfer.next)
				stream.call(transfer.next);
			break;
		case Branch::ret:
			stream.ret(transfer.to.pc);
			break;
		default: {
			/* The original stays in registers. */
			const Transfer copy = transfer;
			branch_packet(copy);
			break;
		}
		}
	}
	std::uint64_t return_address() const { return stream.return_address(); }
	static constexpr unsigned dozen = 32;
	void arrive_by_the_dozen(const Place &here)
	{
		arrivals += dozen - 1;
		arrive(here);
	}

	const Counts &statistics() const { return counts; }

private:
	static constexpr std::size_t flush_at = 1024, flush_late_at_most = 2048;
	/* With one region in a table the interrupt comes a little before the region is full. */
	static constexpr std::size_t flush_at_single = 64;
	/* The most bytes that slow-flush may let gather: the rest of the queue has to hold all that one call may add. */
	static constexpr std::size_t flush_at_most = 3072;
	/* Reading the clock costs as much as a block. */
	static constexpr unsigned arrivals_per_tick = 32;

	bool triggered() const
	{
		return registers.is_set(ctl::trace_en) && !(registers.status & (status::error | status::stopped));
	}
	bool context(std::uint8_t level) const;
	bool filter(std::uint64_t ip) const;
	bool in_stop_range(std::uint64_t ip) const;
	void event_packets(std::uint64_t handler);
	void branch_packet(const Transfer &transfer);
	void edge(std::uint64_t from, std::uint64_t to);
	void leave_filter(std::uint64_t ip);
	void stop_tracing(std::uint64_t ip);
	void leave_context();
	std::uint8_t exec_mode(const Place &at);
	void walk(const BasicBlock &block, std::uint64_t pc, std::uint64_t end);
	void step(std::uint64_t from, std::uint64_t ip, const BasicBlock &block);
	void begin_packets(const Place &here);
	void end_packets();
	std::uint64_t bytes_made() const { return counts.bytes + stream.pending().size(); }
	bool overflow_due() const { return bytes_made() >= next_overflow; }
	void plan_overflow();
	void begin_overflow();
	void overflow_inside(const Place &here);
	void overflow_at_exit();
	void trace_on();
	void trace_off(std::uint64_t at);
	void flush();
	void flush_if_full();
	std::size_t next_threshold();
	void synchronize(const Place *here);

	Rules rules;
	std::minstd_rand random;
	PtRegisters registers;
	/* What RDMSR returns while TraceEn is set: rule "stale-registers". */
	struct {
		OutputRegisters output;
		std::uint64_t status = 0;
		std::uint32_t byte_count = 0;
	} stale;
	PacketStream stream;
	Output output;
	Processor &processor;
	bool packet_en = false;
	bool output_closed = false; /* after STOP or an error, until TraceEn is set anew */
	bool ranges = false;        /* any ADDRn_CFG in use */
	bool plain = false;         /* see is_plain() */
	bool filters = false;       /* any ADDRn_CFG that FilterEn depends on */
	std::uint64_t cr3 = 0;
	std::uint64_t told_exit = 0;
	std::uint64_t behind = 0;  /* if ranges are in use: the last instruction of the straight code before, or 0 */
	std::uint64_t reached = 0; /* the current block has been told up to this instruction; or 0 */
	unsigned arrivals = 0;
	std::size_t threshold = 0; /* bytes that may gather */

	/* An overflow on demand lasts for so many arrivals, others for at most so many. */
	static constexpr unsigned overflow_arrivals = 20;
	/*
	 * Overflows by the rule are so many bytes apart, and up to twice as many, so that the trace in between can be told from what is
	 * lost.
	 */
	static constexpr std::uint64_t overflow_period = 8192;
	static constexpr std::uint64_t never = UINT64_MAX;
	Faults faults;
	std::uint64_t next_overflow = never; /* bytes of trace */
	std::uint64_t next_error = 0;        /* likewise; 0 is never */
	bool ended_outside = false;          /* an overflow ended outside of the traced code: resumed() is still due */
	bool next_at_exit = false;           /* the next overflow begins and ends where packets end */
	unsigned overflow_left = 0;
	Counts counts;
};

} // namespace hwsim::x86::pt

#endif
