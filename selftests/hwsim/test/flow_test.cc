// SPDX-License-Identifier: GPL-2.0-or-later
/* The flow tracker, in a machine that enters blocks by script. */
#include <catch2/catch_get_random_seed.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include <algorithm>
#include <deque>
#include <random>
#include <string>
#include <vector>

#include "../base/flow.h"
#include "two_byte_block.h"

using namespace hwsim;

namespace
{

class Recorder final : public FlowListener
{
public:
	void straight(const BasicBlock &, std::uint64_t pc, std::uint64_t end) override { instructions += end - pc; }
	void transfer(const Transfer &t) override { say(t.taken ? "taken" : "through", t.from, t.to.pc); }
	void interrupt(const Place &from, const Place &to) override { say("interrupt", from.pc, to.pc); }
	void address_space(std::uint64_t from) override { say("cr3", from, 0); }
	void arrive(const Place &) override {}

	std::vector<std::string> said;
	std::uint64_t instructions = 0;

private:
	void say(const char *what, std::uint64_t from, std::uint64_t to)
	{
		char text[64];
		std::snprintf(text, sizeof text, "%s %lx %lx", what, from, to);
		said.emplace_back(text);
	}
};

struct Machine {
	Recorder recorder;
	FlowTracker tracker{recorder};
	std::deque<BasicBlock> blocks; /* kept here, because the tracker does not copy them */

	void enter(const BasicBlock &at, bool finished, std::uint64_t pc)
	{
		tracker.enter(blocks.emplace_back(at), finished, [pc] { return pc; });
	}
	void enter(const BasicBlock &at, bool finished = true) { enter(at, finished, at.address); }
};

using Said = std::vector<std::string>;

} // namespace

TEST_CASE("a conditional branch is judged by the block that follows")
{
	Machine machine;
	const BasicBlock loop = two_byte_block(0x1000, 4, Branch::conditional, -8),
			 after = two_byte_block(0x1008, 1, Branch::jump, 0x100);
	machine.enter(loop);
	machine.enter(loop);
	machine.enter(after);
	machine.enter(two_byte_block(0x110a, 1, Branch::none));
	CHECK(machine.recorder.said == Said{"taken 1006 1000", "through 1006 1008", "taken 1008 110a"});
	CHECK(machine.tracker.statistics().impossible == 0);
	CHECK(machine.tracker.statistics().reads == 1);
}

TEST_CASE("the program counter is read where the page offset cannot decide")
{
	Machine machine;
	const BasicBlock branch = two_byte_block(0x1000, 1, Branch::conditional, 0x1000);
	machine.enter(branch);
	machine.enter(two_byte_block(0x2002, 1, Branch::none));
	CHECK(machine.recorder.said == Said{"taken 1000 2002"});
	CHECK(machine.tracker.statistics().reads == 2);
}

TEST_CASE("one block serves several addresses")
{
	Machine machine;
	const BasicBlock call = two_byte_block(0x1000, 2, Branch::call, 0x1ffc),
			 callee = two_byte_block(0x3000, 1, Branch::ret);
	machine.enter(call, true, 0x7f000);
	machine.enter(callee, true, 0x81000);
	machine.enter(two_byte_block(0x1004, 1, Branch::none), true, 0x7f004);
	CHECK(machine.recorder.said == Said{"taken 7f002 81000", "taken 81000 7f004"});
}

TEST_CASE("a block that is left in the middle and entered again loses nothing")
{
	Machine machine;
	machine.enter(two_byte_block(0x1000, 4, Branch::conditional, 0x20));
	machine.enter(two_byte_block(0x1004, 2, Branch::conditional, 0x20), false);
	machine.enter(two_byte_block(0x1028, 1, Branch::none));
	CHECK(machine.recorder.said == Said{"taken 1006 1028"});
	CHECK(machine.recorder.instructions == 8);
	CHECK(machine.tracker.statistics().restarts == 1);
}

TEST_CASE("an interrupt at the head of a loop of one block comes after the branch")
{
	Machine machine;
	const BasicBlock loop = two_byte_block(0x1000, 2, Branch::conditional, -4);
	machine.enter(loop);
	machine.tracker.discontinuity({0x1000, 0, 1}, {0xf000, 0, 1}, true, Cause::interrupt);
	machine.enter(two_byte_block(0xf000, 1, Branch::far), true);
	CHECK(machine.recorder.said == Said{"taken 1002 1000", "interrupt 1000 f000"});
	CHECK(machine.tracker.statistics().reads == 1);
}

