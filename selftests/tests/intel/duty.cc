// SPDX-License-Identifier: GPL-2.0-only
/*
 * The duty cycle: a program must be traced from its first instruction to its last, whatever happens in between. A counter of the
 * kernel counts the instructions that it executes; the virtual hardware counts, from the control registers (hwsim/x86/duty.h),
 * those executed while the trace unit was on. The trace itself is not read: this finds a driver that leaves the unit off, even if
 * the rest of the trace is right. For any driver of these units, including the in-tree ones.
 */
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <string>
#include <vector>

#include <sys/syscall.h>
#include <unistd.h>

#include "../../hwsim/x86/duty.h"
#include "shared/fixture.h"
#include "shared/hardware.h"
#include "shared/tracepoint.h"

using namespace auxpmu;
using namespace auxpmu::test;
using hwsim::x86::Duty;

namespace
{

/* The CPU of the traced program, and that of the test. */
constexpr int there = 1, here = 0;

bool stores_branches()
{
	return options().pmu.ends_with("bts");
}

void need_duty()
{
	if (cpus() < 2)
		SKIP("one CPU is too few");
	if (!Duty::so_far())
		SKIP("instructions under trace are counted by the virtual hardware only");
}

/* User instructions that CPU "there" has executed while the unit was on. */
std::uint32_t on_so_far()
{
	pin(there);
	const Duty duty = Duty::so_far().value();
	pin(here);
	return stores_branches() ? duty.stored : duty.traced;
}

/* A program that sleeps until go_on(), and whenever it calls rest(): events enabled then see its next instruction. */
class Sleeper
{
public:
	using Work = std::function<void(Sleeper &)>;

	explicit Sleeper(const Work &work)
		: child(spawn([this, work] {
			  pin(there);
			  rest();
			  work(*this);
			  over = 1;
			  return true;
		  }))
	{
		wait_until("the program to sleep", [this] { return sleeps(); });
	}
	/* Called by the program: waits for go_on(). */
	void rest()
	{
		asked++;
		gate.wait();
	}
	/* Has it called rest() and gone to sleep? Until then it may still execute instructions. */
	bool sleeps() const { return asked > answered && state() == 'S'; }
	void go_on()
	{
		answered++;
		gate.open();
	}
	bool ended() const { return over; }
	bool succeeded() const { return test::succeeded(child); }
	Target target(bool inherited) const
	{
		return inherited ? Target::task_on_cpu(child, there) : Target::task(child);
	}

private:
	char state() const
	{
		const std::string stat = read_small_file("/proc/" + std::to_string(child) + "/stat").value_or(") X");

		return stat[stat.rfind(')') + 2];
	}

	SharedNumbers shared{2};
	std::atomic<std::uint64_t> &asked = shared[0], &over = shared[1];
	std::uint64_t answered = 0;
	Gate gate;
	pid_t child;
};

/* How the program is traced. */
struct Way {
	AuxMode mode = AuxMode::full_trace;
	std::size_t aux_bytes = 16 * MiB;
	std::uint32_t watermark = 0;
	bool inherit = false;
	bool whole_cpu = false;
	std::string filter{};
	std::uint32_t sample = 0; /* bytes of trace in each */
	bool paused = false;      /* from the beginning; getpgid() resumes, getppid() pauses */
};

/* The result of a measurement. */
struct Measured {
	std::uint64_t executed = 0, on = 0;
	std::uint64_t records = 0, lossy = 0, samples = 0;
};

perf_event_attr instructions(const Way &way, std::uint64_t period = 0)
{
	perf_event_attr attr{};

	attr.size = sizeof(attr);
	attr.type = PERF_TYPE_HARDWARE;
	attr.config = PERF_COUNT_HW_INSTRUCTIONS;
	attr.sample_period = period;
	attr.exclude_kernel = 1;
	attr.inherit = way.inherit;
	return attr;
}

/* The event that traces, its group members, and, outside of their group, the counter of instructions. */
class Recording
{
public:
	Recording(const Way &asked, const Sleeper &program)
		: way(asked), target(way.whole_cpu ? Target::on_cpu(there) : program.target(way.inherit)),
		  counter(Event::open(switched_on_later(instructions(way)), target).value()),
		  event(Event::open(attr(), target).value()), data(DataRing::map(event, MiB).value()),
		  aux(AuxRing::map(data, event, way.aux_bytes, way.mode, pmu().monotonic_aux_head()).value())
	{
		if (!way.filter.empty())
			event.set_filter(way.filter).value();
		if (way.sample)
			add_sampler();
		if (way.paused) {
			add("getpgid", AuxAction::resume);
			add("getppid", AuxAction::pause);
		}
	}
	/* The two need not start at once: only the program executes user code on that CPU, and it sleeps. */
	void enable()
	{
		counter.enable().value();
		event.enable().value();
	}
	void disable()
	{
		event.disable().value();
		counter.disable().value();
	}
	void drain()
	{
		data.drain([this](const RecordView &view) {
			measured.samples += view.header.type == PERF_RECORD_SAMPLE;
			if (view.header.type != PERF_RECORD_AUX)
				return;
			const auto record = std::get<AuxRecord>(decode(view, event.attr()));
			measured.records++;
			measured.lossy += record.truncated() || record.partial();
			full |= record.truncated();
		});
		if (way.mode == AuxMode::full_trace)
			aux.consume(aux.readable().size());
	}
	void stop_and_go()
	{
		event.disable().value();
		REQUIRE(aux.snapshot().to != 0);
		event.enable().value();
	}
	/* Empties the buffer, and restarts the event if it stopped because the buffer was full. */
	void go_on_if_full()
	{
		drain();
		if (full)
			event.restart().value();
		full = false;
	}
	std::uint64_t counted() const
	{
		std::uint64_t value = 0;

		REQUIRE(::read(counter.fd(), &value, sizeof(value)) == sizeof(value));
		return value;
	}

