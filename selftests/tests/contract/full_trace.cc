// SPDX-License-Identifier: GPL-2.0-only
/*
 * Full trace: the AUX area is mapped writable, and every byte is delivered once, in order, within the room that the consumer
 * gave.
 */
#include <algorithm>
#include <format>

#include <poll.h>

#include <catch2/generators/catch_generators.hpp>

#include "contract/yields.h"
#include "shared/fixture.h"

using namespace auxpmu;
using namespace auxpmu::test;

namespace
{

/* Is there room for more than the START record? All units but scatter must leave one byte of the buffer free. */
bool fits(const Setup &setup)
{
	return 2 * setup.record < setup.aux_bytes ||
	       (setup.output == AUXPMU_SYNTH_SCATTER && 2 * setup.record == setup.aux_bytes);
}

/* The most that can be emitted at once into an empty buffer in which half of it may still be uncommitted. */
std::uint64_t small_piece(const Setup &setup)
{
	std::uint64_t piece =
		std::min<std::uint64_t>(setup.aux_bytes / 4, setup.output == AUXPMU_SYNTH_COPY ? 16 * KiB : MiB);

	return std::max<std::uint64_t>(setup.record, piece / setup.record * setup.record);
}

/*
 * A unit with RAM of its own drains up to half of it at once, and bytes without room are lost. To lose nothing, stop before it
 * holds more than the buffer takes.
 */
void pump_in_sessions(Tracer &tracer, std::uint64_t total)
{
	const std::uint64_t record = tracer.setup.record;
	const std::uint64_t usable = (tracer.setup.aux_bytes - 1) / record * record;
	const std::uint64_t piece = std::min<std::uint64_t>(usable - record, 24 * KiB) / record * record;

	for (std::uint64_t done = 0; done < total; done += piece) {
		tracer.emit_all(piece);
		tracer.disable();
		tracer.drain();
		tracer.enable();
	}
}

bool has_poll(int fd, int timeout_ms)
{
	pollfd wait{fd, POLLIN, 0};

	return ::poll(&wait, 1, timeout_ms) == 1 && (wait.revents & POLLIN);
}

} // namespace

TEST_CASE("A full trace is contiguous and complete across many wraps", "[synth][full]")
{
	need_synthetic();
	for (unsigned output : every_output())
		for (std::uint32_t record : {64u, 512u, 4096u})
			for (std::size_t bytes : {page_size(), 2 * page_size(), 64 * KiB, 512 * KiB})
				for (std::uint32_t watermark : {0u, 1u, 4096u, 10000u}) {
					Setup setup;

					setup.output = output;
					setup.record = record;
					setup.aux_bytes = bytes;
					setup.watermark = watermark;
					setup.pattern = (output + record / 512) % 3;
					setup.seed = watermark + 17;
					/* There is a record in the data ring for every trace record. */
					if (watermark == 1)
						setup.data_bytes = 512 * KiB;
					if (!fits(setup))
						continue;
					INFO(describe(setup));
					Tracer tracer(setup);

					const std::uint64_t total =
						std::min<std::uint64_t>(6 * bytes + 3 * record, 2 * MiB);
					tracer.enable();
					if (output == AUXPMU_SYNTH_COPY && bytes < 256 * KiB)
						pump_in_sessions(tracer, total);
					else
						tracer.pump(total, small_piece(setup));
					tracer.finish();
					CHECK(tracer.verifier.totals().lost == 0);
					CHECK(tracer.verifier.totals().record_bytes >= total);
					CHECK(tracer.verifier.streams().size() == 1);
				}
}

namespace
{

/* Starts and stops 20 times; a unit that promises trace for each start must have written some each time. */
void start_and_stop(const Setup &setup)
{
	auto tracer = open_or_skip(setup);
	std::uint64_t last = tracer.aux.head();
	std::string wrote;
	int silent = 0;

	for (int i = 0; i < 20; i++) {
		tracer.enable();
		tracer.disable();
		std::uint64_t head = tracer.aux.head();
		silent += head == last;
		wrote += std::format(" {}", head - last);
		last = head;
		if (setup.mode == AuxMode::full_trace)
			tracer.drain();
	}
	/* Whatever was written, all of it is accounted for. */
	tracer.finish();
	if (synthetic())
		CHECK(tracer.verifier.totals().starts == 20);
	if (yields() != "start")
		return;
	INFO(describe(setup) << ": bytes of 20 starts that were stopped at once:" << wrote
			     << "; its caps/yields promises trace of each");
	CHECK(silent == 0);
}

} // namespace

TEST_CASE("A start and a stop right after it yield trace, in both modes, if caps/yields says so", "[contract][full]")
{
	pin(0);
	auto mode = GENERATE(AuxMode::full_trace, AuxMode::overwrite);
	for (unsigned output : every_output())
		for (bool manual : {true, false}) {
			Setup setup;

			setup.output = output;
			setup.mode = mode;
			setup.manual = manual;
			start_and_stop(setup);
			/* The other outputs make no difference to any other PMU. */
			if (!synthetic())
				return;
		}
}

