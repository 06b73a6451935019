/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Vcpu: one processor as the plugin sees it, of any architecture: which block it is in, what was counted, the flow tracker, the logs, and what it
 * needs of translated blocks. Lives in its vCPU's thread, but for what says otherwise: registers of another processor are reached by asking that
 * processor, so nothing here needs a lock.
 *
 * An architecture's vCPU (x86/vcpu.h) is a TracedVcpu, which has the way that each block goes that is traced or counted.
 */
#ifndef HWSIM_QEMU_VCPU_H
#define HWSIM_QEMU_VCPU_H

#include <atomic>
#include <chrono>
#include <optional>
#include <string>

#include "../base/basic_block_counter.h"
#include "../base/flow.h"
#include "../base/injector.h"
#include "../base/logs.h"
#include "../base/witness.h"
#include "machine.h"
#include "memory.h"

namespace hwsim::qemu
{

/* Where an instruction is that we carry out, in a block. */
struct Site {
	const BasicBlock *block = nullptr;
	std::uint32_t index = 0;
	std::uint32_t offset = 0;
	std::uint32_t size = 0;
};

class Vcpu : protected FlowListener
{
public:
	Vcpu(unsigned index, Machine &machine);
	virtual ~Vcpu() = default;

	/* In the vCPU's init callback; a sentence if it cannot work. */
	virtual const char *init() = 0;
	/* An interrupt or exception; QEMU tells exceptions twice, first with no change of address. */
	virtual void discontinuity(std::uint64_t from, std::uint64_t to) = 0;
	/* Sleeps, and no cycles pass; and awakes. */
	virtual void idle() = 0;
	virtual void resume() = 0;
	/* Writes down what is pending: at the end, and where other logs begin. */
	virtual void finish() = 0;
	virtual std::string statistics() const = 0;

	/* All blocks are about to be freed, and the scoreboard may have moved. */
	void keep_block();
	/* What this vCPU needs of translated blocks; asked by any thread. */
	unsigned needs() const { return needed.load(); }
	/* All vCPUs are stopped, and blocks do other things from here on. */
	void instrumentation_changed();

protected:
	/* Where the scoreboard has our words. */
	void find_words();
	bool counts() const { return machine.instrumentation.load(std::memory_order_relaxed) & count_instrumentation; }
	/* Blocks do more than this vCPU needs: it is to say so now and then. */
	bool has_more_than_needed() const
	{
		return machine.instrumentation.load(std::memory_order_relaxed) &
		       ~needed.load(std::memory_order_relaxed);
	}
	/* After a change of what is traced or counted. */
	void set_needs(unsigned needs);
	/*
	 * Before a register is written that takes effect with the next instruction: blocks have to be translated for it by then. If they are
	 * not the instruction is begun again, until they are.
	 */
	void require(unsigned instrumentation, const Site &site);
	/* Of a block, instructions from this one on do not run. */
	void uncount(const BasicBlock &block, std::size_t from)
	{
		if (counts())
			counter.uncount(block, from);
	}

	/* Out of the block, in a callback of an instruction, which is over (skip) or will be; they do not return, and destroy nothing. */
	[[noreturn]] void leave_for(std::uint64_t pc);
	[[noreturn]] void jump_behind(const Site &site) { leave_for(block_pc + site.offset + site.size); }
	[[noreturn]] void skip(const Site &site)
	{
		uncount(*site.block, site.index + 1);
		jump_behind(site);
	}

	const unsigned index;
	Machine &machine;
	CpuMemory memory;
	BasicBlockCounter counter;
	FlowTracker tracker{*this};
	Logs logs;
	/* When trace last went to memory; told at the end. */
	std::chrono::steady_clock::time_point newest_output;
	long long quiet_ms() const;
	/* A line about the first successor that its block cannot have, if there was one. */
	std::string first_impossible() const;

	std::uint64_t block_pc = 0; /* where the block began that an instruction of ours is in */
	std::uintptr_t left_at = 0; /* where QEMU's code called us */

private:
	std::atomic<unsigned> needed{no_instrumentation};
};

/*
 * The way that each block goes which is watched, or which comes when so much was counted that somebody has to look; here so that the compiler sees all of it. Of
 * Processor it takes read_pc(), settle(), watches(level), is_plain() (FlowTracker::step() may be used), pass(block) and unwatch() (a block begins
 * for which it may not; nobody looks at blocks from here on), and its trace unit and witness.
 */
template <class Processor, class TraceUnit>
class TracedVcpu : public Vcpu
{
public:
	/* A block begins: one that counts, one that does not. */
	void enter(const BasicBlock &block)
	{
		const unsigned n = block.side;
		if (counter.is_due(n))
			self().settle();
		if (counter.is_watched(n))
			follow(block);
	}
	void follow(const BasicBlock &block)
	{
		const bool finished = counter.finished();
		const auto read_pc = [this] {
			return self().read_pc();
		};
		const auto return_address = [this] {
			return self().trace_unit().return_address();
		};
		const auto tell = [this](const Transfer &transfer) __attribute__((always_inline)) {
			self().truth_witness().plain_transfer(transfer);
		};
		counter.begin(block);
		if (self().is_plain() && tracker.step(block, finished, read_pc, tell, return_address)) {
			if (++unseen % TraceUnit::dozen)
				return;
			self().trace_unit().arrive_by_the_dozen(tracker.here());
			if (self().trace_unit().enabled())
				return;
		} else {
			self().pass(block);
			tracker.enter(block, finished, read_pc);
			if (self().trace_unit().enabled() && counter.is_watched(0) && counter.is_watched(1))
				return;
		}
		watch(block.level);
	}
	/* A block of a program begins: for a log that neither the tracker nor the trace unit's filters have to do with. */
	void log_block(const BasicBlock &block)
	{
		if (self().trace_unit().is_on(block.level))
			logs.blocks.write(self().read_pc(), block.length);
	}
	/* A block begins that has instructions of ours. */
	void note_pc() { block_pc = self().read_pc(); }

protected:
	using Vcpu::Vcpu;

	/*
	 * Tells translated blocks whether to call. In a level that is watched all are to, because it is the first block of another one
	 * that tells how this one was left; what runs unseen ends what the tracker knows.
	 */
	void watch(std::uint8_t level)
	{
		const bool here = self().watches(level);
		counter.watch(0, here || self().watches(Processor::kernel_level));
		counter.watch(1, here || self().watches(Processor::program_level));
		if (!here) {
			tracker.forget();
			self().unwatch();
		}
	}

private:
	Processor &self() { return static_cast<Processor &>(*this); }

	unsigned unseen = 0; /* arrivals that the trace unit was not told of */
};

} // namespace hwsim::qemu

#endif
