// SPDX-License-Identifier: GPL-2.0-only
/*
 * Compares the in-tree driver with ours: the instructions that the kernel retires for the same work. Runs on virtual hardware
 * with retired.so (selftests/hwsim), because the processor's own counters stand still where it matters.
 *
 *   auxpmu_hardware_bench auxpmu_pt|auxpmu_bts|auxpmu_etm [WORD...]     only the rows with one of these words in their name
 *
 * Where only one of the two can have the hardware, the command in BIND, with "theirs" or "ours" behind it, gives it to that one.
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
#include <set>
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
#ifdef __x86_64__
#include "../../hwsim/x86/accesses.h"
#else
#include "../../hwsim/arm64/accesses.h"
#endif
#include "kit/aux_ring.h"
#include "kit/data_ring.h"
#include "kit/event.h"
#include "kit/pmu.h"
#include "kit/record.h"

using namespace auxpmu;

namespace
{

constexpr std::uint64_t KiB = 1024, MiB = 1024 * KiB;

/* The address of the kernel's NMI entry; arm64 has none that is not that of all interrupts. */
std::uint64_t nmi_entry()
{
#ifdef __aarch64__
	return 0;
#endif
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

	all.user = 0;
#ifdef __x86_64__
	std::uint32_t a = hwsim::Retired::cpuid_leaf, b = following;
	std::uint64_t c = reinterpret_cast<std::uint64_t>(&all), d = entry;
	asm volatile("cpuid" : "+a"(a), "+b"(b), "+c"(c), "+d"(d) : : "memory");
#else
	register std::uint64_t leaf asm("x0") = hwsim::Retired::cpuid_leaf;
	register std::uint64_t to asm("x1") = reinterpret_cast<std::uint64_t>(&all);
	register std::uint64_t nmi asm("x2") = entry;
	register std::uint64_t profile_next asm("x3") = following;
	asm volatile(".inst %c4"
		: "+r"(leaf), "+r"(to), "+r"(nmi), "+r"(profile_next)
		: "i"(hwsim::Retired::hint)
		: "memory");
#endif
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

/*
 * Where work is measured as a whole, and not as the median of short pieces, clock ticks would count: the guest of arm64 has nohz_full
 * for a CPU that is not its first.
 */
#ifdef __aarch64__
constexpr int measured_cpu = 1;
#else
constexpr int measured_cpu = 0;
#endif

void pin()
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(measured_cpu, &set);
	if (::sched_setaffinity(0, sizeof(set), &set))
		throw std::runtime_error("there is no CPU " + std::to_string(measured_cpu));
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
		Event event = Event::open(Tracer::attr_of(name, 0), Target::on_cpu(measured_cpu)).value();
		DataRing data = DataRing::map(event, 64 * KiB).value();
		const std::uint64_t before = begin();
		AuxRing aux = AuxRing::map(data, event, bytes, AuxMode::full_trace).value();

		done(1);
		return static_cast<double>(end() - before);
	});
}

/* How often registers were accessed on this CPU so far. */
double accesses()
{
#ifdef __x86_64__
	const auto all = hwsim::x86::Accesses::so_far().value();
	return all.reads + all.writes;
#else
	return static_cast<double>(hwsim::arm64::Accesses::so_far().value());
#endif
}

struct Cost {
	double instructions, accesses;
};

/*
 * The cost of the cheapest of many round trips over two pipes, and their average number of accesses. Each takes this process off the
 * CPU once; what else happens meanwhile (clock ticks, the scheduler's choices) only adds to the cost.
 */
Cost trip(const std::string *name)
{
	constexpr int processes = 20, trips = 100, warm = 10;
	std::vector<std::uint64_t> costs;
	double accessed = 0;

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
		double before_all = 0;
		for (int i = -warm; i < trips; i++) {
			if (!i)
				before_all = accesses();
			byte = i == trips - 1;
			const std::uint64_t before = begin();
			if (::write(there[1], &byte, 1) != 1 || ::read(back[0], &byte, 1) != 1)
				throw std::runtime_error("the pipe broke");
			const std::uint64_t taken = end() - before;
			done(1);
			if (i >= 0)
				costs.push_back(taken);
		}
		accessed += accesses() - before_all;
		::waitpid(child, nullptr, 0);
		for (int end : {there[0], there[1], back[0], back[1]})
			::close(end);
	}
	return {static_cast<double>(*std::ranges::min_element(costs)), accessed / (processes * trips)};
}

