// SPDX-License-Identifier: GPL-2.0-only
/*
 * Compares the in-tree driver with ours: the instructions that the kernel retires for the same work. Runs on virtual hardware
 * with retired.so (selftests/hwsim), because the processor's own counters stand still where it matters.
 *
 *   auxpmu_hardware_bench auxpmu_pt|auxpmu_bts [WORD...]     only the rows with one of these words in their name
 */
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <sched.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../hwsim/retired/retired.h"
#include "../../hwsim/x86/accesses.h"
#include "kit/aux_ring.h"
#include "kit/data_ring.h"
#include "kit/event.h"
#include "kit/pmu.h"
#include "kit/record.h"

using namespace auxpmu;
using hwsim::x86::Accesses;

namespace
{

constexpr std::uint64_t KiB = 1024, MiB = 1024 * KiB;

/* The address of the kernel's NMI entry. */
std::uint64_t nmi_entry()
{
	std::ifstream symbols("/proc/kallsyms");
	std::string address, type, name;

	while (symbols >> address >> type >> name) {
		if (name == "asm_exc_nmi")
			return std::stoull(address, nullptr, 16);
		symbols.ignore(1024, '\n');
	}
	throw std::runtime_error("/proc/kallsyms has no asm_exc_nmi");
}

/*
 * Measurements also go to a profile of the kernel's instruction addresses, if the plugin was told to make one. Each has a
 * number; at the end its name is printed, and how many times the work was done ("-" behind a name: the profile is to be
 * subtracted from that of the name; see by-function).
 */
struct Profile {
	std::string what, who;
	std::uint64_t times;
};
std::vector<Profile> profiles;
std::uint32_t profile;
std::string measured;

void begin_profile(const std::string &who)
{
	profiles.push_back({measured, who, 0});
	profile = static_cast<std::uint32_t>(profiles.size());
}
void done(std::uint64_t times)
{
	profiles.back().times += times;
}

/* Reads the counts of this CPU so far, and selects the profile for what follows. */
const hwsim::Retired &retired(std::uint32_t following = 0)
{
	static hwsim::Retired all{};
	static const std::uint64_t entry = nmi_entry();
	std::uint32_t a = hwsim::Retired::cpuid_leaf, b = following;
	std::uint64_t c = reinterpret_cast<std::uint64_t>(&all), d = entry;

	all.user = 0;
	asm volatile("cpuid" : "+a"(a), "+b"(b), "+c"(c), "+d"(d) : : "memory");
	if (!all.user) {
		std::printf("1..0 # SKIP this machine has no retired.so\n");
		std::exit(4);
	}
	return all;
}

/* begin() and end() enclose one measurement. */
std::uint64_t begin()
{
	return retired(profile).kernel;
}
std::uint64_t end()
{
	return retired().kernel;
}

double median(std::vector<std::uint64_t> of)
{
	std::ranges::nth_element(of, of.begin() + static_cast<std::ptrdiff_t>(of.size() / 2));
	return static_cast<double>(of[of.size() / 2]);
}

/* The cost of NMIs that came during the work: the median of the last of them. */
double median_nmi(const std::function<void()> &work)
{
	const std::uint64_t before = retired(profile | hwsim::Retired::only_nmis).nmis;
	work();
	const hwsim::Retired after = retired();
	done(after.nmis - before);
	const std::uint64_t came = std::min<std::uint64_t>(after.nmis - before, hwsim::Retired::kept);
	std::vector<std::uint64_t> costs;

	for (std::uint64_t i = 1; i <= came; i++)
		costs.push_back(after.nmi[(after.nmis - i) % hwsim::Retired::kept]);
	if (costs.size() < 8)
		throw std::runtime_error("only " + std::to_string(costs.size()) + " NMIs came");
	return median(costs);
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

/* An event of one of the two drivers, with its areas. */
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

/* The least of several rounds: interrupts do not add to every round. */
double least(int times, const std::function<double()> &measure)
{
	double best = measure();

	for (int i = 1; i < times; i++)
		best = std::min(best, measure());
	return best;
}

double setup_aux(const std::string &name, std::uint64_t bytes)
{
	begin_profile(name);
	return least(bytes < 64 * MiB ? 40 : 3, [&] {
		Event event = Event::open(Tracer::attr_of(name, 0), Target::on_cpu(0)).value();
		DataRing data = DataRing::map(event, 64 * KiB).value();
		const std::uint64_t before = begin();
		AuxRing aux = AuxRing::map(data, event, bytes, AuxMode::full_trace).value();

		done(1);
		return static_cast<double>(end() - before);
	});
}

/*
 * The cost of the cheapest of many round trips over two pipes. Each takes this process off the CPU once; what else happens
 * meanwhile (clock ticks, the scheduler's choices) only adds to the cost.
 */
double trip(const std::string *name)
{
	constexpr int processes = 20, trips = 100, warm = 10;
	std::vector<std::uint64_t> costs;

	for (int process = 0; process < processes; process++) {
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
		for (int i = -warm; i < trips; i++) {
			byte = i == trips - 1;
			const std::uint64_t before = begin();
			if (::write(there[1], &byte, 1) != 1 || ::read(back[0], &byte, 1) != 1)
				throw std::runtime_error("the pipe broke");
			const std::uint64_t taken = end() - before;
			done(1);
			if (i >= 0)
				costs.push_back(taken);
		}
		::waitpid(child, nullptr, 0);
		for (int end : {there[0], there[1], back[0], back[1]})
			::close(end);
	}
	return static_cast<double>(*std::ranges::min_element(costs));
}

double sched_pair(const std::string &name)
{
	begin_profile(name + "-");
	const double without = trip(nullptr);
	begin_profile(name);
	return trip(&name) - without;
}

/*
 * The cost of interrupts while trace is given back as it comes. The in-tree driver interrupts at the ends of blocks, ours at
 * those of regions of a 16th of the buffer: with that as the watermark both interrupt equally often.
 */
double performance_interrupt(const std::string &name)
{
	Tracer tracer(name, Target::on_cpu(0), 1 * MiB, AuxMode::full_trace, 64 * KiB);

	tracer.event.enable().value();
	begin_profile(name);
	return median_nmi([&] {
		for (int i = 0; i < 100; i++) {
			churn(10'000);
			tracer.aux.consume(tracer.aux.readable().size());
		}
	});
}

/* The cost of a group whose member overflows repeatedly, with samples of so many bytes of trace, or none. */
double sampled(const std::string &name, std::uint32_t bytes)
{
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
	/* The first lap of the area is over, and with it the interrupt that our driver has there. */
	churn(50'000);
	begin_profile(name + (bytes ? "" : "-"));
	return median_nmi([&] {
		for (int i = 0; i < 20; i++) {
			churn(20'000);
			tracer.samples();
		}
	});
}

double aux_sample(const std::string &name)
{
	return sampled(name, 4096) - sampled(name, 0);
}

/*
 * The cost of a foreign NMI, beside a full trace that needs no interrupt meanwhile: what a trace unit adds to it. The NMI comes
 * from a counter that nobody reads.
 */
struct Foreign {
	double instructions, accesses, switches;
};
const Foreign &foreign_nmis(const std::string &name)
{
	static std::map<std::string, Foreign> measured_once;
	const auto known = measured_once.find(name);

	if (known != measured_once.end())
		return known->second;
	constexpr int rounds = 20;
	perf_event_attr attr{};

	attr.size = sizeof(attr);
	attr.type = PERF_TYPE_HARDWARE;
	attr.config = PERF_COUNT_HW_INSTRUCTIONS;
	attr.sample_period = 20'000;
	attr.exclude_kernel = 1;
	attr.disabled = 1;
	Event counter = Event::open(attr, Target::on_cpu(0)).value();
	const auto measure = [&] {
		Foreign cost{};
		const std::uint64_t before = retired().nmis;
		counter.enable().value();
		const Accesses made = Accesses::so_far().value();
		cost.instructions = median_nmi([&] {
			for (int i = 0; i < rounds; i++)
				churn(10'000);
		});
		const Accesses more = Accesses::so_far().value() - made;
		counter.disable().value();
		const auto nmis = static_cast<double>(retired().nmis - before);
		cost.accesses = (more.reads + more.writes) / nmis;
		cost.switches = more.switches / nmis;
		return cost;
	};
	begin_profile(name + "-");
	const Foreign without = measure();
	/* Handlers that are registered as long as the event exists count, too. */
	Tracer tracer(name, Target::on_cpu(0), 32 * MiB, AuxMode::full_trace);
	tracer.event.enable().value();
	begin_profile(name);
	const Foreign with = measure();
	return measured_once[name] = {with.instructions - without.instructions, with.accesses - without.accesses,
		       with.switches - without.switches};
}

/*
 * The percentage of windows in which trace was lost, though all that is handed over is read at once, from a buffer with the
 * default watermark of the kernel, half of it.
 */
double lost_windows(const std::string &name)
{
	constexpr std::uint64_t windows = 1000;
	Tracer tracer(name, Target::on_cpu(0), 64 * KiB, AuxMode::full_trace);
	const perf_event_attr attr = Tracer::attr_of(name, 0);
	std::uint64_t records = 0, lossy = 0;

	begin_profile(name);
	tracer.event.enable().value();
	while (records < windows) {
		bool off = false;

		/* This produces less than a page. */
		churn(300);
		tracer.data.drain([&](const RecordView &view) {
			if (view.header.type != PERF_RECORD_AUX)
				return;
			const auto record = std::get<AuxRecord>(decode(view, attr));
			records++;
			lossy += record.truncated() || record.partial();
			off |= record.truncated();
		});
		tracer.aux.consume(tracer.aux.readable().size());
		if (off)
			tracer.event.restart().value();
	}
	return 100.0 * static_cast<double>(lossy) / static_cast<double>(records);
}

void wait_until_free(const std::string &ours)
{
	const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);

	while (read_small_file("/sys/bus/event_source/devices/" + ours + "/claim").value_or("").starts_with("held"))
		if (std::chrono::steady_clock::now() > end)
			throw std::runtime_error("the trace units are not given back");
}

/* Costs that are small, because averaged over several rounds, keep one decimal; less than that is noise. */
double rounded(double cost)
{
	return cost < 100 ? std::round(cost * 10) / 10 + 0.0 : std::round(cost);
}

void print(const char *what, double theirs, double ours, double allowed)
{
	char ratio[16] = "-";

	theirs = rounded(theirs);
	ours = rounded(ours);
	if (theirs > 0)
		std::snprintf(ratio, sizeof(ratio), "%.2f", ours / theirs);
	std::printf("# %-38s %10.10g %10.10g %6s %5.1f\n", what, theirs, ours, ratio, allowed);
}

} // namespace

int main(int argc, char **argv)
{
	const std::vector<std::string_view> words(argv + std::min(argc, 2), argv + argc);
	struct Row {
		const char *what;
		double allowed;
		bool in_both; /* also of BTS */
		std::function<double(const std::string &)> measure;
	};
	const Row table[] = {
		{"performance interrupt", 1.3, true, performance_interrupt},
		{"sched-out and sched-in", 1.0, true, sched_pair},
		{"AUX sample of 4 KiB", 1.0, false, aux_sample},
		{"mmap of 1 MiB", 1.0, true,
			[](const std::string &name) {
				return setup_aux(name, 1 * MiB);
			}},
		{"mmap of 64 MiB", 1.0, true,
			[](const std::string &name) {
				return setup_aux(name, 64 * MiB);
			}},
		{"mmap of 1024 MiB", 1.0, true,
			[](const std::string &name) {
				return setup_aux(name, 1024 * MiB);
			}},
		{"somebody else's NMI, more for a trace", 1.0, true,
			[](const std::string &name) {
				return foreign_nmis(name).instructions;
			}},
		{"accesses of registers there", 1.0, true,
			[](const std::string &name) {
				return foreign_nmis(name).accesses;
			}},
		{"TraceEn set there", 1.0, false,
			[](const std::string &name) {
				return foreign_nmis(name).switches;
			}},
		{"windows that lost trace, of 100", 1.0, false, lost_windows},
	};

	const std::string own = argc > 1 ? argv[1] : "auxpmu_pt";
	const bool bts = own == "auxpmu_bts";
	const std::string intree = bts ? "intel_bts" : "intel_pt";

	pin_to_first();
	retired();
	std::printf("TAP version 13\n");
	std::printf("# instructions of the kernel for one       %9s %10s  ratio  goal\n", intree.c_str(), own.c_str());
	int n = 0;
	for (const Row &row : table) {
		measured = row.what;
		/* The in-tree BTS driver takes no samples, and BTS has no TraceEn. */
		if (bts && !row.in_both)
			continue;
		if (!words.empty() &&
			std::ranges::none_of(words, [](auto word) { return measured.find(word) != std::string::npos; }))
			continue;
		n++;
		try {
			const double allowed = bts ? 1.0 : row.allowed;
			const double theirs = row.measure(intree);
			const double ours = row.measure(own);
			wait_until_free(own);
			print(row.what, theirs, ours, allowed);
			std::printf("ok %d - %s: %.10g, the kernel's own %.10g%s\n", n, row.what, rounded(ours),
				rounded(theirs),
				rounded(ours) <= rounded(theirs) * allowed ? "" : ", more than the goal");
		} catch (const std::exception &failure) {
			std::printf("not ok %d - %s: %s\n", n, row.what, failure.what());
			return 1;
		}
		std::fflush(stdout);
	}
	std::printf("1..%d\n", n);
	for (std::size_t i = 0; i < profiles.size(); i++)
		std::printf("# profile %zu: %s: %s: %llu times\n", i + 1, profiles[i].what.c_str(),
			profiles[i].who.c_str(), static_cast<unsigned long long>(profiles[i].times));
	return 0;
}