TEST_CASE("a branch that faults was not taken")
{
	Machine machine;
	machine.enter(two_byte_block(0x1000, 2, Branch::indirect_call));
	machine.tracker.discontinuity({0x1002, 0, 1}, {0xf000, 0, 1}, true, Cause::fault);
	CHECK(machine.recorder.said == Said{"interrupt 1002 f000"});
	CHECK(machine.recorder.instructions == 2);
}

TEST_CASE("a branch that leads to itself was executed if an interrupt comes, and not if it faults")
{
	const auto cause = GENERATE(Cause::interrupt, Cause::fault);
	const auto kind = GENERATE(Branch::ret, Branch::indirect_jump, Branch::indirect_call, Branch::call);
	Machine machine;
	machine.enter(two_byte_block(0x1000, 2, kind, -2));
	machine.tracker.discontinuity({0x1002, 0, 1}, {0xf000, 0, 1}, true, cause);
	CHECK(machine.recorder.said == (cause == Cause::interrupt ? Said{"taken 1002 1002", "interrupt 1002 f000"}
								  : Said{"interrupt 1002 f000"}));
	CHECK(machine.tracker.statistics().impossible == 0);
}

TEST_CASE("a direct jump to itself has been executed, whatever comes")
{
	const auto cause = GENERATE(Cause::interrupt, Cause::fault);
	Machine machine;
	machine.enter(two_byte_block(0x1000, 2, Branch::conditional, -2));
	machine.tracker.discontinuity({0x1002, 0, 1}, {0xf000, 0, 1}, true, cause);
	CHECK(machine.recorder.said == Said{"taken 1002 1002", "interrupt 1002 f000"});
}

TEST_CASE("a fault in the middle ends the straight run there")
{
	Machine machine;
	machine.enter(two_byte_block(0x1000, 4, Branch::ret));
	machine.tracker.discontinuity({0x1004, 0, 1}, {0xf000, 0, 1}, false, Cause::fault);
	CHECK(machine.recorder.said == Said{"interrupt 1004 f000"});
	CHECK(machine.recorder.instructions == 4);
}

TEST_CASE("a software interrupt is a far transfer")
{
	Machine machine;
	machine.enter(two_byte_block(0x1000, 2, Branch::software_interrupt));
	machine.tracker.discontinuity({0x1002, 0, 1}, {0xf000, 0, 1}, true, Cause::fault);
	machine.enter(two_byte_block(0xf000, 1, Branch::none));
	CHECK(machine.recorder.said == Said{"taken 1002 f000"});
}

TEST_CASE("an interrupt right behind a far transfer is of the level that was reached")
{
	struct Levels final : FlowListener {
		void straight(const BasicBlock &, std::uint64_t, std::uint64_t) override {}
		void transfer(const Transfer &t) override { said.push_back({t.level, t.to.level}); }
		void interrupt(const Place &from, const Place &to) override { said.push_back({from.level, to.level}); }
		void address_space(std::uint64_t) override {}
		void arrive(const Place &here) override { said.push_back({here.level, here.level}); }

		std::vector<std::pair<unsigned, unsigned>> said;
	} levels;
	FlowTracker tracker(levels);
	const BasicBlock sysret = two_byte_block(0x1000, 1, Branch::far);
	tracker.enter(sysret, true, [] { return 0x1000; });
	tracker.discontinuity({0x400000, 3, 1}, {0xf000, 0, 1}, true, Cause::interrupt);
	CHECK(levels.said == std::vector<std::pair<unsigned, unsigned>>{{0, 0}, {0, 3}, {3, 0}});
}

TEST_CASE("a write of the page table root is told when it is done")
{
	Machine machine;
	machine.enter(two_byte_block(0x1000, 2, Branch::address_space));
	machine.enter(two_byte_block(0x1004, 1, Branch::none));
	CHECK(machine.recorder.said == Said{"cr3 1002 0"});
}

TEST_CASE("a successor that cannot be is counted")
{
	Machine machine;
	machine.enter(two_byte_block(0x1000, 2, Branch::none));
	machine.enter(two_byte_block(0x5000, 1, Branch::none));
	CHECK(machine.tracker.statistics().impossible == 1);
}

TEST_CASE("blocks may be freed while one is running")
{
	Machine machine;
	machine.enter(two_byte_block(0x1000, 2, Branch::jump, 0x10));
	machine.tracker.keep_block();
	machine.blocks.clear();
	machine.enter(two_byte_block(0x1014, 1, Branch::none));
	CHECK(machine.recorder.said == Said{"taken 1002 1014"});
}

