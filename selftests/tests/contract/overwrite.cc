// SPDX-License-Identifier: GPL-2.0-only
/* Overwrite: the AUX area is mapped read-only and keeps the newest bytes. */
#include <format>

#include <catch2/generators/catch_generators.hpp>

#include "contract/yields.h"
#include "shared/fixture.h"

using namespace auxpmu;
using namespace auxpmu::test;

namespace
{

Setup overwriting(unsigned output, std::uint32_t record, std::size_t bytes)
{
	Setup setup;

	setup.mode = AuxMode::overwrite;
	setup.output = output;
	setup.record = record;
	setup.aux_bytes = bytes;
	return setup;
}

} // namespace

TEST_CASE("An overwriting buffer holds the newest trace, unwrapped, wrapped once and many times", "[synth][overwrite]")
{
	need_synthetic();
	for (unsigned output : every_output())
		for (std::uint32_t record : {64u, 1024u, 4096u})
			for (std::size_t bytes : {page_size(), 64 * KiB, 256 * KiB})
				for (std::uint64_t quarters : {1u, 3u, 5u, 8u, 33u}) {
					auto setup = overwriting(output, record, bytes);
					std::uint64_t total =
						std::max<std::uint64_t>(quarters * bytes / 4 / record * record, record);

					if (record * 2 > bytes)
						continue;
					INFO(describe(setup) << ", " << total << " bytes");
					Tracer tracer(setup);
					tracer.enable();
					tracer.emit_all(total);
					tracer.finish();

					const auto &totals = tracer.verifier.totals();
					CHECK(tracer.aux.head() >= total + record);
					CHECK(tracer.aux.snapshot().wrapped == (tracer.aux.head() > bytes));
					CHECK(tracer.verifier.streams().size() == 1);
					if (!tracer.verifier.streams().empty())
						CHECK(tracer.verifier.streams()[0].next_seq == total / record + 1);
					if (!tracer.aux.snapshot().wrapped)
						CHECK(totals.skipped == 0);
					/* The whole area is trace: no more is missing than what one record overwrote. */
					CHECK(totals.skipped < record);
					CHECK(tracer.tally.aux_records >= 1);
				}
}

TEST_CASE("Sessions follow one another in an overwriting buffer, and aux_head never goes back", "[synth][overwrite]")
{
	need_synthetic();
	for (unsigned output : every_output()) {
		auto setup = overwriting(output, 128, 32 * KiB);

		INFO(describe(setup));
		Tracer tracer(setup);
		std::uint64_t last = 0;
		for (int round = 0; round < 30; round++) {
			tracer.enable();
			tracer.emit_all(2048);
			tracer.disable();
			CHECK(tracer.aux.head() == last + 2048 + 128);
			last = tracer.aux.head();
			TraceVerifier now(make_expectation(setup));
			bool good = now.snapshot(tracer.aux.snapshot());
			INFO(now.error());
			CHECK(good);
		}
		tracer.finish();
	}
}

TEST_CASE("What user space writes to aux_tail means nothing to an overwriting buffer", "[synth][overwrite]")
{
	need_synthetic();
	auto setup = overwriting(AUXPMU_SYNTH_SCATTER, 64, 16 * KiB);
	Tracer tracer(setup);

	for (std::uint64_t tail : {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{16384}, ~std::uint64_t{0}}) {
		tracer.data.page().aux_tail = tail;
		tracer.enable();
		tracer.emit_all(20 * KiB);
		tracer.disable();
	}
	tracer.finish();
	CHECK(tracer.aux.head() == 4 * (20 * KiB + 64));
}

TEST_CASE("A new overwriting buffer begins at 0", "[synth][overwrite]")
{
	need_synthetic();
	auto setup = overwriting(AUXPMU_SYNTH_SCATTER, 64, 16 * KiB);
	Tracer tracer(setup);

	tracer.enable();
	tracer.emit_all(40 * KiB);
	tracer.disable();
	CHECK(tracer.aux.head() == 40 * KiB + 64);
	tracer.remap();
	tracer.enable();
	tracer.emit_all(1024);
	tracer.disable();
	CHECK(tracer.aux.head() == 1024 + 64);
	TraceVerifier now(make_expectation(setup));
	bool good = now.snapshot(tracer.aux.snapshot());
	INFO(now.error());
	CHECK(good);
	CHECK(now.totals().records == 17);
}

TEST_CASE("An overwriting buffer is never full and its event never switched off", "[contract][overwrite]")
{
	pin(0);
	Setup setup;

	setup.mode = AuxMode::overwrite;
	setup.aux_bytes = 4 * page_size();
	auto tracer = open_or_skip(setup);
	tracer.enable();
	for (int i = 0; i < 4; i++) {
		tracer.produce(64 * KiB);
		CHECK_FALSE(tracer.off());
	}
	tracer.finish();
	CHECK(tracer.tally.truncated == 0);
	must_yield(tracer.tally.aux_bytes, "while its CPU was busy");
}
