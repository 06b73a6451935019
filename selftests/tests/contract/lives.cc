// SPDX-License-Identifier: GPL-2.0-only
/* What happens to events while they trace: throttling, signals, exec, many generations, CPU hotplug, suspend. */
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <set>

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "contract/tasks.h"
#include "shared/knob.h"
#include "shared/sampler.h"
#include "shared/tracepoint.h"

using namespace auxpmu;
using namespace auxpmu::test;

namespace
{

constexpr AuxMode modes[] = {AuxMode::full_trace, AuxMode::overwrite};

/* Bytes of DATA records in a verified trace, which are the bytes that were requested. */
std::uint64_t asked_for(const TraceVerifier &verifier)
{
	std::uint64_t bytes = 0;

	for (const auto &stream : verifier.streams())
		bytes += (stream.records - stream.starts) * stream.record_size;
	return bytes;
}

} // namespace

TEST_CASE("A group that is throttled stays in its transaction: its samples carry the trace, and it goes on",
	"[synth][lives]")
{
	need_synthetic();
	need_sampling();
	/* The second sample within a tick is throttled. */
	Knob rate("/proc/sys/kernel/perf_event_max_sample_rate", "100");
	if (!rate)
		SKIP("perf_event_max_sample_rate cannot be set");
	for (AuxMode mode : modes) {
		Setup setup;

		pin(0);
		setup.mode = mode;
		setup.data_bytes = 512 * KiB;
		perf_event_attr clock{};
		clock.size = sizeof(clock);
		clock.type = PERF_TYPE_SOFTWARE;
		clock.config = PERF_COUNT_SW_CPU_CLOCK;
		clock.sample_period = 50000;
		clock = sampling_member(clock, 1024);
		clock.sample_id_all = 1;
		Sampler sampler(setup, clock);
		Tracer &tracer = sampler.tracer;

		INFO(describe(setup));
		std::uint64_t throttles = 0, samples = 0;
		std::string wrong;
		auto drain = [&] {
			auto records = sampler.records();

			tracer.data.drain([&](const RecordView &view) {
				throttles += view.header.type == PERF_RECORD_THROTTLE;
				if (view.header.type != PERF_RECORD_SAMPLE)
					return;
				auto sample = std::get<SampleRecord>(decode(view, clock));
				samples++;
				if (wrong.empty())
					wrong = wrong_with(sample.aux, setup, records, 1024);
			});
		};
		std::uint64_t restarts = 0;
		for (unsigned round = 1; round <= 3; round++) {
			drain();
			/* While it is parked the unit writes nothing; the next tick lets it continue. */
			bool parked = false;
			wait_until("the group to trace", [&] {
				drain();
				auto outcome = tracer.emit(640);
				parked |= outcome.error == ENXIO;
				CHECK((!outcome.error || outcome.error == ENXIO));
				return !outcome.error;
			});
			/* Trace written meanwhile ended at one position or the other. */
			tracer.data.drain(
				[&](const RecordView &view) { throttles += view.header.type == PERF_RECORD_THROTTLE; });
			sampler.count(640);
			std::uint64_t seen = throttles;
			/*
			 * 6.1 and 6.12 throttle only the member, and on 6.12 it usually stays throttled until it is enabled
			 * again.
			 */
			if (!parked) {
				tracer.disable();
				tracer.data.drain([](const RecordView &) {});
				tracer.enable();
				restarts++;
			}
			wait_until("the group to be throttled", [&] {
				drain();
				return throttles > seen;
			});
			drain();
		}
		CHECK(wrong == "");
		CHECK(samples >= 3);
		auto counted = statistics().since(*tracer.before);
		CHECK(counted["sample_no_trace"] == 0);
		CHECK(counted["sessions"] == 1 + restarts);
		tracer.disable();
		tracer.data.drain([](const RecordView &) {});
		tracer.aux.consume(mode == AuxMode::full_trace ? tracer.aux.readable().size() : 0);
		counted = statistics().since(*tracer.before);
		CHECK(counted["begins"] == counted["ends"]);
		CHECK(counted["produced"] == counted["committed"]);
		CHECK(tracer.aux.head() == sampler.records() * setup.record);
	}
}

