// SPDX-License-Identifier: GPL-2.0-only
/* The order in which descriptor, rings and AUX area come and go. */
#include <algorithm>
#include <array>
#include <format>

#include <cstdlib>
#include <cstring>

#include <fcntl.h>
#include <unistd.h>

#include "contract/yields.h"
#include "shared/fixture.h"
#include "shared/knob.h"

using namespace auxpmu;
using namespace auxpmu::test;

TEST_CASE("munmap of the AUX area while tracing ends the trace cleanly, and it can be mapped again",
	"[contract][lifetime]")
{
	pin(0);
	for (unsigned output : every_output())
		for (auto mode : {AuxMode::full_trace, AuxMode::overwrite}) {
			Setup setup;

			setup.output = output;
			setup.mode = mode;
			auto tracer = open_or_skip(setup);
			INFO(describe(setup));
			for (int round = 0; round < 5; round++) {
				tracer.enable();
				tracer.produce(3 * KiB);
				tracer.aux.unmap();
				if (synthetic()) {
					CHECK(buffers().empty());
					CHECK(tracer.emit(64).error == ENXIO);
				}
				tracer.remap();
				/* The event does not resume by itself. */
				std::uint64_t head = tracer.aux.head();
				tracer.disable();
				tracer.enable();
				tracer.produce(2 * KiB);
				tracer.disable();
				must_yield(tracer.aux.head() - head, "on a busy CPU, its area mapped anew");
				if (synthetic()) {
					auto expectation = make_expectation(setup);
					expectation.any_first = true;
					TraceVerifier now(expectation);
					bool good;

					if (mode == AuxMode::full_trace) {
						now.begin_at(tracer.aux.tail());
						good = now.feed(tracer.aux.readable()) && now.complete();
						tracer.aux.consume(tracer.aux.readable().size());
					} else {
						good = now.snapshot(tracer.aux.snapshot());
					}
					INFO(now.error());
					CHECK(good);
					CHECK(now.totals().records >= 2 * KiB / setup.record + 1);
				}
			}
			if (!synthetic())
				break;
			auto delta = statistics().since(*tracer.before);
			CHECK(delta["begins"] == delta["ends"]);
			CHECK(delta["produced"] + delta["padded"] ==
				delta["committed"] + delta["lost_unit"] + delta["lost_space"]);
		}
}

TEST_CASE("Descriptor, data ring and AUX area may go in any order, while tracing or not", "[contract][lifetime]")
{
	enum Part { descriptor, data_ring, aux_area };

	pin(0);
	for (bool running : {true, false})
		for (auto mode : {AuxMode::full_trace, AuxMode::overwrite})
			for (unsigned output : every_output()) {
				std::array<Part, 3> order{descriptor, data_ring, aux_area};

				do {
					Setup setup;

					setup.mode = mode;
					setup.output = output;
					auto tracer = open_or_skip(setup);
					tracer.enable();
					tracer.produce(5 * KiB);
					if (!running)
						tracer.disable();
					for (Part part : order) {
						if (part == descriptor)
							tracer.event.close();
						else if (part == data_ring)
							tracer.data.unmap();
						else
							tracer.aux.unmap();
					}
					if (synthetic()) {
						INFO(describe(setup));
						/* A kernel worker may finish the close. */
						wait_until("the buffer to be freed", [] { return buffers().empty(); });
						auto delta = statistics().since(*tracer.before);
						CHECK(delta["begins"] == delta["ends"]);
						CHECK(emitter().emit(0, 64).error == ENXIO);
					} else {
						CHECK_NOTHROW(wait_until("the unit to be free for another event", [&] {
							return bool(Event::open(make_attr(setup), setup.target));
						}));
					}
				} while (std::next_permutation(order.begin(), order.end()));
			}
}

TEST_CASE("An event without an AUX area neither traces nor harms", "[synth][lifetime]")
{
	need_synthetic();
	Setup setup;
	auto event = Event::open(make_attr(setup), setup.target).value();

	for (int i = 0; i < 3; i++) {
		event.enable().value();
		CHECK(emitter().emit(0, 64).error == ENXIO);
		event.disable().value();
	}
	auto data = DataRing::map(event, setup.data_bytes).value();
	event.enable().value();
	CHECK(emitter().emit(0, 64).error == ENXIO);
	event.disable().value();
	CHECK(buffers().empty());
}

TEST_CASE("A thousand events come and go, and leave nothing", "[synth][lifetime]")
{
	need_synthetic();
	auto before = statistics();

	for (unsigned i = 0; i < 1000; i++) {
		Setup setup;

		setup.output = i % 3;
		setup.mode = i % 2 ? AuxMode::overwrite : AuxMode::full_trace;
		setup.aux_bytes = 16 * KiB;
		setup.data_bytes = page_size();
		auto event = Event::open(make_attr(setup), setup.target).value();
		auto data = DataRing::map(event, setup.data_bytes).value();
		auto aux = AuxRing::map(data, event, setup.aux_bytes, setup.mode).value();
		event.enable().value();
		emitter().emit(0, 640);
		if (i % 5)
			event.disable().value();
	}
	CHECK(buffers().empty());
	auto delta = statistics().since(before);
	CHECK(delta["begins"] == delta["ends"]);
	CHECK(delta["sessions"] == 1000);
	CHECK(delta["produced"] == 1000 * (640 + 64));
}

