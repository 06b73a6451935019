// SPDX-License-Identifier: GPL-2.0-or-later
#include <catch2/catch_test_macros.hpp>

#include <vector>

#include "../base/block_walk.h"

using namespace hwsim;

namespace
{

/* Instructions of two bytes each, at these addresses. */
BlockWalk walk(const std::vector<Step> &blocks, std::vector<std::uint64_t> instructions)
{
	BlockWalk walk(blocks);
	for (const std::uint64_t ip : instructions)
		walk.step(ip, 2);
	return walk;
}

const std::vector<Step> blocks = {{0x1000, 4}, {0x2000, 6}, {0x1000, 4}};

} // namespace

TEST_CASE("instructions of the executed blocks, each in its turn")
{
	const BlockWalk good = walk(blocks, {0x1000, 0x1002, 0x2000, 0x2002, 0x2004, 0x1000, 0x1002});
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
	/* With faults before it, two in the block that leads to it and one in the loop. */
	const std::vector<Step> faulted = {
		{0x1000, 8}, {0x1002, 6}, {0x1004, 4}, {0x1004, 4}, {0x1006, 2}, {0x2000, 2}};
	const std::vector<std::uint64_t> once = {0x1000, 0x1002, 0x1004, 0x1006, 0x1004, 0x1006, 0x2000};
	CHECK(walk(faulted, once).differences == 0);
	CHECK(walk(faulted, once).left() == 0);
	/* What comes behind it has to be there all the same. */
	CHECK(walk({{0x1000, 6}, {0x1002, 4}, {0x2000, 2}}, {0x1000, 0x1002, 0x1004, 0x3000}).differences == 1);
	CHECK(walk({{0x1000, 6}, {0x1002, 4}}, {0x1000, 0x1002, 0x1004}).left() == 0);
	CHECK(walk({{0x1000, 6}, {0x1002, 2}}, {0x1000, 0x1002, 0x1004}).differences == 1);
}
