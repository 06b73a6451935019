// SPDX-License-Identifier: GPL-2.0-only
/* Mistakes that drivers of trace units made before; docs/testing.md says which test stands for which mistake. */
#include <csignal>
#include <string>

#include <unistd.h>

#include "shared/sampler.h"

using namespace auxpmu;
using namespace auxpmu::test;

namespace
{

Setup make_setup(unsigned output, AuxMode mode, std::size_t bytes, std::uint32_t record = 64)
{
	Setup setup;

	pin(0);
	setup.output = output;
	setup.mode = mode;
	setup.aux_bytes = bytes;
	setup.record = record;
	return setup;
}

} // namespace

TEST_CASE("A flight recorder filled to its last byte is full and has not wrapped; one record more and it has",
	"[synth][mistakes]")
{
	need_synthetic();
	need_sampling();
	for (unsigned output : every_output())
		for (std::size_t bytes : {page_size(), 32 * KiB}) {
			auto setup = make_setup(output, AuxMode::overwrite, bytes, 256);
			Sampler sampler(setup, static_cast<std::uint32_t>(bytes));
			Tracer &tracer = sampler.tracer;
			TraceVerifier exact(make_expectation(setup)), over(make_expectation(setup));

			INFO(describe(setup));
			/* START is the first record. */
			sampler.emit(bytes - setup.record);
			CHECK(wrong_with(sampler.sample(), setup, sampler.records(), bytes) == "");
			tracer.disable();
			Snapshot shot = tracer.aux.snapshot();
			CHECK(shot.to == bytes);
			CHECK_FALSE(shot.wrapped);
			exact.snapshot(shot);
			CHECK(exact.error() == "");
			CHECK(exact.totals().records == bytes / setup.record);

			/* A session that begins at the very end: its START is the one record too many. */
			tracer.enable();
			CHECK(wrong_with(sampler.sample(), setup, sampler.records(), bytes) == "");
			tracer.disable();
			shot = tracer.aux.snapshot();
			CHECK(shot.to == bytes + setup.record);
			CHECK(shot.wrapped);
			over.snapshot(shot);
			CHECK(over.error() == "");
			CHECK(over.totals().records == bytes / setup.record);
		}
}

TEST_CASE("A full trace uses all of its room but what the core holds back, and all of it is there", "[synth][mistakes]")
{
	need_synthetic();
	/* Even a watermark that leaves less than a turn of the unit behind it must not cost any of the room. */
	constexpr std::uint32_t behind = 512;
	for (unsigned output : zero_copy_outputs())
		for (std::size_t bytes : {page_size(), 2 * page_size(), 16 * page_size()})
			for (std::size_t watermark : {std::size_t{0}, bytes - behind}) {
				auto setup = make_setup(output, AuxMode::full_trace, bytes);
				setup.watermark = static_cast<std::uint32_t>(watermark);
				Tracer tracer(setup);

				INFO(describe(setup));
				tracer.enable();
				for (int round = 0; round < 3; round++) {
					CHECK(tracer.emit(2 * bytes).error == ENOSPC);
					wait_until("the event to be off", [&] { return tracer.off(); });
					/*
					 * One byte is held back, to distinguish full from empty. It costs one record for units
					 * that stop anywhere, and nothing for those that stop at region ends, because the byte
					 * lies behind such an end.
					 */
					CHECK(tracer.aux.readable().size() ==
						bytes - (output == AUXPMU_SYNTH_SCATTER ? 0 : setup.record));
					tracer.drain();
					tracer.enable();
				}
				tracer.finish();
				CHECK(tracer.tally.truncated == 3);
				CHECK(tracer.verifier.totals().lost == 0);
			}
}

TEST_CASE("Areas of one page and of two are used to the full, whatever the unit", "[synth][mistakes]")
{
	need_synthetic();
	for (unsigned output : every_output())
		for (AuxMode mode : {AuxMode::full_trace, AuxMode::overwrite})
			for (std::size_t pages : {1u, 2u})
				for (std::uint32_t record : {64u, 1024u}) {
					auto setup = make_setup(output, mode, pages * page_size(), record);
					Tracer tracer(setup);

					INFO(describe(setup));
					tracer.allow_gaps_of_copies();
					tracer.enable();
					if (mode == AuxMode::overwrite)
						tracer.emit_all(5 * setup.aux_bytes);
					else
						tracer.pump(4 * setup.aux_bytes, 1024);
					tracer.finish();
					CHECK(tracer.verifier.totals().records >= setup.aux_bytes / record - 1);
				}
}

TEST_CASE("An event that is opened and mapped, but never comes to a CPU, leaves nothing", "[synth][mistakes]")
{
	need_synthetic();
	const auto users_now = [] {
		return read_small_file("/sys/module/auxpmu/refcnt").value_or("none") + " and " +
		       read_small_file("/sys/module/auxpmu_synth/refcnt").value_or("none");
	};
	const auto users = users_now();
	pid_t sleeper = spawn([] {
		::pause();
		return true;
	});

	for (unsigned output : every_output())
		for (bool enabled : {false, true})
			for (int round = 0; round < 10; round++) {
				auto setup = make_setup(output, AuxMode::full_trace, 64 * KiB);

				setup.target = Target::task(sleeper);
				auto event = Event::open(make_attr(setup), setup.target).value();
				auto data = DataRing::map(event, setup.data_bytes).value();
				auto aux = AuxRing::map(data, event, setup.aux_bytes, setup.mode).value();
				if (enabled)
					event.enable().value();
			}
	::kill(sleeper, SIGKILL);
	CHECK_FALSE(succeeded(sleeper));
	wait_until("the buffers to be freed", [] { return buffers().empty(); });
	wait_until("the module's users to be those of before", [&] { return users_now() == users; });
}

TEST_CASE("A start that fails for another reason is not taken for a full buffer after one", "[synth][mistakes]")
{
	need_synthetic();
	for (unsigned output : every_output()) {
		auto setup = make_setup(output, AuxMode::full_trace, 16 * KiB);
		Tracer tracer(setup);

		INFO(describe(setup));
		for (int round = 0; round < 5; round++) {
			tracer.enable();
			CHECK(tracer.emit(64 * KiB).error == ENOSPC);
			wait_until("the event to be off", [&] { return tracer.off(); });
			tracer.aux.unmap();
			/* Without an area the event cannot trace, but is on, and no full buffer is reported. */
			auto before = statistics();
			tracer.enable();
			CHECK(tracer.emit(64).error == ENXIO);
			CHECK_FALSE(tracer.off());
			CHECK(statistics().since(before)["truncations"] == 0);
			tracer.disable();
			tracer.remap();
			std::uint64_t head = tracer.aux.head();
			tracer.enable();
			tracer.emit_all(8 * KiB);
			tracer.disable();
			CHECK(tracer.aux.head() >= head + 8 * KiB);
		}
	}
}
