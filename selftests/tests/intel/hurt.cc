// SPDX-License-Identifier: GPL-2.0-only
/*
 * The backends for Intel's trace units when the units misbehave: injects the faults of the virtual trace hardware
 * (docs/virtual-hardware.md), one after the other. Each must be reported once and counted exactly, every byte must be accounted
 * for, and afterwards the same event must trace as much as before. Run with --pmu auxpmu_pt or auxpmu_bts; everywhere else skipped.
 */
#include <optional>
#include <span>
#include <string>

#include "intel/registers.h"
#include "shared/fixture.h"
#include "shared/hardware.h"
#include "shared/knob.h"

using namespace auxpmu;
using namespace auxpmu::test;

namespace
{

/* What a fault may lead to. */
enum class Harm {
	none,     /* the driver has to make up for it */
	in_trace, /* less trace than usual; the trace tells of it, the unit does not */
	late,     /* missing or late interrupts lose trace, which is reported; in overwrite mode they lose nothing */
	error,    /* the unit stops with an error, once */
	refusal,  /* a register cannot be written */
};

struct HardwareFault {
	const char *name;
	const char *value;
	Harm harm;
	const char *counter; /* in errors/, which counts the harm */
};

constexpr HardwareFault pt_faults[] = {
	{"lost-pmi", "1", Harm::late, "stopped"},
	{"late-pmi", "20000", Harm::late, "stopped"},
	{"doubled-pmi", "1", Harm::none, ""},
	{"spurious-pmi", "300000", Harm::none, ""},
	{"slow-flush", "3000", Harm::none, ""},
	{"overflow", "8000", Harm::in_trace, ""},
	{"topa-error", "20000", Harm::error, "topa"},
	{"gp", "0x570", Harm::refusal, "fault"},
	{"gp", "0x560", Harm::refusal, "fault"},
	{"gp", "0x561", Harm::refusal, "fault"},
	{"gp", "0x571", Harm::refusal, "fault"},
};
constexpr HardwareFault bts_faults[] = {
	{"lost-pmi", "1", Harm::late, "full"},
	{"late-pmi", "20000", Harm::late, "full"},
	{"doubled-pmi", "1", Harm::none, ""},
	{"spurious-pmi", "300000", Harm::none, ""},
	{"gp", "0x1d9", Harm::refusal, "fault"},
};

/* Injects a fault on all CPUs during the lifetime of this object. */
class Hurt
{
public:
	explicit Hurt(const HardwareFault &one) : name(one.name) { tell_hardware("fault " + name + ":" + one.value); }
	~Hurt() { end(); }
	Hurt(const Hurt &) = delete;
	void end() { tell_hardware("fault " + name + ":0"); }

private:
	std::string name;
};

std::uint64_t errors(const char *counter)
{
	return std::stoull("0" + attribute(std::string("errors/") + counter));
}

std::uint64_t all_errors()
{
	std::uint64_t sum = errors("fault");

	for (const char *counter : {"topa", "stopped", "overflow", "full"})
		sum += errors(counter);
	return sum;
}

/* The result of some work that was traced from an enable to a disable. */
struct Outcome {
	std::uint64_t partial, truncated, errors, all;
	Statistics counted;

	std::uint64_t bytes() const { return counted["produced"]; }
};

class Patient
{
public:
	Patient(AuxMode mode, int cpu) : tracer(setup(mode, cpu)) {}

	Outcome work(unsigned calls, const char *counter)
	{
		const auto before = statistics();
		const auto partial = tracer.tally.partial, truncated = tracer.tally.truncated;
		const auto of_it = *counter ? errors(counter) : 0, all = all_errors();

		tracer.enable();
		churn(calls);
		tracer.disable();
		tracer.drain();
		return {tracer.tally.partial - partial, tracer.tally.truncated - truncated,
			(*counter ? errors(counter) : 0) - of_it, all_errors() - all, statistics().since(before)};
	}
	/* The number of calls that fill this percentage of the AUX area. */
	unsigned calls_for(unsigned percent)
	{
		constexpr unsigned some = 400;
		const auto bytes = work(some, "").bytes();

		REQUIRE(bytes > 0);
		return static_cast<unsigned>(some * tracer.setup.aux_bytes * percent / 100 / bytes);
	}