TEST_CASE("The log says once of each event that it is on and has no AUX area, and nothing of one that has had one",
	"[contract][lives]")
{
	if (::geteuid())
		SKIP("it takes root to read the kernel's log");
	constexpr std::string_view words = "found no AUX area of this PMU at the event";
	std::string said = std::format("{}: start() on CPU 0 {}", options().pmu, words);
	Setup setup;
	KernelLog log;
	std::uint64_t told = 0;
	const auto tell = [&] {
		for (const auto &line : log.lines())
			told += line.find(said) != std::string::npos;
		return told;
	};

	pin(0);
	setup.target = Target::on_cpu(0);
	/* Ten lines in five seconds is the kernel's limit, for all events together. */
	until_heard(words);
	tell();
	told = 0;
	for (std::uint64_t events = 1; events <= 2; events++) {
		auto event = Event::open(make_attr(setup), setup.target).value();
		event.enable().value();
		wait_until("the log to speak of it", [&] { return tell() >= events; });
		event.disable().value();
		event.enable().value();
	}
	/* One that loses its area, at the end or by mistake. */
	{
		Tracer tracer(setup);
		tracer.enable();
		tracer.produce(640);
		tracer.aux.unmap();
		auto before = statistics();
		tracer.disable();
		tracer.enable();
		CHECK(statistics().since(before)["unmapped"] > 0);
		tracer.disable();
	}
	/* And another, whose line comes behind any of that one. */
	auto last = Event::open(make_attr(setup), setup.target).value();
	last.enable().value();
	wait_until("the log to speak of the last", [&] { return tell() >= 3; });
	CHECK(told == 3);
}

TEST_CASE("An event that is on before its AUX area is mapped says so once, not at every attempt, and begins when it is",
	"[synth][lives]")
{
	need_synthetic();
	for (Target target : {Target::on_cpu(0), Target::task_on_cpu(0, 0)}) {
		Setup setup;

		pin(0);
		setup.target = target;
		auto before = statistics();
		auto event = Event::open(make_attr(setup), setup.target).value();
		auto data = DataRing::map(event, setup.data_bytes).value();
		event.enable().value();
		/* The kernel retries at its ticks (not 6.1), and when another event is scheduled in. */
		wait_until("the kernel to have tried 20 times", [&] {
			Event::open(dummy_attr(), target).value().close();
			return statistics().since(before)["unmapped"] >= 20;
		});
		std::uint64_t starts = 0, others = 0;
		auto drain = [&] {
			data.drain([&](const RecordView &view) {
				(view.header.type == PERF_RECORD_ITRACE_START ? starts : others)++;
			});
		};
		drain();
		CHECK(starts == 1);
		CHECK(others == 0);

		/* The trace begins without further action, at the next attempt. */
		auto aux = AuxRing::map(data, event, setup.aux_bytes, setup.mode).value();
		wait_until("the trace to begin", [&] {
			Event::open(dummy_attr(), target).value().close();
			return emitter().emit(0, 640).error == 0;
		});
		event.disable().value();
		CHECK(aux.head() >= 640 + setup.record);
		/* From then on each enable is reported again. */
		drain();
		std::uint64_t told = starts;
		event.enable().value();
		event.disable().value();
		drain();
		CHECK(starts > told);
	}
}

