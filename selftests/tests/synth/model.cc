// SPDX-License-Identifier: GPL-2.0-only
/*
 * Units modelled at run time: which attributes they accept, that they trace accordingly, and that they can be removed at any
 * time.
 */
#include <atomic>
#include <cerrno>
#include <filesystem>
#include <format>
#include <thread>
#include <utility>
#include <vector>

#include "shared/endure.h"
#include "shared/fault.h"
#include "shared/fixture.h"
#include "shared/knob.h"
#include "shared/modelled.h"

using namespace auxpmu;
using namespace auxpmu::test;

namespace
{

/* Ends the trace with a record that is not lost: its sequence number shows how much was lost before it. */
void end_with_a_record(Tracer &tracer)
{
	tracer.drain();
	std::uint64_t head = tracer.aux.head();
	do {
		tracer.pump(tracer.setup.record, tracer.setup.record);
		tracer.disable();
		tracer.drain();
		tracer.enable();
	} while (tracer.aux.head() == head);
	tracer.finish();
}

/* Has a buffer filled and read many times over, with all the accounts compared. */
void trace_much(Setup setup, bool loses)
{
	INFO(describe(setup));
	Tracer tracer(setup);
	const bool whole = !loses && setup.output != AUXPMU_SYNTH_COPY;

	if (!whole)
		tracer.allow_gaps();
	tracer.enable();
	tracer.pump(6 * setup.aux_bytes, setup.aux_bytes / 3 / setup.record * setup.record);
	end_with_a_record(tracer);
	CHECK(tracer.verifier.totals().record_bytes > 0);
	if (whole)
		CHECK(tracer.verifier.totals().lost == 0);
}

} // namespace

TEST_CASE("A modelled unit refuses what cannot be, says why, and stays as it was", "[synth][model]")
{
	need_configfs();
	auto unit = ModelledUnit::make("modelled").value();
	KernelLog log;

	const struct {
		const char *attribute;
		std::string value;
		const char *reason;
	} wrong[] = {
		{"start_align", "3", "no power of two"},
		{"start_align", std::to_string(2 * page_size()), "out of range"},
		{"end_align", "0", "out of range"},
		{"record", "32", "out of range"},
		{"record", "96", "no power of two"},
		{"spare", std::to_string(page_size() + 1), "out of range"},
		{"irq_delay", "none", "not a number"},
		{"ram", "100", "out of range"},
		{"rate", "1025", "out of range"},
		{"granule", std::to_string(page_size() / 2), "out of range"},
		{"max_chunk", std::to_string(3 * page_size()), "no power of two"},
		{"output", "paper", "any, scatter, window, copy or virtual"},
		{"overwrite", "perhaps", "0 or 1"},
		{"name", "0zero", "does not begin with a letter"},
		{"name", "a/b", "letters, digits and _ only"},
		{"name", "a b", "letters, digits and _ only"},
		{"name", "a\xe4", "letters, digits and _ only"},
		{"name", "\xe4", "does not begin with a letter"},
		{"live", "maybe", "0 or 1"},
	};
	for (const auto &one : wrong) {
		INFO(one.attribute << " = " << one.value);
		std::string before = unit.get(one.attribute);
		auto outcome = unit.set(one.attribute, one.value);

		CHECK_FALSE(outcome);
		if (!outcome)
			CHECK(outcome.error().code == EINVAL);
		CHECK(unit.get(one.attribute) == before);
		CHECK(log.says(one.reason));
	}

	/* Values that are wrong only in combination are refused when the unit is to go live. */
	static const struct {
		Attributes attributes;
		const char *reason;
	} together[] = {
		{{{"ram", "4096"}, {"record", "4096"}}, "less than two records"},
		{{{"ram", "65536"}, {"spare", "100"}}, "no multiple of 64"},
		{{{"spare", "0"}, {"min_chunk", "65536"}, {"max_chunk", std::to_string(page_size())}},
			"min_chunk is above max_chunk"},
		{{{"max_chunk", "0"}, {"max_buffer", "32768"}}, "min_chunk is above max_buffer"},
		{{{"min_chunk", "0"}, {"min_buffer", "65536"}}, "min_buffer is above max_buffer"},
	};
	for (const auto &one : together) {
		INFO(describe(one.attributes));
		for (const auto &[attribute, value] : one.attributes)
			unit.set(attribute, value).value();
		CHECK_FALSE(unit.live(true));
		CHECK(unit.get("live") == "0");
		CHECK(log.says(one.reason));
	}
	unit.set("min_buffer", 0).value();
	unit.live(true).value();
	CHECK(unit.get("live") == "1");
	for (const auto &[attribute, value] :
		Attributes{{"spare", "64"}, {"output", "any"}, {"overwrite", "1"}, {"name", "other"}}) {
		INFO(attribute);
		CHECK(unit.set(attribute, value).error().code == EBUSY);
		CHECK(log.says("refused while live"));
	}
	CHECK(unit.remove().error().code == EBUSY);
	CHECK(Pmu::find("modelled"));
	unit.live(false).value();
	CHECK_FALSE(Pmu::find("modelled"));
	unit.remove().value();
	CHECK(ModelledUnit::make("0zero").error().code == EINVAL);
	CHECK(log.says("does not begin with a letter"));
}

