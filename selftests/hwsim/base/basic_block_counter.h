/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * BasicBlockCounter: counts what a vCPU has executed, by basic blocks. Inline code of translated blocks does the counting (InlineWords);
 * this class sums it up, takes back the part of a block that did not run, and decides when the next block has to call. One per vCPU, called
 * in that vCPU's thread only.
 */
#ifndef HWSIM_BASE_BASIC_BLOCK_COUNTER_H
#define HWSIM_BASE_BASIC_BLOCK_COUNTER_H

#include <algorithm>
#include <cstdint>

#include "basic_block.h"
#include "flow.h"

namespace hwsim
{

/* What inline code of translated blocks reads and writes; one for each vCPU. */
struct InlineWords {
	/*
	 * One word for the kernel, one for programs: a block calls the plugin if the word of its side is at least "limit". The word of a
	 * side that is watched always is. If instructions are counted, each block adds their number, times "instruction", and 1 if it ends
	 * in a branch, so the word reaches the limit when the allowance is used up.
	 */
	std::uint64_t gate[2];
	/* The block that runs (or ran last), with "finished" set once its last instruction has begun; or 0. */
	std::uint64_t position;

	static constexpr std::uint64_t finished = 1;
	static constexpr unsigned instruction_shift = 24;
	static constexpr std::uint64_t instruction = std::uint64_t{1} << instruction_shift;
	static constexpr std::uint64_t limit = std::uint64_t{1} << 62;
	/*
	 * The count of branches starts at no_branches, because branches are taken back, too; there is room for those of most_instructions.
	 */
	static constexpr std::uint64_t no_branches = instruction / 2, most_instructions = instruction / 4;
};

class BasicBlockCounter
{
public:
	/* Totals of one side up to the last collect(); the gates hold what came later. */
	struct Totals {
		std::uint64_t instructions = 0, branches = 0, cycles = 0, wakeups = 0;
	};

	/* The address of the words, which may move. */
	void attach(InlineWords *to) { words = to; }

	/* The block that runs, or ran last; null if that is not known. */
	const BasicBlock *block() const
	{
		return reinterpret_cast<const BasicBlock *>(words->position & ~InlineWords::finished);
	}
	/* Has its last instruction begun? */
	bool finished() const { return words->position & InlineWords::finished; }
	void begin(const BasicBlock &block) { words->position = reinterpret_cast<std::uint64_t>(&block); }
	/* Control left the block by something other than its end, so that block() is not known. */
	void leave() { words->position = 0; }
	/* Keeps a copy of the block, because all blocks are about to be freed. */
	void keep_block();

	/* A block of this side has begun. Is the allowance used up? */
	bool is_due(unsigned side) const
	{
		return words->gate[side] >> InlineWords::instruction_shift >= gates[side].due;
	}
	/* Watched: all blocks of this side call. */
	bool is_watched(unsigned side) const { return gates[side].watched; }
	void watch(unsigned side, bool watched)
	{
		if (watched != gates[side].watched)
			set_gate(side, watched);
	}
	/* At most this many instructions may pass until is_due(): each side may use half of them, as both run. */
	void allow(std::uint64_t instructions)
	{
		allowance = (std::min(instructions, InlineWords::most_instructions) + 1) / 2;
		for (const unsigned n : {0u, 1u})
			set_gate(n, gates[n].watched);
	}

	/*
	 * A block counts all its instructions when it begins. Those that do not run are subtracted again: those after an instruction that
	 * the plugin carried out, and a faulting instruction with all after it.
	 */
	void uncount(const BasicBlock &block, std::size_t from);
	/* Takes back the instructions that an interrupt or exception before "from" kept from running. */
	void uncount_fault(Cause cause, std::uint64_t from);

	/* Brings the totals up to date; "now" is a time of the clock by which cycles are counted. */
	void collect(std::uint64_t now);
	void pass_time(std::uint64_t now);
	/* The vCPU wakes up from a sleep in which no cycles pass. */
	void wake_up(std::uint64_t now)
	{
		cycles_at = now;
		totals[0].wakeups++;
	}
	/* As of the last collect(), pass_time() or wake_up(). */
	const Totals &kernel() const { return totals[0]; }
	const Totals &user() const { return totals[1]; }
	std::uint64_t instructions() const { return totals[0].instructions + totals[1].instructions; }
	std::uint64_t taken_back() const { return uncounted; }

private:
	void set_gate(unsigned side, bool watched);

	InlineWords *words = nullptr;
	/* By side: the word after collect(), and the number of instructions at which is_due() is true. */
	struct Gate {
		std::uint64_t base = 0, due = 0;
		bool watched = false;
	} gates[2];
	std::uint64_t allowance = 0; /* instructions of a level that may pass unseen */
	Totals totals[2];
	std::uint64_t cycles_at = 0;       /* time up to which cycles are in the totals */
	std::uint64_t cycle_share[2] = {}; /* instructions when cycles were last divided up */
	std::uint64_t uncounted = 0;
	BasicBlock kept; /* copy of the block that ran when all were freed */
};

} // namespace hwsim

#endif
