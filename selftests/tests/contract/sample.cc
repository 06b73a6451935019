// SPDX-License-Identifier: GPL-2.0-only
/*
 * AUX sampling and pause/resume: samples taken exactly when the test says so, by a tracepoint on a system call that nobody
 * else makes.
 */
#include <fstream>
#include <string>
#include <vector>

#include "shared/sampler.h"

using namespace auxpmu;
using namespace auxpmu::test;

namespace
{

/* Setup of a test that samples its own thread. */
Setup own_thread(unsigned output, AuxMode mode)
{
	Setup setup;

	pin(0);
	setup.target = Target::task_on_cpu(0, 0);
	setup.data_bytes = 256 * KiB;
	setup.output = output;
	setup.mode = mode;
	return setup;
}

} // namespace

TEST_CASE("What finds the core's copy function leaves no page of kprobes behind", "[synth][sample]")
{
	need_synthetic();
	need_sampling();
	/* On arm64 perf record --kcore fails when there is one (perf 7.2). */
	std::ifstream symbols("/proc/kallsyms");
	std::string line;
	unsigned lines = 0, pages = 0;
	while (std::getline(symbols, line)) {
		lines++;
		pages += line.find("[__builtin__kprobes]") != std::string::npos;
	}
	CHECK(lines > 10000);
	CHECK(pages == 0);
}

TEST_CASE(
	"A sample ends with the newest trace, and is filled with zeros in front while there is less", "[synth][sample]")
{
	need_synthetic();
	for (unsigned output : every_output())
		for (AuxMode mode : {AuxMode::full_trace, AuxMode::overwrite})
			for (std::uint32_t size : {8u, 64u, 1000u, 4096u, 16384u}) {
				Setup setup = own_thread(output, mode);
				Sampler sampler(setup, size);

				INFO(describe(setup) << ", samples of " << size);
				for (std::uint64_t more : {0u, 64u, 640u, 4096u, 8192u, 8192u}) {
					if (more)
						sampler.emit(more);
					auto before = sampler.records();
					auto trace = sampler.sample();
					CHECK(trace.size() == size);
					/* Only when the thread did not leave the CPU meanwhile is it known where it was. */
					if (sampler.records() == before)
						CHECK(wrong_with(trace, setup, before, size) == "");
				}
				sampler.tracer.disable();
			}
}

TEST_CASE("A sample may reach around the end of the buffer, many times", "[synth][sample]")
{
	need_synthetic();
	for (unsigned output : every_output())
		for (AuxMode mode : {AuxMode::full_trace, AuxMode::overwrite}) {
			Setup setup = own_thread(output, mode);
			/* A unit that copies runs on when there is no room, so it gets more of it. */
			setup.aux_bytes = (output == AUXPMU_SYNTH_COPY ? 32 : 4) * page_size();
			setup.record = 256;
			Sampler sampler(setup, 8192);

			INFO(describe(setup));
			for (std::uint64_t made = 0; made < 36 * page_size(); made += 2048 + 256) {
				sampler.emit(2048 + 256);
				auto before = sampler.records();
				auto trace = sampler.sample();
				if (sampler.records() == before)
					CHECK(wrong_with(trace, setup, before, 8192) == "");
				if (mode == AuxMode::full_trace)
					sampler.tracer.aux.consume(sampler.tracer.aux.readable().size());
			}
			sampler.tracer.disable();
		}
}

TEST_CASE("A new area's samples hold its trace from the first byte on, whatever the ring had before", "[synth][sample]")
{
	need_synthetic();
	for (AuxMode mode : {AuxMode::full_trace, AuxMode::overwrite}) {
		Setup setup = own_thread(AUXPMU_SYNTH_SCATTER, mode);
		Sampler sampler(setup, 4096);

		INFO(describe(setup));
		sampler.emit(40 * KiB);
		sampler.tracer.drain();
		sampler.tracer.disable();
		sampler.tracer.remap();
		sampler.tracer.enable();
		/* Just behind where the first area ended. */
		sampler.emit(41 * KiB);
		auto before = sampler.records();
		auto trace = sampler.sample();
		if (sampler.records() == before)
			CHECK(wrong_with(trace, setup, before, 4096) == "");
		sampler.tracer.disable();
	}
}

TEST_CASE("Sampling takes nothing from the trace, and adds nothing", "[synth][sample]")
{
	need_synthetic();
	for (unsigned output : every_output()) {
		Setup setup = own_thread(output, AuxMode::full_trace);
		Sampler sampler(setup, 512);

		INFO(describe(setup));
		for (int round = 0; round < 200; round++) {
			sampler.tracer.emit_all(192);
			sample_here();
			if (round % 16 == 15)
				sampler.tracer.drain();
		}
		sampler.tracer.finish();
	}
}

TEST_CASE("Sizes of samples: what the core takes comes back exactly", "[synth][sample]")
{
	need_synthetic();
	/* Not a multiple of 8, more than the buffer, more than a record can hold: the core rounds and bounds. */
	struct Case {
		std::uint32_t asked;
		std::size_t aux_bytes;
		std::size_t most;
	};
	for (const Case &one :
		{Case{1001, 64 * KiB, 1008}, Case{32 * KiB, 16 * KiB, 16 * KiB}, Case{64 * KiB, 256 * KiB, 64 * KiB}}) {
		Setup setup = own_thread(AUXPMU_SYNTH_SCATTER, AuxMode::overwrite);
		setup.aux_bytes = one.aux_bytes;
		Sampler sampler(setup, one.asked);

		INFO("asked for " << one.asked << " of " << one.aux_bytes);
		sampler.emit(3 * one.aux_bytes);
		auto before = sampler.records();
		auto trace = sampler.sample();
		CHECK(trace.size() <= one.most);
		CHECK(trace.size() + 64 >= std::min<std::size_t>(one.asked, one.most));
		if (sampler.records() == before)
			CHECK(wrong_with(trace, setup, before, trace.size()) == "");
	}
}
