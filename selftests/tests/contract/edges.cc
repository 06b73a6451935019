// SPDX-License-Identifier: GPL-2.0-only
/*
 * What any user who may open events can do at the framework's expense: cause interrupts and transactions, use memory, have
 * units claimed again and again; and the first arm in an NMI.
 */
#include <cerrno>
#include <cstdint>
#include <format>
#include <string>
#include <vector>

#include <fcntl.h>

#include "shared/fault.h"
#include "shared/fixture.h"
#include "shared/hardware.h"
#include "shared/knob.h"
#include "shared/memory_group.h"
#include "shared/nmis.h"
#include "shared/tracepoint.h"
#include "synth/modelled_unit.h"

using namespace auxpmu;
using namespace auxpmu::test;

namespace
{

/* The least bytes of a transaction that follows another without a stop: a page, or a quarter of a small area. */
std::uint64_t least_turn(const Setup &setup)
{
	return std::min<std::uint64_t>(page_size(), setup.aux_bytes / 4);
}

/* The size of the kernel's vmalloc mappings in KiB. */
std::uint64_t vmalloc_kib()
{
	std::string all = read_small_file("/proc/meminfo").value();
	auto at = all.find("VmallocUsed:");

	REQUIRE(at != std::string::npos);
	return std::stoull(all.substr(at + 12));
}

std::uint64_t claims()
{
	return std::stoull(attribute("claims"));
}

} // namespace

TEST_CASE("Wake-ups at every byte cost an interrupt a page, and no more", "[synth][edges]")
{
	need_synthetic();
	pin(0);
	for (unsigned output : every_output())
		for (std::uint32_t watermark : {1u, 64u, 100u})
			for (std::size_t area : {page_size(), 2 * page_size(), 16 * page_size()}) {
				Setup setup;

				setup.output = output;
				setup.watermark = watermark;
				setup.aux_bytes = area;
				INFO(describe(setup));
				Tracer tracer(setup);
				const std::uint64_t room = area - 64, least = least_turn(setup);

				tracer.enable();
				tracer.emit(room - 64);
				tracer.disable();
				auto delta = statistics().since(*tracer.before);
				CAPTURE(delta.text());
				CHECK(delta["produced"] >= room / 2);
				CHECK(delta["interrupts"] <= room / least + 1);
				CHECK(delta["begins"] <= room / least + 2);
				tracer.finish();
			}
}

TEST_CASE("Room that is given back in small pieces is no reason for a transaction each", "[synth][edges]")
{
	need_synthetic();
	pin(0);
	for (unsigned output : zero_copy_outputs()) {
		Setup setup;

		setup.output = output;
		setup.watermark = 64 * KiB;
		INFO(describe(setup));
		Tracer tracer(setup);
		const std::uint64_t size = tracer.aux.size();

		/* Half of the buffer is unread, and the event started with room for a quarter. */
		tracer.enable();
		tracer.emit_all(size / 2);
		tracer.disable();
		std::uint64_t head = tracer.aux.head();
		tracer.data.page().aux_tail = head - size * 3 / 4;
		tracer.enable();
		/* While the unit is running the consumer reads a little. */
		tracer.data.page().aux_tail = head - size * 3 / 4 + 128;
		auto before = statistics();
		CHECK(tracer.emit(size / 2).error == ENOSPC);
		auto delta = statistics().since(before);
		CAPTURE(delta.text(), head, tracer.aux.head());
		/* The event has used its room once and is then off, as with a full buffer. */
		CHECK(tracer.aux.head() - head <= size / 4);
		CHECK(tracer.aux.head() - head > size / 4 - size / 8);
		CHECK(delta["begins"] <= 2);
		CHECK(delta["truncations"] == 1);
		wait_until("the event to be off", [&] { return tracer.off(); });
	}
}

TEST_CASE("What a tick of the timer writes is bounded whatever rate was asked for, and the rest is written later",
	"[synth][edges]")
{
	need_synthetic();
	if (cpus() < 2)
		SKIP("it takes a second CPU, to read");
	pin(1);
	Setup setup;
	constexpr std::uint64_t most = 32 * KiB;

	setup.manual = false;
	setup.rate = AUXPMU_SYNTH_RATE_MAX;
	setup.aux_bytes = 1 * MiB;
	setup.watermark = 4096;
	setup.pattern = AUXPMU_SYNTH_RANDOM;
	Tracer tracer(setup);
	auto ticks = Event::open(counting(at_tracepoint("timer/hrtimer_expire_entry")), Target::on_cpu(0)).value();
	tracer.enable();
	wait_until("four areas of trace", [&] {
		tracer.drain();
		if (tracer.off())
			tracer.enable();
		return tracer.aux.head() > 4 * MiB;
	});
	tracer.disable();
	const std::uint64_t passed = count_of(ticks);
	auto delta = statistics().since(*tracer.before);
	tracer.drain();
	/* Each byte of the trace was written in one of these turns, or began a session. */
	CAPTURE(passed, delta.text());
	CHECK(delta["produced"] - delta["lost_unit"] - delta["lost_space"] <=
		(passed + 1) * most + delta["sessions"] * 64);
	INFO(tracer.verifier.error());
	CHECK(tracer.verifier.ok());
}

