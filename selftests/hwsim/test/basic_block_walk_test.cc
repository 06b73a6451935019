// SPDX-License-Identifier: GPL-2.0-or-later
#include <catch2/catch_test_macros.hpp>

#include <vector>

#include "../base/basic_block_walk.h"

using namespace hwsim;

namespace
{

/* Walks through instructions of two bytes each, at these addresses. */
BasicBlockWalk walk(const std::vector<Step> &blocks, std::vector<std::uint64_t> instructions)
{
	BasicBlockWalk walk(blocks);
	for (const std::uint64_t ip : instructions)
		walk.step(ip, 2);
	return walk;
}

const std::vector<Step> blocks = {{0x1000, 4}, {0x2000, 6}, {0x1000, 4}};

} // namespace

TEST_CASE("instructions of the executed blocks, each in its turn")
{
	const BasicBlockWalk good = walk(blocks, {0x1000, 0x1002, 0x2000, 0x2002, 0x2004, 0x1000, 0x1002});
	CHECK(good.differences == 0);
	CHECK(good.left() == 0);
	CHECK(good.instructions == 7);
}

TEST_CASE("a block that was not executed, was left out, or ended early is a difference")
{
	CHECK(walk(blocks, {0x1000, 0x1002, 0x3000}).differences == 1);
	CHECK(walk(blocks, {0x1000, 0x1002, 0x1000, 0x1002}).differences == 1);
	CHECK(walk(blocks, {0x1000, 0x2000, 0x2002, 0x2004, 0x1000, 0x1002}).differences == 1);
	CHECK(walk(blocks, {0x1000, 0x1002, 0x1004, 0x2000}).differences >= 1);
	CHECK(walk(blocks, {0x1000, 0x1002}).left() == 2);
}

TEST_CASE("a block that faults is begun again where it was left")
{
	const std::vector<Step> faulted = {{0x1000, 6}, {0x1002, 4}, {0x2000, 2}};
	CHECK(walk(faulted, {0x1000, 0x1002, 0x1004, 0x2000}).differences == 0);
}

TEST_CASE("a loop that begins inside of the block that leads to it is no fault of that")
{
	const std::vector<Step> loop = {{0x1000, 6}, {0x1002, 4}, {0x1002, 4}, {0x2000, 2}};
	CHECK(walk(loop, {0x1000, 0x1002, 0x1004, 0x1002, 0x1004, 0x1002, 0x1004, 0x2000}).differences == 0);
	/* With faults before it: two in the block that leads to the loop, one in the loop. */
	const std::vector<Step> faulted = {
		{0x1000, 8}, {0x1002, 6}, {0x1004, 4}, {0x1004, 4}, {0x1006, 2}, {0x2000, 2}};
	const std::vector<std::uint64_t> once = {0x1000, 0x1002, 0x1004, 0x1006, 0x1004, 0x1006, 0x2000};
	CHECK(walk(faulted, once).differences == 0);
	CHECK(walk(faulted, once).left() == 0);
	/* The next block must be executed all the same. */
	CHECK(walk({{0x1000, 6}, {0x1002, 4}, {0x2000, 2}}, {0x1000, 0x1002, 0x1004, 0x3000}).differences == 1);
	CHECK(walk({{0x1000, 6}, {0x1002, 4}}, {0x1000, 0x1002, 0x1004}).left() == 0);
	CHECK(walk({{0x1000, 6}, {0x1002, 2}}, {0x1000, 0x1002, 0x1004}).differences == 1);
}

TEST_CASE("a block that is left for another processor ends there, or has done nothing")
{
	/* Left at its first instruction. */
	const std::vector<Step> faulted = {{0x1000, 4}, {0x2000, 4}, {0x3000, 2}};
	for (const std::uint64_t back : {0x3000, 0x2000}) {
		BasicBlockWalk moved = walk(faulted, {0x1000, 0x1002});
		moved.leave(0x2000);
		moved.step(back, 2);
		CHECK(moved.differences == 0);
		CHECK(moved.left() == (back == 0x3000 ? 0 : 1));
	}
	const std::vector<Step> of_gone = {{0x1000, 4}, {0x2000, 4}};
	BasicBlockWalk gone = walk(of_gone, {0x1000, 0x1002});
	CHECK(gone.left() == 1);
	gone.leave(0x2000);
	CHECK(gone.left() == 0);
	/* Left in its middle, when it was begun again. */
	const std::vector<Step> of_middle = {{0x1000, 8}, {0x1002, 6}, {0x3000, 2}};
	BasicBlockWalk middle = walk(of_middle, {0x1000, 0x1002});
	middle.leave(0x1004);
	middle.step(0x3000, 2);
	CHECK(middle.differences == 0);
	CHECK(middle.left() == 0);
	/* A block that was executed before that is still missed. */
	const std::vector<Step> of_other = {{0x1000, 4}, {0x4000, 2}, {0x2000, 4}, {0x3000, 2}};
	BasicBlockWalk other = walk(of_other, {0x1000, 0x1002});
	other.leave(0x2000);
	other.step(0x3000, 2);
	CHECK(other.differences == 1);
}

TEST_CASE("a system call that is begun anew for a signal is a block of its own")
{
	/* The block ends with SVC, and the trace leaves it after that, at 0x1004; the kernel goes back to the SVC, twice. */
	const std::vector<Step> restarted = {{0x1000, 4}, {0x1002, 2}, {0x1002, 2}, {0x1004, 2}};
	BasicBlockWalk call = walk(restarted, {0x1000, 0x1002});
	for (int i = 0; i < 2; i++) {
		call.leave(0x1004);
		call.step(0x1002, 2);
	}
	call.leave(0x1004);
	call.step(0x1004, 2);
	CHECK(call.differences == 0);
	CHECK(call.left() == 0);
	/* The log must have the call as often as the trace. */
	const std::vector<Step> done = {{0x1000, 4}, {0x1004, 2}};
	BasicBlockWalk once = walk(done, {0x1000, 0x1002});
	once.leave(0x1004);
	once.step(0x1002, 2);
	CHECK(once.differences == 1);
}
