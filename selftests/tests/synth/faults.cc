// SPDX-License-Identifier: GPL-2.0-only
/* Each failure branch, taken on request: with the fault the operation fails as it should, without the fault it works. */
#include <cerrno>
#include <cstdlib>
#include <format>
#include <map>
#include <string>

#include <fcntl.h>
#include <unistd.h>

#include "shared/fault.h"
#include "shared/fixture.h"
#include "shared/sampler.h"

using namespace auxpmu;
using namespace auxpmu::test;

namespace
{

/* Often enough that the fault lasts until the test ends it. */
constexpr unsigned always = 1u << 30;

Setup of_output(unsigned output)
{
	Setup setup;

	setup.output = output;
	return setup;
}

std::uint64_t counted(Tracer &tracer, const char *counter)
{
	return statistics().since(*tracer.before)[counter];
}

/* The same event continues to trace, to the last record, and more than its AUX area holds. */
void goes_on(Tracer &tracer)
{
	const std::uint64_t head = tracer.aux.head();

	tracer.enable();
	tracer.drain();
	/* Of a large window up to half the area is not handed over before it ends. */
	tracer.pump(3 * tracer.setup.aux_bytes, tracer.setup.aux_bytes / 8);
	tracer.drain();
	CHECK(tracer.aux.head() - head >= 2 * tracer.setup.aux_bytes);
}

/* The PMU works as if nothing had happened. */
void works(const Setup &setup)
{
	Tracer tracer(setup);

	tracer.enable();
	tracer.pump(4 * setup.aux_bytes, setup.aux_bytes / 4);
	tracer.finish();
	CHECK(tracer.tally.partial == 0);
}

} // namespace

TEST_CASE("Fault setup: without memory for a buffer mmap fails, and nothing stays behind", "[synth][faults]")
{
	need_synthetic();
	Setup setup;
	auto event = Event::open(make_attr(setup), setup.target).value();
	auto data = DataRing::map(event, setup.data_bytes).value();

	{
		Fault fault("setup", 1);
		auto aux = AuxRing::map(data, event, setup.aux_bytes, setup.mode);

		REQUIRE_FALSE(aux);
		CHECK(aux.error().code == ENOMEM);
		CHECK(buffers().empty());
		CHECK(fault.left() == 0);
	}
	CHECK(AuxRing::map(data, event, setup.aux_bytes, setup.mode));
	data = DataRing();
	event.close();
	works(setup);
}

TEST_CASE("Fault orders: a buffer of single pages only is as good, and refused where blocks are a must",
	"[synth][faults]")
{
	need_synthetic();
	for (unsigned output : every_output()) {
		Fault fault("orders", 1);
		Tracer tracer(of_output(output));
		auto lines = buffers();

		REQUIRE(lines.size() == 1);
		CHECK(lines[0].chunks == (output == AUXPMU_SYNTH_VIRTUAL ? 1 : tracer.setup.aux_bytes / page_size()));
		tracer.enable();
		tracer.pump(512 * KiB, 16 * KiB);
		tracer.finish();
	}
	Setup setup;
	setup.pages = AUXPMU_SYNTH_PAGES_HALF;
	Fault fault("orders", 1);
	auto event = Event::open(make_attr(setup), setup.target).value();
	auto data = DataRing::map(event, setup.data_bytes).value();
	CHECK_FALSE(AuxRing::map(data, event, setup.aux_bytes, setup.mode));
}

TEST_CASE("Fault mixed: a buffer of blocks of all orders is as good", "[synth][faults]")
{
	need_synthetic();
	for (unsigned output : block_outputs())
		for (AuxMode mode : {AuxMode::full_trace, AuxMode::overwrite}) {
			Setup setup = of_output(output);
			setup.mode = mode;
			setup.aux_bytes = 256 * KiB;
			std::map<unsigned, std::uint64_t> expected;
			{
				Tracer whole(setup);

				/* A half, a quarter, and so on, and what is left is one page more. */
				const auto blocks = buffers().at(0).orders;
				for (const auto &[order, count] : blocks) {
					REQUIRE(order > 0);
					for (unsigned part = 0; part < order; part++)
						expected[part] += part ? count : 2 * count;
				}
			}
			Fault fault("mixed", 1);
			Tracer tracer(setup);
			CAPTURE(output, mode == AuxMode::overwrite);
			CHECK(buffers().at(0).orders == expected);
			tracer.enable();
			if (mode == AuxMode::full_trace)
				tracer.pump(512 * KiB, 16 * KiB);
			else
				tracer.emit_all(3 * setup.aux_bytes / 2);
			tracer.finish();
		}
}

