// SPDX-License-Identifier: GPL-2.0-only
/*
 * AUX samples taken in NMI: whatever the NMIs interrupt, each sample has the requested size, is proven byte by byte, and ends
 * where the trace was, or is zeros and counted.
 *
 * The sampling member is a kernel tracepoint (shared/nmis.h); the NMIs come from the synthetic PMU's debugfs file "nmi". Where
 * interrupts, which wait for the end of a step, are sent instead, only the tests that also hold for them are made.
 */
#include <atomic>
#include <csignal>
#include <exception>
#include <format>
#include <string>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kit/debugfs.h"
#include "shared/fault.h"
#include "shared/nmis.h"
#include "shared/sampler.h"

using namespace auxpmu;
using namespace auxpmu::test;

namespace
{

void need_nmis_within_steps(const NmiSender &nmi)
{
	if (nmi.waits())
		SKIP("in place of NMIs there are interrupts, which come between the steps of a session only");
}

Setup on_cpu_0(unsigned output, AuxMode mode, std::size_t aux_bytes = 64 * KiB)
{
	Setup setup;

	pin(0);
	setup.output = output;
	setup.mode = mode;
	setup.aux_bytes = aux_bytes;
	setup.data_bytes = 512 * KiB;
	return setup;
}

/* A sampler that takes one sample for each of our NMIs. */
struct NmiSampler : Sampler {
	NmiSampler(const Setup &wanted, std::uint32_t bytes)
		: Sampler(wanted, sampling_member(at_nmi(), bytes), only_sent)
	{
	}
};

/* Sends one NMI to CPU 0, which takes exactly one sample; returns the trace in it. */
std::vector<std::byte> sample_in_nmi(NmiSender &nmi, Sampler &sampler)
{
	REQUIRE(nmi.send(0, 1) == 0);
	auto all = sampler.samples();
	REQUIRE(all.size() == 1);
	return all[0];
}

constexpr AuxMode modes[] = {AuxMode::full_trace, AuxMode::overwrite};

/*
 * Opens one more member, which samples 1024 bytes in the same ring at each of our NMIs; it is off until the leader is enabled.
 */
Event nmi_member(Sampler &sampler)
{
	sampler.tracer.disable();
	auto attr = sampling_member(at_nmi(), 1024);
	auto member = Event::open(attr, sampler.tracer.setup.target, sampler.tracer.event.fd()).value();

	member.set_output(sampler.tracer.event).value();
	member.set_filter(only_sent).value();
	return member;
}

} // namespace

TEST_CASE("A sample taken in NMI ends with the newest trace, and is filled with zeros in front while there is less",
	"[synth][nmi]")
{
	need_synthetic();
	Nmis nmi;
	for (unsigned output : every_output())
		for (AuxMode mode : modes)
			for (std::uint32_t size : {8u, 64u, 1000u, 4096u}) {
				Setup setup = on_cpu_0(output, mode);
				NmiSampler sampler(setup, size);

				INFO(describe(setup) << ", samples of " << size);
				CHECK(wrong_with(sample_in_nmi(nmi, sampler), setup, 1, size) == "");
				for (std::uint64_t more : {64u, 640u, 4096u, 8192u}) {
					sampler.emit(more);
					CHECK(wrong_with(sample_in_nmi(nmi, sampler), setup, sampler.records(), size) ==
						"");
				}
				sampler.tracer.finish();
			}
}

TEST_CASE("A sample taken in NMI may reach around the end of the buffer, many times", "[synth][nmi]")
{
	need_synthetic();
	const auto two_pages = static_cast<std::uint32_t>(2 * page_size());
	Nmis nmi;
	for (unsigned output : every_output())
		for (AuxMode mode : modes) {
			Setup setup = on_cpu_0(output, mode, (output == AUXPMU_SYNTH_COPY ? 32 : 4) * page_size());
			setup.record = 256;
			NmiSampler sampler(setup, two_pages);

			INFO(describe(setup));
			for (int round = 0; round < 64; round++) {
				sampler.emit(page_size() / 2 + setup.record);
				CHECK(wrong_with(sample_in_nmi(nmi, sampler), setup, sampler.records(), two_pages) ==
					"");
				if (mode == AuxMode::full_trace)
					sampler.tracer.aux.consume(sampler.tracer.aux.readable().size());
			}
			sampler.tracer.disable();
		}
}

