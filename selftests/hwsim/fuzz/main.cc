// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The fuzzer of the virtual hardware: in a guest, as root, runs random programs, each by single steps and traced, and judges the
 * traces (judge.h; in ring 0 kernel_judge.h). A program that fails is shortened, and printed with its bytes. Prints TAP, and a line for
 * each program.
 *
 *   hwsim-fuzz [--seed N] [--programs N | --seconds N] [--pieces N] [--only KIND] [--pt NAME] [--bts NAME] [--branches FILE] [--records FILE]
 *   hwsim-fuzz --kernel ...              in ring 0, by the module hwsim_ring0: programs write the registers of Intel PT themselves
 *   hwsim-fuzz --seed N --keep 3,7,8     one program, with these pieces only
 *   hwsim-fuzz --kinds                   the kinds of pieces there are, in ring 0 with --kernel
 *
 * --pt, --bts: PMUs to trace with; that of --bts need not be there. --branches, --records: files to which the branches of all traces are
 * written, as hwsim-compare reads them.
 */
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <numeric>
#include <optional>
#include <sched.h>
#include <set>
#include <string>
#include <sys/personality.h>
#include <unistd.h>
#include <vector>

#include <CLI/CLI.hpp>

#include "judge.h"
#include "kernel_judge.h"
#include "program.h"
#include "run.h"

using namespace hwsim::fuzz;
using auxpmu::Pmu;

namespace
{

struct Options {
	std::uint64_t seed = 1;
	std::uint64_t programs = 1;
	std::uint64_t seconds = 0;
	unsigned pieces = 40;
	unsigned tries = 60; /* runs to spend on making the first one that fails shorter */
	std::string only, pt = "intel_pt", bts = "intel_bts", branches, records;
	std::vector<unsigned> keep;
	bool kinds = false, kernel = false;
};

/* Writes branches as text, if there is a file for them. */
class Branches
{
public:
	explicit Branches(const std::string &path) : file(path.empty() ? nullptr : std::fopen(path.c_str(), "w"))
	{
		if (!path.empty() && !file)
			throw std::runtime_error("cannot write " + path);
	}
	~Branches()
	{
		if (file)
			std::fclose(file);
	}
	Branches(const Branches &) = delete;
	void write(std::uint64_t from, std::uint64_t to)
	{
		count++;
		if (file)
			std::fprintf(file, "[000] %lx => %lx\n", from, to);
	}
	std::size_t count = 0;

private:
	std::FILE *file;
};

/* Runs programs, and has them judged. */
class Runs
{
public:
	virtual ~Runs() = default;
	virtual Program program(std::uint64_t seed, const Options &options) const = 0;
	/* What is wrong with a program, if anything is. */
	virtual std::string judge(std::uint64_t seed, const Program &program, const std::vector<unsigned> &kept) = 0;
	/* Of all programs until now. */
	virtual std::size_t instructions() const = 0;
	virtual std::string summary() const = 0;
};

/* Programs of users, traced by perf events. */
class UserRuns final : public Runs
{
public:
	explicit UserRuns(const Options &of)
		: pt(find(of.pt)), bts(find(of.bts)), branches(of.branches), records(of.records)
	{
		if (!pt)
			throw std::runtime_error("there is no PMU " + of.pt);
	}