	Measured measured;

private:
	static perf_event_attr switched_on_later(perf_event_attr asked)
	{
		asked.disabled = 1;
		return asked;
	}
	perf_event_attr attr() const
	{
		perf_event_attr asked = pmu().attr();

		asked.exclude_kernel = 1;
		asked.inherit = way.inherit;
		asked.aux_watermark = way.watermark;
		if (way.paused)
			set_aux_action(asked, AuxAction::start_paused);
		return asked;
	}
	void add(const perf_event_attr &asked)
	{
		members.push_back(Event::open(asked, target, event.fd()).value());
		members.back().set_output(event).value();
	}
	void add(const std::string &syscall, AuxAction action)
	{
		perf_event_attr asked = at_syscall(syscall);

		set_aux_action(asked, action);
		add(asked);
	}
	void add_sampler()
	{
		perf_event_attr asked = instructions(way, 50'000);

		asked.sample_type = PERF_SAMPLE_AUX;
		asked.aux_sample_size = way.sample;
		add(asked);
	}

	Way way;
	Target target;
	Event counter, event;
	DataRing data;
	AuxRing aux;
	std::vector<Event> members;
	bool full = false;
};

/* "answer" is called whenever the program rests. */
Measured measure(
	const Way &way, const Sleeper::Work &work, const std::function<void(Recording &)> &answer = [](auto &) {})
{
	pin(here);
	Sleeper program(work);
	Recording recording(way, program);
	const std::uint32_t before = on_so_far();

	recording.enable();
	program.go_on();
	wait_until("the program to end", [&] {
		recording.drain();
		if (program.sleeps()) {
			answer(recording);
			program.go_on();
		}
		return program.ended();
	});
	REQUIRE(program.succeeded());
	recording.disable();
	recording.drain();
	Measured measured = recording.measured;
	measured.executed = recording.counted();
	measured.on = on_so_far() - before;
	std::printf("# executed %llu, on %llu; AUX records %llu, lossy %llu, samples %llu\n",
		static_cast<unsigned long long>(measured.executed), static_cast<unsigned long long>(measured.on),
		static_cast<unsigned long long>(measured.records), static_cast<unsigned long long>(measured.lossy),
		static_cast<unsigned long long>(measured.samples));
	return measured;
}

/* Sleeps now and then, so that the unit is switched off and on. */
void work(unsigned calls)
{
	for (int round = 0; round < 40; round++) {
		churn(calls);
		::usleep(100);
	}
}
constexpr unsigned some = 1000;
void some_work(Sleeper &)
{
	work(some);
}

/* The unit was on all the time, and nothing was lost. */
void check_whole(const Measured &measured)
{
	CHECK(measured.executed > 40 * some);
	CHECK(measured.on == measured.executed);
	CHECK(measured.lossy == 0);
}

/* Can the PMU be paused on this kernel? */
bool can_pause()
{
	perf_event_attr asked = pmu().attr();

	asked.exclude_kernel = 1;
	set_aux_action(asked, AuxAction::start_paused);
	return static_cast<bool>(Event::open(asked, Target::task()));
}

/* The in-tree BTS driver takes none; its PMU is the intel_bts whose head is not monotonic. */
bool takes_samples()
{
	return options().pmu != "intel_bts" || pmu().monotonic_aux_head();
}

} // namespace

TEST_CASE("A unit is on for all of a program that is traced", "[duty][.]")
{
	need_duty();
	check_whole(measure({}, some_work));
}

TEST_CASE("A unit is on for all of a program, outside of its filters, too", "[duty][.]")
{
	need_duty();
	if (nr_filters() == 0)
		SKIP("this unit has no address filters");
	check_whole(measure({.filter = "filter 0x1000/0x1000@/proc/self/exe"}, some_work));
}

TEST_CASE("A unit is on again for the next instruction after an interrupt", "[duty][.]")
{
	need_duty();
	const Measured measured =
		measure({.aux_bytes = 4 * MiB, .watermark = 16 * KiB}, [](Sleeper &) { work(8 * some); });

	check_whole(measured);
	CHECK(measured.records > 40);
}

TEST_CASE("A unit is on for all of a program whose trace is overwritten", "[duty][.]")
{
	need_duty();
	check_whole(measure({.mode = AuxMode::overwrite, .aux_bytes = 16 * KiB}, [](Sleeper &) { work(4 * some); }));
}

TEST_CASE("A unit is on again after a snapshot", "[duty][.]")
{
	need_duty();
	unsigned snapshots = 0;

	check_whole(measure(
		{.mode = AuxMode::overwrite, .aux_bytes = 64 * KiB},
		[](Sleeper &program) {
			for (int n = 0; n < 20; n++) {
				churn(some);
				program.rest();
				churn(some);
			}
		},
		[&](Recording &recording) {
			recording.stop_and_go();
			snapshots++;
		}));
	CHECK(snapshots == 20);
}

TEST_CASE("A unit is on again for the next instruction after a sample", "[duty][.]")
{
	need_duty();
	const Way way{.mode = AuxMode::overwrite, .aux_bytes = 64 * KiB, .sample = 4 * KiB};

	if (!takes_samples())
		SKIP("this driver takes no AUX samples");
	const Measured measured = measure(way, some_work);
	check_whole(measured);
	CHECK(measured.samples > 10);
}

TEST_CASE("A unit is on for all of a program's children, and theirs", "[duty][.]")
{
	need_duty();
	check_whole(measure({.inherit = true}, [](Sleeper &) {
		for (int n = 0; n < 3; n++)
			if (!succeeded(spawn([] {
				    work(some);
				    return succeeded(spawn([] {
					    work(some);
					    return true;
				    }));
			    })))
				::_exit(1);
	}));
}

TEST_CASE("A unit is on for whatever program a traced CPU executes", "[duty][.]")
{
	need_duty();
	check_whole(measure({.whole_cpu = true}, some_work));
}

TEST_CASE("A unit is on from a resumption to the next pause, and at no other time", "[duty][.]")
{
	need_duty();
	constexpr unsigned rounds = 20;

	if (!can_pause())
		SKIP("this driver, or this kernel, cannot pause AUX events");
	const auto phases = [](bool twice) {
		return [twice](Sleeper &) {
			for (unsigned n = 0; n < rounds; n++) {
				::syscall(SYS_getpgid, 0);
				churn(some);
				::syscall(SYS_getppid);
				if (twice)
					churn(some);
			}
		};
	};
	/* Both runs execute the same work while the unit is on; the second does it again while paused, which is the difference. */
	const Measured once = measure({.paused = true}, phases(false)), twice = measure({.paused = true}, phases(true));
	const std::uint64_t expected = twice.executed - once.executed;

	CHECK(expected > rounds * some);
	CHECK(once.on == twice.on);
	/* In addition: the instructions between a system call and the work. */
	CHECK(twice.on >= expected);
	CHECK(twice.on <= expected + std::uint64_t{rounds} * 64);
}

TEST_CASE("A unit is on all the time for somebody who keeps up", "[duty][.]")
{
	need_duty();
	const unsigned less_than_a_page = stores_branches() ? 25 : 300;
	const Measured measured = measure(
		{.aux_bytes = 64 * KiB, .watermark = 4 * KiB},
		[less_than_a_page](Sleeper &program) {
			for (int n = 0; n < 200; n++) {
				churn(less_than_a_page);
				program.rest();
			}
		},
		[](Recording &recording) { recording.go_on_if_full(); });

	/* In-tree drivers reach the end of a window before they have made the next, then are off until the consumer notices. */
	if (pmu().monotonic_aux_head())
		check_whole(measured);
	CHECK(measured.on > 0);
}
