/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * FlowTracker: turns "this block begins" and "an exception or interrupt comes here" into what the program did: transfers, interrupts and
 * straight runs, in program order and each once. One per vCPU, called in that vCPU's thread only; knows no instruction set.
 *
 * How a block ended, such as whether its branch was taken, is known only when the next block begins. The most expensive part is reading the
 * program counter there, so the tracker does it only if the blocks do not tell: for a conditional branch the page offset of the next block
 * decides between its two successors.
 */
#ifndef HWSIM_BASE_FLOW_H
#define HWSIM_BASE_FLOW_H

#include <array>
#include <cstdint>

#include "basic_block.h"

namespace hwsim
{

/* An address, with the vCPU's privilege level and execution mode there. */
struct Place {
	std::uint64_t pc = 0;
	std::uint8_t level = 0;
	std::uint8_t mode = 0;
};

struct Transfer {
	Branch kind = Branch::none;
	bool taken = false;
	std::uint64_t from = 0; /* the branch */
	std::uint64_t next = 0; /* the instruction behind it */
	std::uint8_t level = 0; /* at the branch */
	Place to;
};

/* Receives what the tracker finds out. Calls come in program order. */
class FlowListener
{
public:
	/* Instructions of "block", which began at "pc", have run up to but not including "end". */
	virtual void straight(const BasicBlock &block, std::uint64_t pc, std::uint64_t end) = 0;
	virtual void transfer(const Transfer &transfer) = 0;
	/*
	 * An instruction in the middle of a block is about to run, and those before it have: the block, its beginning, and the instruction.
	 * When the block is left, straight() tells all of them again.
	 */
	virtual void reach(const BasicBlock &, std::uint64_t, std::uint64_t) {}
	/* An interrupt or exception: "from" has not run, or is where the program will go on; "to" is the handler. */
	virtual void interrupt(const Place &from, const Place &to) = 0;
	/* The instruction at "from", the last of the block before, wrote the root of the page tables. */
	virtual void address_space(std::uint64_t from) = 0;
	/* A barrier, the last instruction of the block before, has taken effect: its address, and the instruction behind it. */
	virtual void barrier(std::uint64_t, const Place &) {}
	/* A block begins; the listener has been told of the transfer or interrupt that led there. */
	virtual void arrive(const Place &here) = 0;

protected:
	~FlowListener() = default;
};

/* Why a handler is entered: an interrupt or trap comes after an instruction, a fault comes instead of one. */
enum class Cause { interrupt, fault };

class FlowTracker
{
public:
	struct Counts {
		std::uint64_t blocks = 0;
		std::uint64_t reads = 0;    /* of the program counter */
		std::uint64_t restarts = 0; /* blocks left in the middle and entered again */
		/* Blocks that cannot follow the one before: a bug, here or in the classifier. */
		std::uint64_t impossible = 0;
		/* The first of them: where the block began, its kind, and where control went. */
		struct {
			std::uint64_t start, to;
			Branch kind;
			bool finished;
		} first{};
	};

	explicit FlowTracker(FlowListener &to) : listener(to) {}

	/*
	 * "block" begins. "finished" says that the last instruction of the block before was begun; read_pc() returns the
	 * program counter.
	 */
	template <class ReadPc>
	void enter(const BasicBlock &block, bool finished, ReadPc read_pc)
	{
		counts.blocks++;
		std::uint64_t pc;
		if (current && !guess(block, finished, pc)) {
			counts.reads++;
			pc = read_pc();
		} else if (!current) {
			pc = expected;
			if (!expecting || !same_offset(pc, block)) {
				counts.reads++;
				pc = read_pc();
			}
		}
		const Place here = {pc, block.level, block.mode};
		if (!current || current->level != block.level)
			run++;
		if (current)
			leave(here, finished);
		listener.arrive(here);
		begin(block, pc);
	}

