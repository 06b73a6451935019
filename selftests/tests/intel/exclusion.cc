// SPDX-License-Identifier: GPL-2.0-only
/*
 * Some processors cannot run Intel PT beside BTS and LBR. For in-tree PMUs, the kernel counts the users of each. With --pmu
 * intel_pt or intel_bts the test also opens the other one (or OTHER=PMU from the environment), whichever driver it has. The
 * expected outcome is in the environment (EXCLUDES=yes or no; for LBR EXCLUDES_LBR). These tests also run with the in-tree
 * drivers, whose outcome ours must match.
 */
#include <cstdlib>

#include "shared/fixture.h"
#include "shared/hardware.h"

using namespace auxpmu;
using namespace auxpmu::test;

namespace
{

bool said(const char *name)
{
	const char *const asked = std::getenv(name);

	REQUIRE(asked);
	return asked == std::string("yes");
}

bool excludes()
{
	return said("EXCLUDES");
}

Result<Event> open(const std::string &name)
{
	perf_event_attr attr = Pmu::find(name).value().attr();

	attr.exclude_kernel = 1;
	attr.disabled = 1;
	return Event::open(attr, Target::task());
}

/* A counter whose samples hold the last branches of programs. */
Result<Event> open_records(const Target &where = Target::task())
{
	perf_event_attr attr{};

	attr.size = sizeof(attr);
	attr.type = PERF_TYPE_HARDWARE;
	attr.config = PERF_COUNT_HW_INSTRUCTIONS;
	attr.sample_period = 100'000;
	attr.sample_type = PERF_SAMPLE_BRANCH_STACK;
	attr.branch_sample_type = PERF_SAMPLE_BRANCH_USER | PERF_SAMPLE_BRANCH_ANY;
	attr.exclude_kernel = 1;
	attr.disabled = 1;
	return Event::open(attr, where);
}

std::string other()
{
	if (const char *const asked = std::getenv("OTHER"))
		return asked;
	return options().pmu.ends_with("_bts") ? "intel_pt" : "intel_bts";
}

void check_second(const Result<Event> &second, bool apart)
{
	CHECK(static_cast<bool>(second) == !apart);
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

	check_second(open(other()), excludes());
}

TEST_CASE("Behind what the processor does not have at work beside it a unit is refused, and free again afterwards",
	"[excludes][.]")
{
	wait_until_both_free();
	KernelLog log;
	{
		const Event first = open(other()).value();

		check_second(open(options().pmu), excludes());
	}
	if (!attribute("claim").empty() && excludes())
		CHECK(log.says("trace units not to be had: " + (attribute("claim", other()).empty()
									       ? "somebody traces with " + other()
									       : other() + " has units")));
	wait_until_both_free();
	const Event again = open(options().pmu).value();
}

TEST_CASE("While a unit traces nobody gets last branch records where the processor does not have them beside it, nor "
	  "the unit while somebody has",
	"[excludes][lbr][.]")
{
	const bool apart = said("EXCLUDES_LBR");

	wait_until_free(options().pmu);
	{
		const Event first = open(options().pmu).value();

		check_second(open_records(), apart);
	}
	wait_until_free(options().pmu);
	{
		const Event first = open_records().value();

		check_second(open(options().pmu), apart);
	}
	wait_until_free(options().pmu);
	const Event again = open(options().pmu).value();
}

TEST_CASE("Where nothing keeps last branch records away the unit is refused while they are on, which is told, counted, "
	  "and over with them",
	"[lbr-beside][.]")
{
	pin(0);
	Setup setup = on_cpu(0, 64 * KiB);
	setup.mode = AuxMode::overwrite;
	const auto faults = [] {
		return std::stoull(attribute("errors/fault"));
	};
	const auto before = faults();
	Tracer tracer(setup);
	const auto written = [&tracer] {
		const std::uint64_t head = tracer.aux.head();
		tracer.enable();
		churn(1000);
		tracer.disable();
		tracer.drain();
		return tracer.aux.head() - head;
	};

	{
		/*
		 * An event of the CPU: those of a task are off while another task runs, and the unit would be armed meanwhile.
		 */
		const Event records = open_records(Target::on_cpu(0)).value();
		REQUIRE(records.enable());
		CHECK(written() == 0);
		CHECK(tracer.tally.partial == 1);
	}
	/* One refusal for each time that the event was scheduled in. */
	const auto refused = faults();
	CHECK(refused > before);
	CHECK(written() > 1000);
	CHECK(tracer.tally.partial == 1);
	CHECK(faults() == refused);
}