	Program program(std::uint64_t seed, const Options &options) const override
	{
		return Program(seed, options.pieces, options.only, Ring::user, unit);
	}
	std::string judge(std::uint64_t seed, const Program &program, const std::vector<unsigned> &kept) override
	{
		std::vector<Executed> executed = run_stepped(program, kept);
		count += executed.size();
		if (bts)
			give_back(*bts);
		for (const Executed &one : executed)
			payloads += one.payload.size > 0;
		const perf_event_attr attr = attr_of_pt(seed);
		std::string wrong = judge_pt(executed, run_traced(program, kept, *pt, attr), attr.config & rtit::ptw_en,
			[this](std::uint64_t from, std::uint64_t to) { branches.write(from, to); });
		if (!wrong.empty())
			return "PT: " + wrong;
		if (bts) {
			give_back(*pt);
			wrong = judge_bts(executed, run_traced(program, kept, *bts, attr_of(*bts)),
				[this](std::uint64_t from, std::uint64_t to) { records.write(from, to); });
		}
		return wrong.empty() ? wrong : "BTS: " + wrong;
	}
	std::size_t instructions() const override { return count; }
	std::string summary() const override
	{
		return "instructions " + std::to_string(count) + ", branches of PT " + std::to_string(branches.count) +
		       ", of BTS " + std::to_string(records.count) + ", PTWRITEs " + std::to_string(payloads);
	}

private:
	/* Units may exclude each other, and a driver of ours gives its own back a moment after the last event. */
	static void give_back(const Pmu &pmu)
	{
		if (!auxpmu::wait_until_free(pmu.name(), std::chrono::minutes(1)))
			throw std::runtime_error("the trace units of " + pmu.name() + " are not given back");
	}
	static std::optional<Pmu> find(const std::string &name)
	{
		auto found = Pmu::find(name);
		return found ? std::optional<Pmu>(*found) : std::nullopt;
	}
	static perf_event_attr attr_of(const Pmu &pmu)
	{
		perf_event_attr attr = pmu.attr();
		attr.exclude_kernel = attr.exclude_hv = 1;
		return attr;
	}
	/* The seed chooses config fields, of those that the PMU has. */
	perf_event_attr attr_of_pt(std::uint64_t seed) const
	{
		static constexpr struct {
			const char *field, *cap, *with;
		} choices[] = {{"noretcomp", "", ""}, {"tsc", "", ""}, {"mtc", "mtc", ""}, {"cyc", "psb_cyc", ""},
			{"ptw", "ptwrite", ""}, {"fup_on_ptw", "ptwrite", "ptw"}};
		perf_event_attr attr = attr_of(*pt);
		Random random(~seed);
		/* A field that depends on another one is refused without that. */
		std::set<std::string> chosen = {""};
		for (const auto &[field, cap, with] : choices)
			if (random.one_in(2) && pt->has_field(field) && (!*cap || pt->cap(cap) == "1") &&
				chosen.contains(with)) {
				chosen.insert(field);
				pt->set(attr, field, 1).value();
			}
		return attr;
	}

	const Rtit unit = Rtit::here();
	std::optional<Pmu> pt, bts;
	Branches branches, records;
	std::size_t count = 0, payloads = 0;
};

/* Programs in ring 0, which trace themselves. */
class RingZeroRuns final : public Runs
{
public:
	explicit RingZeroRuns(const Options &of) : branches(of.branches) {}

	Program program(std::uint64_t seed, const Options &options) const override
	{
		return Program(seed, options.pieces, options.only, Ring::kernel, unit);
	}
	std::string judge(std::uint64_t, const Program &program, const std::vector<unsigned> &kept) override
	{
		const KernelSteps steps = runs.stepped(program, kept);
		return judge_kernel(
			program, steps, runs.traced(program, kept),
			[this](std::uint64_t from, std::uint64_t to) { branches.write(from, to); }, counts);
	}
	std::size_t instructions() const override { return counts.instructions; }
	std::string summary() const override
	{
		char said[256];
		std::snprintf(said, sizeof said,
			"instructions %zu of %zu steps, interrupted %zu, branches %zu, PTWRITEs %zu, PIPs %zu, ends in "
			"straight code %zu, stops %zu",
			counts.instructions, counts.steps, counts.places, branches.count, counts.payloads,
			counts.address_spaces, counts.edges, counts.stops);
		return said;
	}

private:
	const Rtit unit = Rtit::here();
	KernelRuns runs;
	Branches branches;
	KernelCounts counts;
};

/* Has programs judged one after the other, and shortens the first one that fails. */
class Fuzzer
{
public:
	explicit Fuzzer(const Options &of) : options(of)
	{
		if (of.kernel)
			runs = std::make_unique<RingZeroRuns>(of);
		else
			runs = std::make_unique<UserRuns>(of);
	}