TEST_CASE("Children of an event without an AUX area do not flood its data ring", "[synth][lives]")
{
	need_synthetic();
	if (cpus() < 2)
		SKIP("it takes two CPUs");
	Setup setup;

	/*
	 * The event is on a CPU where the parent does not run, so that only attempts of children are recorded. The kernel swaps
	 * the contexts of tasks with the same events; one more event that is not inherited prevents that.
	 */
	auto own = Event::open(dummy_attr(), Target::task()).value();
	pin(0);
	setup.target = Target::task_on_cpu(0, 1);
	setup.inherit = true;
	auto event = Event::open(make_attr(setup), setup.target).value();
	auto data = DataRing::map(event, setup.data_bytes).value();
	event.enable().value();
	int ends[2];
	REQUIRE(::pipe(ends) == 0);
	pid_t child = spawn([&] {
		rusage usage{};
		timeval used{};

		/* 100 ms of work, during which the kernel checks the event every few milliseconds. */
		pin(1);
		do {
			::getrusage(RUSAGE_SELF, &usage);
			timeradd(&usage.ru_utime, &usage.ru_stime, &used);
		} while (!used.tv_sec && used.tv_usec < 100000);
		long switches = usage.ru_nvcsw + usage.ru_nivcsw;
		return ::write(ends[1], &switches, sizeof(switches)) == sizeof(switches);
	});
	CHECK(succeeded(child));
	long switches = 0;
	REQUIRE(::read(ends[0], &switches, sizeof(switches)) == sizeof(switches));
	event.disable().value();
	long starts = 0;
	data.drain([&](const RecordView &view) {
		Record one = decode(view, event.attr());

		if (auto *start = std::get_if<ItraceStartRecord>(&one))
			starts += static_cast<pid_t>(start->pid) == child;
	});
	/* The event was tried only as often as the task was switched in, and once when it was done. */
	CHECK(starts <= switches + 2);
	::close(ends[0]);
	::close(ends[1]);
}

namespace
{

volatile std::sig_atomic_t traps = 0, trap_data = 0;

void on_trap(int, siginfo_t *info, void *)
{
	traps = traps + 1;
	/* si_perf_data, for which the C library has no name, lies behind si_addr. */
	unsigned long data;
	std::memcpy(&data, reinterpret_cast<const char *>(&info->si_addr) + sizeof(info->si_addr), sizeof(data));
	trap_data = static_cast<int>(data);
}

} // namespace

TEST_CASE(
	"A member that sends SIGTRAP takes its samples of trace all the same, each before its signal", "[synth][lives]")
{
	need_synthetic();
	need_sampling();
	struct sigaction action{}, old{};
	action.sa_sigaction = on_trap;
	action.sa_flags = SA_SIGINFO;
	REQUIRE(::sigaction(SIGTRAP, &action, &old) == 0);
	traps = 0;
	{
		Setup setup;
		pin(0);
		setup.target = Target::task_on_cpu(0, 0);
		auto attr = sampling_member("getppid", 1024);
		attr.sigtrap = 1;
		attr.remove_on_exec = 1;
		attr.sig_data = 0x5eed;
		Sampler sampler(setup, attr);

		for (int round = 1; round <= 50; round++) {
			sampler.emit(192);
			auto before = sampler.records();
			sample_here();
			CHECK(traps == round);
			unsigned samples = 0;
			std::string wrong;
			sampler.tracer.drain([&](const RecordView &view) {
				auto sample = std::get<SampleRecord>(decode(view, attr));

				samples++;
				wrong = wrong_with(sample.aux, setup, before, 1024);
			});
			CHECK(samples == 1);
			if (sampler.records() == before)
				CHECK(wrong == "");
		}
		CHECK(trap_data == 0x5eed);
		sampler.tracer.finish();
	}
	/* The AUX event itself may have sigtrap set, too. */
	Setup setup;
	setup.target = Target::task_on_cpu(0, 0);
	auto attr = make_attr(setup);
	attr.sigtrap = 1;
	attr.remove_on_exec = 1;
	auto event = Event::open(attr, setup.target).value();
	auto data = DataRing::map(event, setup.data_bytes).value();
	auto aux = AuxRing::map(data, event, setup.aux_bytes, setup.mode).value();
	event.enable().value();
	CHECK(emitter().emit(0, 640).error == 0);
	event.disable().value();
	CHECK(traps == 50);
	::sigaction(SIGTRAP, &old, nullptr);
}

