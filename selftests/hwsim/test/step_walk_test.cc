// SPDX-License-Identifier: GPL-2.0-or-later
/* Which traces are those of a program that was single-stepped. */
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include "../tools/step_walk.h"

using namespace hwsim;

namespace
{

constexpr std::uint64_t before = 0x1000, load = 0x1004, compare = 0x1008, store = 0x100c, again = 0x1010,
			after = 0x1014;
constexpr std::uint64_t exception = 0; /* no instruction is there */

bool is_right(const std::vector<std::uint64_t> &log, const std::vector<std::uint64_t> &trace)
{
	StepWalk walk(log);
	for (const std::uint64_t at : trace) {
		if (at == exception)
			walk.leave();
		else
			walk.take(at);
	}
	INFO(walk.report());
	return walk.is_right();
}

/* A compare-and-swap. */
const std::vector<std::uint64_t> swap = {
	before, load | step_log::exclusive_load, compare, store | step_log::exclusive_store, again, after};

} // namespace

TEST_CASE("The steps, all of them, in their order, and no other", "[step-walk]")
{
	CHECK(is_right(swap, {before, load, compare, store, again, after}));
	CHECK_FALSE(is_right(swap, {}));
	CHECK_FALSE(is_right({}, {}));
	CHECK_FALSE(is_right(swap, {before, load, compare, store, again}));
	CHECK_FALSE(is_right(swap, {load, compare, store, again, after}));
	CHECK_FALSE(is_right(swap, {before, load, compare, store, again, after, after}));
	CHECK_FALSE(is_right(swap, {before, load, store, compare, again, after}));
}

TEST_CASE("An exclusive sequence is tried again if an exception came before its store", "[step-walk]")
{
	/* An exception at the store comes before it, too: a page that is copied when it is written to. */
	CHECK(is_right(swap, {before, load, exception, compare, store, again, load, compare, store, again, after}));
	CHECK(is_right(swap, {before, load, compare, exception, store, again, load, compare, store, again, after}));
	CHECK(is_right(swap, {before, load, exception, compare, store, again, load, compare, exception, store, again,
				     load, compare, store, again, after}));
	/* It may come, and the store succeed: another program's exclusive access is none of ours. */
	CHECK(is_right(swap, {before, load, exception, compare, store, again, after}));
}

TEST_CASE("Nothing else is tried again", "[step-walk]")
{
	const std::vector<std::uint64_t> wrong = GENERATE(values<std::vector<std::uint64_t>>({
		/* without an exception */
		{before, load, compare, store, again, load, compare, store, again, after},
		/* an exception that comes too early, or too late */
		{before, exception, load, compare, store, again, load, compare, store, again, after},
		{before, load, compare, store, exception, again, load, compare, store, again, after},
		{before, load, compare, store, again, exception, load, compare, store, again, after},
		/* one exception does not excuse two failures */
		{before, load, exception, compare, store, again, load, compare, store, again, load, compare, store,
			again, after},
		/* no store has failed */
		{before, load, exception, load, compare, store, again, after},
		{before, load, exception, compare, load, compare, store, again, after},
		{before, load, exception, compare, store, load, compare, store, again, after},
		/* from elsewhere, to elsewhere, with other instructions, and not to the end */
		{before, load, exception, compare, store, again, after, load, compare, store, again, after},
		{before, load, exception, compare, store, again, compare, store, again, after},
		{before, load, exception, compare, store, again, before, load, compare, store, again, after},
		{before, load, exception, compare, store, again, load, store, again, after},
		{before, load, exception, compare, store, again, load, compare, store, again},
	}));
	CHECK_FALSE(is_right(swap, wrong));
}

TEST_CASE("A sequence that follows itself is another one", "[step-walk]")
{
	auto twice = swap;
	twice.insert(twice.end(), swap.begin(), swap.end());
	CHECK(is_right(twice, {before, load, compare, store, again, after, before, load, exception, compare, store,
				      again, load, compare, store, again, after}));
	CHECK_FALSE(is_right(twice, {before, load, exception, compare, store, again, after, before, load, compare,
					    store, again, load, compare, store, again, after}));
}