TEST_CASE("Sizes of samples taken in NMI: none, odd, more than the buffer, more than a record holds", "[synth][nmi]")
{
	need_synthetic();
	Nmis nmi;
	struct Case {
		std::uint32_t asked;
		std::size_t aux_bytes;
		std::size_t expected; /* 0: what fits a record */
	};
	for (const Case &one : {Case{1001, 64 * KiB, 1000}, Case{32 * KiB, 16 * KiB, 16 * KiB},
		     Case{64 * KiB - 1, 256 * KiB, 0}, Case{64 * KiB, 256 * KiB, 0}}) {
		Setup setup = on_cpu_0(AUXPMU_SYNTH_SCATTER, AuxMode::overwrite, one.aux_bytes);
		NmiSampler sampler(setup, one.asked);

		INFO("asked for " << one.asked << " of " << one.aux_bytes);
		sampler.emit(3 * one.aux_bytes);
		auto trace = sample_in_nmi(nmi, sampler);
		if (one.expected)
			CHECK(trace.size() == one.expected);
		else
			CHECK((trace.size() > 64 * KiB - 128 && trace.size() < 64 * KiB && trace.size() % 8 == 0));
		CHECK(wrong_with(trace, setup, sampler.records(), trace.size()) == "");
		sampler.tracer.disable();
	}
	/* If no trace is requested, the sample has the field with nothing in it. */
	Setup setup = on_cpu_0(AUXPMU_SYNTH_SCATTER, AuxMode::overwrite);
	NmiSampler sampler(setup, 0);
	auto before = statistics();
	CHECK(sample_in_nmi(nmi, sampler).empty());
	CHECK(statistics().since(before)["samples"] == 0);
}

TEST_CASE("An NMI at any step of a session finds it at work: zeros, counted, and nothing of the trace is disturbed",
	"[synth][nmi]")
{
	need_synthetic();
	for (unsigned output : every_output())
		for (AuxMode mode : modes) {
			Setup setup = on_cpu_0(output, mode, 4 * page_size());
			/* A low watermark makes interrupts frequent, so that there are turns. */
			setup.watermark = mode == AuxMode::full_trace ? static_cast<std::uint32_t>(page_size()) : 0;
			NmiSampler sampler(setup, 1024);
			Tracer &tracer = sampler.tracer;
			tracer.allow_gaps_of_copies();
			Nmis nmi;
			std::uint64_t samples = 0, zeros = 0;
			std::string wrong;
			auto drain = [&] {
				tracer.drain([&](const RecordView &view) {
					auto sample = std::get<SampleRecord>(decode(view, sampler.attr));
					std::uint64_t newest;

					samples++;
					zeros += all_zero(sample.aux);
					if (wrong.empty())
						wrong = wrong_with_any(sample.aux, setup, 1024, newest);
				});
			};

			INFO(describe(setup));
			for (const char *step : {"request", "begin", "arm", "disarm", "end", "full"})
				REQUIRE(nmi.at(step));
			for (int round = 0; round < 6; round++) {
				/* Emit more than there is room for, so that the buffer also becomes full. */
				(void)tracer.emit(setup.aux_bytes * 3 / 2);
				tracer.disable();
				drain();
				tracer.enable();
			}
			tracer.disable();
			drain();
			nmi.off().value();
			CHECK(wrong == "");
			auto counted = statistics().since(*tracer.before);
			CHECK(counted["samples"] == samples);
			CHECK(counted["sample_no_trace"] == zeros);
			/*
			 * Most steps are within the owner's work, so the NMI finds it busy; the request to stop comes before.
			 * The member is not yet on when the event starts, and is still on when it stops: disarm and end.
			 */
			CHECK((nmi.waits() || zeros >= 6 * 2));
			CHECK(samples >= 6);
			CHECK(samples >= zeros);
			tracer.finish();
		}
}

