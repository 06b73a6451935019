// SPDX-License-Identifier: GPL-2.0-only
/*
 * The backends for Intel's trace units when the units misbehave: faults of the virtual trace hardware
 * (docs/virtual-hardware.md), one after the other. Each is reported once and counted exactly, every byte is accounted for, and
 * afterwards the same event traces as much as before. Run with --pmu auxpmu_pt or auxpmu_bts; everywhere else skipped.
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

/* What a fault may come to. */
enum class Harm {
	none,     /* the driver is to make up for it */
	in_trace, /* the trace tells of it, the unit does not: less than there was, and no more */
	late,     /* full: what interrupts never come or come late for is lost, and told of; overwriting: nothing is */
	error,    /* the unit gives up, once */
	refusal,  /* a register cannot be written */
};

struct Fault {
	const char *name;
	const char *value;
	Harm harm;
	const char *counter; /* of errors/, which tells of the harm */
};

constexpr Fault pt_faults[] = {
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
constexpr Fault bts_faults[] = {
	{"lost-pmi", "1", Harm::late, "full"},
	{"late-pmi", "20000", Harm::late, "full"},
	{"doubled-pmi", "1", Harm::none, ""},
	{"spurious-pmi", "300000", Harm::none, ""},
	{"gp", "0x1d9", Harm::refusal, "fault"},
};

/* One for as long as this lives, on all CPUs. */
class Hurt
{
public:
	explicit Hurt(const Fault &one) : name(one.name) { tell_hardware("fault " + name + ":" + one.value); }
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

/* What came of some work that was traced from an enable to a disable. */
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
	/* Calls that fill so much of the AUX area, in percent. */
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

/* True of whatever came of it. */
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

/* Nothing was wrong, and there is as much as there was without a fault: but for time packets, of which a busy machine has others. */
void check_whole(const Outcome &outcome, const Outcome &usual)
{
	check_books(outcome);
	CHECK(outcome.bytes() >= usual.bytes() * 7 / 10);
	CHECK(outcome.partial == 0);
	CHECK(outcome.truncated == 0);
	CHECK(outcome.all == 0);
	CHECK(outcome.counted["gaps"] == 0);
}

/* Of the first work of an event, which is the same in each. */
void check_interrupts(const Outcome &outcome, const Outcome &usual)
{
	if (!each_region_interrupts())
		CHECK(outcome.counted["interrupts"] == usual.counted["interrupts"]);
}

void check_harmed(const Outcome &outcome, const Outcome &usual, const Fault &fault, AuxMode mode)
{
	const Statistics &counted = outcome.counted;

	check_books(outcome);
	/* There, each region is also where the unit stops: what it still holds when it gets there is lost, and told. */
	if (each_region_interrupts() && std::string(fault.name) == "slow-flush") {
		CHECK(counted["gaps"] == outcome.all);
		CHECK(outcome.partial == outcome.all);
		CHECK(outcome.all <= 1 + counted["interrupts"]);
		return;
	}
	/* Nothing else was wrong. */
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
		/* No more than one for each time it was on. */
		CHECK(outcome.errors <= 1 + counted["interrupts"]);
		break;
	case Harm::error:
		CHECK(outcome.errors == 1);
		CHECK(counted["gaps"] == 1);
		CHECK(outcome.partial == 1);
		break;
	case Harm::refusal:
		/* Where it had not to be written nothing was wrong. */
		CHECK(counted["arm_failures"] == outcome.errors);
		CHECK(outcome.partial == (outcome.errors ? 1 : 0));
		CHECK((outcome.errors > 0 || outcome.bytes() >= usual.bytes() / 2));
		break;
	}
}

/* What there is without a fault, of work that gets past the watermark and does not fill the AUX area. */
struct Usual {
	explicit Usual(AuxMode mode)
	{
		pin(0);
		calls = Patient(mode, 0).calls_for(75);
		outcome.emplace(Patient(mode, 0).work(calls, ""));
		check_whole(*outcome, *outcome);
		/* In full trace the consumer is told when half of the area is written. */
		CHECK((outcome->counted["interrupts"] > 0) == (mode == AuxMode::full_trace));
	}
	unsigned calls;
	std::optional<Outcome> outcome;
};

void hurt(const Fault &fault, AuxMode mode, int cpu, const Usual &usual)
{
	pin(cpu);
	Patient patient(mode, cpu);

	/* Twice: whatever was told of the first one. */
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
		for (const Fault &fault : pt ? std::span<const Fault>(pt_faults) : std::span<const Fault>(bts_faults)) {
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
	const Fault lost = {"lost-pmi", "1", Harm::late, ""};
	for (int cpu = 0; cpu < cpus(); cpu++) {
		INFO("CPU " << cpu);
		pin(cpu);
		Patient patient(AuxMode::full_trace, cpu);
		const unsigned calls = patient.calls_for(100);

		patient.tracer.enable();
		{
			Hurt now(lost);
			/* It gets to its end, and nobody comes. */
			churn(3 * calls);
		}
		/* Any other interrupt of that kind finds it. */
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
		return;
	pin(0);
	/* What gets to memory in pieces of 3072 bytes comes to the end of 64 KiB with the 22nd, at 66 KiB; or when it is switched off. */
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
	/* So many make how much, where there is room for all of it. */
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
	const Fault refused = {"gp", options().pmu == "auxpmu_pt" ? "0x570" : "0x1d9", Harm::refusal, "fault"};
	Patient patient(AuxMode::full_trace, 0);
	Event other = sampler(20'000, false);
	/* Served, of so many NMIs of the other event's. */
	const auto served = [&] {
		const auto before = statistics();

		take_nmis();
		const auto delta = statistics().since(before);
		return delta["interrupts"] + delta["spurious"];
	};

	/* Behind some trace; and with nothing before it, as far as this unit knows. */
	const Outcome usual = patient.work(1000, "");
	CHECK(usual.bytes() > 0);
	other.enable().value();
	{
		Hurt now(refused);
		const std::uint64_t faults = errors("fault");

		patient.tracer.enable();
		REQUIRE(errors("fault") > faults);
		/* The event is there, and the unit is not on. */
		CHECK(served() == 0);
		patient.tracer.disable();
		/* Nobody is. */
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
	/* The branch trace store has no room for a lap: some is kept behind its threshold. */
	if (options().pmu != "auxpmu_pt")
		return;
	pin(0);
	/* Else its interrupts find what the unit's own would have. */
	Knob watchdog("/proc/sys/kernel/nmi_watchdog", "0");
	const Fault lost = {"lost-pmi", "1", Harm::late, ""};
	/* Regions are a 16th of the area; those of a page would have it end inside the last one. */
	constexpr std::uint64_t size = 256 * KiB, region = size / 16;
	Tracer tracer(on_cpu(0, size));

	tracer.enable();
	fill(tracer, 2 * size);
	REQUIRE(tracer.off());
	/* Not the beginning of the area, which is told from its end. */
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
		/* All of it is room, and where the unit stops is where it began. */
		Hurt now(lost);

		tracer.event.restart().value();
		/* Twice as much, for that the unit has stopped no register has to say while TraceEn is set. */
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
	/* A table of one region ends with it. */
	CHECK(delta["produced"] == (each_region_interrupts() ? region : size));
	CHECK(tracer.aux.head() - head == delta["committed"]);
	CHECK(delta["produced"] + delta["padded"] == delta["committed"] + delta["lost_unit"] + delta["lost_space"]);
}
