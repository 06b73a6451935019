// SPDX-License-Identifier: GPL-2.0-only
/* The buffer is full: the unit stops and reports it once, the event is off, and continues when it is enabled again. */
#include <algorithm>
#include <format>

#include <poll.h>

#include "shared/fixture.h"

using namespace auxpmu;
using namespace auxpmu::test;

namespace
{

constexpr std::uint64_t plenty = 1 * MiB;

void fill(Tracer &tracer)
{
	auto outcome = tracer.emit(plenty);

	CHECK(outcome.error == ENOSPC);
	CHECK(outcome.bytes < plenty);
	wait_until("the event to be switched off", [&] { return tracer.off(); });
}

} // namespace

TEST_CASE("A full buffer stops the event with one TRUNCATED record, and it goes on after drain and ENABLE",
	"[synth][stop]")
{
	need_synthetic();
	/* On CPU 0 and on another one: kernels that fail to switch the event off fail differently there. */
	for (int cpu = 0; cpu < std::min(2, cpus()); cpu++)
		for (unsigned output : every_output())
			for (std::size_t bytes : {16 * KiB, 128 * KiB}) {
				Setup setup;

				setup.target = Target::on_cpu(cpu);
				setup.output = output;
				setup.aux_bytes = bytes;
				setup.record = 256;
				INFO(describe(setup));
				Tracer tracer(setup);
				/* The contents of the unit's RAM that find no room are lost, and must be accounted for. */
				tracer.allow_gaps_of_copies();
				tracer.enable();
				for (unsigned round = 1; round <= 4; round++) {
					fill(tracer);
					std::uint64_t head = tracer.aux.head();
					std::uint64_t held = head - tracer.aux.tail();
					/* The core holds one byte back; only units that stop at region ends may use it. */
					CHECK(held <= (output == AUXPMU_SYNTH_SCATTER ? bytes : bytes - 1));
					CHECK(held + 4096 + setup.record > bytes);

					/* The event stays off: nothing is written, with or without room. */
					CHECK(tracer.emit(setup.record).error == ENXIO);
					tracer.drain();
					CHECK(tracer.tally.truncated == round);
					CHECK(tracer.emit(setup.record).error == ENXIO);
					CHECK(tracer.aux.head() == head);

					/* One ENABLE is enough. */
					tracer.enable();
					tracer.emit_all(setup.record);
				}
				tracer.finish();
				CHECK(tracer.tally.truncated == 4);
				CHECK(tracer.verifier.totals().starts == 5);
				if (output != AUXPMU_SYNTH_COPY)
					CHECK(tracer.verifier.totals().lost == 0);
			}
}

TEST_CASE("An event that is on is never taken for one that is off", "[synth][stop]")
{
	need_synthetic();
	Tracer tracer{Setup{}};

	/* Long enough for perf's clock to stand still now and then; see liveness.h. */
	tracer.enable();
	for (int i = 0; i < 20000; i++)
		REQUIRE_FALSE(tracer.off());
	tracer.disable();
	REQUIRE(tracer.off());
	tracer.enable();
	REQUIRE_FALSE(tracer.off());
	tracer.finish();
}

TEST_CASE("ENABLE without room stops again, says TRUNCATED at most once each time, and loses nothing", "[synth][stop]")
{
	need_synthetic();
	for (unsigned output : zero_copy_outputs()) {
		Setup setup;

		setup.output = output;
		setup.aux_bytes = 16 * KiB;
		INFO(describe(setup));
		Tracer tracer(setup);
		tracer.enable();
		fill(tracer);
		std::uint64_t head = tracer.aux.head();
		for (int i = 0; i < 3; i++) {
			tracer.enable();
			wait_until("the event to be switched off again", [&] { return tracer.off(); });
			CHECK(tracer.emit(64).error == ENXIO);
			CHECK(tracer.aux.head() == head);
		}
		tracer.drain();
		CHECK(tracer.tally.truncated >= 1);
		CHECK(tracer.tally.truncated <= 4);
		tracer.enable();
		tracer.emit_all(1024);
		tracer.finish();
		CHECK(tracer.verifier.totals().lost == 0);
	}
}

TEST_CASE("A consumer that is woken when the buffer is full finds everything there", "[synth][stop]")
{
	need_synthetic();
	Setup setup;

	setup.aux_bytes = 32 * KiB;
	Tracer tracer(setup);
	tracer.enable();
	fill(tracer);
	pollfd wait{tracer.event.fd(), POLLIN, 0};
	CHECK(::poll(&wait, 1, 10000) == 1);
	tracer.drain();
	CHECK(tracer.tally.truncated == 1);
	tracer.finish();
}

TEST_CASE("Room for part of a record is no room, and the record comes whole later", "[synth][stop]")
{
	need_synthetic();
	for (unsigned output : zero_copy_outputs()) {
		Setup setup;

		setup.output = output;
		setup.record = 4096;
		setup.aux_bytes = 16 * KiB;
		INFO(describe(setup));
		Tracer tracer(setup);
		tracer.enable();
		fill(tracer);

		/* Give back half a record, after feeding it to the verifier, which can then continue from there. */
		Spans spans = tracer.aux.view(tracer.aux.tail(), tracer.aux.tail() + 2048);
		tracer.verifier.feed(spans);
		tracer.aux.consume(2048);
		tracer.enable();
		wait_until("the event to be switched off again", [&] { return tracer.off(); });
		CHECK(tracer.emit(4096).error == ENXIO);
		tracer.drain();
		tracer.enable();
		tracer.emit_all(4096);
		tracer.finish();
		CHECK(tracer.verifier.totals().lost == 0);
	}
}