/* Blocks one after the other in a page that is mapped at two addresses; which one runs next is random. */
class RandomProgram
{
public:
	explicit RandomProgram(unsigned seed) : random(seed)
	{
		constexpr Branch kinds[] = {Branch::none, Branch::conditional, Branch::jump, Branch::call, Branch::ret,
			Branch::indirect_call, Branch::indirect_jump, Branch::far};
		std::uint64_t at = first;
		for (unsigned i = 0; i < size; i++) {
			const Branch kind = i + 1 == size ? Branch::far : kinds[below(std::size(kinds))];
			blocks.push_back(two_byte_block(at, 1 + below(5), kind));
			at += blocks.back().length;
		}
		for (BasicBlock &one : blocks) {
			const std::uint64_t target = blocks[below(size)].address;
			one.displacement = static_cast<std::int64_t>(target - one.address - one.length);
			one.level = below(8) ? 3 : 0;
		}
		pc = first;
	}
	const BasicBlock &here() const { return blocks[index_of(pc)]; }
	/* Where the last block had to return to, if it ended in a RET. */
	std::uint64_t return_address() const { return expected; }
	unsigned below(unsigned n) { return static_cast<unsigned>(random() % n); }

	/* Goes to the successor of the current block. */
	void advance()
	{
		const BasicBlock &block = here();
		expected = calls.empty() ? 0 : calls.back();
		const std::uint64_t end = pc + block.length,
				    target = end + static_cast<std::uint64_t>(block.displacement);
		switch (block.kind) {
		case Branch::none:
			pc = end;
			break;
		case Branch::conditional:
			pc = below(2) ? end : target;
			break;
		case Branch::call:
			calls.push_back(end);
			pc = target;
			break;
		case Branch::jump:
			pc = target;
			break;
		case Branch::ret:
			leave();
			break;
		case Branch::indirect_call:
			calls.push_back(end);
			pc = anywhere();
			break;
		default:
			pc = anywhere();
			break;
		}
	}
	/* The start of any block in either mapping, but not "that" in the other mapping, which FlowTracker::step() may confuse. */
	std::uint64_t anywhere(std::uint64_t that = 0)
	{
		std::uint64_t to;
		do
			to = blocks[below(size)].address + mapping * below(2);
		while ((to ^ that) == mapping);
		return to;
	}

	std::uint64_t pc;

private:
	static constexpr unsigned size = 16;
	static constexpr std::uint64_t first = 0x10000, mapping = 0x1000;

	unsigned index_of(std::uint64_t address) const
	{
		unsigned i = 0;
		while ((blocks[i].address ^ address) & 0xfff)
			i++;
		return i;
	}
	/* RET mostly returns to the last call. */
	void leave()
	{
		pc = expected && below(4) ? expected : anywhere(expected);
		if (!calls.empty())
			calls.pop_back();
	}

	std::minstd_rand random;
	std::vector<BasicBlock> blocks;
	std::vector<std::uint64_t> calls;
	std::uint64_t expected = 0;
};

TEST_CASE("the fast way tells what the slow way tells")
{
	std::size_t fast = 0, blocks = 0, reads = 0;
	for (unsigned round = 0; round < 50; round++) {
		Machine slow, quick;
		RandomProgram program(Catch::getSeed() + round);
		bool finished = false;
		for (unsigned n = 0; n < 2000; n++, blocks++) {
			const BasicBlock &here = program.here();
			const auto read_pc = [&program, &reads] {
				reads++;
				return program.pc;
			};
			slow.tracker.enter(here, finished, [&program] { return program.pc; });
			if (quick.tracker.step(
				    here, finished, read_pc,
				    [&quick](const Transfer &t) { quick.recorder.transfer(t); },
				    [&program] { return program.return_address(); }))
				fast++;
			else
				quick.tracker.enter(here, finished, read_pc);
			finished = is_branch(here.kind);
			program.advance();
			if (!program.below(50)) {
				const std::uint64_t handler = program.anywhere();
				for (Machine *machine : {&slow, &quick})
					machine->tracker.discontinuity(
						{program.pc, 0, 0}, {handler, 0, 0}, finished, Cause::interrupt);
				program.pc = handler;
				finished = false;
			}
		}
		const auto [one, other] = std::ranges::mismatch(slow.recorder.said, quick.recorder.said);
		CHECK((one == slow.recorder.said.end() ? "" : *one) ==
			(other == quick.recorder.said.end() ? "" : *other));
		CHECK(slow.tracker.statistics().impossible == quick.tracker.statistics().impossible);
	}
	CHECK(fast > blocks / 2);
	CHECK(reads < blocks / 2);
}
