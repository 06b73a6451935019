// SPDX-License-Identifier: GPL-2.0-only
/* Large amounts of trace, with a consumer that reads while the unit writes. */
#include <atomic>
#include <chrono>
#include <cstdio>
#include <exception>
#include <format>
#include <thread>

#include <poll.h>

#include "shared/fixture.h"

using namespace auxpmu;
using namespace auxpmu::test;

namespace
{

/*
 * A producer on CPU 0 requests trace as fast as the buffer takes it; the consumer on CPU 1 sleeps in poll(), verifies, gives
 * room back, and enables the event again whenever the buffer was full.
 */
void verify_volume(unsigned output)
{
	need_synthetic();
	if (cpus() < 2)
		SKIP("it takes two CPUs");
	Setup setup;
	setup.output = output;
	setup.record = 4096;
	setup.aux_bytes = 4 * MiB;
	setup.data_bytes = 256 * KiB;
	setup.watermark = 512 * KiB;
	const std::uint64_t total = options().bytes;
	constexpr std::uint64_t piece = 1 * MiB;

	pin(1);
	Tracer tracer(setup);
	/* The contents of a unit's own RAM that find no room are lost, and must be reported as lost. */
	tracer.allow_gaps_of_copies();
	std::atomic<bool> done{false};
	std::atomic<int> failure{0};
	std::uint64_t made = 0;
	auto began = std::chrono::steady_clock::now();

	tracer.enable();
	std::thread producer([&] {
		cpu_set_t set;

		CPU_ZERO(&set);
		CPU_SET(0, &set);
		::sched_setaffinity(0, sizeof(set), &set);
		while (made < total && !failure) {
			auto outcome = tracer.emit(std::min<std::uint64_t>(piece, total - made));

			made += outcome.bytes;
			if (outcome.error == ENXIO || outcome.error == ENOSPC)
				std::this_thread::yield();
			else if (outcome.error)
				failure = outcome.error;
		}
		done = true;
	});
	std::uint64_t wakeups = 0, restarts = 0;
	while (!done && tracer.verifier.ok()) {
		pollfd wait{tracer.event.fd(), POLLIN, 0};

		wakeups += ::poll(&wait, 1, 20) > 0;
		std::uint64_t stopped = tracer.tally.truncated;
		tracer.drain();
		/* ENABLE has no effect on an event that is on, so it may be repeated whenever the event appears to be off. */
		if (tracer.tally.truncated != stopped || tracer.off()) {
			tracer.drain();
			tracer.enable();
			restarts++;
		}
	}
	if (!tracer.verifier.ok())
		failure = EIO;
	producer.join();
	auto took = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
	INFO(tracer.verifier.error());
	REQUIRE(failure == 0);
	/* The timeout of poll() matters only at the end; until then the reader is woken. */
	CHECK(wakeups > 0);
	tracer.finish();
	const auto &totals = tracer.verifier.totals();
	CHECK(totals.record_bytes + totals.lost_bytes >= total);
	if (output != AUXPMU_SYNTH_COPY)
		CHECK(totals.lost == 0);
	if (totals.lost)
		CHECK(tracer.tally.truncated > 0);
	std::printf("# %s: %.0f MiB verified byte by byte in %.1f s (%.0f MB/s), %llu wake-ups, %llu full buffers, "
		    "lost unreported: none, reported: %llu bytes\n",
		describe(setup).c_str(), static_cast<double>(totals.bytes) / MiB, took,
		static_cast<double>(totals.bytes) / took / 1e6, static_cast<unsigned long long>(wakeups),
		static_cast<unsigned long long>(tracer.tally.truncated),
		static_cast<unsigned long long>(totals.lost_bytes));
	pin(0);
}

} // namespace

TEST_CASE("Much trace through scatter output is verified whole while it is being written", "[synth][volume]")
{
	verify_volume(AUXPMU_SYNTH_SCATTER);
}

TEST_CASE("Much trace through window output is verified whole while it is being written", "[synth][volume]")
{
	verify_volume(AUXPMU_SYNTH_WINDOW);
}

TEST_CASE("Much trace through copy output is verified whole while it is being written", "[synth][volume]")
{
	verify_volume(AUXPMU_SYNTH_COPY);
}
