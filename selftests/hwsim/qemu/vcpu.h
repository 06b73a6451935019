/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Vcpu: one processor as the plugin sees it, of any architecture: which block it is in, what was counted, the flow tracker, the logs, and what
 * it needs of translated blocks. Used in its vCPU's thread only, unless noted otherwise: software reaches registers of another processor by
 * running on that processor, so nothing here needs a lock.
 *
 * An architecture's vCPU (x86/vcpu.h) is a TracedVcpu, which has the code that runs for each block that is traced or counted.
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

/* The place, in a block, of an instruction that the plugin carries out. */
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

	/* Called in the vCPU's init callback. An error message if it cannot work, else null. */
	virtual const char *init() = 0;
	/* An interrupt or exception; QEMU tells exceptions twice, first with no change of address. */
	virtual void discontinuity(std::uint64_t from, std::uint64_t to) = 0;
	/* The vCPU goes to sleep, and no cycles pass; it wakes up. */
	virtual void idle() = 0;
	virtual void resume() = 0;
	/* Writes pending log entries: at the end, and before logs of another name begin. */
	virtual void finish() = 0;
	virtual std::string statistics() const = 0;

	/* All blocks are about to be freed, and the scoreboard may have moved. */
	void keep_block();
	/* What this vCPU needs of translated blocks; called by any thread. */
	unsigned needs() const { return needed.load(); }
	/* Called with all vCPUs stopped: blocks have other instrumentation from here on. */
	void instrumentation_changed();

protected:
	/* Finds this vCPU's InlineWords in the scoreboard. */
	void find_words();
	bool counts() const { return machine.instrumentation.load(std::memory_order_relaxed) & count_instrumentation; }
	/* Blocks do more than this vCPU needs: it has to call Machine::consider_less() now and then. */
	bool has_more_than_needed() const
	{
		return machine.instrumentation.load(std::memory_order_relaxed) &
		       ~needed.load(std::memory_order_relaxed);
	}
	/* To be called after a change of what is traced or counted. */
	void set_needs(unsigned needs);
	/*
	 * To be called before a register write that takes effect with the next instruction: by then blocks have to be translated for it. If
	 * they are not, this does not return, and the instruction is begun again, until they are.
	 */
	void require(unsigned instrumentation, const Site &site);
	/* Instructions of the block from this one on do not run. */
	void uncount(const BasicBlock &block, std::size_t from)
	{
		if (counts())
			counter.uncount(block, from);
	}

	/*
	 * Leave the block from a callback of one of its instructions: for any address, or, with jump_behind() and skip(), for the next
	 * instruction. They do not return, and run no destructors.
	 */
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
	/* When trace last went to memory, for the statistics. */
	std::chrono::steady_clock::time_point newest_output;
	long long quiet_ms() const;
	/* A line about the first block that cannot follow the one before it, if there was one. */
	std::string first_impossible() const;

	std::uint64_t block_pc = 0; /* beginning of the block whose instruction is being carried out */
	std::uintptr_t left_at = 0; /* return address of the callback, in QEMU's code */

private:
	std::atomic<unsigned> needed{no_instrumentation};
};

/*
 * The code that runs for each block that is watched, or whose counts are due; in a header, so that the compiler sees all of it. Processor has
 * read_pc(), settle(), watches(level), is_plain() (FlowTracker::step() may be used), pass(block) (a block begins for which it may not),
 * unwatch() (blocks are not looked at from here on), and its trace unit and witness.
 */
template <class Processor, class TraceUnit>
class TracedVcpu : public Vcpu
{
public:
	/* A block begins: enter() where blocks count, follow() where they do not. */
	void enter(const BasicBlock &block)
	{
		const unsigned n = block.side;
		if (counter.is_due(n))
			self().settle();
		if (counter.is_watched(n))
			follow(block);
	}
	/* This and step() are the cost of tracing: what is rare is kept out of it. */
	[[gnu::always_inline]] void follow(const BasicBlock &block)
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
		if (!self().is_plain() || !tracker.step(block, finished, read_pc, tell, return_address))
			return enter_slowly(block, finished);
		if (++unseen % TraceUnit::dozen == 0)
			arrive_by_the_dozen(block);
	}
	/* A block of a program begins. Its log depends on neither the tracker nor the trace unit's filters. */
	void log_block(const BasicBlock &block)
	{
		if (self().trace_unit().is_on(block.level))
			logs.blocks.write(self().read_pc(), block.length);
	}
	/* A block begins that has instructions which the plugin carries out. */
	void note_pc() { block_pc = self().read_pc(); }

protected:
	using Vcpu::Vcpu;

	/*
	 * Sets which translated blocks call. While the current level is watched, blocks of all levels do, because the first block of another
	 * level tells how this one was left. Otherwise blocks run unseen from here on, so the tracker forgets where it was.
	 */
	void watch(std::uint8_t level)
	{
		const bool here = self().watches(level);
		counter.watch(0, here || self().watches(self().kernel_level));
		counter.watch(1, here || self().watches(self().program_level));
		if (!here) {
			tracker.forget();
			self().unwatch();
		}
	}

private:
	Processor &self() { return static_cast<Processor &>(*this); }
	[[gnu::noinline]] void enter_slowly(const BasicBlock &block, bool finished)
	{
		self().pass(block);
		tracker.enter(block, finished, [this] { return self().read_pc(); });
		if (!self().trace_unit().enabled() || !counter.is_watched(0) || !counter.is_watched(1))
			watch(block.level);
	}
	[[gnu::noinline]] void arrive_by_the_dozen(const BasicBlock &block)
	{
		self().trace_unit().arrive_by_the_dozen(tracker.here());
		if (!self().trace_unit().enabled())
			watch(block.level);
	}

	unsigned unseen = 0; /* arrivals that the trace unit was not told of */
};

} // namespace hwsim::qemu

#endif