TEST_CASE("Only one event of an exclusive PMU may have a CPU, and the second is told so", "[contract][lifetime]")
{
	Setup setup;
	auto first = Event::open(make_attr(setup), setup.target);

	if (!first)
		SKIP("cannot be opened: " << first.error().text);
	auto second = Event::open(make_attr(setup), setup.target);
	if (!synthetic() && second)
		SKIP(options().pmu << " is not exclusive");
	REQUIRE_FALSE(second);
	CHECK(second.error().code == EBUSY);
	CHECK(second.error().text.find("exclusive") != std::string::npos);
	/* Events of an exclusive PMU follow either threads or CPUs, not both. */
	auto third = Event::open(make_attr(setup), Target::task());
	REQUIRE_FALSE(third);
	CHECK(third.error().code == EBUSY);
	first->close();
	CHECK(Event::open(make_attr(setup), Target::task()));
}

TEST_CASE("A CPU that goes offline ends its trace cleanly, and can be traced again", "[synth][lifetime]")
{
	need_synthetic();
	Cpu1 other;
	pin(0);
	for (unsigned output : every_output())
		for (bool manual : {true, false}) {
			Setup setup;

			setup.target = Target::on_cpu(1);
			setup.output = output;
			setup.manual = manual;
			/* Room for the trace that a timer makes before the CPU is offline. */
			setup.aux_bytes = 4 * MiB;
			INFO(describe(setup));
			{
				Tracer tracer(setup);
				tracer.enable();
				tracer.emit_all(4 * KiB);
				other.offline();
				CHECK(tracer.emit(64).error == ENXIO);
				std::uint64_t head = tracer.aux.head();
				/* The counts of the offline CPU are still included. */
				CHECK(statistics().since(*tracer.before)["committed"] == head);
				other.online();
				CHECK(tracer.aux.head() == head);
				/* All of it was handed over. */
				tracer.drain();
				bool whole = tracer.verifier.complete();
				INFO(tracer.verifier.error());
				CHECK(whole);
				CHECK(tracer.verifier.totals().record_bytes >= 4 * KiB + setup.record);
				auto delta = statistics().since(*tracer.before);
				CHECK(delta["begins"] == delta["ends"]);
				CHECK(delta["committed"] == head);
			}
			wait_until("the buffer to be freed", [] { return buffers().empty(); });
			Tracer again(setup);
			again.enable();
			again.emit_all(4 * KiB);
			again.finish();
		}
}

namespace
{

/* The n-th allocation of this thread from now on fails; the kernel needs fault injection. */
class FailNth
{
public:
	FailNth() : file(::open("/proc/thread-self/fail-nth", O_RDWR | O_CLOEXEC)) {}
	explicit operator bool() const { return static_cast<bool>(file); }
	void arm(unsigned n)
	{
		auto text = std::to_string(n);

		(void)!::pwrite(file.get(), text.data(), text.size(), 0);
	}
	/* Disarms the fault; returns whether the allocation failed. */
	bool happened()
	{
		char text[16] = "";

		(void)!::pread(file.get(), text, sizeof(text) - 1, 0);
		(void)!::pwrite(file.get(), "0", 1, 0);
		return std::atoi(text) == 0;
	}

private:
	UniqueFd file;
};

void write_if_there(const std::string &path, const char *text)
{
	if (FILE *file = std::fopen(path.c_str(), "w")) {
		std::fputs(text, file);
		std::fclose(file);
	}
}

/* Removes the limits that exempt some allocations from fault injection, and its backtraces. */
void let_all_fail()
{
	for (const char *kind : {"failslab", "fail_page_alloc", "fail_usercopy", "fail_futex"}) {
		std::string folder = std::format("/sys/kernel/debug/{}/", kind);

		write_if_there(folder + "ignore-gfp-wait", "N");
		write_if_there(folder + "ignore-gfp-highmem", "N");
		write_if_there(folder + "verbose", "0");
	}
}

} // namespace

TEST_CASE("Whatever allocation fails while an event is opened, mapped and traced, nothing is left behind",
	"[synth][lifetime]")
{
	need_synthetic();
	FailNth fault;
	if (!fault)
		SKIP("this kernel has no fault injection (CONFIG_FAULT_INJECTION, fail-nth)");
	let_all_fail();
	pin(0);
	for (unsigned output : every_output()) {
		unsigned refused = 0, survived = 0;

		for (unsigned n = 1; n < 500; n++) {
			auto before = statistics();
			Setup setup;
			setup.output = output;
			auto attr = make_attr(setup);
			bool good = false;
			bool hit;
			{
				fault.arm(n);
				auto event = Event::open(attr, setup.target);
				if (event) {
					auto data = DataRing::map(*event, setup.data_bytes);
					if (data) {
						auto aux = AuxRing::map(*data, *event, setup.aux_bytes, setup.mode);
						good = static_cast<bool>(aux) && event->enable() && event->disable() &&
						       aux->head() > 0;
					}
				}
				hit = fault.happened();
			}
			CAPTURE(output, n, good);
			wait_until("the buffer to be freed", [] { return buffers().empty(); });
			auto delta = statistics().since(before);
			CHECK(delta["begins"] == delta["ends"]);
			if (!hit) {
				CHECK(good);
				break;
			}
			(good ? survived : refused)++;
		}
		std::printf("# output %u: %u failed allocations: %u refused cleanly, %u survived\n", output,
			refused + survived, refused, survived);
		CHECK(refused > 5);
	}
}
