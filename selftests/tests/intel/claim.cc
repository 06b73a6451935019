// SPDX-License-Identifier: GPL-2.0-only
/*
 * The backends for Intel's trace units beside the in-tree drivers: who owns the units at which time, and in what state they are
 * released. Run with --pmu auxpmu_pt or auxpmu_bts where there are such units; everywhere else all of it is skipped.
 */
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <sstream>
#include <string>

#include <fcntl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "intel/registers.h"
#include "shared/fixture.h"
#include "shared/hardware.h"
#include "shared/knob.h"

using namespace auxpmu;
using namespace auxpmu::test;

namespace
{

/* The sysfs file that takes a CPU offline and online. */
class Switch
{
public:
	explicit Switch(int cpu)
		: file(::open(("/sys/devices/system/cpu/cpu" + std::to_string(cpu) + "/online").c_str(),
			  O_WRONLY | O_CLOEXEC))
	{
		if (!file)
			SKIP("there is no CPU " << cpu << " that can go offline");
	}
	void turn(bool on) { REQUIRE(try_to(on)); }
	bool try_to(bool on) { return ::pwrite(file.get(), on ? "1" : "0", 1, 0) == 1; }

private:
	UniqueFd file;
};

/* The number of this hotplug state, as the kernel lists it ("  8: x86/foo:bar"), or an empty string. */
std::string hotplug_state(const std::string &name)
{
	std::istringstream all(read_small_file("/sys/devices/system/cpu/hotplug/states").value_or(""));

	for (std::string number, words; all >> number && std::getline(all >> std::ws, words);)
		if (words == name && number.ends_with(':'))
			return number.substr(0, number.size() - 1);
	return {};
}

} // namespace

TEST_CASE("A buffer that outlives its event on another's ring keeps the units: nobody else can be handed it",
	"[hardware][claim]")
{
	need_in_tree();
	wait_until_free();
	{
		auto attr = dummy_attr();
		attr.disabled = 1;
		auto software = Event::open(attr, Target::on_cpu(0)).value();
		std::optional<Tracer> tracer(std::in_place, on_cpu(0, 64 * KiB));
		REQUIRE(software.set_output(tracer->event));
		auto data = DataRing::map(software, tracer->data.size());
		if (!data) {
			/* Kernels that do not let another event map the ring also do not let a buffer outlive its own event. */
			CHECK(data.error().code == EBUSY);
			return;
		}
		auto aux = AuxRing::map(*data, software, 64 * KiB, AuxMode::full_trace).value();
		tracer.reset();
		/* The claim is not merely in the delay after the last user: there still is one. */
		CHECK(attribute("claim").starts_with("held, for 1 "));
		auto theirs = open_in_tree(Target::on_cpu(0));
		REQUIRE_FALSE(theirs);
		CHECK(theirs.error().code == EBUSY);
	}
	wait_until_free();
	CHECK(trace_in_tree(0) > 0);
}

TEST_CASE("Children of an inherited event hold nothing when all of them are gone", "[hardware][claim]")
{
	need_hardware();
	wait_until_free();
	pin(0);
	{
		Setup setup = on_cpu(0, 64 * KiB);
		setup.target = Target::task_on_cpu(0, 0);
		setup.inherit = true;
		Tracer tracer(setup);
		tracer.enable();
		for (int child = 0; child < 3; child++)
			CHECK(succeeded(spawn([] {
				churn(100);
				return true;
			})));
		/* The children's events are gone, but not the parent's. */
		CHECK(attribute("claim").starts_with("held, for "));
		churn(100);
		tracer.disable();
		CHECK(tracer.aux.head() > 0);
	}
	wait_until_free();
}

TEST_CASE("What a unit produced was handed over or is counted as lost, padding aside", "[hardware]")
{
	need_hardware();
	pin(0);
	/* Use many windows, so that some end early on units that do so. */
	Tracer tracer(on_cpu(0, 64 * KiB));
	const Statistics before = statistics();

	for (int round = 0; round < 3; round++) {
		tracer.enable();
		for (int piece = 0; piece < 20; piece++) {
			churn(1000);
			tracer.drain();
		}
		tracer.disable();
		tracer.drain();
	}
	const Statistics delta = statistics().since(before);
	CAPTURE(delta.text());
	CHECK(delta["produced"] + delta["padded"] == delta["committed"] + delta["lost_unit"] + delta["lost_space"]);
	CHECK(delta["committed"] == tracer.aux.head());
	CHECK(delta["wraps"] == tracer.aux.head() / tracer.aux.size());
	CHECK(delta["wraps"] > 1);
	CHECK(delta["begins"] == delta["ends"]);
}

TEST_CASE("ITRACE_START tells of an event's first start only", "[hardware]")
{
	need_hardware();
	pin(0);
	Tracer tracer(on_cpu(0, 256 * KiB));

	for (int round = 0; round < 5; round++) {
		tracer.enable();
		churn(100);
		tracer.disable();
	}
	tracer.drain();
	CHECK(tracer.tally.itrace_starts == 1);
}

