// SPDX-License-Identifier: GPL-2.0-or-later
/* The counter, with words that a test changes as the inline code of translated blocks does. */
#include <catch2/catch_test_macros.hpp>

#include "../base/basic_block_counter.h"
#include "two_byte_block.h"

using namespace hwsim;

namespace
{

constexpr unsigned kernel = 0, user = 1;

BasicBlock block(std::uint8_t level, unsigned instructions, Branch kind)
{
	BasicBlock made = two_byte_block(0x1000, instructions, kind);
	made.level = level;
	made.side = level != kernel;
	return made;
}

struct Counted {
	InlineWords words{};
	BasicBlockCounter counter;

	Counted()
	{
		counter.attach(&words);
		counter.allow(1000);
	}
	/* Does what the inline code of a block does. True if the block calls the plugin. */
	bool run(const BasicBlock &block)
	{
		std::uint64_t &gate = words.gate[block.side];
		const bool calls = gate >= InlineWords::limit;
		words.position = reinterpret_cast<std::uint64_t>(&block) | InlineWords::finished;
		gate += block.sizes.size() * InlineWords::instruction + is_branch(block.kind);
		return calls;
	}
};

} // namespace

TEST_CASE("Instructions and branches are those of the blocks that began, by level", "[counter]")
{
	Counted counted;
	const BasicBlock of_kernel = block(0, 5, Branch::none), of_user = block(3, 3, Branch::jump);
	counted.run(of_kernel);
	counted.run(of_user);
	counted.run(of_user);
	counted.counter.collect(0);
	CHECK(counted.counter.kernel().instructions == 5);
	CHECK(counted.counter.kernel().branches == 0);
	CHECK(counted.counter.user().instructions == 6);
	CHECK(counted.counter.user().branches == 2);
	CHECK(counted.counter.instructions() == 11);
	counted.counter.collect(0);
	CHECK(counted.counter.instructions() == 11);
}

TEST_CASE("A block calls when half of what may pass has come together at its level, and not before", "[counter]")
{
	Counted counted;
	const BasicBlock ten = block(3, 10, Branch::jump);
	for (unsigned i = 0; i < 50; i++)
		CHECK_FALSE(counted.run(ten));
	CHECK(counted.run(ten));
	CHECK(counted.counter.is_due(user));
	CHECK_FALSE(counted.counter.is_due(kernel));
	counted.counter.collect(0);
	CHECK_FALSE(counted.counter.is_due(user));
}

TEST_CASE("Blocks of a level that is watched call, and are counted as others are", "[counter]")
{
	Counted counted;
	const BasicBlock ten = block(3, 10, Branch::jump);
	counted.run(ten);
	counted.counter.watch(user, true);
	CHECK(counted.counter.is_watched(user));
	CHECK_FALSE(counted.counter.is_watched(kernel));
	CHECK(counted.run(ten));
	CHECK_FALSE(counted.counter.is_due(user));
	counted.counter.watch(user, false);
	CHECK_FALSE(counted.run(ten));
	counted.counter.collect(0);
	CHECK(counted.counter.user().instructions == 30);
	CHECK(counted.counter.user().branches == 3);
}

TEST_CASE("What does not run behind an instruction is taken back, with the branch at the end", "[counter]")
{
	Counted counted;
	const BasicBlock ten = block(3, 10, Branch::jump);
	counted.run(ten);
	counted.counter.uncount(ten, 4);
	counted.counter.uncount(ten, 10);
	counted.counter.collect(0);
	CHECK(counted.counter.user().instructions == 4);
	CHECK(counted.counter.user().branches == 0);
	CHECK(counted.counter.taken_back() == 6);
}

TEST_CASE("A fault takes back the instruction that it is of and what follows it; an interrupt between blocks nothing",
	"[counter]")
{
	const auto left = [](const BasicBlock &one, bool finished, Cause cause, std::uint64_t from) {
		Counted counted;
		counted.run(one);
		if (!finished)
			counted.words.position &= ~InlineWords::finished;
		counted.counter.uncount_fault(cause, from);
		counted.counter.collect(0);
		return counted.counter.user().instructions;
	};
	const BasicBlock load = block(3, 10, Branch::none), ret = block(3, 10, Branch::ret),
			 conditional = block(3, 10, Branch::conditional);
	/* The block may run at another mapping of its page. */
	CHECK(left(load, false, Cause::fault, 0x7008) == 4);
	CHECK(left(load, false, Cause::interrupt, 0x1014) == 10);
	CHECK(left(ret, true, Cause::fault, 0x1012) == 9);
	CHECK(left(ret, true, Cause::interrupt, 0x1012) == 10);
	CHECK(left(ret, true, Cause::fault, 0x1008) == 10);
	/* Conditional branches do not fault. */
	CHECK(left(conditional, false, Cause::fault, 0x1012) == 10);
}

TEST_CASE("Nothing is taken back of a block that was left", "[counter]")
{
	Counted counted;
	const BasicBlock ten = block(3, 10, Branch::none);
	counted.run(ten);
	counted.counter.leave();
	CHECK(!counted.counter.block());
	counted.counter.uncount_fault(Cause::fault, 0x1004);
	CHECK(counted.counter.taken_back() == 0);
}

TEST_CASE("A block is kept beyond its end", "[counter]")
{
	Counted counted;
	{
		const BasicBlock gone = block(3, 7, Branch::ret);
		counted.run(gone);
		counted.counter.keep_block();
	}
	CHECK(counted.counter.block()->sizes.size() == 7);
	CHECK(counted.counter.finished());
	counted.counter.keep_block();
	CHECK(counted.counter.block()->sizes.size() == 7);
}

TEST_CASE("Cycles are shared out as instructions are, and none pass asleep", "[counter]")
{
	Counted counted;
	counted.run(block(0, 10, Branch::none));
	const BasicBlock of_user = block(3, 30, Branch::none);
	counted.run(of_user);
	counted.counter.collect(400);
	CHECK(counted.counter.kernel().cycles == 100);
	CHECK(counted.counter.user().cycles == 300);
	counted.counter.collect(400);
	CHECK(counted.counter.kernel().cycles == 100);
	counted.counter.wake_up(1000);
	CHECK(counted.counter.kernel().wakeups == 1);
	counted.counter.pass_time(1010);
	CHECK(counted.counter.kernel().cycles == 110);
	CHECK(counted.counter.user().cycles == 300);
}