TEST_CASE("A unit's name must be free, and one that perf knows brings what perf wants of it", "[synth][model]")
{
	need_configfs();
	KernelLog log;
	auto unit = ModelledUnit::make("modelled").value();

	for (const char *taken : {"software", "auxpmu_synth", "system", "platform"}) {
		INFO(taken);
		unit.set("name", taken).value();
		auto outcome = unit.live(true);
		REQUIRE_FALSE(outcome);
		CHECK(outcome.error().code == EEXIST);
		CHECK(log.says(std::format("PMU {} refused: there is a device of that name", taken)));
	}
	for (const char *known : {"intel_pt", "intel_bts", "arm_spe_0"}) {
		INFO(known);
		if (Pmu::find(known))
			continue;
		unit.set("name", known).value();
		unit.live(true).value();
		auto persona = Pmu::find(known).value();
		auto attr = persona.attr();
		Event::open(attr, Target::on_cpu(0)).value();
		if (persona.has_field("cyc"))
			persona.set(attr, "cyc", 1).value();
		Event::open(attr, Target::on_cpu(0)).value();
		for (auto field : {&perf_event_attr::config1, &perf_event_attr::config2}) {
			attr.*field = 1;
			CHECK(Event::open(attr, Target::on_cpu(0)).error().code == EINVAL);
			attr.*field = 0;
		}
		attr.config |= 1ull << 63;
		CHECK(Event::open(attr, Target::on_cpu(0)).error().code == EINVAL);
		CHECK(persona.monotonic_aux_head() == (std::string(known) == "arm_spe_0"));
		unit.live(false).value();
	}
}

TEST_CASE("Trace is complete whatever alignment, spare bytes and delay a unit has", "[synth][model]")
{
	need_configfs();
	static const struct {
		unsigned start, end, spare, delay;
	} shapes[] = {
		{1, 1, 0, 0},
		{512, 1, 0, 0},
		{4096, 4096, 0, 0},
		{64, 1024, 1024, 1024},
		{256, 64, 4096, 2048},
		{1, 1, 1024, 4096},
		{1, 256, 0, 640},
	};
	for (unsigned output : every_output())
		for (const auto &shape : shapes) {
			Attributes attributes = {{"start_align", std::to_string(shape.start)},
				{"end_align", std::to_string(shape.end)}, {"spare", std::to_string(shape.spare)},
				{"irq_delay", std::to_string(shape.delay)}};
			INFO(describe(attributes));
			UnitUnderTest under(attributes);
			for (auto mode : {AuxMode::full_trace, AuxMode::overwrite}) {
				Setup setup;

				setup.output = output;
				setup.mode = mode;
				setup.aux_bytes = 64 * KiB;
				setup.record = 128;
				trace_much(setup, shape.delay > shape.spare);
			}
		}
}

TEST_CASE("Memory of the unit's own that records do not divide cuts none of them", "[synth][model]")
{
	need_configfs();
	for (const auto &[ram, record] : {std::pair{12288u, 4096u}, {8200u, 64u}, {10240u, 2048u}}) {
		Attributes attributes = {{"ram", std::to_string(ram)}, {"record", std::to_string(record)}};
		INFO(describe(attributes));
		UnitUnderTest under(attributes);
		Setup setup;

		setup.output = AUXPMU_SYNTH_COPY;
		setup.aux_bytes = 64 * KiB;
		setup.record = record;
		trace_much(setup, false);
	}
}

