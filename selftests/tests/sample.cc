// SPDX-License-Identifier: GPL-2.0-only
/*
 * AUX sampling and pause/resume: samples taken exactly when the test says so, by a tracepoint on a system call that nobody
 * else makes.
 */
#include <format>
#include <string>
#include <vector>

#include <sys/syscall.h>
#include <unistd.h>

#include "fixture.h"
#include "tracepoint.h"

using namespace auxpmu;
using namespace auxpmu::test;

namespace
{

void sample_here()
{
	::syscall(SYS_getppid);
}

bool samples_aux()
{
	return pmu().cap("sampling") == "1";
}

/* An event of the PMU under test and, in its group, a tracepoint that takes samples of its trace. */
class Sampler
{
public:
	Sampler(const Setup &wanted, std::uint32_t bytes) : tracer(wanted), attr(make_member(bytes))
	{
		if (!samples_aux())
			SKIP("this kernel offers no AUX sampling");
		member = Event::open(attr, wanted.target, tracer.event.fd()).value();
		member.set_output(tracer.event).value();
		tracer.enable();
	}

	/* The trace in the samples there are, oldest first; other records go to the tally. */
	std::vector<std::vector<std::byte>> samples()
	{
		std::vector<std::vector<std::byte>> found;

		tracer.data.drain([&](const RecordView &view) {
			if (view.header.type != PERF_RECORD_SAMPLE)
				return;
			auto sample = std::get<SampleRecord>(decode(view, attr));
			found.emplace_back(sample.aux.begin(), sample.aux.end());
		});
		return found;
	}

	/* Records made so far: those asked for, and one for each time the thread came to the CPU. */
	std::uint64_t records() const
	{
		return emitted / tracer.setup.record + statistics().since(*tracer.before)["sessions"];
	}
	void emit(std::uint64_t bytes)
	{
		tracer.emit_all(bytes);
		emitted += bytes;
	}

	/* Takes one sample and returns its trace. */
	std::vector<std::byte> sample()
	{
		sample_here();
		auto all = samples();
		REQUIRE(all.size() == 1);
		return all[0];
	}

	Tracer tracer;
	perf_event_attr attr;
	Event member;

private:
	std::uint64_t emitted = 0;

	static perf_event_attr make_member(std::uint32_t bytes)
	{
		perf_event_attr attr = at_syscall("getppid");

		attr.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_AUX;
		attr.aux_sample_size = bytes;
		return attr;
	}
};

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

/*
 * A sample of size bytes of a trace of that many records: zeros in front while there is less, then whole or (the first one)
 * cut records, up to the newest.  Returns what is wrong, or nothing.
 */
std::string wrong_with(const std::vector<std::byte> &trace, const Setup &setup, std::uint64_t records, std::size_t size)
{
	std::uint64_t written = records * setup.record;
	std::size_t zeros = written < size ? size - written : 0;

	if (trace.size() < zeros)
		return std::format("{} bytes are less than the {} zeros expected", trace.size(), zeros);
	for (std::size_t at = 0; at < zeros; at++)
		if (trace[at] != std::byte{0})
			return std::format("byte {} of {} zeros is not", at, zeros);

	TraceExpectation expectation = make_expectation(setup);
	expectation.any_first = true;
	TraceVerifier verifier(expectation);
	std::size_t cut = (trace.size() - zeros) % setup.record;
	verifier.feed(std::span(trace).subspan(zeros + cut));
	verifier.complete();
	if (!verifier.ok())
		return verifier.error();
	if (trace.size() - zeros - cut == 0)
		return "";
	if (verifier.streams().size() != 1 || verifier.streams()[0].next_seq != records)
		return std::format("the newest record is number {}, not {}",
			verifier.streams().empty() ? 0 : verifier.streams()[0].next_seq, records);
	return "";
}

} // namespace

TEST_CASE(
	"A sample ends with the newest trace, and is filled with zeros in front while there is less", "[synth][sample]")
{
	need_synthetic();
	for (unsigned output : {AUXPMU_SYNTH_SCATTER, AUXPMU_SYNTH_WINDOW, AUXPMU_SYNTH_COPY})
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
	for (unsigned output : {AUXPMU_SYNTH_SCATTER, AUXPMU_SYNTH_WINDOW, AUXPMU_SYNTH_COPY})
		for (AuxMode mode : {AuxMode::full_trace, AuxMode::overwrite}) {
			Setup setup = own_thread(output, mode);
			/* A unit that copies runs on when there is no room, so it gets more of it. */
			setup.aux_bytes = output == AUXPMU_SYNTH_COPY ? 128 * KiB : 16 * KiB;
			setup.record = 256;
			Sampler sampler(setup, 8192);

			INFO(describe(setup));
			for (int round = 0; round < 64; round++) {
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

TEST_CASE("Sampling takes nothing from the trace, and adds nothing", "[synth][sample]")
{
	need_synthetic();
	for (unsigned output : {AUXPMU_SYNTH_SCATTER, AUXPMU_SYNTH_WINDOW, AUXPMU_SYNTH_COPY}) {
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

TEST_CASE("With the buffer full a sample is zeros, and counted", "[synth][sample]")
{
	need_synthetic();
	Setup setup = own_thread(AUXPMU_SYNTH_WINDOW, AuxMode::full_trace);
	setup.aux_bytes = 16 * KiB;
	Sampler sampler(setup, 4096);
	auto before = statistics();

	CHECK(sampler.tracer.emit(1 * MiB).error == ENOSPC);
	/* The member goes on when the leader has been switched off, if the core leaves the group on. */
	sample_here();
	for (const auto &trace : sampler.samples()) {
		CHECK(trace.size() == 4096);
		CHECK(wrong_with(trace, setup, 0, trace.size()) == "");
	}
	auto counted = statistics().since(before);
	CHECK(counted["samples"] == counted["sample_no_trace"]);
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
