// SPDX-License-Identifier: GPL-2.0-only
/*
 * The kernel's own intel_pt and auxpmu_pt side by side: instructions that the kernel retires for the same work.  On virtual
 * hardware with retired.so (selftests/hwsim), for the processor's own counters stand still where it matters.
 *
 *   auxpmu_pt_bench
 */
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <sched.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../hwsim/retired/retired.h"
#include "../lib/aux_ring.h"
#include "../lib/data_ring.h"
#include "../lib/event.h"
#include "../lib/pmu.h"
#include "../lib/record.h"

using namespace auxpmu;

namespace
{

constexpr std::uint64_t KiB = 1024, MiB = 1024 * KiB;
constexpr int rounds = 5;

/* Of this CPU, in the kernel, so far. */
std::uint64_t kernel_instructions()
{
	static hwsim::Retired retired{};
	std::uint32_t a = hwsim::Retired::cpuid_leaf, b = 0, d = 0;
	std::uint64_t c = reinterpret_cast<std::uint64_t>(&retired);

	retired.user = 0;
	asm volatile("cpuid" : "+a"(a), "+b"(b), "+c"(c), "+d"(d) : : "memory");
	if (!retired.user) {
		std::printf("1..0 # SKIP this machine has no retired.so\n");
		std::exit(4);
	}
	return retired.kernel;
}

void pin_to_first()
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(0, &set);
	if (::sched_setaffinity(0, sizeof(set), &set))
		throw std::runtime_error("there is no CPU 0");
}

unsigned first(unsigned n)
{
	return n * 3 + 1;
}
unsigned second(unsigned n)
{
	return n ^ 0x55;
}

void churn(unsigned calls)
{
	static unsigned (*volatile const table[])(unsigned) = {first, second};
	volatile unsigned value = 1;

	for (unsigned i = 0; i < calls; i++)
		value = table[(value + i) % 2](value);
}

/* An event of one of the two, with its areas. */
struct Tracer {
	Tracer(const std::string &name, Target target, std::uint64_t bytes, AuxMode mode, std::uint32_t watermark = 0)
		: event(Event::open(attr_of(name, watermark), target).value()),
		  data(DataRing::map(event, 512 * KiB).value()), aux(AuxRing::map(data, event, bytes, mode).value())
	{
	}
	static perf_event_attr attr_of(const std::string &name, std::uint32_t watermark)
	{
		perf_event_attr attr = Pmu::find(name).value().attr();

		attr.exclude_kernel = 1;
		attr.aux_watermark = watermark;
		return attr;
	}
	std::uint64_t records()
	{
		std::uint64_t count = 0;

		data.drain([&](const RecordView &view) { count += view.header.type == PERF_RECORD_AUX; });
		return count;
	}
	std::uint64_t samples()
	{
		std::uint64_t count = 0;

		data.drain([&](const RecordView &view) { count += view.header.type == PERF_RECORD_SAMPLE; });
		return count;
	}

	Event event;
	DataRing data;
	AuxRing aux;
};

/* The least of some rounds: what interrupts add, they do not add each time. */
double least(const std::function<double()> &measure)
{
	double best = measure();

	for (int i = 1; i < rounds; i++)
		best = std::min(best, measure());
	return best;
}

double setup_aux(const std::string &name, std::uint64_t bytes)
{
	return least([&] {
		Event event = Event::open(Tracer::attr_of(name, 0), Target::on_cpu(0)).value();
		DataRing data = DataRing::map(event, 64 * KiB).value();
		const std::uint64_t before = kernel_instructions();
		AuxRing aux = AuxRing::map(data, event, bytes, AuxMode::full_trace).value();

		return static_cast<double>(kernel_instructions() - before);
	});
}

/* Each round trip takes this process off the CPU once. */
constexpr int trips = 500;

double trips_cost(const std::string *name)
{
	return least([&] {
		int there[2], back[2];
		char byte = 0;

		if (::pipe(there) || ::pipe(back))
			throw std::runtime_error("no pipe");
		const pid_t child = ::fork();
		if (!child) {
			while (::read(there[0], &byte, 1) == 1 && ::write(back[1], &byte, 1) == 1 && !byte)
				;
			::_exit(0);
		}
		std::optional<Tracer> tracer;
		if (name) {
			tracer.emplace(*name, Target::task(), 4 * MiB, AuxMode::full_trace);
			tracer->event.enable().value();
		}
		std::uint64_t before = 0;
		for (int i = -10; i <= trips; i++) {
			if (i == 0)
				before = kernel_instructions();
			byte = i == trips;
			if (::write(there[1], &byte, 1) != 1 || ::read(back[0], &byte, 1) != 1)
				throw std::runtime_error("the pipe broke");
		}
		const std::uint64_t taken = kernel_instructions() - before;
		::waitpid(child, nullptr, 0);
		for (int end : {there[0], there[1], back[0], back[1]})
			::close(end);
		return static_cast<double>(taken);
	});
}