	std::string judge(std::uint64_t seed, const Program &program, const std::vector<unsigned> &kept)
	{
		try {
			return runs->judge(seed, program, kept);
		} catch (const std::runtime_error &error) {
			return error.what();
		}
	}
	/* Leaves out stretches of pieces, shorter and shorter ones, as long as what is left still fails. */
	std::vector<unsigned> shorten(std::uint64_t seed, const Program &program, std::vector<unsigned> kept)
	{
		unsigned tries = 0;
		for (std::size_t stretch = kept.size() / 2; stretch && tries < options.tries;) {
			const std::size_t before = kept.size();
			for (std::size_t end = kept.size(); end && tries < options.tries; tries++) {
				const std::size_t begin = end > stretch ? end - stretch : 0;
				std::vector<unsigned> rest = kept;
				rest.erase(rest.begin() + static_cast<std::ptrdiff_t>(begin),
					rest.begin() + static_cast<std::ptrdiff_t>(end));
				if (!judge(seed, program, rest).empty())
					kept = rest;
				end = begin;
			}
			if (stretch > 1 || kept.size() == before)
				stretch /= 2;
		}
		return kept;
	}
	/* One program; true if nothing is wrong with it. */
	bool run(std::uint64_t seed)
	{
		const Program program = runs->program(seed, options);
		std::vector<unsigned> kept = options.keep;
		if (kept.empty()) {
			kept.resize(program.nr_pieces());
			std::iota(kept.begin(), kept.end(), 0u);
		}
		std::printf("# begin seed %lu\n", seed);
		std::fflush(stdout);
		const std::size_t before = runs->instructions();
		const std::string wrong = judge(seed, program, kept);
		for (const unsigned nr : kept)
			done[program.piece(nr).kind->name]++;
		std::printf("# seed %lu pieces %zu instructions %zu%s%s\n", seed, kept.size(),
			runs->instructions() - before, wrong.empty() ? "" : " WRONG ", wrong.c_str());
		if (wrong.empty())
			return true;
		/* One cause makes many programs fail: only the first is shortened. */
		if (!report.empty()) {
			report += "# seed " + std::to_string(seed) + ": " + wrong + "\n";
			return false;
		}
		kept = shorten(seed, program, kept);
		const std::string again = judge(seed, program, kept);
		report += program.text(kept) + "# --seed " + std::to_string(seed) + " --pieces " +
			  std::to_string(options.pieces) + " --keep ";
		for (const unsigned nr : kept)
			report += (nr == kept.front() ? "" : ",") + std::to_string(nr);
		report += "\n# seed " + std::to_string(seed) + ": " + wrong +
			  "\n# shortened: " + (again.empty() ? "nothing is wrong, this time" : again) + "\n";
		return false;
	}
	/* Prints how much was done, and then what failed. */
	void summary() const
	{
		for (const auto &[name, count] : done)
			std::printf("# %-16s %lu\n", name.c_str(), count);
		std::printf("# %s\n%s", runs->summary().c_str(), report.c_str());
	}

private:
	Options options;
	std::unique_ptr<Runs> runs;
	std::map<std::string, std::size_t> done;
	std::string report; /* of programs that failed */
};

/* Programs one after the other, as many as were asked for, or for that long. Returns how many have failed. */
unsigned fuzz(Fuzzer &fuzzer, const Options &options)
{
	using Clock = std::chrono::steady_clock;
	const auto end = Clock::now() + std::chrono::seconds(options.seconds);
	unsigned failed = 0, done = 0;
	while (options.seconds ? Clock::now() < end : done < options.programs)
		failed += !fuzzer.run(options.seed + done++);
	fuzzer.summary();
	std::printf("%sok 1 - %u programs are traced as single steps say (%u are not)\n1..1\n", failed ? "not " : "",
		done, failed);
	return failed;
}

/* Addresses are the same in each process. All programs run on the first processor: their branches are compared with its truth log. */
void settle(char **arguments)
{
	cpu_set_t first;
	CPU_ZERO(&first);
	CPU_SET(0, &first);
	if (sched_setaffinity(0, sizeof first, &first))
		throw std::runtime_error("there is no CPU 0");
	const int before = personality(0xffffffff);
	if (before & ADDR_NO_RANDOMIZE)
		return;
	personality(static_cast<unsigned long>(before) | ADDR_NO_RANDOMIZE);
	execv("/proc/self/exe", arguments);
	throw std::runtime_error("cannot execute myself");
}

} // namespace

int main(int argc, char **argv)
{
	Options options;
	CLI::App app("fuzzes the virtual trace hardware with random programs");
	app.add_option("--seed", options.seed);
	app.add_option("--programs", options.programs);
	app.add_option("--seconds", options.seconds);
	app.add_option("--pieces", options.pieces);
	app.add_option("--tries", options.tries);
	app.add_option("--only", options.only);
	app.add_option("--pt", options.pt);
	app.add_option("--bts", options.bts);
	app.add_option("--branches", options.branches);
	app.add_option("--records", options.records);
	app.add_option("--keep", options.keep)->delimiter(',');
	app.add_flag("--kinds", options.kinds);
	app.add_flag("--kernel", options.kernel);
	CLI11_PARSE(app, argc, argv);
	try {
		if (options.kinds) {
			for (const Kind &kind : kinds(options.kernel ? Ring::kernel : Ring::user))
				std::puts(kind.name);
			return 0;
		}
		settle(argv);
		Fuzzer fuzzer(options);
		std::puts("TAP version 13");
		return fuzz(fuzzer, options) ? 1 : 0;
	} catch (const std::exception &error) {
		std::fprintf(stderr, "hwsim-fuzz: %s\n", error.what());
		return 2;
	}
}
