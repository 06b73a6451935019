// SPDX-License-Identifier: GPL-2.0-only
/*
 * Endurance: the same operations repeated, with different sizes, outputs and timing each time, while both CPUs are busy.
 *
 * The seed and the number of a round determine what it does, so that a failed round can be repeated, and an interrupted run
 * continues where it was (--progress).
 */
#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <format>
#include <functional>
#include <string>
#include <vector>

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "shared/endure.h"
#include "shared/knob.h"
#include "shared/nmis.h"
#include "shared/sampler.h"

using namespace auxpmu;
using namespace auxpmu::test;

namespace
{

/* splitmix64, seeded with the seed and the round so that a round can be repeated. */
class Random
{
public:
	Random(std::uint64_t seed, std::uint64_t round) : state(auxpmu_mix64(seed) ^ auxpmu_mix64(round + 1)) {}
	std::uint64_t below(std::uint64_t limit)
	{
		state += 0x9e3779b97f4a7c15;
		return auxpmu_mix64(state) % limit;
	}
	template <class T, std::size_t n>
	T of(const T (&choice)[n])
	{
		return choice[below(n)];
	}

private:
	std::uint64_t state;
};

/* Processes that keep the CPUs and the scheduler busy during the lifetime of this object. */
class Load
{
public:
	Load()
	{
		for (int cpu = 0; cpu < std::min(cpus(), 2); cpu++)
			workers.push_back(spawn([cpu] {
				pin(cpu);
				for (;;) {
					pid_t child = ::fork();

					if (!child)
						::_exit(0);
					for (int i = 0; i < 20; i++)
						(void)read_small_file("/proc/self/stat");
					if (child > 0)
						::waitpid(child, nullptr, 0);
				}
				return true;
			}));
	}
	~Load()
	{
		for (pid_t pid : workers) {
			::kill(pid, SIGKILL);
			::waitpid(pid, nullptr, 0);
		}
	}
	Load(const Load &) = delete;

private:
	std::vector<pid_t> workers;
};

constexpr AuxMode modes[] = {AuxMode::full_trace, AuxMode::overwrite};
constexpr std::uint32_t records[] = {64, 256, 1024, 4096};
constexpr std::size_t areas[] = {16 * KiB, 64 * KiB, 256 * KiB};
constexpr std::uint32_t watermarks[] = {0, 4 * KiB, 8 * KiB};

Setup any_setup(Random &random)
{
	Setup setup;

	const auto outputs = every_output();

	setup.output = outputs[random.below(outputs.size())];
	setup.mode = random.of(modes);
	setup.record = random.of(records);
	setup.aux_bytes = random.of(areas);
	setup.watermark = setup.mode == AuxMode::full_trace ? random.of(watermarks) : 0;
	setup.seed = static_cast<std::uint32_t>(random.below(1ull << 32));
	return setup;
}

/* The same setup, with trace made by a timer. */
Setup timed(Setup setup, Random &random)
{
	setup.manual = false;
	setup.rate = static_cast<unsigned>(16 + random.below(64));
	/* A low watermark wakes the consumer soon. */
	if (setup.mode == AuxMode::full_trace)
		setup.watermark = watermarks[1 + random.below(2)];
	return setup;
}

/* Waits until the timer has produced trace: the consumer is notified, or (overwrite) anyone can look. */
void wait_for_trace(Tracer &tracer)
{
	if (tracer.setup.mode == AuxMode::overwrite)
		return;
	const std::uint64_t head = tracer.aux.head();

	wait_until("the timer to trace", [&] {
		/* An event with a full buffer is off, and cannot be waited for. */
		return tracer.aux.head() != head || tracer.off();
	});
}

/* Everything about an area that was thrown away mid-trace. */
void check_balance(const Statistics &before)
{
	auto counted = statistics().since(before);

	INFO("statistics: " << counted.text());
	CHECK(counted["begins"] == counted["ends"]);
	CHECK(counted["produced"] + counted["padded"] ==
		counted["committed"] + counted["lost_unit"] + counted["lost_space"]);
	CHECK(counted["wrong_pmu"] == 0);
	CHECK(counted["overruns"] == 0);
}

} // namespace