	Tracer tracer;

private:
	static Setup setup(AuxMode mode, int cpu)
	{
		Setup all = on_cpu(cpu, 64 * KiB);

		all.mode = mode;
		return all;
	}
};

/* Holds for every outcome. */
void check_books(const Outcome &outcome)
{
	const Statistics &counted = outcome.counted;

	CHECK(counted["begins"] == counted["ends"]);
	CHECK(counted["overruns"] == 0);
	CHECK(counted["produced"] + counted["padded"] ==
		counted["committed"] + counted["lost_unit"] + counted["lost_space"]);
	CHECK(outcome.partial == counted["partials"]);
	CHECK(outcome.truncated == counted["truncations"]);
}

/* Nothing was lost, and there is as much trace as without a fault, but for time packets: a busy machine varies their number. */
void check_whole(const Outcome &outcome, const Outcome &usual)
{
	check_books(outcome);
	CHECK(outcome.bytes() >= usual.bytes() * 7 / 10);
	CHECK(outcome.partial == 0);
	CHECK(outcome.truncated == 0);
	CHECK(outcome.all == 0);
	CHECK(outcome.counted["gaps"] == 0);
}

/* Valid only for the first work of an event, which begins in the same place each time. */
void check_interrupts(const Outcome &outcome, const Outcome &usual)
{
	if (!each_region_interrupts())
		CHECK(outcome.counted["interrupts"] == usual.counted["interrupts"]);
}

void check_harmed(const Outcome &outcome, const Outcome &usual, const HardwareFault &fault, AuxMode mode)
{
	const Statistics &counted = outcome.counted;

	check_books(outcome);
	/* With tables of one region, the unit stops at each region end: what it has not flushed by then is lost and reported. */
	if (each_region_interrupts() && std::string(fault.name) == "slow-flush") {
		CHECK(counted["gaps"] == outcome.all);
		CHECK(outcome.partial == outcome.all);
		CHECK(outcome.all <= 1 + counted["interrupts"]);
		return;
	}
	/* No other error was counted. */
	CHECK(outcome.all == outcome.errors);
	switch (fault.harm) {
	case Harm::none:
		check_whole(outcome, usual);
		break;
	case Harm::in_trace:
		CHECK(outcome.bytes() >= usual.bytes() / 2);
		CHECK(outcome.partial == 0);
		break;
	case Harm::late:
		if (mode == AuxMode::overwrite && !each_region_interrupts())
			return check_whole(outcome, usual);
		CHECK(counted["gaps"] == outcome.errors);
		CHECK(outcome.partial == outcome.errors);
		/* At most one for each time the unit was on. */
		CHECK(outcome.errors <= 1 + counted["interrupts"]);
		break;
	case Harm::error:
		CHECK(outcome.errors == 1);
		CHECK(counted["gaps"] == 1);
		CHECK(outcome.partial == 1);
		break;
	case Harm::refusal:
		/* If the driver did not have to write that register, nothing was wrong. */
		CHECK(counted["arm_failures"] == outcome.errors);
		CHECK(outcome.partial == (outcome.errors ? 1 : 0));
		CHECK((outcome.errors > 0 || outcome.bytes() >= usual.bytes() / 2));
		break;
	}
}

/* The outcome, without a fault, of work that gets past the watermark and does not fill the AUX area. */
struct Usual {
	explicit Usual(AuxMode mode)
	{
		pin(0);
		calls = Patient(mode, 0).calls_for(75);
		outcome.emplace(Patient(mode, 0).work(calls, ""));
		check_whole(*outcome, *outcome);
		/* In full trace the consumer is woken when half of the area is written. */
		CHECK((outcome->counted["interrupts"] > 0) == (mode == AuxMode::full_trace));
	}
	unsigned calls;
	std::optional<Outcome> outcome;
};

void hurt(const HardwareFault &fault, AuxMode mode, int cpu, const Usual &usual)
{
	pin(cpu);
	Patient patient(mode, cpu);

	/* Twice: reporting the first fault must not suppress the second. */
	for (int times = 0; times < 2; times++) {
		INFO("time " << times);
		{
			Hurt now(fault);
			const Outcome harmed = patient.work(usual.calls, fault.counter);

			INFO("with the fault " << harmed.errors << " of errors/" << fault.counter << ", "
					       << harmed.counted.text());
			check_harmed(harmed, *usual.outcome, fault, mode);
			if (!times && (fault.harm == Harm::none || fault.harm == Harm::in_trace))
				check_interrupts(harmed, *usual.outcome);
		}
		const Outcome healed = patient.work(usual.calls, fault.counter);
		INFO("then " << healed.counted.text() << "; usually " << usual.outcome->counted.text());
		check_whole(healed, *usual.outcome);
	}
}

} // namespace

