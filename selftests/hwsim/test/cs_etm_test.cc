// SPDX-License-Identifier: GPL-2.0-or-later
/* What perf reports of exceptions in the trace of an ETM. */
#include <catch2/catch_test_macros.hpp>

#include "../base/compare.h"
#include "../tools/cs_etm.h"

using namespace hwsim;
using Steps = std::vector<Step>;

TEST_CASE("perf names the last instruction that was executed before an exception", "[cs_etm]")
{
	/* an interrupt in straight code, one at the target of a branch, one where the trace had just begun, and the last one */
	const Steps truth = {{0, 0x1000}, {0x1010, 0}, {0, 0x1010}, {0x1020, 0x2000}, {0x2000, 0}, {0, 0x2000},
		{0x2000, 0}, {0, 0x2000}, {0x2010, 0x1000}, {0x1008, 0}};
	CHECK(cs_etm::as_perf_tells(truth) ==
		Steps{{0, 0x1000}, {0x100c, 0}, {0, 0x1010}, {0x1020, 0}, {0, 0x2000}, {0x2010, 0x1000}});
}

TEST_CASE("a trace without exceptions is told as it is", "[cs_etm]")
{
	const Steps truth = {{0, 0x1000}, {0x1010, 0x1000}, {0x1010, 0x1000}};
	CHECK(cs_etm::as_perf_tells(truth) == truth);
	CHECK(cs_etm::as_perf_tells({}).empty());
}

TEST_CASE("what has no branch is left out", "[cs_etm]")
{
	const Steps told = {{0, 0x1000}, {0x1010, 0}, {0, 0x1010}, {0x1020, 0x2000}, {0x2010, 0}, {0, 0x3000}};
	CHECK(cs_etm::with_branches(told) == Steps{{0, 0x1010}, {0x1020, 0x2000}, {0x2010, 0}});
}

TEST_CASE("perf loses the end of a record when its queue is full", "[cs_etm]")
{
	const Steps end = {{0x1010, 0x2000}, {0x2010, 0x1000}, {0x1008, 0}}, told = {{0x1004, 0}};
	CHECK(cs_etm::is_held_back(end, told, 1000));
	/* The queue cannot have been full, the trace goes on, begins anew in between, or two steps are none of the truth's. */
	CHECK_FALSE(cs_etm::is_held_back(end, told, 50));
	CHECK_FALSE(cs_etm::is_held_back(std::span(end).first(2), told, 1000));
	CHECK_FALSE(cs_etm::is_held_back(end, Steps{{0x1004, 0x2000}}, 1000));
	CHECK_FALSE(cs_etm::is_held_back(end, Steps{{0x1004, 0x1008}, {0x1008, 0}}, 1000));
	CHECK_FALSE(cs_etm::is_held_back(Steps{{0x1010, 0}, {0, 0x1010}, {0x1008, 0}}, told, 1000));
	/* More than a frame holds. */
	CHECK_FALSE(cs_etm::is_held_back(Steps(500, Step{0x1010, 0x1010}), told, 1000));
}

TEST_CASE("a difference that a convention explains is missing, not wrong", "[cs_etm]")
{
	Steps truth(300, Step{0x1010, 0x1000}), decoded(297, Step{0x1010, 0x1000});
	truth.push_back({0x1008, 0});
	decoded.push_back({0x100c, 0});
	for (Steps *both : {&truth, &decoded})
		both->insert(both->end(), {{0, 0x3000}, {0x3010, 0x3000}, {0x3010, 0x4000}});
	CHECK(compare(truth, decoded).differences.size() == 1);
	const Comparison result = compare(truth, decoded, {.excuse = cs_etm::is_held_back});
	CHECK(result.differences.empty());
	CHECK(result.excused == 1);
	CHECK(result.missing == 4);
	CHECK(result.equal == 300);
}
