// SPDX-License-Identifier: GPL-2.0-only
/*
 * Some processors do not have Intel PT at work beside BTS and LBR. The kernel counts for its own PMUs who has which. With --pmu intel_pt or
 * intel_bts the other one is opened, too, whoever drives them (or OTHER=PMU, of the environment): the outcome is in the environment
 * (EXCLUDES=yes or no), and that of the kernel's own drivers, which these tests run with as well, is what ours has to come up to.
 */
#include <cstdlib>

#include "fixture.h"
#include "hardware.h"

using namespace auxpmu;
using namespace auxpmu::test;

namespace
{

bool excludes()
{
	const char *const asked = std::getenv("EXCLUDES");

	REQUIRE(asked);
	return asked == std::string("yes");
}

Result<Event> open(const std::string &name)
{
	perf_event_attr attr = Pmu::find(name).value().attr();

	attr.exclude_kernel = 1;
	attr.disabled = 1;
	return Event::open(attr, Target::task());
}

std::string other()
{
	if (const char *const asked = std::getenv("OTHER"))
		return asked;
	return options().pmu.ends_with("_bts") ? "intel_pt" : "intel_bts";
}

void check_second(const std::string &name)
{
	const auto second = open(name);

	CHECK(static_cast<bool>(second) == !excludes());
	CHECK((second || second.error().code == EBUSY));
}

void wait_until_both_free()
{
	wait_until_free(options().pmu);
	wait_until_free(other());
}

} // namespace

TEST_CASE("While a unit traces nobody gets what the processor does not have at work beside it", "[excludes][.]")
{
	wait_until_both_free();
	const Event first = open(options().pmu).value();

	check_second(other());
}

TEST_CASE("Behind what the processor does not have at work beside it a unit is refused, and free again afterwards",
	"[excludes][.]")
{
	wait_until_both_free();
	KernelLog log;
	{
		const Event first = open(other()).value();

		check_second(options().pmu);
	}
	if (!attribute("claim").empty() && excludes())
		CHECK(log.says("trace units not to be had: " + (attribute("claim", other()).empty()
									       ? "somebody traces with " + other()
									       : other() + " has units")));
	wait_until_both_free();
	const Event again = open(options().pmu).value();
}