TEST_CASE("Whatever the unit does, it is told and counted exactly, and the same event traces on", "[hardware][hurt][.]")
{
	need_hardware();
	const bool pt = options().pmu == "auxpmu_pt";
	int n = 0;
	for (AuxMode mode : {AuxMode::full_trace, AuxMode::overwrite}) {
		const Usual usual(mode);
		for (const HardwareFault &fault :
			pt ? std::span<const HardwareFault>(pt_faults) : std::span<const HardwareFault>(bts_faults)) {
			const int cpu = n++ % cpus();
			INFO(fault.name << ":" << fault.value << ", "
					<< (mode == AuxMode::overwrite ? "overwrite" : "full trace") << ", CPU "
					<< cpu);
			hurt(fault, mode, cpu, usual);
		}
	}
}

TEST_CASE("A unit that stopped while nobody listened goes on when somebody does", "[hardware][hurt][.]")
{
	need_hardware();
	const HardwareFault lost = {"lost-pmi", "1", Harm::late, ""};
	for (int cpu = 0; cpu < cpus(); cpu++) {
		INFO("CPU " << cpu);
		pin(cpu);
		Patient patient(AuxMode::full_trace, cpu);
		const unsigned calls = patient.calls_for(100);

		patient.tracer.enable();
		{
			Hurt now(lost);
			/* The unit reaches the end of its window, and its PMI is lost. */
			churn(3 * calls);
		}
		/* The PMI of any other event finds the stopped unit. */
		perf_event_attr attr{};
		attr.size = sizeof(attr);
		attr.type = PERF_TYPE_HARDWARE;
		attr.config = PERF_COUNT_HW_INSTRUCTIONS;
		attr.sample_period = 100'000;
		Event other = Event::open(attr, Target::on_cpu(cpu)).value();
		const std::uint64_t end = patient.tracer.aux.head() + 3 * patient.tracer.setup.aux_bytes;
		wait_until("three times the AUX area of trace", [&] {
			churn(1000);
			patient.tracer.drain();
			if (patient.tracer.off())
				patient.tracer.event.restart().value();
			return patient.tracer.aux.head() >= end;
		});
	}
}

TEST_CASE("The end of the first lap is known where it comes as the unit is switched off", "[hardware][hurt][.]")
{
	need_hardware();
	if (options().pmu != "auxpmu_pt")
		SKIP("the PMU under test is not auxpmu_pt");
	pin(0);
	/* Trace gets to memory in pieces of 3072 bytes, the 22nd of which passes 64 KiB, at 66 KiB; or when switched off. */
	Hurt now({"slow-flush", "3000", Harm::none, ""});
	constexpr std::uint64_t size = 64 * KiB, piece = 3 * KiB;
	const auto traced = [](std::uint64_t bytes, std::uint64_t calls) {
		Setup setup = on_cpu(0, bytes);

		setup.mode = AuxMode::overwrite;
		Tracer tracer(setup);
		tracer.enable();
		churn(static_cast<unsigned>(calls));
		tracer.disable();
		return tracer.aux.head();
	};
	/* The size of the trace of this many calls, in a buffer that holds all of it. */
	constexpr std::uint64_t calls = 20'000, room = 1 * MiB;
	const std::uint64_t much = traced(room, calls);

	REQUIRE(much < room);
	for (std::uint64_t behind = 200; behind < 2 * KiB; behind += 200) {
		const std::uint64_t some = calls * (size + behind) / much, all = traced(room, some),
				    head = traced(size, some);

		CAPTURE(behind, all, head);
		CHECK(head < all + piece);
		CHECK(head + piece > all);
	}
}