TEST_CASE("With the buffer full a sample taken in NMI is zeros, and counted", "[synth][nmi]")
{
	need_synthetic();
	for (unsigned output : zero_copy_outputs()) {
		Setup setup = on_cpu_0(output, AuxMode::full_trace, 16 * KiB);
		Nmis nmi;
		need_nmis_within_steps(nmi);
		NmiSampler sampler(setup, 2048);

		INFO(describe(setup));
		/* The request to stop goes to a session that is full and at rest: there is no owner. */
		REQUIRE(nmi.at("request"));
		auto before = statistics();
		CHECK(sampler.tracer.emit(1 * MiB).error == ENOSPC);
		wait_until("the full buffer's event to be off", [&] { return sampler.tracer.off(); });
		auto all = sampler.samples();
		auto counted = statistics().since(before);
		REQUIRE(!all.empty());
		CHECK(wrong_with(all.back(), setup, 0, 2048) == "");
		CHECK(counted["truncations"] == 1);
		CHECK(counted["sample_no_trace"] >= 1);
		CHECK(counted["samples"] == all.size());
	}
}

TEST_CASE("A sample taken in NMI inside another sample of the ring has no trace, and does the other no harm",
	"[synth][nmi]")
{
	need_synthetic();
	for (unsigned output : every_output())
		for (AuxMode mode : modes) {
			Setup setup = on_cpu_0(output, mode);
			Sampler sampler(setup, 2048);
			auto member = nmi_member(sampler);
			Nmis nmi;
			need_nmis_within_steps(nmi);
			sampler.tracer.enable();
			REQUIRE(nmi.at("sample"));

			INFO(describe(setup));
			for (int round = 0; round < 20; round++) {
				sampler.emit(192);
				sample_here();
				/* Both have the same layout, so one attr decodes them. */
				auto all = sampler.samples();
				REQUIRE(all.size() == 2);
				CHECK(all[0].size() + all[1].size() == 2048);
				CHECK(wrong_with(all[0].empty() ? all[1] : all[0], setup, sampler.records(), 2048) ==
					"");
			}
			sampler.tracer.disable();
		}
}

TEST_CASE("A storm of NMIs while a unit traces, turns windows over, is sampled and read: all trace and all samples are "
	  "right",
	"[synth][nmi]")
{
	need_synthetic();
	if (cpus() < 2)
		SKIP("it takes two CPUs");
	for (unsigned output : every_output()) {
		Setup setup = on_cpu_0(output, AuxMode::full_trace, 256 * KiB);
		setup.watermark = 4 * KiB;
		setup.record = 256;
		Sampler sampler(setup, 1024);
		auto member = nmi_member(sampler);
		Nmis nmi;
		sampler.tracer.enable();

		INFO(describe(setup));
		/* Send no more than the data ring holds until it is read: neither CPU waits for the other. */
		constexpr unsigned ahead = 256, burst = 32;
		std::atomic<bool> done{false};
		std::atomic<int> error{0};
		std::atomic<std::uint64_t> sent{0}, granted{ahead};
		std::thread sender([&] {
			cpu_set_t set;

			CPU_ZERO(&set);
			CPU_SET(1, &set);
			::sched_setaffinity(0, sizeof(set), &set);
			while (!done && !error) {
				if (sent + burst > granted)
					continue;
				error = nmi.send(0, burst);
				sent += burst;
			}
		});
		std::uint64_t samples = 0, nested = 0, zeros = 0, last = 0, steps_back = 0;
		std::string wrong;
		auto enough = [&] {
			return samples >= 600 && samples > zeros && (zeros || nmi.waits());
		};
		while (!enough() && wrong.empty() && !error) {
			sampler.emit(2304);
			sample_here();
			std::uint64_t before = sent;
			sampler.tracer.drain([&](const RecordView &view) {
				std::uint64_t newest;

				if (!wrong.empty())
					return;
				auto sample = std::get<SampleRecord>(decode(view, sampler.attr));
				samples++;
				if (sample.aux.empty()) {
					nested++;
					return;
				}
				wrong = wrong_with_any(sample.aux, setup, 1024, newest);
				zeros += !newest;
				/* In ring order, except for a sample in which a nested one lies, the trace never goes back. */
				steps_back += newest && newest < last;
				if (newest)
					last = newest;
			});
			granted = before + ahead;
		}
		done = true;
		sender.join();
		CHECK(error == 0);
		CHECK(wrong == "");
		CHECK(steps_back == 0);
		CHECK(last <= sampler.records());
		sampler.tracer.finish();
		std::printf("# %s: %llu samples, %llu zeros, %llu nested\n", describe(setup).c_str(),
			static_cast<unsigned long long>(samples), static_cast<unsigned long long>(zeros),
			static_cast<unsigned long long>(nested));
	}
}