TEST_CASE("While events of ours exist nobody else gets the trace units, and before and after anybody does",
	"[hardware][claim]")
{
	need_in_tree();
	wait_until_free();
	CHECK(trace_in_tree(0) > 0);
	{
		Tracer tracer(on_cpu(0, 64 * KiB));
		CHECK(attribute("claim").starts_with("held"));
		/* Try a thread and several CPUs: ours follows one CPU only, but the claim covers all units. */
		for (Target target : {Target::task(), Target::on_cpu(0), Target::on_cpu(cpus() - 1)}) {
			auto theirs = open_in_tree(target);
			REQUIRE_FALSE(theirs);
			CHECK(theirs.error().code == EBUSY);
		}
		tracer.enable();
		pin(0);
		churn(2000);
		tracer.finish();
		CHECK(tracer.aux.head() > 0);
	}
	wait_until_free();
	for (int cpu = 0; cpu < cpus(); cpu++)
		CHECK(trace_in_tree(cpu) > 0);
}

TEST_CASE("Where somebody else traces we are refused, and the log says why", "[hardware][claim]")
{
	need_in_tree();
	for (Target target : {Target::task(), Target::on_cpu(cpus() - 1)}) {
		wait_until_free();
		KernelLog log;
		{
			Event theirs = open_in_tree(target).value();
			Setup setup = on_cpu(0, 64 * KiB);
			auto ours = Event::open(make_attr(setup), setup.target);
			REQUIRE_FALSE(ours);
			CHECK(ours.error().code == EBUSY);
			CHECK(log.says("trace units not to be had: somebody traces with " + intree()));
			CHECK(attribute("claim").starts_with("refused: somebody traces with " + intree()));
		}
		/* Nothing remains of the attempt. */
		Tracer tracer(on_cpu(0, 64 * KiB));
		tracer.finish();
	}
	wait_until_free();
}

TEST_CASE("A user who may not open counters on CPUs can trace an own thread", "[pt][claim]")
{
	need("auxpmu_pt");
	if (::geteuid())
		SKIP("not root");
	if (!another_in_tree().empty())
		SKIP("beside " << another_in_tree() << " a user needs CAP_PERFMON");
	wait_until_free();
	auto before = read_small_file("/proc/sys/kernel/perf_event_paranoid").value();
	UniqueFd knob(::open("/proc/sys/kernel/perf_event_paranoid", O_WRONLY | O_CLOEXEC));
	REQUIRE(::pwrite(knob.get(), "2", 1, 0) == 1);
	pid_t child = spawn([] {
		if (::setresgid(65534, 65534, 65534) || ::setresuid(65534, 65534, 65534))
			return false;
		pin(0);
		Setup setup = on_cpu(0, 16 * KiB);
		setup.target = Target::task();
		setup.data_bytes = 4 * KiB;
		Tracer tracer(setup);
		tracer.enable();
		churn(1000);
		tracer.disable();
		return tracer.aux.head() > 0;
	});
	CHECK(succeeded(child));
	REQUIRE(::pwrite(knob.get(), before.data(), before.size(), 0) > 0);
	wait_until_free();
}

TEST_CASE("The registers are given back as they were, also after a tracer was killed", "[hardware][claim]")
{
	need_hardware();
	wait_until_free();
	if (Pmu::find(intree()))
		CHECK(trace_in_tree(0) > 0); /* which leaves something in them */
	std::array<std::optional<Registers>, 2> before;
	for (int cpu = 0; cpu < 2; cpu++)
		if (before[static_cast<std::size_t>(cpu)] = Registers::read(cpu);
			!before[static_cast<std::size_t>(cpu)])
			SKIP("registers cannot be read: modprobe msr");
	for (int cpu = 0; cpu < std::min(2, cpus()); cpu++) {
		pid_t child = spawn([&] {
			pin(cpu);
			Setup setup = on_cpu(cpu, 16 * KiB);
			Tracer tracer(setup);
			tracer.enable();
			for (;;)
				churn(1000);
			return true;
		});
		wait_until("the child to trace", [] { return attribute("claim").starts_with("held"); });
		/* The child may be at any point by then. */
		REQUIRE(::kill(child, SIGKILL) == 0);
		REQUIRE(::waitpid(child, nullptr, 0) == child);
		wait_until_free();
		for (int other = 0; other < 2; other++) {
			auto now = Registers::read(other);
			INFO("CPU " << other << " was " << text(before[static_cast<std::size_t>(other)]) << ", is "
				    << text(now));
			CHECK(now == before[static_cast<std::size_t>(other)]);
		}
	}
	if (Pmu::find(intree()))
		for (int cpu = 0; cpu < cpus(); cpu++)
			CHECK(trace_in_tree(cpu) > 0);
}

