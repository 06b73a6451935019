// SPDX-License-Identifier: GPL-2.0-only
/* The user page belongs to user space, which may write anything there.  The kernel must not believe it. */
#include <atomic>
#include <cstring>
#include <format>
#include <thread>
#include <vector>

#include <sched.h>

#include "shared/fixture.h"

using namespace auxpmu;
using namespace auxpmu::test;

namespace
{

constexpr std::uint64_t nonsense[] = {0, 1, 63, 64, 4095, 4096, 0x8000, 0xffff, 0x10000, 0x7fffffff, 0x80000000,
	0xffffffff, 0x100000000, 0x7fffffffffffffff, 0x8000000000000000, 0xfffffffffffff000, 0xffffffffffffffff};

/* The event restarts with a clean page: it must then trace as if nothing had happened. */
void check_sane(Tracer &tracer)
{
	tracer.disable();
	/* The page no longer shows the kernel's own head; but the statistics counted every byte handed over. */
	if (tracer.setup.mode == AuxMode::full_trace)
		tracer.data.page().aux_head = tracer.first_head + statistics().since(*tracer.before)["committed"];
	tracer.remap();
	auto expectation = make_expectation(tracer.setup);
	expectation.any_first = true;
	TraceVerifier verifier(expectation);
	std::uint64_t from = tracer.aux.tail();
	tracer.enable();
	tracer.emit_all(4 * KiB);
	tracer.disable();
	bool good = tracer.setup.mode == AuxMode::full_trace
			    ? (verifier.begin_at(from), verifier.feed(tracer.aux.readable()) && verifier.complete())
			    : verifier.snapshot(tracer.aux.snapshot());
	INFO(describe(tracer.setup) << ": " << verifier.error());
	CHECK(good);
	CHECK(verifier.totals().records == 4 * KiB / tracer.setup.record + 1);
}

} // namespace

TEST_CASE("aux_head scribbled by user space does not move the unit", "[synth][hostile]")
{
	need_synthetic();
	for (unsigned output : every_output())
		for (auto mode : {AuxMode::full_trace, AuxMode::overwrite}) {
			Setup setup;

			setup.output = output;
			setup.mode = mode;
			INFO(describe(setup));
			Tracer tracer(setup);
			for (std::uint64_t lie : nonsense) {
				tracer.data.page().aux_head = lie;
				tracer.enable();
				tracer.data.page().aux_head = lie * 3;
				tracer.emit_all(2048);
				/* The kernel writes its own count at the end, whatever was there. */
				tracer.disable();
				tracer.drain();
			}
			tracer.finish();
		}
}

TEST_CASE("Nothing is written outside the room the consumer gave, wherever aux_tail points", "[synth][hostile]")
{
	need_synthetic();
	for (unsigned output : every_output()) {
		Setup setup;

		setup.output = output;
		setup.record = 128;
		INFO(describe(setup));
		Tracer tracer(setup);
		const std::uint64_t size = tracer.aux.size();
		std::vector<std::byte> kept(size);

		tracer.verifier = TraceVerifier();
		for (std::uint64_t back = 0; back <= size; back += 4096 - 64) {
			for (std::uint64_t odd : {0u, 1u, 63u, 65u}) {
				/* The session stops in a window that had all of the room. */
				tracer.data.page().aux_tail = tracer.aux.head();
				tracer.enable();
				tracer.emit(1024);
				tracer.disable();
				std::uint64_t head = tracer.aux.head();
				std::uint64_t tail = head - std::min({head, back + odd, size});

				/* The unit must not write between tail and head. */
				tracer.data.page().aux_tail = tail;
				Spans held = tracer.aux.view(tail, head);
				std::memcpy(kept.data(), held.first.data(), held.first.size());
				std::memcpy(kept.data() + held.first.size(), held.second.data(), held.second.size());
				tracer.enable();
				tracer.emit(size);
				tracer.disable();
				CAPTURE(back, odd, head, tail);
				CHECK(std::memcmp(kept.data(), held.first.data(), held.first.size()) == 0);
				CHECK(std::memcmp(kept.data() + held.first.size(), held.second.data(),
					      held.second.size()) == 0);
				CHECK(tracer.aux.head() - tail <= size);
			}
		}
		check_sane(tracer);
	}
}