TEST_CASE("What a unit writes while its interrupt is late is lost behind its spare bytes, and said to be",
	"[synth][model]")
{
	need_configfs();
	UnitUnderTest under({{"output", "window"}, {"spare", "256"}, {"irq_delay", "1024"}});
	Setup setup;

	setup.output = AUXPMU_SYNTH_WINDOW;
	setup.aux_bytes = 64 * KiB;
	Tracer tracer(setup);
	tracer.allow_gaps();
	tracer.enable();
	tracer.pump(256 * KiB, 64 * KiB);
	end_with_a_record(tracer);
	auto delta = statistics().since(*tracer.before);
	/* A full window loses the trace by which the delay exceeds the spare bytes. */
	CHECK(delta["lost_unit"] > 0);
	CHECK(delta["lost_unit"] % (1024 - 256) == 0);
	CHECK(delta["partials"] > 0);
	CHECK(tracer.tally.partial == delta["partials"]);
}

TEST_CASE(
	"Blocks above a unit's largest are used as several, and ones below its smallest are refused", "[synth][model]")
{
	need_configfs();
	for (unsigned output : block_outputs()) {
		UnitUnderTest under({{"max_chunk", std::to_string(4 * page_size())}});
		Setup setup;

		CHECK(pmu().cap("max_order") == "2");
		setup.output = output;
		setup.aux_bytes = 64 * page_size();
		Tracer tracer(setup);
		auto lines = buffers();
		REQUIRE(lines.size() == 1);
		for (const auto &[order, count] : lines[0].orders)
			CHECK(order <= 2);
		CHECK(lines[0].chunks >= 16);
		tracer.enable();
		tracer.pump(4 * setup.aux_bytes, setup.aux_bytes / 4);
		tracer.finish();
	}
	UnitUnderTest under({{"min_chunk", std::to_string(2 * page_size())}});
	KernelLog log;
	Setup setup;

	/* Single pages, which the event requests, are never enough. */
	setup.pages = AUXPMU_SYNTH_PAGES_ANY;
	auto event = Event::open(make_attr(setup), setup.target).value();
	auto data = DataRing::map(event, setup.data_bytes).value();
	CHECK_FALSE(AuxRing::map(data, event, setup.aux_bytes, setup.mode));
	CHECK(log.says(std::format("it has to be of chunks of {} KiB", 2 * page_size() / KiB)));
}

TEST_CASE("A unit's limits of size and of use are kept, and named", "[synth][model]")
{
	need_configfs();
	const std::size_t least = 4 * page_size(), most = 16 * page_size(), granule = 2 * page_size();
	UnitUnderTest under({{"min_buffer", std::to_string(least)}, {"max_buffer", std::to_string(most)},
		{"overwrite", "0"}, {"granule", std::to_string(granule)}});
	KernelLog log;
	Setup setup;

	CHECK(pmu().cap("granule") == std::to_string(granule));
	CHECK(pmu().cap("overwrite")->starts_with("0 "));
	auto event = Event::open(make_attr(setup), setup.target).value();
	auto data = DataRing::map(event, setup.data_bytes).value();
	for (std::size_t bytes : {least / 2, 2 * most}) {
		CHECK_FALSE(AuxRing::map(data, event, bytes, AuxMode::full_trace));
		CHECK(log.says(std::format("the unit takes {} to {}", least / KiB, most / KiB)));
	}
	CHECK_FALSE(AuxRing::map(data, event, 2 * least, AuxMode::overwrite));
	CHECK(log.says("the unit cannot overwrite"));
	data = DataRing();
	event.close();
	for (std::size_t bytes : {least, most}) {
		setup.aux_bytes = bytes;
		trace_much(setup, false);
	}
}

