// SPDX-License-Identifier: GPL-2.0-only
/*
 * Units that are not like those of Intel's processors: there is none on some CPUs, their operations take locks and so cannot be
 * called in NMI, their trace has a format, they are switched off while their CPU is idle.
 */
#include <cerrno>
#include <format>
#include <optional>
#include <string>
#include <vector>

#include "kit/debugfs.h"
#include "shared/fault.h"
#include "shared/fixture.h"
#include "shared/knob.h"
#include "shared/modelled.h"
#include "shared/nmis.h"
#include "shared/report.h"
#include "shared/sampler.h"
#include "shared/tracepoint.h"

using namespace auxpmu;
using namespace auxpmu::test;

namespace
{

/* The flags of the trace records that say trace or loss. */
std::vector<std::uint64_t> flags_of_records(Tracer &tracer)
{
	std::vector<std::uint64_t> flags;

	tracer.data.drain([&](const RecordView &view) {
		Record record = decode(view, tracer.event.attr());

		if (auto *one = std::get_if<AuxRecord>(&record))
			flags.push_back(one->flags);
	});
	return flags;
}

std::uint64_t refused_for_want_of_a_unit()
{
	return statistics()["no_unit"];
}

} // namespace

TEST_CASE("Each record of trace says its format, and one whose unit says so that samples met each other",
	"[synth][units]")
{
	need_configfs();
	for (unsigned output : every_output())
		for (std::uint64_t format : {0, 1, 255}) {
			UnitUnderTest under({{"format", std::to_string(format)}});
			Setup setup;

			setup.output = output;
			INFO(describe(setup) << ", format " << format);
			Tracer tracer(setup);
			for (bool met : {false, true, false}) {
				std::optional<Fault> fault;
				if (met)
					fault.emplace("collide", 1);
				tracer.enable();
				tracer.emit_all(1024);
				tracer.disable();
				CHECK(flags_of_records(tracer) ==
					std::vector<std::uint64_t>{format << 8 | (met ? PERF_AUX_FLAG_COLLISION : 0)});
			}
		}
}

TEST_CASE("A record of an overwriting buffer ends where the buffer does, if its consumers want that", "[synth][units]")
{
	need_configfs();
	for (bool asked : {false, true})
		for (unsigned output : every_output())
			for (std::uint64_t bytes : {8 * KiB, 16 * KiB, 40 * KiB, 44 * KiB}) {
				UnitUnderTest under({{"lap_records", asked ? "1" : "0"}});
				Setup setup;

				setup.mode = AuxMode::overwrite;
				setup.output = output;
				setup.record = 64;
				setup.aux_bytes = 16 * KiB;
				INFO(describe(setup) << ", " << bytes << " bytes, asked for: " << asked);
				Tracer tracer(setup);
				std::vector<AuxRecord> records;
				std::size_t expected = 0;

				for (unsigned round = 0; round < 2; round++) {
					const std::uint64_t begin = round * bytes, end = begin + bytes;

					/* One, or two if the buffer ends in between. */
					expected += asked && end % setup.aux_bytes &&
								    end / setup.aux_bytes * setup.aux_bytes > begin
							    ? 2
							    : 1;
					tracer.enable();
					tracer.emit_all(bytes - 64); /* and a START */
					tracer.disable();
				}
				tracer.data.drain([&](const RecordView &view) {
					Record record = decode(view, tracer.event.attr());

					if (auto *one = std::get_if<AuxRecord>(&record))
						records.push_back(*one);
				});
				for (const AuxRecord &record : records) {
					const std::uint64_t lap = record.offset / setup.aux_bytes * setup.aux_bytes;

					CHECK(record.flags == PERF_AUX_FLAG_OVERWRITE);
					CHECK(record.size <= setup.aux_bytes);
					if (asked)
						CHECK((record.offset - record.size >= lap || record.offset == lap));
				}
				REQUIRE(!records.empty());
				CHECK(records.back().offset == 2 * bytes);
				CHECK(records.size() == expected);
				CHECK(tracer.aux.head() == 2 * bytes);
				tracer.finish();
			}
}