TEST_CASE("Fault add: an event that cannot be scheduled traces nothing, and does when it can", "[synth][faults]")
{
	need_synthetic();
	Tracer tracer{Setup{}};
	{
		Fault fault("add", always);

		tracer.enable();
		CHECK(tracer.emit(64).error == ENXIO);
		CHECK(tracer.aux.head() == 0);
	}
	/* Newer kernels try again by themselves at the next rotation, 6.1 does not (perf_mux_hrtimer_restart()). */
	tracer.event.restart().value();
	tracer.emit_all(64);
	tracer.finish();
}

TEST_CASE(
	"Fault arm: a unit that cannot be armed ends the trace with PARTIAL, said once until it can", "[synth][faults]")
{
	need_synthetic();
	for (unsigned output : every_output()) {
		Tracer tracer(of_output(output));
		{
			Fault fault("arm", always);

			tracer.enable();
			for (int times = 0; times < 3; times++) {
				CHECK(tracer.emit(64).error == ENXIO);
				tracer.event.restart().value();
			}
			tracer.disable();
		}
		tracer.drain();
		CHECK(counted(tracer, "arm_failures") >= 4);
		CHECK(tracer.tally.partial == 1);
		CHECK(tracer.aux.head() == 0);
		tracer.enable();
		tracer.emit_all(1024);

		/* The fault comes in the middle of a trace. */
		{
			Fault fault("arm", 1);
			auto outcome = tracer.emit(256 * KiB);

			CHECK(outcome.bytes < 256 * KiB);
			CHECK(fault.left() == 0);
		}
		tracer.disable();
		tracer.drain();
		goes_on(tracer);
		tracer.finish();
		CHECK(counted(tracer, "partials") == 2);
	}
}

TEST_CASE("Fault stuck: what a unit wrote without moving its pointer is lost, flagged and counted", "[synth][faults]")
{
	need_synthetic();
	for (unsigned output : every_output()) {
		Tracer tracer(of_output(output));

		tracer.allow_gaps();
		tracer.enable();
		{
			Fault fault("stuck", 1);

			tracer.emit_all(4096);
			tracer.disable();
		}
		CHECK(tracer.aux.head() == 0);
		goes_on(tracer);
		tracer.finish();
		CHECK(tracer.tally.partial == 1);
		CHECK(counted(tracer, "lost_unit") == 4096 + 64);
	}
}

TEST_CASE(
	"Fault overrun: what a unit wrote beyond its window is not handed over, flagged and counted", "[synth][faults]")
{
	need_synthetic();
	for (unsigned output : zero_copy_outputs()) {
		Tracer tracer(of_output(output));

		tracer.enable();
		{
			Fault fault("overrun", 1);

			/*
			 * Each piece is as large as the buffer: a unit that stops at region ends is at its limit only when the
			 * buffer is full.
			 */
			tracer.pump(4 * tracer.setup.aux_bytes, tracer.setup.aux_bytes);
			CHECK(fault.left() == 0);
		}
		/* The trace has all its records: the additional bytes that the unit is said to have written never existed. */
		tracer.finish_without_statistics();
		CHECK(tracer.tally.partial == 1);
		CHECK(counted(tracer, "overruns") == 1);
		CHECK(counted(tracer, "lost_unit") == page_size());
		CHECK(counted(tracer, "produced") == counted(tracer, "committed") + page_size());
	}
}

TEST_CASE("Fault spurious_irq: an interrupt too many changes nothing", "[synth][faults]")
{
	need_synthetic();
	for (unsigned output : every_output())
		for (auto mode : {AuxMode::full_trace, AuxMode::overwrite}) {
			Setup setup = of_output(output);

			setup.mode = mode;
			Fault fault("spurious_irq", always);
			Tracer tracer(setup);
			CHECK(tracer.emit(64).error == ENXIO);
			CHECK(counted(tracer, "spurious") == 1);
			tracer.enable();
			tracer.pump(256 * KiB, 4 * KiB);
			tracer.finish();
			CHECK(tracer.tally.partial == 0);
			CHECK(counted(tracer, "interrupts") >= 64);
		}
}

