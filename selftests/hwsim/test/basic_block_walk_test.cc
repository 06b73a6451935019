// SPDX-License-Identifier: GPL-2.0-or-later
#include <catch2/catch_test_macros.hpp>

#include <random>
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
	CHECK(walk({{0x1000, 6}, {0x1002, 2}}, {0x1000, 0x1002, 0x1004}).left() == 1);
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

TEST_CASE("a program that is left again before an instruction ran")
{
	/* One thread faults, another one comes and goes, a third goes on where the first had been. */
	const std::vector<Step> turns = {{0x1000, 4}, {0x2000, 4}, {0x3000, 2}, {0x2000, 4}};
	for (const bool executed : {false, true}) {
		BasicBlockWalk walked = walk(turns, {0x1000, 0x1002});
		walked.leave(0x2000);
		walked.leave(0x3000);
		if (executed)
			walked.step(0x2000, 2);
		CHECK(walked.differences == 0);
		CHECK(walked.left() == (executed ? 0 : 1));
	}
}

namespace
{

/*
 * Threads that take turns on a processor: the log of blocks as an emulator writes it, and what a trace shows. A block is logged when it
 * begins, and begun again where a fault in it was; interrupts come only between blocks.
 */
class Turns
{
public:
	explicit Turns(unsigned seed) : random(seed)
	{
		for (std::uint64_t &thread : threads)
			thread = block_at(below(blocks_of_program));
	}
	/* Tells "take" and "leave" of what the trace shows, later than the log says it. */
	struct Event {
		std::uint64_t at;
		bool leaves;
	};
	void run(unsigned blocks)
	{
		while (blocks--) {
			if (below(8) == 0)
				interrupt();
			else
				block();
		}
	}

	std::vector<Step> log;
	std::vector<Event> trace;
	/* The last record of the log of which an instruction ran. */
	std::size_t newest_executed = 0;

private:
	static constexpr unsigned blocks_of_program = 6, longest = 4;
	static constexpr std::uint64_t size = 2;

	unsigned below(unsigned limit) { return static_cast<unsigned>(random() % limit); }
	static std::uint64_t block_at(unsigned n) { return 0x1000 + 0x100 * std::uint64_t{n}; }
	/* Behind the last instruction of the block that has this one: block n has n % longest + 1 instructions. */
	static std::uint64_t end_of(std::uint64_t at)
	{
		const std::uint64_t begins = at & ~std::uint64_t{0xff};
		return begins + size * (((begins - 0x1000) / 0x100) % longest + 1);
	}
	void leave(std::uint64_t at)
	{
		threads[current] = at;
		trace.push_back({at, true});
	}
	/* The same thread goes on, or another one. */
	void interrupt()
	{
		leave(threads[current]);
		current = below(std::size(threads));
	}
	void block()
	{
		const std::uint64_t begins = threads[current], end = end_of(begins);
		log.push_back({begins, end - begins});
		for (std::uint64_t at = begins; at != end; at += size) {
			if (below(6) == 0) {
				leave(at);
				current = below(std::size(threads));
				return;
			}
			trace.push_back({at, false});
			newest_executed = log.size() - 1;
		}
		threads[current] = block_at(below(blocks_of_program));
	}

	std::mt19937 random;
	std::uint64_t threads[3];
	unsigned current = 0;
};

} // namespace

TEST_CASE("threads that take turns, at any place")
{
	for (unsigned seed = 0; seed < 3000; seed++) {
		INFO("seed " << seed);
		Turns turns(seed);
		turns.run(60);
		const auto walk_all = [&turns] {
			BasicBlockWalk walked(turns.log);
			for (const Turns::Event &event : turns.trace) {
				if (event.leaves)
					walked.leave(event.at);
				else
					walked.step(event.at, 2);
			}
			return walked;
		};
		REQUIRE(walk_all().differences == 0);
		/* What was left at its first instruction need not be logged, but what ran. */
		REQUIRE(walk_all().left() <= turns.log.size() - 1 - turns.newest_executed);
		turns.log[turns.newest_executed].from = 0x9000;
		REQUIRE(walk_all().differences + walk_all().left() > 0);
	}
}