TEST_CASE("A record that has no trace has no format", "[synth][units]")
{
	need_configfs();
	UnitUnderTest under({{"format", "1"}});
	Setup setup;
	Tracer tracer(setup);
	Fault fault("stuck", 1);

	tracer.allow_gaps();
	tracer.enable();
	tracer.emit_all(1024);
	tracer.disable();
	CHECK(flags_of_records(tracer) == std::vector<std::uint64_t>{PERF_AUX_FLAG_PARTIAL});
}

TEST_CASE("A list of CPUs that is none is refused", "[synth][units]")
{
	need_configfs();
	auto unit = ModelledUnit::make("modelled").value();
	KernelLog log;

	for (const std::string &wrong : {std::string("none"), std::string("3-1"), "0," + std::string(80, '1')}) {
		INFO(wrong);
		auto outcome = unit.set("cpus", wrong);
		REQUIRE_FALSE(outcome);
		CHECK(outcome.error().code == EINVAL);
		CHECK(unit.get("cpus").empty());
	}
	CHECK(log.says("cpus refused: it is no list of CPUs"));
	unit.set("cpus", "0-1").value();
	CHECK(unit.get("cpus") == "0-1");
	unit.set("cpus", "\n").value();
	CHECK(unit.get("cpus").empty());
}

TEST_CASE("Where a CPU has no unit its events are refused with a reason, and a thread is traced on the others only",
	"[synth][units]")
{
	need_configfs();
	if (cpus() < 2)
		SKIP("it takes two CPUs");
	UnitUnderTest under({{"cpus", "1"}});
	KernelLog log;
	Setup setup;

	CHECK(pmu().cap("cpus") == "1");
	auto refused = Event::open(make_attr(setup), Target::on_cpu(0));
	REQUIRE_FALSE(refused);
	CHECK(refused.error().code == ENODEV);
	CHECK(log.says("event refused: CPU 0 has no unit; caps/cpus has those that have one"));
	refused = Event::open(make_attr(setup), Target::task_on_cpu(0, 0));
	REQUIRE_FALSE(refused);
	CHECK(refused.error().code == ENODEV);
	for (auto mode : {AuxMode::full_trace, AuxMode::overwrite}) {
		setup.target = Target::task();
		setup.mode = mode;
		pin(0);
		Tracer tracer(setup);
		const auto before = refused_for_want_of_a_unit();
		tracer.enable();
		CHECK(tracer.emit(1024, 0).error == ENXIO);
		CHECK(refused_for_want_of_a_unit() > before);
		pin(1);
		tracer.emit_all(1024, 1);
		pin(0);
		CHECK(tracer.emit(1024, 0).error == ENXIO);
		pin(1);
		tracer.emit_all(1024, 1);
		pin(0);
		tracer.finish();
		CHECK(tracer.verifier.totals().record_bytes ==
			2 * 1024 + tracer.verifier.totals().starts * setup.record);
	}
}

TEST_CASE("A unit goes with its CPU and comes back with it, and its trace is handed over before", "[synth][units]")
{
	need_configfs();
	Cpu1 other;
	UnitUnderTest under({{"cpus", "0-1"}});

	for (auto mode : {AuxMode::full_trace, AuxMode::overwrite}) {
		Setup setup;

		setup.target = Target::on_cpu(1);
		setup.mode = mode;
		CHECK(pmu().cap("cpus") == "0-1");
		{
			Tracer tracer(setup);
			tracer.enable();
			tracer.emit_all(1024, 1);
			other.offline();
			CHECK(pmu().cap("cpus") == "0");
			tracer.finish();
			CHECK(tracer.verifier.totals().record_bytes >= 1024);
		}
		auto refused = Event::open(make_attr(setup), setup.target);
		CHECK_FALSE(refused);
		other.online();
		Tracer tracer(setup);
		tracer.enable();
		tracer.emit_all(1024, 1);
		tracer.finish();
	}
	/* Comes and goes while it is not used, and is taken away while the CPU is off. */
	other.offline();
	other.online();
	other.offline();
}

