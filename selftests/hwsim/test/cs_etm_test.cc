// SPDX-License-Identifier: GPL-2.0-or-later
/* What perf reports of exceptions in the trace of an ETM. */
#include <catch2/catch_test_macros.hpp>

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