TEST_CASE("A unit with events or mappings cannot be taken away, and can right after", "[synth][model]")
{
	need_configfs();
	UnitUnderTest under({});
	KernelLog log;
	Setup setup;

	auto busy = [&] {
		auto outcome = under.unit.live(false);

		CHECK_FALSE(outcome);
		if (!outcome)
			CHECK(outcome.error().code == EBUSY);
		CHECK(log.says("events or mappings of modelled are there"));
	};
	{
		auto event = Event::open(make_attr(setup), setup.target).value();
		busy();
	}
	under.unit.live(false).value();
	under.unit.live(true).value();
	select_pmu("modelled");
	{
		auto event = Event::open(make_attr(setup), setup.target).value();
		auto data = DataRing::map(event, setup.data_bytes).value();
		auto aux = AuxRing::map(data, event, setup.aux_bytes, setup.mode).value();

		/* The buffer is listed only with the PMU that it belongs to. */
		CHECK(buffers().size() == 1);
		CHECK(BufferLine::read(AUXPMU_SYNTH_NAME).value().empty());
		event.enable().value();
		event.close();
		busy();
		aux.unmap();
		/* The mapping of the data ring holds the event. */
		busy();
	}
	under.unit.live(false).value();
	/* The PMU is gone: its type number is unused. */
	CHECK(Event::open(make_attr(setup), setup.target).error().code == ENOENT);
	under.unit.live(true).value();
}

TEST_CASE(
	"Fault unregister: a unit may vanish beneath its events, and what was traced stays readable", "[synth][model]")
{
	need_configfs();
	UnitUnderTest under({});
	KernelLog log;
	Tracer tracer{Setup{}};

	tracer.enable();
	tracer.emit_all(4096);
	/* There is also a descriptor without a mapping. */
	Setup second;
	second.target = Target::on_cpu(std::min(1, cpus() - 1));
	auto other = Event::open(make_attr(second), second.target);
	{
		Fault fault("unregister", 1);
		auto outcome = under.unit.live(false);

		if (!outcome && outcome.error().code == EOPNOTSUPP) {
			CHECK(log.says("this kernel cannot take a PMU from its events"));
			tracer.emit_all(4096);
			tracer.finish();
			SKIP("this kernel cannot take a PMU from its events");
		}
		REQUIRE(outcome);
	}
	CHECK_FALSE(Pmu::find("modelled"));
	/* The trace was handed over to the last byte. */
	tracer.drain();
	INFO(tracer.verifier.error());
	CHECK(tracer.verifier.complete());
	CHECK(tracer.verifier.totals().record_bytes == 4096 + 64);
	CHECK_FALSE(tracer.event.enable());

	/* The name is free again while the old unit's areas are still mapped. */
	under.unit.live(true).value();
	tracer.aux.unmap();
	under.unit.live(false).value();
	under.unit.live(true).value();
}

/* Starts timers on every CPU that end about a minute from now. */
std::vector<Event> timers_of_a_minute()
{
	std::vector<Event> timers;

	for (int cpu = 0; cpu < cpus(); cpu++)
		for (const std::uint64_t seconds : {58, 61, 62}) {
			auto attr = dummy_attr();

			attr.config = PERF_COUNT_SW_CPU_CLOCK;
			attr.sample_period = seconds * 1'000'000'000;
			timers.push_back(Event::open(attr, Target::on_cpu(cpu)).value());
			timers.back().enable().value();
		}
	return timers;
}

/*
 * The core has a timer that rotates the events of a PMU; it starts this timer when the interval is changed, and would free it
 * while queued. The test adds timers that end at about the same time, which would then come across the freed one.
 */
TEST_CASE("A unit goes while the timer for its events' turns is at work", "[synth][model]")
{
	need_configfs();
	for (const bool revoked : {false, true}) {
		UnitUnderTest under({});
		INFO("revoked: " << revoked);

		write_small_file("/sys/bus/event_source/devices/modelled/perf_event_mux_interval_ms", "60000").value();
		Fault fault("unregister", revoked);
		auto outcome = under.unit.live(false);
		if (revoked && !outcome && outcome.error().code == EOPNOTSUPP)
			break; /* older kernels have no revocation: the first half is all of it */
		REQUIRE(outcome);
		CHECK(timers_of_a_minute().size() == 3 * static_cast<std::size_t>(cpus()));
	}
}

/*
 * 6.1 looks a PMU up, calls its event_init() and reads its module, and does not wait for this when it removes the type number
 * of the PMU. In a fully preemptible kernel, a task that looks the PMU up is kept off its CPU in between.
 */