TEST_CASE("A CPU that goes offline ends its trace with PARTIAL, is ours when it comes back, and then free",
	"[hardware][claim]")
{
	need_hardware();
	if (cpus() < 2)
		SKIP("there is only one CPU");
	Switch one(1);
	wait_until_free();
	{
		Tracer elsewhere(on_cpu(0, 64 * KiB)); /* keeps the claim */
		/* A flight recorder, which does not become full before. */
		Setup setup = on_cpu(1, 1 * MiB);
		setup.mode = AuxMode::overwrite;
		Tracer tracer(setup);
		pid_t child = spawn([] {
			::prctl(PR_SET_PDEATHSIG, SIGKILL);
			pin(1);
			for (;;)
				churn(1000);
			return true;
		});
		const auto before = statistics()["sessions"];
		tracer.enable();
		wait_until("trace of CPU 1", [&] { return statistics()["sessions"] > before; });
		one.turn(false);
		tracer.drain();
		CHECK(tracer.tally.partial > 0);
		CHECK(tracer.aux.head() > 0);
		one.turn(true);
		CHECK(::kill(child, SIGKILL) == 0);
		CHECK(::waitpid(child, nullptr, 0) == child);
		/* The claim covers all units again. */
		if (Pmu::find(intree())) {
			auto theirs = open_in_tree(Target::on_cpu(1));
			REQUIRE_FALSE(theirs);
			CHECK(theirs.error().code == EBUSY);
		}
		pin(1);
		tracer.event.close();
		Tracer again(on_cpu(1, 64 * KiB));
		again.enable();
		churn(2000);
		again.finish();
		CHECK(again.aux.head() > 0);
	}
	wait_until_free();
	if (Pmu::find(intree()))
		CHECK(trace_in_tree(1) > 0);
}

TEST_CASE("A CPU that is to go offline and does not goes on being traced, and the record says PARTIAL",
	"[hardware][claim]")
{
	need_hardware();
	if (cpus() < 2)
		SKIP("there is only one CPU");
	Switch one(1);
	/* Let perf's own hotplug step fail, which comes after ours. */
	const std::string state = hotplug_state("perf:online");
	if (state.empty())
		SKIP("the kernel does not tell of its hotplug states");
	Setup setup = on_cpu(1, 1 * MiB);
	setup.mode = AuxMode::overwrite;
	Tracer tracer(setup);
	SharedNumbers calls(1);
	pid_t child = spawn([&] {
		::prctl(PR_SET_PDEATHSIG, SIGKILL);
		pin(1);
		for (;;) {
			churn(1000);
			calls[0]++;
		}
		return true;
	});
	auto wait_for_calls = [&] {
		const auto now = calls[0].load();
		wait_until("calls on CPU 1", [&] { return calls[0] >= now + 2; });
	};

	tracer.enable();
	wait_for_calls();
	write_small_file("/sys/devices/system/cpu/cpu1/hotplug/fail", state).value();
	CHECK_FALSE(one.try_to(false));
	const auto before = statistics()["produced"];
	CHECK(before > 0);
	/* The unit is on at once or, if perf scheduled the event before the unit was ours, at the next attempt. */
	wait_until("the unit to be on again", [] { return is_on(1); });
	wait_for_calls();
	tracer.disable();
	CHECK(statistics()["produced"] > before);
	tracer.drain();
	CHECK(tracer.tally.partial > 0);
	CHECK(::kill(child, SIGKILL) == 0);
	CHECK(::waitpid(child, nullptr, 0) == child);
}

TEST_CASE("Traces this thread on its CPU until somebody kills it", "[hardware][forever][.]")
{
	need_hardware();
	Setup setup;
	setup.target = Target::task();
	setup.exclude_kernel = true;
	Tracer tracer(setup);
	for (;;) {
		tracer.enable();
		churn(1000);
		tracer.disable();
		tracer.drain();
	}
}

TEST_CASE("An overwriting buffer that is filled more than once at a stretch is known to be full", "[hardware]")
{
	need_hardware();
	pin(0);
	Setup setup = on_cpu(0, 64 * KiB);
	setup.mode = AuxMode::overwrite;
	constexpr unsigned some = 500;
	auto traced = [&](std::uint64_t calls) {
		Tracer tracer(setup);

		tracer.enable();
		churn(static_cast<unsigned>(calls));
		tracer.disable();
		return tracer.aux.head();
	};
	const std::uint64_t bytes = traced(some);
	REQUIRE((bytes > 0 && bytes < setup.aux_bytes));
	/* Trace a lap and a little more, so that less lies behind the beginning of the session than before it. */
	for (unsigned percent : {130U, 170U, 250U, 330U}) {
		INFO(percent << " % of the buffer");
		CHECK(traced(some * setup.aux_bytes * percent / 100 / bytes) >= setup.aux_bytes);
	}
}