namespace
{

/*
 * Sends NMIs to CPU 0 until it is killed, after it has closed the file: so the sending call is the last user of the file, which
 * is released while the signal is pending and an NMI is on its way.
 */
bool send_until_killed(const Fault &fault)
{
	pin(1);
	UniqueFd file(::open(debugfs_file(options().pmu, "nmi").c_str(), O_RDWR | O_CLOEXEC));
	const unsigned before = fault.left();
	std::thread sender([fd = file.get()] { (void)!::write(fd, "0 4000000000", 12); });

	/* CPU 0 has no time for anything else, so nothing may depend on it. */
	wait_until("the first NMIs", [&] { return fault.left() + 3 <= before; });
	file = UniqueFd();
	::kill(::getpid(), SIGKILL);
	sender.join();
	return false;
}

} // namespace

TEST_CASE("Whoever sends NMIs is killed while one is on its way: whoever comes next can send", "[synth][nmi]")
{
	need_synthetic();
	if (cpus() < 2)
		SKIP("it takes two CPUs");
	Setup setup = on_cpu_0(AUXPMU_SYNTH_SCATTER, AuxMode::overwrite);
	NmiSampler sampler(setup, 64);
	NoThrottling every_sample;
	/* Each sample takes a millisecond, for which the next NMI waits. */
	Fault fault("slow_stop", 1000000);
	int status = 0;

	Nmis();
	for (int round = 0; round < 8; round++) {
		CAPTURE(round);
		pid_t killed = spawn([&] { return send_until_killed(fault); });
		REQUIRE(::waitpid(killed, &status, 0) == killed);
		REQUIRE((WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL));
		pid_t next = spawn([] { return NmiSender::open(options().pmu).value().send(0, 1) == 0; });
		bool ended = false;
		try {
			wait_until("the next NMI", [&] { return ::waitpid(next, &status, WNOHANG) == next; });
			ended = true;
		} catch (const std::exception &failure) {
			/* A sender that hangs here goes on waiting even if it is killed. */
			UNSCOPED_INFO(failure.what());
		}
		REQUIRE(ended);
		CHECK(status == 0);
		sampler.samples();
	}
}

TEST_CASE(
	"The framework's own trace events may sample the trace they tell of: each has its sample, and there is an end",
	"[synth][nmi]")
{
	need_synthetic();
	need_sampling();
	struct Case {
		unsigned output;
		AuxMode mode;
	};
	for (const Case &one :
		{Case{AUXPMU_SYNTH_WINDOW, AuxMode::full_trace}, Case{AUXPMU_SYNTH_COPY, AuxMode::overwrite}}) {
		Setup setup = on_cpu_0(one.output, one.mode, 32 * KiB);
		setup.watermark = one.mode == AuxMode::full_trace ? 4 * KiB : 0;
		Tracer tracer(setup);
		std::vector<Event> members;
		perf_event_attr attr{};

		for (const char *name : {"request", "begin", "arm", "disarm", "end", "full", "lost", "sample"}) {
			attr = sampling_member(at_tracepoint(std::format("auxpmu/auxpmu_{}", name)), 1024);
			members.push_back(Event::open(attr, setup.target, tracer.event.fd()).value());
			members.back().set_output(tracer.event).value();
		}
		/* Another member finds the session at rest. */
		attr = sampling_member("getppid", 1024);
		members.push_back(Event::open(attr, setup.target, tracer.event.fd()).value());
		members.back().set_output(tracer.event).value();

		INFO(describe(setup));
		std::uint64_t samples = 0, whole = 0;
		std::string wrong;
		tracer.enable();
		for (int round = 0; round < 8; round++) {
			tracer.emit_all(8 * KiB);
			sample_here();
			tracer.drain([&](const RecordView &view) {
				auto sample = std::get<SampleRecord>(decode(view, attr));
				std::uint64_t newest = 0;

				samples++;
				if (wrong.empty() && !sample.aux.empty())
					wrong = wrong_with_any(sample.aux, setup, 1024, newest);
				whole += newest > 0;
			});
		}
		CHECK(wrong == "");
		CHECK(whole >= 8);
		/*
		 * The NMIs at steps add samples beyond those at getppid, where there are turns; each getppid causes only a few.
		 */
		CHECK(samples >= (one.mode == AuxMode::full_trace ? 16 : 8));
		CHECK(samples < 8 * 64);
		tracer.finish();
	}
}