TEST_CASE("An NMI that comes behind a refusal is not taken for the unit's", "[hardware][hurt][.]")
{
	need_hardware();
	pin(0);
	const HardwareFault refused = {"gp", options().pmu == "auxpmu_pt" ? "0x570" : "0x1d9", Harm::refusal, "fault"};
	Patient patient(AuxMode::full_trace, 0);
	Event other = sampler(20'000, false);
	/* The number of NMIs that our handler claims while more than twenty of the other event come. */
	const auto served = [&] {
		const auto before = statistics();

		take_nmis();
		const auto delta = statistics().since(before);
		return delta["interrupts"] + delta["spurious"];
	};

	/* The refusal comes after some trace. */
	const Outcome usual = patient.work(1000, "");
	CHECK(usual.bytes() > 0);
	other.enable().value();
	{
		Hurt now(refused);
		const std::uint64_t faults = errors("fault");

		patient.tracer.enable();
		REQUIRE(errors("fault") > faults);
		/* The event is enabled, but its unit is off. */
		CHECK(served() == 0);
		patient.tracer.disable();
		/* Now the event is disabled as well. */
		CHECK(served() == 0);
	}
	other.disable().value();
	patient.tracer.drain();
	const Outcome healed = patient.work(1000, "");
	check_books(healed);
	CHECK(healed.bytes() >= usual.bytes() / 2);
}

TEST_CASE("A lap that nobody interrupts is a lap of trace, from the first byte to the last", "[hardware][hurt][.]")
{
	need_hardware();
	/* BTS never has a whole lap of room: it keeps some free after its threshold. */
	if (options().pmu != "auxpmu_pt")
		SKIP("the PMU under test is not auxpmu_pt");
	pin(0);
	/* Otherwise the watchdog's NMIs would find the stopped unit, whose own PMI is lost. */
	Knob watchdog("/proc/sys/kernel/nmi_watchdog", "0");
	const HardwareFault lost = {"lost-pmi", "1", Harm::late, ""};
	/* Regions are a 16th of the area; with regions of one page, the lap would end inside the last one. */
	constexpr std::uint64_t size = 256 * KiB, region = size / 16;
	Tracer tracer(on_cpu(0, size));

	tracer.enable();
	fill(tracer, 2 * size);
	REQUIRE(tracer.off());
	/* Not the beginning of the area: at that place the unit's position distinguishes an empty area from a full one. */
	tracer.aux.consume(3 * region);
	tracer.event.restart().value();
	fill(tracer, 2 * size);
	REQUIRE(tracer.off());
	REQUIRE(tracer.aux.head() == size + 3 * region);
	tracer.drain();
	const auto before = statistics();
	const auto partial = tracer.tally.partial;
	const std::uint64_t head = tracer.aux.head(), stopped = errors("stopped");
	{
		/* The whole area is free, and the unit stops where it began. */
		Hurt now(lost);

		tracer.event.restart().value();
		/* Far more than fits: while TraceEn is set, no register has to show that the unit has stopped. */
		churn(size);
		tracer.disable();
	}
	tracer.drain();
	const auto delta = statistics().since(before);
	CAPTURE(head, delta.text());
	CHECK(delta["interrupts"] == 0);
	CHECK(delta["gaps"] == 1);
	CHECK(errors("stopped") == stopped + 1);
	CHECK(tracer.tally.partial == partial + 1);
	/* With tables of one region, the window ends with that region. */
	CHECK(delta["produced"] == (each_region_interrupts() ? region : size));
	CHECK(tracer.aux.head() - head == delta["committed"]);
	CHECK(delta["produced"] + delta["padded"] == delta["committed"] + delta["lost_unit"] + delta["lost_space"]);
}