TEST_CASE("A CPU that is idle and loses its unit's state misses nothing", "[synth][units]")
{
	need_synthetic();
	const std::string idle = debugfs_file(options().pmu, "idle");

	pin(0);
	for (unsigned output : every_output())
		for (auto mode : {AuxMode::full_trace, AuxMode::overwrite}) {
			Setup setup;

			setup.output = output;
			setup.mode = mode;
			INFO(describe(setup));
			Tracer tracer(setup);
			tracer.enable();
			for (int times = 0; times < 20; times++) {
				tracer.emit_all(640);
				write_small_file(idle, "0").value();
			}
			tracer.finish();
			CHECK(tracer.tally.partial == 0);
			CHECK(tracer.verifier.totals().starts == 1);
			CHECK(tracer.verifier.totals().lost == 0);
		}
	/* Without an event nothing happens. */
	write_small_file(idle, "0").value();
	CHECK_FALSE(write_small_file(idle, "-1"));
	CHECK_FALSE(write_small_file(idle, "100000"));
}

TEST_CASE("A unit that cannot be used in NMI has no trace for samples taken there, and has for all others",
	"[synth][units]")
{
	need_configfs();
	need_sampling();
	UnitUnderTest under({{"no_nmi", "1"}});
	Nmis nmi;

	CHECK(pmu().cap("sampling") == "1 zeros in an NMI");
	for (unsigned output : every_output()) {
		Setup setup;

		pin(0);
		setup.output = output;
		setup.mode = AuxMode::overwrite;
		INFO(describe(setup));
		auto before = statistics();
		Sampler sampler(setup, sampling_member(at_nmi(), 1024), only_sent);
		sampler.tracer.disable();
		auto attr = sampling_member("getppid", 1024);
		auto other = Event::open(attr, setup.target, sampler.tracer.event.fd()).value();
		other.set_output(sampler.tracer.event).value();
		sampler.tracer.enable();
		for (unsigned round = 1; round <= 8; round++) {
			sampler.emit(640);
			REQUIRE(nmi.send(0, 1) == 0);
			sample_here();
			auto samples = sampler.samples();
			REQUIRE(samples.size() == 2);
			if (!nmi.waits())
				CHECK(all_zero(samples[0]));
			CHECK(wrong_with(samples[1], setup, sampler.records(), 1024) == "");
		}
		sampler.tracer.finish();
		if (!nmi.waits())
			CHECK(statistics().since(before)["sample_no_trace"] == 8);
	}
}

TEST_CASE("A pause that an NMI asks for takes effect behind it, whatever the NMI has interrupted", "[synth][units]")
{
	need_configfs();
	UnitUnderTest under({{"no_nmi", "1"}});
	if (!can("pause"))
		SKIP("this kernel cannot pause AUX events");
	Nmis nmi;

	pin(0);
	for (const char *step : {"", "request", "begin", "arm", "disarm", "end"}) {
		Setup setup;

		setup.target = Target::on_cpu(0);
		setup.watermark = 2048;
		INFO("NMI at step \"" << step << "\"");
		Tracer tracer(setup);
		auto pausing = at_nmi(), resuming = at_syscall("getpgid");
		set_aux_action(pausing, AuxAction::pause);
		set_aux_action(resuming, AuxAction::resume);
		auto pause = Event::open(pausing, setup.target, tracer.event.fd()).value();
		auto resume = Event::open(resuming, setup.target, tracer.event.fd()).value();
		pause.set_filter(only_sent).value();
		/* Nobody else stops the unit: the trace on demand would serve the request, too. */
		auto stops = Event::open(counting(at_tracepoint("auxpmu/auxpmu_disarm")), setup.target).value();
		tracer.enable();
		for (int round = 0; round < 20; round++) {
			sample_numbered(0);
			if (*step)
				nmi.at(step).value();
			static_cast<void>(tracer.emit(2048));
			if (*step)
				nmi.off().value();
			tracer.drain();
			const auto before = count_of(stops);
			REQUIRE(nmi.send(0, 1) == 0);
			/* Where it is an interrupt, the unit stops inside of it, in which the core counts one tracepoint only. */
			if (!*step && !nmi.waits())
				wait_until("the pause", [&] { return count_of(stops) > before; });
			CHECK(tracer.emit(64).error == ENXIO);
		}
		tracer.finish();
		CHECK(tracer.verifier.totals().lost == 0);
		CHECK(tracer.verifier.totals().record_bytes > 0);
	}
}