double sched_pair(const std::string &name)
{
	return (trips_cost(&name) - trips_cost(nullptr)) / trips;
}

/* Work that is traced into 4 MiB with room for all of it, interrupted every so many bytes: cost, and interrupts. */
std::pair<double, double> interrupted(const std::string &name, std::uint32_t watermark)
{
	double interrupts = 0;
	const double cost = least([&] {
		Tracer tracer(name, Target::on_cpu(0), 4 * MiB, AuxMode::full_trace, watermark);

		tracer.event.enable().value();
		const std::uint64_t before = kernel_instructions();
		churn(150'000);
		const std::uint64_t taken = kernel_instructions() - before;
		tracer.event.disable().value();
		interrupts = static_cast<double>(tracer.records());
		return static_cast<double>(taken);
	});

	return {cost, interrupts};
}

/*
 * The kernel's own driver interrupts at the ends of blocks, ours at those of regions of a 16th of the buffer: a watermark of
 * that gives both as many.
 */
double performance_interrupt(const std::string &name)
{
	const auto often = interrupted(name, 256 * KiB), seldom = interrupted(name, 2 * MiB);

	std::printf("# %s: %.0f interrupts, and %.0f\n", name.c_str(), often.second, seldom.second);
	return (often.first - seldom.first) / (often.second - seldom.second);
}

/* A group whose member overflows so often, with samples of so many bytes of trace, or none. */
double sampled(const std::string &name, std::uint32_t bytes, double &samples)
{
	return least([&] {
		Tracer tracer(name, Target::task(), 64 * KiB, AuxMode::overwrite);
		perf_event_attr attr{};

		attr.size = sizeof(attr);
		attr.type = PERF_TYPE_HARDWARE;
		attr.config = PERF_COUNT_HW_INSTRUCTIONS;
		attr.sample_period = 20'000;
		attr.sample_type = PERF_SAMPLE_IP | (bytes ? PERF_SAMPLE_AUX : 0);
		attr.aux_sample_size = bytes;
		attr.exclude_kernel = 1;
		Event member = Event::open(attr, Target::task(), tracer.event.fd()).value();
		member.set_output(tracer.event).value();
		tracer.event.enable().value();
		churn(1000);
		tracer.samples();
		const std::uint64_t before = kernel_instructions();
		churn(100'000);
		const std::uint64_t taken = kernel_instructions() - before;
		tracer.event.disable().value();
		samples = static_cast<double>(tracer.samples());
		return static_cast<double>(taken);
	});
}

double aux_sample(const std::string &name)
{
	double with = 0, without = 0;
	const double cost = sampled(name, 4096, with), bare = sampled(name, 0, without);

	std::printf("# %s: %.0f samples with trace, %.0f without\n", name.c_str(), with, without);
	return cost / with - bare / without;
}

void wait_until_free()
{
	const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);

	while (read_small_file("/sys/bus/event_source/devices/auxpmu_pt/claim").value_or("").starts_with("held"))
		if (std::chrono::steady_clock::now() > end)
			throw std::runtime_error("the trace units are not given back");
}

} // namespace

int main()
{
	struct Row {
		const char *what;
		double allowed;
		std::function<double(const std::string &)> measure;
	};
	const Row table[] = {
		{"performance interrupt", 1.3, performance_interrupt},
		{"sched-out and sched-in", 1.0, sched_pair},
		{"AUX sample of 4 KiB", 1.0, aux_sample},
		{"mmap of 1 MiB", 1.0,
			[](const std::string &name) {
				return setup_aux(name, 1 * MiB);
			}},
		{"mmap of 64 MiB", 1.0,
			[](const std::string &name) {
				return setup_aux(name, 64 * MiB);
			}},
		{"mmap of 1024 MiB", 1.0,
			[](const std::string &name) {
				return setup_aux(name, 1024 * MiB);
			}},
	};

	pin_to_first();
	kernel_instructions();
	std::printf("TAP version 13\n1..%zu\n", std::size(table));
	std::printf("# instructions of the kernel for one      intel_pt  auxpmu_pt  ratio  goal\n");
	int n = 0;
	for (const Row &row : table) {
		n++;
		try {
			const double theirs = row.measure("intel_pt");
			const double ours = row.measure("auxpmu_pt");
			wait_until_free();
			std::printf("# %-36s %12.0f %10.0f %6.2f %5.1f\n", row.what, theirs, ours, ours / theirs,
				row.allowed);
			std::printf("ok %d - %s: %.2f of the kernel's own%s\n", n, row.what, ours / theirs,
				ours <= theirs * row.allowed ? "" : ", more than the goal");
		} catch (const std::exception &failure) {
			std::printf("not ok %d - %s: %s\n", n, row.what, failure.what());
			return 1;
		}
		std::fflush(stdout);
	}
	return 0;
}