TEST_CASE("An event with remove_on_exec traces up to the exec, all of it, and nothing after", "[synth][lives]")
{
	need_synthetic();
	for (unsigned output : every_output())
		for (AuxMode mode : modes) {
			int go[2];
			REQUIRE(::pipe(go) == 0);
			pid_t child = spawn([&] {
				char byte;

				pin(0);
				if (::read(go[0], &byte, 1) != 1 || emitter().emit(0, 4096).error)
					return false;
				::execl("/proc/self/exe", "auxpmu_tests", exec_role, "0", "16384",
					options().pmu.c_str(), static_cast<char *>(nullptr));
				return false;
			});
			Setup setup;
			setup.output = output;
			setup.mode = mode;
			setup.target = Target::task(child);
			INFO(describe(setup));
			auto before = statistics();
			{
				auto attr = make_attr(setup);
				attr.remove_on_exec = 1;
				auto event = Event::open(attr, setup.target).value();
				auto data = DataRing::map(event, setup.data_bytes).value();
				auto aux = AuxRing::map(data, event, setup.aux_bytes, mode, true).value();
				event.enable().value();
				CHECK(::write(go[1], "x", 1) == 1);
				int status = 0;
				CHECK(::waitpid(child, &status, 0) == child);
				/* The program exits with 4 when no event traces it. */
				CHECK((WIFEXITED(status) && WEXITSTATUS(status) == 4));
				TraceVerifier verifier(make_expectation(setup));
				if (mode == AuxMode::full_trace)
					verifier.feed(aux.readable());
				else
					verifier.snapshot(aux.snapshot());
				verifier.complete();
				CHECK(verifier.error() == "");
				CHECK(asked_for(verifier) == 4096);
			}
			wait_until("the buffer to be freed", [] { return buffers().empty(); });
			auto counted = statistics().since(before);
			CHECK(counted["begins"] == counted["ends"]);
			CHECK(counted["produced"] == counted["committed"]);
			::close(go[0]);
			::close(go[1]);
		}
}

namespace
{

/* Inherited events of the calling thread, one per CPU. */
std::vector<std::unique_ptr<Tracer>> inherited(std::size_t aux_bytes)
{
	std::vector<std::unique_ptr<Tracer>> tracers;

	for (int cpu = 0; cpu < std::min(cpus(), 2); cpu++) {
		Setup setup;

		setup.target = Target::task_on_cpu(0, cpu);
		setup.inherit = true;
		setup.aux_bytes = aux_bytes;
		setup.data_bytes = 1 * MiB;
		setup.output = every_output().at(static_cast<unsigned>(cpu) % every_output().size());
		tracers.push_back(std::make_unique<Tracer>(setup));
		auto expectation = make_expectation(setup);
		expectation.streams = 4096;
		tracers.back()->expect(expectation);
	}
	for (auto &tracer : tracers)
		tracer->enable();
	return tracers;
}

/* A process that emits on each CPU, and has two children that do the same, for this many generations. */
bool generation(unsigned left, int nr_cpus, std::uint64_t bytes)
{
	bool good = true;
	pid_t children[2];

	if (left)
		for (pid_t &child : children)
			child = spawn([&] { return generation(left - 1, nr_cpus, bytes); });
	for (int cpu = 0; cpu < nr_cpus; cpu++) {
		pin(cpu);
		good &= emitter().emit(cpu, bytes).error == 0;
	}
	if (left)
		for (pid_t child : children)
			good &= succeeded(child);
	return good;
}

/*
 * Checks that the trace of all tracers is whole, that every stream descends from the one event that was opened, and that all
 * requested bytes were written.
 */
void check_inherited(std::vector<std::unique_ptr<Tracer>> &tracers, std::uint64_t asked, const Statistics &before)
{
	std::uint64_t made = 0;

	for (auto &tracer : tracers) {
		std::set<std::uint64_t> parents;

		tracer->finish_without_statistics();
		CHECK(asked_for(tracer->verifier) == asked);
		for (const auto &stream : tracer->verifier.streams()) {
			made += stream.bytes;
			CHECK(stream.lost == 0);
			if (stream.parent)
				parents.insert(stream.parent);
		}
		CHECK(parents.size() == 1);
	}
	auto counted = statistics().since(before);
	CHECK(counted["produced"] == made);
	CHECK(counted["begins"] == counted["ends"]);
	CHECK(counted["busy"] == 0);
}

} // namespace