TEST_CASE("Endurance: starts and stops under load", "[synth][soak]")
{
	need_synthetic();
	Load load;
	endure("start-stop", options().rounds, [](std::uint64_t round) {
		Random random(options().seed, round);
		auto setup = any_setup(random);
		bool by_timer = random.below(2);

		if (by_timer)
			setup = timed(setup, random);
		pin(static_cast<int>(random.below(static_cast<std::uint64_t>(std::min(cpus(), 2)))));
		INFO(describe(setup) << (by_timer ? ", by timer" : ""));
		Tracer tracer(setup);
		tracer.allow_gaps_of_copies();
		for (std::uint64_t times = 1 + random.below(6); times; times--) {
			tracer.enable();
			if (by_timer)
				wait_for_trace(tracer);
			else
				(void)tracer.emit((1 + random.below(24)) * 1024);
			if (random.below(2))
				tracer.drain();
			tracer.disable();
			tracer.drain();
		}
		tracer.finish();
	});
	pin(0);
}

TEST_CASE("Endurance: munmap of the AUX area mid-trace under load", "[synth][soak]")
{
	need_synthetic();
	Load load;
	endure("munmap", options().rounds, [](std::uint64_t round) {
		Random random(options().seed, round);
		auto setup = timed(any_setup(random), random);
		auto before = statistics();

		INFO(describe(setup));
		pin(static_cast<int>(random.below(static_cast<std::uint64_t>(std::min(cpus(), 2)))));
		Tracer tracer(setup);
		tracer.enable();
		if (random.below(2))
			wait_for_trace(tracer);
		tracer.aux.unmap();
		CHECK(buffers().empty());
		tracer.disable();
		tracer.remap();
		std::uint64_t head = setup.mode == AuxMode::full_trace ? tracer.aux.head() : 0;
		tracer.enable();
		wait_for_trace(tracer);
		tracer.disable();

		auto expectation = make_expectation(setup);
		expectation.gaps_allowed = setup.output == AUXPMU_SYNTH_COPY;
		expectation.any_first = true;
		TraceVerifier verifier(expectation);
		if (setup.mode == AuxMode::full_trace) {
			verifier.begin_at(head);
			verifier.feed(tracer.aux.view(head, tracer.aux.head()));
		} else {
			verifier.snapshot(tracer.aux.snapshot());
		}
		verifier.complete();
		CHECK(verifier.error() == "");
		CHECK(verifier.totals().records > 0);
		check_balance(before);
	});
	pin(0);
}

TEST_CASE("Endurance: descriptors and areas closed mid-trace, in any order, under load", "[synth][soak]")
{
	need_synthetic();
	Load load;
	endure("close", options().rounds, [](std::uint64_t round) {
		Random random(options().seed, round);
		auto setup = timed(any_setup(random), random);
		auto before = statistics();

		INFO(describe(setup));
		if (random.below(2))
			setup.target = Target::task();
		pin(static_cast<int>(random.below(static_cast<std::uint64_t>(std::min(cpus(), 2)))));
		if (random.below(4)) {
			Tracer tracer(setup);
			tracer.enable();
			if (random.below(2))
				wait_for_trace(tracer);
			for (int part = 0; part < 3; part++)
				switch (random.below(3)) {
				case 0:
					tracer.event.close();
					break;
				case 1:
					tracer.data.unmap();
					break;
				default:
					tracer.aux.unmap();
				}
		} else {
			/* A process exits with event and mappings open. */
			setup.target = Target::task();
			pid_t child = spawn([&] {
				Tracer tracer(setup);

				tracer.enable();
				wait_for_trace(tracer);
				::raise(SIGKILL);
				return false;
			});
			CHECK_FALSE(succeeded(child));
		}
		wait_until("the buffer to be freed", [] { return buffers().empty(); });
		check_balance(before);
	});
	pin(0);
}