TEST_CASE("A unit whose interrupt is always due is given up, not served for ever", "[synth][edges]")
{
	need_synthetic();
	pin(0);
	for (unsigned output : every_output()) {
		Setup setup;

		setup.output = output;
		INFO(describe(setup));
		Tracer tracer(setup);
		Fault fault("due", 1000);

		tracer.enable();
		tracer.disable();
		auto delta = statistics().since(*tracer.before);
		CAPTURE(delta.text(), fault.left());
		/*
		 * The first window takes the record that begins a session, two more windows take nothing; the core retries as
		 * long as the event is enabled.
		 */
		CHECK(delta["arm_failures"] >= 1);
		CHECK(delta["gaps"] == delta["arm_failures"]);
		CHECK(1000 - fault.left() == 3 * delta["arm_failures"]);
		CHECK(delta["begins"] == delta["ends"]);
		fault.set(0);
		tracer.drain();
		CHECK(tracer.tally.partial == delta["arm_failures"]);
		/* The same event continues when it is started again. */
		tracer.enable();
		tracer.emit_all(4 * KiB);
		tracer.disable();
		tracer.drain();
		INFO(tracer.verifier.error());
		CHECK(tracer.verifier.complete());
		CHECK(tracer.verifier.totals().record_bytes >= 4 * KiB);
	}
}

TEST_CASE("A unit whose interrupt is always due, behind some trace, is served only so often at once", "[synth][edges]")
{
	need_synthetic();
	pin(0);
	for (unsigned output : every_output()) {
		constexpr unsigned times = 1000, at_once = 64;
		Setup setup;

		setup.output = output;
		INFO(describe(setup));
		Tracer tracer(setup);
		Fault fault("busy", times);

		tracer.enable();
		tracer.disable();
		auto delta = statistics().since(*tracer.before);
		CAPTURE(delta.text(), fault.left());
		CHECK(delta["arm_failures"] >= 1);
		CHECK(delta["gaps"] == delta["arm_failures"]);
		/* So many faults for each attempt of the core. */
		CHECK(times - fault.left() == at_once * delta["arm_failures"]);
		CHECK(delta["begins"] == delta["ends"]);
		fault.set(0);
		tracer.drain();
		CHECK(tracer.tally.partial == delta["arm_failures"]);
		/* The trace is complete, and the same event continues when it is started again. */
		CHECK(tracer.verifier.totals().record_bytes > at_once * 64 * delta["arm_failures"]);
		tracer.enable();
		tracer.emit_all(4 * KiB);
		tracer.disable();
		tracer.drain();
		INFO(tracer.verifier.error());
		CHECK(tracer.verifier.complete());
	}
}

TEST_CASE("Memory of a unit's own is there as long as events need it, on their CPUs, and no longer", "[synth][edges]")
{
	need_synthetic();
	need_configfs();
	/*
	 * The most RAM that a unit may have. With pages of 4 KiB the allocator has no such block, and the RAM is
	 * vmalloc-mapped.
	 */
	constexpr std::uint64_t ram = 16 * MiB, slack = 4 * MiB / KiB;
	if (page_size() > 4 * KiB)
		SKIP("with pages of " << page_size()
				      << " bytes such memory is one block, which VmallocUsed does not count");
	auto unit = ModelledUnit::make("edges_ram").value();
	unit.set("output", "copy").value();
	unit.set("ram", ram).value();
	unit.live(true).value();
	auto attr = Pmu::find("edges_ram").value().attr();
	std::uint64_t before = vmalloc_kib();

	{
		auto one = Event::open(attr, Target::on_cpu(0)).value();
		CHECK(vmalloc_kib() >= before + ram / KiB - slack);
		CHECK(vmalloc_kib() < before + 2 * ram / KiB - slack);
		{
			auto two = Event::open(attr, Target::on_cpu(cpus() - 1)).value();
			CHECK(vmalloc_kib() >=
				before + std::min(2u, static_cast<unsigned>(cpus())) * ram / KiB - slack);
		}
		wait_until("all but one unit's memory to be free",
			[&] { return vmalloc_kib() < before + 2 * ram / KiB - slack; });
		CHECK(vmalloc_kib() >= before + ram / KiB - slack);
	}
	wait_until("all of it to be free", [&] { return vmalloc_kib() < before + slack; });
	{
		/* An event of a thread, which may run on any CPU. */
		auto any = Event::open(attr, Target::task()).value();
		CHECK(vmalloc_kib() >= before + static_cast<unsigned>(cpus()) * ram / KiB - slack);
	}
	for (int round = 0; round < 20; round++)
		static_cast<void>(Event::open(attr, Target::task()).value());
	wait_until("all of it to be free again", [&] { return vmalloc_kib() < before + slack; });
}

