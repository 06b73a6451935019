// SPDX-License-Identifier: GPL-2.0-only
/* The Intel PT backend: what is particular to its output.  Run with --pmu auxpmu_pt; everywhere else all of it is skipped. */
#include <string>

#include "fixture.h"
#include "hardware.h"

using namespace auxpmu;
using namespace auxpmu::test;

TEST_CASE("Whoever gives back room for a region end gets trace, and nobody waits for it in vain", "[pt][regions]")
{
	need("auxpmu_pt");
	pin(0);
	/* Regions are a 16th of the buffer. */
	constexpr std::uint64_t size = 256 * KiB, granule = size / 16;
	constexpr std::uint64_t page = 4 * KiB;
	Tracer tracer(on_cpu(0, size));

	tracer.enable();
	for (int lap = 0; lap < 3; lap++)
		for (std::uint64_t room : {page, granule - 1, granule, granule + page, 2 * granule}) {
			INFO("room " << room << ", lap " << lap);
			/* To the brim, or as near to it as regions allow. */
			fill(tracer, 2 * size);
			REQUIRE(tracer.off());
			const std::uint64_t head = tracer.aux.head();
			CHECK(head - tracer.aux.tail() > size - granule);
			/* Where the unit stopped there is a region end, so from there whole regions can be had. */
			CHECK(head % granule == 0);
			tracer.aux.consume(room - (size - (head - tracer.aux.tail())));
			tracer.event.restart().value();
			fill(tracer, 2 * size);
			CHECK(tracer.aux.head() - head == room / granule * granule);
			/* And from the middle of a region to its end. */
			tracer.aux.consume(tracer.aux.head() - tracer.aux.tail());
			tracer.event.restart().value();
			churn(200);
			tracer.disable();
			const std::uint64_t middle = tracer.aux.head();
			tracer.enable();
			if (middle % granule)
				fill(tracer, page);
			CHECK(tracer.aux.head() > middle);
		}
}

TEST_CASE("What the unit reports as lost is flagged and counted", "[pt][regions]")
{
	need("auxpmu_pt");
	pin(0);
	Setup setup = on_cpu(0, 64 * KiB);
	const std::string stopped = attribute("errors/stopped");
	Tracer tracer(setup);
	const std::uint64_t gaps = statistics()["gaps"];

	/* Nobody reads: the unit comes to the end of its window. */
	tracer.enable();
	fill(tracer, 2 * setup.aux_bytes);
	REQUIRE(tracer.off());
	tracer.drain();
	CHECK(tracer.tally.truncated == 1);
	const std::uint64_t more = std::stoull(attribute("errors/stopped")) - std::stoull(stopped);
	CHECK(statistics()["gaps"] - gaps == more);
	CHECK(tracer.tally.partial == more);
}

TEST_CASE("Whether an overwriting buffer was ever filled is known at each of its stops", "[pt][regions]")
{
	need("auxpmu_pt");
	pin(0);
	Setup setup = on_cpu(0, 64 * KiB);
	setup.mode = AuxMode::overwrite;
	/* Steps of less than a region, of about one, and of less than a lap. */
	for (unsigned calls : {200U, 4000U, 12000U}) {
		Tracer tracer(setup);
		const auto wraps = statistics()["wraps"];
		std::uint64_t head = 0, position = 0;

		INFO("steps of " << calls << " calls");
		/* Each step makes less than a lap, so offsets tell how far it got, whatever the head says. */
		do {
			tracer.enable();
			churn(calls);
			tracer.disable();
			const std::uint64_t now = tracer.aux.head();
			position += (now - position) % setup.aux_bytes;
			CHECK(now > head);
			CHECK(now == position);
			head = now;
		} while (position < 2 * setup.aux_bytes);
		CHECK(statistics()["wraps"] - wraps == position / setup.aux_bytes);
	}
}