	/*
	 * The fast path of enter(), for most of every program: the block before has ended within its level, in a branch or not. The listener
	 * hears of that by tell(transfer) only. Returns false, and has done nothing, in any other case. return_address() is the return address
	 * of the last call that has not returned, or 0. Always inline: this function and its callees are the cost of tracing.
	 */
	template <class ReadPc, class Tell, class ReturnAddress>
	[[gnu::always_inline]] bool step(
		const BasicBlock &block, bool finished, ReadPc read_pc, Tell tell, ReturnAddress return_address)
	{
		if (!current || current->level != block.level)
			return false;
		/* The kind is a constant in each of these, so that tell() is only what that kind needs. */
		const auto told = [&](Branch kind, bool taken, std::uint64_t pc) __attribute__((always_inline)) {
			tell(Transfer{kind, taken, last(), end(), current->level, {pc, block.level, block.mode}});
			step_to(block, pc);
			return true;
		};
		std::uint64_t pc;
		const bool certain = guess(block, finished, pc);
		switch (current->kind) {
		case Branch::none:
			if (certain)
				step_to(block, pc);
			return certain;
		case Branch::conditional:
			return certain && told(Branch::conditional, pc != end(), pc);
		case Branch::jump:
			return certain && told(Branch::jump, true, pc);
		case Branch::call:
			return certain && told(Branch::call, true, pc);
		case Branch::ret:
			if (!finished)
				return false;
			pc = return_address();
			return told(Branch::ret, true, was_at(pc, block) ? pc : read_target(block, read_pc));
		case Branch::indirect_call:
			return finished && told(Branch::indirect_call, true, read_target(block, read_pc));
		case Branch::indirect_jump:
			return finished && told(Branch::indirect_jump, true, read_target(block, read_pc));
		default:
			return false;
		}
	}
	/* An instruction in the middle of the current block is about to do something that depends on what came before it. */
	void reach(std::uint64_t pc)
	{
		if (current && inside(pc))
			listener.reach(*current, start, pc);
	}
	/* Where the present block began. */
	Place here() const { return {start, current->level, current->mode}; }

	/*
	 * Control leaves "from", which has not run, for the exception or interrupt handler "to". The caller reads level and mode of "from" from
	 * the machine: after a far transfer no block has begun yet that could tell them.
	 */
	void discontinuity(const Place &from, const Place &to, bool finished, Cause cause);
	/* The next block does not continue the current one: tracing starts, or blocks have run unseen. */
	void forget()
	{
		run++;
		current = nullptr;
		expecting = false;
	}
	/* Keeps a copy of the block it is in, because all blocks are about to be freed. */
	void keep_block();
	bool active() const { return current || expecting; }
	const Counts &statistics() const { return counts; }

private:
	static constexpr std::uint64_t page_mask = 0xfff;

	static bool same_offset(std::uint64_t pc, const BasicBlock &block)
	{
		return !((pc ^ block.address) & page_mask);
	}
	void begin(const BasicBlock &block, std::uint64_t pc)
	{
		current = &block;
		start = pc;
	}
	void step_to(const BasicBlock &block, std::uint64_t pc)
	{
		counts.blocks++;
		begin(block, pc);
	}
	std::uint64_t end() const { return start + current->length; }
	std::uint64_t last() const { return start + current->last; }
	std::uint64_t target() const
	{
		return (end() + static_cast<std::uint64_t>(current->displacement)) & current->address_mask;
	}

	/* The successor without reading the program counter, if it is certain. */
	bool guess(const BasicBlock &block, bool finished, std::uint64_t &pc) const
	{
		if (!is_branch(current->kind)) {
			pc = end();
			return same_offset(pc, block);
		}
		if (!finished)
			return false;
		switch (current->kind) {
		case Branch::conditional:
			if (!((end() ^ target()) & page_mask))
				return false;
			pc = same_offset(end(), block) ? end() : target();
			return same_offset(pc, block);
		case Branch::jump:
		case Branch::call:
			pc = target();
			return same_offset(pc, block);
		default:
			return false;
		}
	}
	/* Tells the end of the current block, whose successor is "to". */
	void leave(const Place &to, bool finished);
	void branch(const Place &to);
	void impossible(std::uint64_t to, bool finished);
	/*
	 * Where blocks were seen to begin. All mappings of a page share its blocks, so the page offset of a block does not prove its address;
	 * but mappings of a running program change only when something interrupts it. Known limitation: code mapped twice in one address space.
	 * If a RET goes to the other mapping of the block that it should return to, that is not noticed.
	 */
	struct Seen {
		std::uint64_t pc = 0;
		const BasicBlock *block = nullptr;
		std::uint64_t run = 0;
	};
	Seen &seen_at(std::uint64_t pc) { return seen[(pc >> 1) % seen.size()]; }
	bool was_at(std::uint64_t pc, const BasicBlock &block)
	{
		const Seen &at = seen_at(pc);
		return at.pc == pc && at.block == &block && at.run == run;
	}
	void remember(std::uint64_t pc, const BasicBlock &block) { seen_at(pc) = {pc, &block, run}; }
	template <class ReadPc>
	std::uint64_t read_target(const BasicBlock &block, ReadPc read_pc)
	{
		counts.reads++;
		const std::uint64_t pc = read_pc();
		remember(pc, block);
		return pc;
	}
	bool inside(std::uint64_t pc) const { return pc - start < current->length; }

	FlowListener &listener;
	const BasicBlock *current = nullptr;
	BasicBlock kept;
	std::uint64_t start = 0;
	std::uint64_t expected = 0; /* where the next block begins after an interrupt */
	bool expecting = false;
	std::array<Seen, 1024> seen{};
	std::uint64_t run = 1; /* of blocks without an interruption */
	Counts counts;
};

} // namespace hwsim

#endif