TEST_CASE("Memory of a unit's own is on the account of whoever opens the event", "[synth][edges]")
{
	need_synthetic();
	need_configfs();
	/* Pages are charged in batches. */
	constexpr std::uint64_t ram = 16 * MiB, slack = 1 * MiB;
	auto unit = ModelledUnit::make("edges_ram").value();
	unit.set("output", "copy").value();
	unit.set("ram", ram).value();
	unit.live(true).value();
	auto attr = Pmu::find("edges_ram").value().attr();
	MemoryGroup group;
	std::uint64_t before = group.charged();

	{
		auto event = Event::open(attr, Target::on_cpu(0)).value();
		CHECK(group.charged() >= before + ram - slack);
	}
	wait_until("it to be off the account again", [&] { return group.charged() < before + ram / 2; });
}

TEST_CASE("A paused event may be armed for the first time in NMI", "[synth][edges][pause]")
{
	need_synthetic();
	if (!can("pause"))
		SKIP("this kernel cannot pause AUX events");
	pin(0);
	for (unsigned output : every_output())
		for (std::size_t record : {64u, 4096u}) {
			Setup setup;

			setup.target = Target::task_on_cpu(0, 0);
			setup.output = output;
			setup.record = static_cast<std::uint32_t>(record);
			INFO(describe(setup));
			auto attr = make_attr(setup);
			set_aux_action(attr, AuxAction::start_paused);
			auto event = Event::open(attr, setup.target).value();
			Nmis nmi;
			auto resuming = at_nmi();
			set_aux_action(resuming, AuxAction::resume);
			auto resume = Event::open(resuming, setup.target, event.fd()).value();
			resume.set_filter(only_sent).value();
			auto data = DataRing::map(event, setup.data_bytes).value();
			auto aux = AuxRing::map(data, event, setup.aux_bytes, setup.mode, true).value();
			event.enable().value();
			CHECK(emitter().emit(0, record).error == ENXIO);
			REQUIRE(nmi.send(0, 1) == 0);
			CHECK(emitter().emit(0, 4 * record).error == 0);
			event.disable().value();
			TraceVerifier verifier(make_expectation(setup));
			verifier.feed(aux.readable());
			verifier.complete();
			CHECK(verifier.error() == "");
			/* The thread may have left the CPU meanwhile. */
			CHECK(verifier.totals().starts >= 1);
			CHECK(verifier.totals().records == 4 + verifier.totals().starts);
		}
}

TEST_CASE("The emit file takes a line with blanks around it, and refuses what is none", "[synth][edges]")
{
	need_synthetic();
	Setup setup;
	Tracer tracer(setup);
	UniqueFd file(::open(std::format("{}/{}/emit", AUXPMU_DEBUGFS, options().pmu).c_str(), O_WRONLY | O_CLOEXEC));
	auto write = [&](const std::string &line) {
		return ::write(file.get(), line.data(), line.size()) == static_cast<ssize_t>(line.size()) ? 0 : errno;
	};

	REQUIRE(file);
	tracer.enable();
	CHECK(write("   0 64  \n") == 0);
	CHECK(write("\t0 64") == 0);
	for (const char *line : {"", " ", "\n", "0", "0 0", "-1 64", "100000 64", "x 64", "0 x"})
		CHECK(write(line) == EINVAL);
	CHECK(write(std::string(63, ' ') + "0 64") == EINVAL);
	tracer.finish();
	CHECK(tracer.verifier.totals().records == 3);
}

TEST_CASE("User space can parse the trace events: their formats name no enumerators", "[edges]")
{
	for (const char *name : {"request", "begin", "arm", "disarm", "end", "lost", "gap", "full", "sample"}) {
		auto format = read_small_file(std::format("/sys/kernel/tracing/events/auxpmu/auxpmu_{}/format", name));

		if (!format)
			format = read_small_file(
				std::format("/sys/kernel/debug/tracing/events/auxpmu/auxpmu_{}/format", name));
		if (!format)
			SKIP("tracefs is not mounted");
		INFO(*format);
		CHECK(format->find("AUXPMU_") == std::string::npos);
	}
}

TEST_CASE("A loop of open and close claims the units once", "[hardware][claim][edges]")
{
	need_hardware();
	Knob delay("/sys/module/auxpmu/parameters/release_delay", "5000");
	REQUIRE(delay);
	wait_until_free();
	Setup setup = on_cpu(0, 64 * KiB);
	std::uint64_t before = claims();

	for (int round = 0; round < 20; round++)
		static_cast<void>(Event::open(make_attr(setup), setup.target).value());
	CHECK(claims() == before + 1);
	CHECK(attribute("claim").starts_with("held"));
	wait_until_free();
	static_cast<void>(Event::open(make_attr(setup), setup.target).value());
	CHECK(claims() == before + 2);
}