TEST_CASE("Every output, record size and pattern is what was asked for", "[synth][full]")
{
	need_synthetic();
	for (unsigned output : every_output())
		for (std::uint32_t record = 64; record <= 4096; record *= 2)
			for (unsigned pattern : {AUXPMU_SYNTH_COUNTER, AUXPMU_SYNTH_CONSTANT, AUXPMU_SYNTH_RANDOM}) {
				Setup setup;

				setup.output = output;
				setup.record = record;
				setup.pattern = pattern;
				setup.seed = 0xffffffffu - record;
				Tracer tracer(setup);
				tracer.enable();
				tracer.emit_all(3 * record);
				tracer.finish();
				CHECK(tracer.verifier.totals().records == 4);
				CHECK(tracer.verifier.totals().starts == 1);
			}
}

TEST_CASE("poll wakes the consumer when the watermark is reached, and not before", "[synth][full]")
{
	need_synthetic();
	for (unsigned output : every_output())
		for (std::size_t pages : {1u, 4u, 8u}) {
			Setup setup;
			const std::uint64_t watermark = pages * page_size();

			setup.output = output;
			setup.watermark = static_cast<std::uint32_t>(watermark);
			setup.aux_bytes = 32 * page_size();
			INFO(describe(setup));
			Tracer tracer(setup);
			tracer.enable();
			has_poll(tracer.event.fd(), 0);
			for (int round = 0; round < 12; round++) {
				/* Regions are a sixteenth of the buffer: scatter output can be late by one of them. */
				std::uint64_t head = tracer.aux.head();
				std::uint64_t next = (head / watermark + 1) * watermark;
				std::uint64_t made = 0;

				CHECK_FALSE(has_poll(tracer.event.fd(), 0));
				while (tracer.aux.head() < next && made <= watermark + 4 * page_size()) {
					/* No wakeup may come before the watermark is reached. */
					CHECK_FALSE(has_poll(tracer.event.fd(), 0));
					tracer.emit_all(1024);
					made += 1024;
				}
				CHECK(tracer.aux.head() >= next);
				CHECK(has_poll(tracer.event.fd(), 10000));
				tracer.drain();
			}
			tracer.finish();
			CHECK(tracer.tally.truncated == 0);
		}
}

TEST_CASE("Trace that comes by itself, from a timer, is complete", "[synth][full]")
{
	need_synthetic();
	for (unsigned output : every_output()) {
		Setup setup;

		setup.output = output;
		setup.manual = false;
		setup.rate = 16;
		setup.aux_bytes = 256 * KiB;
		setup.watermark = 16 * KiB;
		Tracer tracer(setup);
		/* A consumer that is too slow makes a unit with RAM of its own lose what it holds. */
		tracer.allow_gaps_of_copies();
		tracer.enable();
		wait_until("2 MiB of trace", [&] {
			tracer.drain();
			if (tracer.tally.truncated) {
				wait_until("the event to be off", [&] { return tracer.off(); });
				tracer.drain();
				tracer.tally.truncated = 0;
				tracer.before.reset();
				tracer.enable();
			}
			return !tracer.verifier.ok() || tracer.verifier.totals().bytes >= 2 * MiB;
		});
		tracer.finish();
	}
}

TEST_CASE("When the data ring is full records are lost, and counted, but no trace", "[synth][full]")
{
	need_synthetic();
	Setup setup;
	/* One record of some 60 bytes for each page of trace. */
	const std::uint64_t total = page_size() * page_size() / 16;

	setup.output = AUXPMU_SYNTH_WINDOW;
	setup.data_bytes = page_size();
	setup.watermark = 1;
	Tracer tracer(setup);
	tracer.enable();
	/* The trace is read, but the records are not: the ring holds about a quarter of them. */
	for (std::uint64_t done = 0; done < total; done += 16 * KiB) {
		tracer.emit_all(16 * KiB);
		Spans spans = tracer.aux.readable();
		tracer.verifier.feed(spans);
		tracer.aux.consume(spans.size());
	}
	tracer.disable();
	tracer.drain();
	/* PERF_RECORD_LOST comes with the first record for which there is room again. */
	tracer.enable();
	tracer.disable();
	tracer.drain();
	INFO(tracer.verifier.error());
	CHECK(tracer.verifier.complete());
	CHECK(tracer.verifier.totals().record_bytes == total + 2 * setup.record);
	CHECK(tracer.aux.head() == total + 2 * setup.record);
	CHECK(tracer.tally.lost > 0);
	CHECK(tracer.tally.aux_bytes < tracer.aux.head());
	CHECK(statistics().since(*tracer.before)["committed"] == tracer.aux.head());
}