TEST_CASE("Who looks a unit up while it goes is waited for", "[synth][model]")
{
	need_configfs();
	if (cpus() < 2)
		SKIP("it takes two CPUs");
	Knob preemption("/sys/kernel/debug/sched/preempt", "full");
	UnitUnderTest under({});
	/* The longest part of a lookup is to lie in between, and to end where another task is let in. */
	const char *const filter = "/sys/kernel/tracing/set_ftrace_filter";
	Knob function(filter, "pmu_event_init:mod:auxpmu");
	/* Otherwise ftrace would trace the whole kernel, which is very slow. */
	REQUIRE((function || !std::filesystem::exists(filter)));
	Knob stack("/sys/kernel/tracing/options/func_stack_trace", "1");
	Knob tracer("/sys/kernel/tracing/current_tracer", "function");
	/* The event is refused in event_init() before anything counts its user: only the kernel waits for it. */
	Setup setup;
	auto attr = make_attr(setup);
	attr.inherit = 1;
	std::atomic<std::uint32_t> type = attr.type;
	std::atomic<unsigned> refused = 0, gone = 0;
	std::jthread opener([&](const std::stop_token &stop) {
		pin(1);
		while (!stop.stop_requested()) {
			attr.type = type;
			const int error = Event::open(attr, Target::task()).error().code;
			(error == EINVAL ? refused : gone)++;
		}
	});
	std::jthread hog([](const std::stop_token &stop) {
		pin(1);
		const sched_param first{.sched_priority = 1};
		::pthread_setschedparam(::pthread_self(), SCHED_FIFO, &first);
		while (!stop.stop_requested()) {
			std::this_thread::sleep_for(std::chrono::milliseconds(2));
			const auto until = std::chrono::steady_clock::now() + std::chrono::milliseconds(10);
			while (std::chrono::steady_clock::now() < until)
				continue;
		}
	});
	/* Other kernels remove the type number before they wait. */
	const bool late = read_small_file("/proc/sys/kernel/osrelease").value_or("").starts_with("6.1.");
	pin(0);
	for (unsigned round = 0; round < (late ? 20U : 3U); round++) {
		const unsigned before = refused, after = gone;
		under.unit.live(false).value();
		wait_until("it to be looked for in vain", [&] { return gone > after; });
		under.unit.live(true).value();
		type = Pmu::find("modelled").value().type();
		wait_until("it to be found", [&] { return refused > before; });
	}
}

TEST_CASE("Endurance: units come and go while others try to open, map and trace them", "[synth][soak]")
{
	need_configfs();
	std::atomic<bool> done = false;
	std::atomic<std::uint64_t> traced = 0;
	std::string failure;
	auto setup = Setup{};
	/* The attr is made once: the PMU under test must not change while the other thread uses it. */
	auto attr = make_attr(setup);
	std::jthread user([&](const std::stop_token &stop) {
		while (!done && !stop.stop_requested()) {
			auto found = Pmu::find("modelled");

			if (!found)
				continue;
			attr.type = found->type();
			auto event = Event::open(attr, setup.target);
			if (!event)
				continue;
			auto data = DataRing::map(*event, setup.data_bytes);
			auto aux = data ? AuxRing::map(*data, *event, setup.aux_bytes, AuxMode::full_trace, true)
					: Result<AuxRing>(data.error());
			if (!aux) {
				failure = aux.error().text;
				break;
			}
			event->enable().value();
			event->disable().value();
			traced += aux->head();
		}
		done = true;
	});
	auto unit = ModelledUnit::make("modelled").value();
	std::uint64_t refused = 0;
	endure("units", options().rounds, [&](std::uint64_t) {
		std::uint64_t before = traced;

		REQUIRE_FALSE(done);
		unit.live(true).value();
		wait_until("trace of the unit", [&] { return done || traced > before; });
		for (;;) {
			auto gone = unit.live(false);

			if (gone)
				break;
			REQUIRE(gone.error().code == EBUSY);
			refused++;
		}
	});
	done = true;
	user.join();
	INFO(failure);
	CHECK(failure.empty());
	std::printf("# %llu times busy\n", static_cast<unsigned long long>(refused));
}