TEST_CASE("A family of three generations is traced whole by the inherited events of its oldest", "[synth][lives]")
{
	need_synthetic();
	auto before = statistics();
	auto tracers = inherited(1 * MiB);
	constexpr std::uint64_t bytes = 4 * KiB;

	pid_t first = spawn([&] { return generation(2, static_cast<int>(tracers.size()), bytes); });
	CHECK(succeeded(first));
	check_inherited(tracers, 7 * bytes, before);
	pin(0);
}

TEST_CASE("Hundreds of short tasks are traced whole by inherited events", "[synth][lives]")
{
	need_synthetic();
	constexpr unsigned tasks = 200, at_once = 10;
	auto before = statistics();
	auto tracers = inherited(1 * MiB);

	for (unsigned i = 0; i < tasks; i += at_once) {
		pid_t pids[at_once];

		for (unsigned n = 0; n < at_once; n++)
			pids[n] = spawn([&] {
				int cpu = static_cast<int>(n % tracers.size());

				pin(cpu);
				return emitter().emit(cpu, 128).error == 0;
			});
		for (pid_t pid : pids)
			CHECK(succeeded(pid));
	}
	check_inherited(tracers, tasks * 128 / tracers.size(), before);
	pin(0);
}

TEST_CASE("A thread whose CPU goes offline is traced on where it goes, without a gap", "[synth][lives]")
{
	need_synthetic();
	Cpu1 other;
	for (AuxMode mode : modes) {
		Setup setup;

		setup.target = Target::task();
		setup.mode = mode;
		pin(1);
		Tracer tracer(setup);
		tracer.enable();
		tracer.emit_all(1024, 1);
		/* Tasks bound to this CPU lose their binding. */
		other.offline();
		tracer.emit_all(1024, 0);
		other.online();
		pin(1);
		tracer.emit_all(1024, 1);
		pin(0);
		tracer.finish();
		CHECK(asked_for(tracer.verifier) == 3 * 1024);
	}
}

TEST_CASE("Events survive a suspend, as far as a guest can practise it", "[synth][lives]")
{
	need_synthetic();
	/*
	 * Freeze only tasks where the root is on a device that does not come back; otherwise practise the whole suspend
	 * (vm/suspend).
	 */
	const char *how = std::getenv("SUSPEND");
	const std::uint64_t rearmed = how && std::string(how) == "core" ? 1 : 0;
	Knob delay("/sys/module/suspend/parameters/pm_test_delay", "0");
	Knob level("/sys/power/pm_test", how ? how : "freezer");
	UniqueFd state(::open("/sys/power/state", O_WRONLY | O_CLOEXEC));
	if (!delay || !level || !state)
		SKIP("this kernel cannot practise a suspend (CONFIG_PM_DEBUG, /sys/power/pm_test)");
	for (Target target : {Target::on_cpu(0), Target::task()}) {
		Setup setup;

		pin(0);
		setup.target = target;
		Tracer tracer(setup);
		Event arms = Event::open(counting(at_tracepoint("auxpmu/auxpmu_arm")), Target::on_cpu(0)).value();
		tracer.enable();
		tracer.emit_all(1024, 0);
		const std::uint64_t before = count_of(arms);
		/* Hibernation goes equally far without firmware support; in this mode it ends there, and nothing is written. */
		if (::pwrite(state.get(), "mem", 3, 0) != 3 && ::pwrite(state.get(), "freeze", 6, 0) != 6 &&
			::pwrite(state.get(), "disk", 4, 0) != 4)
			SKIP("a practised suspend failed: " << std::strerror(errno));
		/* An event of a thread is also switched in and out. */
		if (target.pid == -1)
			CHECK(count_of(arms) - before == rearmed);
		tracer.emit_all(1024, 0);
		tracer.finish();
		CHECK(asked_for(tracer.verifier) == 2 * 1024);
	}
}