TEST_CASE("What was kept back of a full buffer is lost, and counted, where aux_tail is nonsense by then",
	"[synth][hostile]")
{
	need_synthetic();
	Setup setup;

	/* The interrupt comes a page before the end, and the next one when the buffer is completely full. */
	setup.watermark = static_cast<std::uint32_t>(setup.aux_bytes);
	Tracer tracer(setup);
	tracer.enable();
	/* Sets the tail ahead of what was handed over by then, by so much that the core finds no room at all. */
	constexpr std::uint64_t kept_back = 64;
	tracer.emit(setup.aux_bytes - page_size());
	tracer.data.page().aux_tail = setup.aux_bytes - kept_back + 1;
	tracer.emit(page_size());
	tracer.disable();
	const auto delta = statistics().since(*tracer.before);
	CAPTURE(delta.text());
	CHECK(delta["lost_space"] >= kept_back);
	CHECK(delta["produced"] + delta["padded"] == delta["committed"] + delta["lost_unit"] + delta["lost_space"]);
	CHECK(delta["committed"] == tracer.aux.head());
}

TEST_CASE("aux_tail ahead of aux_head, or anywhere else, stops the trace at worst", "[synth][hostile]")
{
	need_synthetic();
	for (unsigned output : every_output()) {
		Setup setup;

		setup.output = output;
		INFO(describe(setup));
		Tracer tracer(setup);
		for (std::uint64_t lie : nonsense) {
			tracer.data.page().aux_tail = tracer.aux.head() + lie;
			tracer.enable();
			tracer.emit(4096);
			tracer.data.page().aux_tail = lie;
			tracer.emit(100 * KiB);
			tracer.disable();
		}
		auto delta = statistics().since(*tracer.before);
		CHECK(delta["begins"] == delta["ends"]);
		CHECK(delta["produced"] + delta["padded"] ==
			delta["committed"] + delta["lost_unit"] + delta["lost_space"]);
		check_sane(tracer);
	}
}

TEST_CASE("aux_offset and aux_size rewritten after mmap change nothing", "[synth][hostile]")
{
	need_synthetic();
	Setup setup;
	Tracer tracer(setup);

	for (std::uint64_t lie : nonsense) {
		tracer.data.page().aux_offset = lie;
		tracer.data.page().aux_size = lie ^ 0x1000;
		tracer.data.page().data_offset = lie;
		tracer.data.page().data_size = lie;
		tracer.enable();
		tracer.emit_all(2048);
		tracer.disable();
		tracer.drain();
	}
	tracer.finish();
}

TEST_CASE("A thread that writes noise to the user page while the unit traces harms nobody", "[synth][hostile]")
{
	need_synthetic();
	if (cpus() < 2)
		SKIP("it takes two CPUs");
	for (unsigned output : every_output())
		for (auto mode : {AuxMode::full_trace, AuxMode::overwrite}) {
			Setup setup;

			setup.output = output;
			setup.mode = mode;
			INFO(describe(setup));
			pin(1);
			Tracer tracer(setup);
			std::atomic<bool> stop{false};
			std::atomic<std::uint64_t> truth{0}; /* the real aux_head */
			std::thread noise([&] {
				std::uint64_t state = 1;
				cpu_set_t set;

				/* This thread runs on the CPU of the unit, in between its interrupts. */
				CPU_ZERO(&set);
				CPU_SET(0, &set);
				::sched_setaffinity(0, sizeof(set), &set);
				auto &page = tracer.data.page();

				while (!stop) {
					state = auxpmu_mix64(state + 1);
					std::uint64_t value = state & 1 ? truth - (state >> 8) % 70000 : state;
					__atomic_store_n(&page.aux_tail, value, __ATOMIC_RELAXED);
					if (state & 2)
						__atomic_store_n(&page.aux_head, state >> 3, __ATOMIC_RELAXED);
				}
			});
			std::uint64_t written = 0;
			for (int round = 0; round < 60; round++) {
				tracer.enable();
				written += tracer.emit(20 * KiB).bytes;
				tracer.disable();
				truth = statistics().since(*tracer.before)["committed"];
			}
			stop = true;
			noise.join();
			CHECK(written > 0);
			auto delta = statistics().since(*tracer.before);
			CHECK(delta["begins"] == delta["ends"]);
			CHECK(delta["overruns"] == 0);
			CHECK(delta["produced"] + delta["padded"] ==
				delta["committed"] + delta["lost_unit"] + delta["lost_space"]);
			check_sane(tracer);
		}
	pin(0);
}