TEST_CASE("Fault late_irq: what a unit makes beyond its window is lost, and exactly that", "[synth][faults]")
{
	need_synthetic();
	{
		Tracer tracer(of_output(AUXPMU_SYNTH_WINDOW));
		Fault fault("late_irq", 1);

		tracer.allow_gaps();
		tracer.enable();
		tracer.emit_all(48 * KiB);
		goes_on(tracer);
		tracer.finish();
		CHECK(tracer.tally.partial == 1);
		CHECK(counted(tracer, "lost_unit") == page_size());
	}
	works(of_output(AUXPMU_SYNTH_WINDOW));
}

TEST_CASE("Fault lost_irq: a unit whose interrupt never comes stops at its limit, and a stop finds that out",
	"[synth][faults]")
{
	need_synthetic();
	for (unsigned output : every_output()) {
		Tracer tracer(of_output(output));

		INFO(describe(tracer.setup));
		tracer.allow_gaps();
		{
			Fault fault("lost_irq", 1);

			tracer.enable();
			tracer.emit_all(256 * KiB);
		}
		/* Without the interrupt there is no wakeup, and nothing is handed over. */
		CHECK(tracer.aux.head() == 0);
		tracer.disable();
		tracer.drain();
		CHECK(tracer.tally.partial == 1);
		CHECK(tracer.aux.head() > 0);
		CHECK(tracer.aux.head() + counted(tracer, "lost_unit") + counted(tracer, "lost_space") ==
			256 * KiB + 64);
		goes_on(tracer);
		tracer.finish();
		CHECK(tracer.tally.partial == 1);
	}
}

TEST_CASE("Faults truncated, partial, collision: each flag reaches the consumer once", "[synth][faults]")
{
	need_synthetic();
	static const struct {
		const char *name;
		std::uint64_t flag;
	} flags[] = {
		{"truncated", PERF_AUX_FLAG_TRUNCATED},
		{"partial", PERF_AUX_FLAG_PARTIAL},
		{"collision", PERF_AUX_FLAG_COLLISION},
	};
	for (const auto &one : flags) {
		Setup setup;

		INFO(one.name);
		setup.aux_bytes = 16 * KiB;
		Tracer tracer(setup);
		Fault fault(one.name, 1);
		std::uint64_t seen = 0, records = 0;
		tracer.enable();
		for (int round = 0; round < 4; round++) {
			tracer.emit_all(1024);
			tracer.disable();
			tracer.data.drain([&](const RecordView &view) {
				Record record = decode(view, tracer.event.attr());

				if (auto *aux = std::get_if<AuxRecord>(&record)) {
					records++;
					seen += !!(aux->flags & one.flag);
				}
			});
			CHECK(seen == 1);
			tracer.enable();
		}
		CHECK(records == 4);
		CHECK(fault.left() == 0);
		/* Each session begins with a START. */
		CHECK(tracer.aux.head() == 4 * (64 + 1024));
		tracer.verifier.feed(tracer.aux.readable());
		CHECK(tracer.verifier.ok());
	}
	works(Setup{});
}

TEST_CASE("Fault slow_stop: a unit that takes its time to stop loses nothing", "[synth][faults]")
{
	need_synthetic();
	Fault fault("slow_stop", 20);

	for (unsigned output : every_output())
		works(of_output(output));
	CHECK(fault.left() < 20);
}

TEST_CASE(
	"Fault short_sample: the half that is missing is zeros, and the sample as long as promised", "[synth][faults]")
{
	need_synthetic();
	need_sampling();
	pin(0);
	Setup setup;

	setup.target = Target::task_on_cpu(0, 0);
	Sampler sampler(setup, 4096);
	sampler.emit(16 * KiB);
	{
		Fault fault("short_sample", 1);
		auto trace = sampler.sample();

		REQUIRE(trace.size() == 4096);
		CHECK(all_zero(std::span(trace).first(2048)));
		CHECK_FALSE(all_zero(std::span(trace).subspan(2048)));
		CHECK(fault.left() == 0);
	}
	auto before = sampler.records();
	auto trace = sampler.sample();
	if (sampler.records() == before)
		CHECK(wrong_with(trace, setup, before, 4096) == "");
}