Cost sched_pair(const std::string &name)
{
	begin_profile(name + "-");
	const Cost without = trip(nullptr);
	begin_profile(name);
	const Cost with = trip(&name);
	return {with.instructions - without.instructions, with.accesses - without.accesses};
}

double median(std::vector<std::uint64_t> of)
{
	std::ranges::nth_element(of, of.begin() + static_cast<std::ptrdiff_t>(of.size() / 2));
	return static_cast<double>(of[of.size() / 2]);
}

#ifdef __x86_64__

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

/*
 * The cost of interrupts while trace is given back as it comes. The in-tree driver interrupts at the ends of blocks, ours at
 * those of regions of a 16th of the buffer: with that as the watermark both interrupt equally often.
 */
double performance_interrupt(const std::string &name)
{
	Tracer tracer(name, Target::on_cpu(measured_cpu), 1 * MiB, AuxMode::full_trace, 64 * KiB);

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
Foreign foreign_nmis(const std::string &name)
{
	constexpr int rounds = 20;
	perf_event_attr attr{};

	attr.size = sizeof(attr);
	attr.type = PERF_TYPE_HARDWARE;
	attr.config = PERF_COUNT_HW_INSTRUCTIONS;
	attr.sample_period = 20'000;
	attr.exclude_kernel = 1;
	attr.disabled = 1;
	Event counter = Event::open(attr, Target::on_cpu(measured_cpu)).value();
	const auto measure = [&] {
		Foreign cost{};
		const std::uint64_t before = retired().nmis;
		counter.enable().value();
		const hwsim::x86::Accesses made = hwsim::x86::Accesses::so_far().value();
		cost.instructions = median_nmi([&] {
			for (int i = 0; i < rounds; i++)
				churn(10'000);
		});
		const hwsim::x86::Accesses more = hwsim::x86::Accesses::so_far().value() - made;
		counter.disable().value();
		const auto nmis = static_cast<double>(retired().nmis - before);
		cost.accesses = (more.reads + more.writes) / nmis;
		cost.switches = more.switches / nmis;
		return cost;
	};
	begin_profile(name + "-");
	const Foreign without = measure();
	/* Handlers that are registered as long as the event exists count, too. */
	Tracer tracer(name, Target::on_cpu(measured_cpu), 32 * MiB, AuxMode::full_trace);
	tracer.event.enable().value();
	begin_profile(name);
	const Foreign with = measure();
	return {with.instructions - without.instructions, with.accesses - without.accesses,
		with.switches - without.switches};
}

/*
 * The percentage of windows in which trace was lost, though all that is handed over is read at once, from a buffer with the
 * default watermark of the kernel, half of it.
 */
double lost_windows(const std::string &name)
{
	constexpr std::uint64_t windows = 1000;
	Tracer tracer(name, Target::on_cpu(measured_cpu), 64 * KiB, AuxMode::full_trace);
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

#else

/* What the kernel retires for some work. */
double spent(const std::function<void()> &work)
{
	const std::uint64_t before = begin();

	work();
	return static_cast<double>(end() - before);
}

/*
 * For each window that is handed over, of a full trace of which all is given back as it comes; not a number: the kernel's own driver
 * hands over nothing before the end. The work is in pieces so short that few of them have a clock tick; the median of those with a
 * window, less that of the others, is what a window costs.
 */
Cost window(const std::string &name)
{
	constexpr int pieces = 20'000;
	Tracer tracer(name, Target::on_cpu(measured_cpu), 1 * MiB, AuxMode::full_trace, 64 * KiB);
	std::vector<std::uint64_t> with, without;

	tracer.event.enable().value();
	const double before_all = accesses();
	begin_profile(name);
	for (int i = 0; i < pieces; i++) {
		const std::uint64_t before = begin();
		churn(200);
		const std::uint64_t taken = end() - before;
		std::uint64_t records = 0;
		tracer.data.drain([&](const RecordView &view) { records += view.header.type == PERF_RECORD_AUX; });
		(records ? with : without).push_back(taken);
		tracer.aux.consume(tracer.aux.readable().size());
		done(records);
	}
	const double accessed = accesses() - before_all;
	if (with.size() < 8 && name.starts_with("auxpmu"))
		throw std::runtime_error("only " + std::to_string(with.size()) + " windows were handed over");
	if (with.size() < 8)
		return {std::nan(""), std::nan("")};
	return {median(with) - median(without), accessed / static_cast<double>(with.size())};
}

/*
 * For each MiB of a session without losses, from its beginning to its end; infinite if it lost trace, as an ETR does if the
 * simulator's timer comes late.
 */
double session_once(const std::string &name, Target target, const std::function<void()> &work, double without)
{
	/* A TRBE loses trace where it interrupts, at half of the area; the in-tree driver has no larger memory for an ETR. */
	const char *topology = std::getenv("TOPOLOGY");
	const bool has_trbe = topology && std::string_view(topology).starts_with("trbe");
	Tracer tracer(name, target, has_trbe ? 64 * MiB : 4 * MiB, AuxMode::full_trace);
	const double with = spent([&] {
		tracer.event.enable().value();
		work();
		tracer.event.disable().value();
	});
	const double bytes = static_cast<double>(tracer.aux.readable().size());
	bool lost = false;
	tracer.data.drain([&](const RecordView &view) {
		if (view.header.type != PERF_RECORD_AUX)
			return;
		const auto record = std::get<AuxRecord>(decode(view, Tracer::attr_of(name, 0)));
		lost |= record.truncated() || record.partial();
	});
	if (lost)
		return INFINITY;
	if (bytes < 1.0 * MiB)
		throw std::runtime_error("the session has only " + std::to_string(bytes) + " bytes");
	done(1);
	return (with - without) / (bytes / MiB);
}
double session(const std::string &name, Target target)
{
	constexpr int rounds = 60, times = 7;
	const auto work = [] {
		for (int i = 0; i < rounds; i++)
			churn(10'000);
	};

	begin_profile(name + "-");
	const double without = least(times, [&] {
		done(1);
		return spent(work);
	});
	begin_profile(name);
	int lossy = 0;
	const double one = least(times, [&] {
		const double cost = session_once(name, target, work, without);
		lossy += std::isinf(cost);
		return cost;
	});
	if (lossy == times)
		throw std::runtime_error("each session has lost trace");
	if (lossy)
		std::printf(
			"# %s: %d of %d sessions have lost trace, and are not measured\n", name.c_str(), lossy, times);
	return one;
}

#endif

void wait_until_free(const std::string &ours)
{
	if (!auxpmu::wait_until_free(ours, std::chrono::seconds(20)))
		throw std::runtime_error("the trace units are not given back");
}

/* The measurement of setup_aux() for an area of so many bytes. */
std::function<double(const std::string &)> mmap_of(std::uint64_t bytes)
{
	return [bytes](const std::string &name) {
		return setup_aux(name, bytes);
	};
}

/* One figure of several that are measured together, once for each driver. */
template <class Costs>
std::function<double(const std::string &)> part(Costs (*measure)(const std::string &), double Costs::*of)
{
	static std::map<std::pair<Costs (*)(const std::string &), std::string>, Costs> measured_once;

	return [measure, of](const std::string &name) {
		const auto known = measured_once.find({measure, name});
		const Costs costs = known != measured_once.end() ? known->second : measure(name);

		measured_once.insert({{measure, name}, costs});
		return costs.*of;
	};
}

/* Gives the hardware to one of the two drivers, and prints where in memory its functions are, for by-function. */
void give_to(const std::string &whom, const std::string &pmu)
{
	const char *command = std::getenv("BIND");
	static std::set<std::string> printed;

	if (!command)
		return;
	if (std::system((std::string(command) + " " + whom).c_str()))
		throw std::runtime_error("the hardware cannot be given to " + whom);
	std::ifstream symbols("/proc/kallsyms");
	for (std::string line; std::getline(symbols, line);)
		if (line.ends_with(']') && printed.insert(line + pmu).second)
			std::printf("kallsyms %s %s\n", pmu.c_str(), line.c_str());
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
#ifdef __x86_64__
	const Row table[] = {
		{"performance interrupt", 1.3, true, performance_interrupt},
		{"sched-out and sched-in", 1.0, true, part(sched_pair, &Cost::instructions)},
		{"accesses of registers there", 1.0, true, part(sched_pair, &Cost::accesses)},
		{"AUX sample of 4 KiB", 1.0, false, aux_sample},
		{"mmap of 1 MiB", 1.0, true, mmap_of(1 * MiB)},
		{"mmap of 64 MiB", 1.0, true, mmap_of(64 * MiB)},
		{"mmap of 1024 MiB", 1.0, true, mmap_of(1024 * MiB)},
		{"somebody else's NMI, more for a trace", 1.0, true, part(foreign_nmis, &Foreign::instructions)},
		{"accesses of registers there", 1.0, true, part(foreign_nmis, &Foreign::accesses)},
		{"TraceEn set there", 1.0, false, part(foreign_nmis, &Foreign::switches)},
		{"windows that lost trace, of 100", 1.0, false, lost_windows},
	};
#else
	const Row table[] = {
		{"sched-out and sched-in", 1.0, true, part(sched_pair, &Cost::instructions)},
		{"accesses of registers there", 1.0, true, part(sched_pair, &Cost::accesses)},
		{"window handed over", 1.0, true, part(window, &Cost::instructions)},
		{"accesses of registers for it", 1.0, true, part(window, &Cost::accesses)},
		{"MiB in a session of a CPU", 1.0, true,
			[](const std::string &name) {
				return session(name, Target::on_cpu(measured_cpu));
			}},
		{"MiB in a session of a task", 1.0, true,
			[](const std::string &name) {
				return session(name, Target::task());
			}},
		{"mmap of 1 MiB", 1.0, true, mmap_of(1 * MiB)},
		{"mmap of 4 MiB", 1.0, true, mmap_of(4 * MiB)},
	};
#endif

	const std::string own = argc > 1 ? argv[1] : "auxpmu_pt";
	const bool bts = own == "auxpmu_bts";
	const std::string intree = own == "auxpmu_etm" ? "cs_etm" : bts ? "intel_bts" : "intel_pt";

	pin();
	retired();
	std::printf("TAP version 13\n");
	std::printf("# instructions of the kernel for one       %9s %10s  ratio  goal\n", intree.c_str(), own.c_str());
	int n = 0, failed = 0;
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
			give_to("theirs", intree);
			const double theirs = row.measure(intree);
			give_to("ours", own);
			const double ours = row.measure(own);
			wait_until_free(own);
			print(row.what, theirs, ours, allowed);
			std::printf("ok %d - %s: %.10g, the kernel's own %.10g%s\n", n, row.what, rounded(ours),
				rounded(theirs),
				std::isnan(theirs) || rounded(ours) <= rounded(theirs) * allowed
					? ""
					: ", more than the goal");
		} catch (const std::exception &failure) {
			std::printf("not ok %d - %s: %s\n", n, row.what, failure.what());
			failed = 1;
		}
		std::fflush(stdout);
	}
	std::printf("1..%d\n", n);
	for (std::size_t i = 0; i < profiles.size(); i++)
		std::printf("# profile %zu: %s: %s: %llu times\n", i + 1, profiles[i].what.c_str(),
			profiles[i].who.c_str(), static_cast<unsigned long long>(profiles[i].times));
	return failed;
}
