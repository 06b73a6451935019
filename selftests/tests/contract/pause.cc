// SPDX-License-Identifier: GPL-2.0-only
/* aux_start_paused, aux_pause and aux_resume: all trace is delivered while the event is not paused, and none while it is. */
#include <string_view>

#include <sys/syscall.h>
#include <unistd.h>

#include "shared/fault.h"
#include "shared/fixture.h"
#include "shared/nmis.h"
#include "shared/tracepoint.h"

using namespace auxpmu;
using namespace auxpmu::test;

namespace
{

void pause_here()
{
	::syscall(SYS_getppid);
}

void resume_here()
{
	::syscall(SYS_getpgid, 0);
}

/*
 * A paused AUX event of this thread, or of the given target, with two members: getppid() (or another event) pauses it,
 * getpgid() resumes it.
 */
struct Paused {
	explicit Paused(AuxMode mode, perf_event_attr pausing = at_syscall("getppid"),
		const Target &target = Target::task_on_cpu(0, 0))
	{
		if (!can("pause"))
			SKIP("this kernel cannot pause AUX events");
		pin(0);
		setup.target = target;
		setup.mode = mode;
		setup.aux_bytes = 256 * KiB;
		setup.watermark = static_cast<std::uint32_t>(page_size());
		auto attr = make_attr(setup);
		set_aux_action(attr, AuxAction::start_paused);
		event = Event::open(attr, setup.target).value();
		auto resuming = at_syscall("getpgid");
		set_aux_action(pausing, AuxAction::pause);
		set_aux_action(resuming, AuxAction::resume);
		pause = Event::open(pausing, setup.target, event.fd()).value();
		resume = Event::open(resuming, setup.target, event.fd()).value();
		data = DataRing::map(event, setup.data_bytes).value();
		aux = AuxRing::map(data, event, setup.aux_bytes, setup.mode, true).value();
		event.enable().value();
	}

	Setup setup;
	Event event, pause, resume;
	DataRing data;
	AuxRing aux;
};

} // namespace

TEST_CASE("A paused event traces nothing, a resumed one all there is, as often as one likes", "[synth][pause]")
{
	need_synthetic();
	for (AuxMode mode : {AuxMode::full_trace, AuxMode::overwrite}) {
		Paused paused(mode);
		std::uint64_t expected = 0;

		INFO("overwrite: " << (mode == AuxMode::overwrite));
		for (int round = 0; round < 50; round++) {
			CHECK(emitter().emit(0, 640).error == ENXIO);
			resume_here();
			/* Resuming twice has the same effect as resuming once. */
			resume_here();
			CHECK(emitter().emit(0, 640).error == 0);
			expected += 640;
			pause_here();
			pause_here();
		}
		CHECK(emitter().emit(0, 640).error == ENXIO);
		paused.event.disable().value();

		TraceExpectation expectation = make_expectation(paused.setup);
		TraceVerifier verifier(expectation);
		if (mode == AuxMode::full_trace)
			verifier.feed(paused.aux.readable());
		else
			verifier.snapshot(paused.aux.snapshot());
		verifier.complete();
		CHECK(verifier.error() == "");
		CHECK(verifier.totals().records == expected / paused.setup.record + verifier.totals().starts);
		CHECK(verifier.totals().lost == 0);
	}
}

TEST_CASE("Pausing and stopping do not get in each other's way", "[synth][pause]")
{
	need_synthetic();
	Paused paused(AuxMode::full_trace);

	for (int round = 0; round < 20; round++) {
		resume_here();
		CHECK(emitter().emit(0, 64).error == 0);
		if (round % 2)
			pause_here();
		paused.event.disable().value();
		CHECK(emitter().emit(0, 64).error == ENXIO);
		paused.event.enable().value();
		/* Enabled again, the event is paused or not, as it was before. */
		CHECK(emitter().emit(0, 64).error == (round % 2 ? ENXIO : 0));
	}
	paused.event.disable().value();
}

TEST_CASE("A unit that is paused where its interrupt is due hands over what there is", "[synth][pause]")
{
	need_synthetic();
	/* A CPU event: when a thread is switched out, its trace is handed over, too. */
	Paused paused(AuxMode::full_trace, at_syscall("getppid"), Target::on_cpu(0));
	Tally tally;
	/* As if the interrupt had come in the NMI that pauses. */
	Fault lost("lost_irq", 1);
	auto take = [&] {
		paused.data.drain([&](const RecordView &view) {
			Record record = decode(view, paused.event.attr());

			if (auto *one = std::get_if<AuxRecord>(&record))
				tally.aux_bytes += one->size;
		});
	};

	resume_here();
	CHECK(emitter().emit(0, paused.setup.watermark).error == 0);
	take();
	REQUIRE(lost.left() == 0);
	REQUIRE(tally.aux_bytes == 0);
	pause_here();
	take();
	CHECK(tally.aux_bytes == paused.setup.watermark + paused.setup.record);
	paused.event.disable().value();
}

TEST_CASE("A pause that comes in NMI, at any step of a session, pauses it, and nothing is lost", "[synth][pause]")
{
	need_synthetic();
	for (AuxMode mode : {AuxMode::full_trace, AuxMode::overwrite}) {
		Paused paused(mode, at_nmi());
		Nmis nmi;
		std::uint64_t made = 0, paused_by_nmi = 0;

		paused.pause.set_filter(only_sent).value();
		INFO("overwrite: " << (mode == AuxMode::overwrite));
		for (const char *step : {"none", "request", "begin", "arm", "disarm", "end"}) {
			auto emit = [&](std::uint64_t bytes) {
				auto outcome = emitter().emit(0, bytes);

				made += outcome.bytes;
				return outcome;
			};
			resume_here();
			CHECK(emit(640).error == 0);
			if (std::string_view(step) == "none")
				CHECK(nmi.send(0, 1) == 0);
			else
				REQUIRE(nmi.at(step));
			/* Uses up windows, where there are any; the NMI comes in the middle of a change. */
			if (mode == AuxMode::full_trace)
				for (int i = 0; i < 8 && !emit(4 * KiB).error; i++)
					;
			REQUIRE(nmi.off());
			bool is_paused = emit(640).error == ENXIO;
			paused_by_nmi += is_paused;
			CHECK((is_paused || mode == AuxMode::overwrite || std::string_view(step) == "request"));
			if (std::string_view(step) == "none")
				CHECK(is_paused);
			resume_here();
			CHECK(emit(640).error == 0);
		}
		/* Paused while it is being stopped. */
		REQUIRE(nmi.at("disarm"));
		paused.event.disable().value();
		REQUIRE(nmi.off());
		CHECK(paused_by_nmi >= (mode == AuxMode::full_trace ? 5 : 1));

		TraceVerifier verifier(make_expectation(paused.setup));
		if (mode == AuxMode::full_trace)
			verifier.feed(paused.aux.readable());
		else
			verifier.snapshot(paused.aux.snapshot());
		verifier.complete();
		CHECK(verifier.error() == "");
		CHECK(verifier.totals().lost == 0);
		if (mode == AuxMode::full_trace)
			CHECK(verifier.totals().records == made / paused.setup.record + verifier.totals().starts);
	}
}