TEST_CASE("Endurance: a CPU goes and comes mid-trace, under load", "[synth][soak]")
{
	need_synthetic();
	Cpu1 other;
	Load load;
	endure("hotplug", options().rounds, [&](std::uint64_t round) {
		Random random(options().seed, round);
		auto setup = timed(any_setup(random), random);

		INFO(describe(setup));
		pin(0);
		setup.target = Target::on_cpu(1);
		{
			Tracer tracer(setup);
			tracer.allow_gaps_of_copies();
			tracer.enable();
			if (random.below(2))
				wait_for_trace(tracer);
			other.offline();
			/*
			 * Whether the event was on to the end or full before: all trace that was handed over is present and
			 * whole.
			 */
			tracer.finish();
			other.online();
		}
		/* Likewise with a thread that runs on this CPU. */
		setup.target = Target::task();
		pin(1);
		Tracer tracer(setup);
		tracer.allow_gaps_of_copies();
		tracer.enable();
		other.offline();
		wait_for_trace(tracer);
		other.online();
		tracer.finish();
	});
	pin(0);
}

TEST_CASE("Endurance: samples of trace, in NMI and not, under load", "[synth][soak]")
{
	need_synthetic();
	need_sampling();
	/* Opening a tracepoint takes longer than a hundred samples of it. */
	const std::uint64_t batch = std::min<std::uint64_t>(options().samples / 4, 500);
	auto nmi = NmiSender::open(options().pmu);
	NoThrottling every_sample;
	/*
	 * Where no NMIs can be sent, because of the kernel's configuration or the machine, all samples are taken outside of
	 * NMIs.
	 */
	if (nmi)
		say_what_is_sent(*nmi);
	else
		CHECK((nmi.error().code == ENOENT || nmi.error().code == ENODEV));
	std::uint64_t verified = 0, with_trace = 0, taken_in_nmi = 0;
	Load load;

	endure("samples", (options().samples + batch - 1) / batch, [&](std::uint64_t round) {
		Random random(options().seed, round);
		auto setup = any_setup(random);
		const std::uint32_t sizes[] = {8, 64, 1000, 4096, 8192};
		auto size = random.of(sizes);
		bool in_nmi = random.below(2) && nmi;

		/* The buffer must never become full, because that switches the event off. */
		setup.aux_bytes = std::max(setup.aux_bytes, setup.output == AUXPMU_SYNTH_COPY ? 256 * KiB : 64 * KiB);
		setup.data_bytes = 1 * MiB;
		pin(0);
		INFO(describe(setup) << ", samples of " << size << (in_nmi ? " in NMI" : ""));
		Sampler sampler(setup, sampling_member(in_nmi ? at_nmi() : at_syscall("getppid"), size),
			in_nmi ? only_sent : "");
		/* The record number with which each sample must end. */
		std::vector<std::uint64_t> ends;
		std::uint64_t taken = 0;
		std::uint64_t made = 1;
		std::string wrong;
		for (std::uint64_t n = 0; n < batch; n++) {
			std::uint64_t bytes = random.below(4) * setup.record;

			if (bytes) {
				sampler.emit(bytes);
				made += bytes / setup.record;
			}
			ends.push_back(made);
			if (in_nmi)
				CHECK(nmi->send(0, 1) == 0);
			else
				sample_here();
			sampler.tracer.drain([&](const RecordView &view) {
				auto sample = std::get<SampleRecord>(decode(view, sampler.attr));

				if (wrong.empty() && taken < ends.size())
					wrong = wrong_with(sample.aux, setup, ends[taken],
						std::min<std::size_t>(size, setup.aux_bytes));
				with_trace += !all_zero(sample.aux);
				taken++;
			});
		}
		CHECK(wrong == "");
		CHECK(taken == batch);
		verified += taken;
		taken_in_nmi += in_nmi ? taken : 0;
		sampler.tracer.finish();
	});
	std::printf("# %llu samples verified, %llu of them with trace, %llu in %s\n",
		static_cast<unsigned long long>(verified), static_cast<unsigned long long>(with_trace),
		static_cast<unsigned long long>(taken_in_nmi), nmi ? nmi->kind().c_str() : "NMI");
}
