// SPDX-License-Identifier: GPL-2.0-only
/*
 * The fuzzer: in a guest that has nothing else to do, as root, runs programs one after the other, and looks after each
 * whether the books are right.  Prints TAP, and for each program a line of what was tried and what was done.
 *
 *	auxpmu_fuzz [--pmu NAME] [--seed N] [--programs N | --seconds N] [--ops N] [--control] [--echo] [--tries N]
 *	auxpmu_fuzz --replay FILE [--times N] [--hasty]    one program, of that text
 *	auxpmu_fuzz --print [--seed N] [--ops N]           its text; takes no kernel
 *	auxpmu_fuzz --shrink FILE --with COMMAND           a shorter one that COMMAND FILE fails for; neither
 */
#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <format>
#include <fstream>
#include <iterator>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <CLI/CLI.hpp>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "books.h"
#include "machine.h"
#include "play.h"
#include "program.h"
#include "shrink.h"
#include "tally.h"

using namespace auxpmu;
using namespace auxpmu::fuzz;

namespace
{

constexpr int exit_pass = 0, exit_fail = 1, exit_usage = 2;
/* So many operations of a kind that the share of those that succeed says something. */
constexpr std::uint64_t enough = 100;

struct Options {
	std::uint64_t seed = 1;
	std::uint64_t programs = 1;
	std::uint64_t seconds = 0;
	std::size_t ops = 150;
	unsigned tries = 100;
	std::uint64_t times = 1;
	int patience = 60; /* seconds that a program may take */
	bool control = false;
	bool hasty = false; /* what failed before is not waited for that long again */
	bool echo = false;
	bool print = false;
	std::string pmu; /* hardware, in the place of the synthetic unit */
	std::string replay, shrink, with;
};

/* What was tried and done, summed up. */
struct Sums {
	std::uint64_t tried[nr_kinds] = {}, done[nr_kinds] = {}, skipped = 0, avoided = 0;
	std::map<std::string, std::uint64_t> reached;
	std::map<int, std::uint64_t> errors[nr_kinds];
	std::uint64_t programs = 0, operations = 0, asked = 0; /* asked: of memory */

	void add(Tally &tally)
	{
		for (unsigned n = 0; n < nr_kinds; n++) {
			auto &one = tally.of(static_cast<Kind>(n));

			tried[n] += one.tried;
			done[n] += one.done;
			skipped += one.skipped;
			avoided += one.avoided;
			operations += one.tried;
			for (int error = 0; error < nr_errors; error++)
				if (one.errors[static_cast<unsigned>(error)])
					errors[n][error] += one.errors[static_cast<unsigned>(error)];
		}
	}
	void add(const Sums &other)
	{
		for (unsigned n = 0; n < nr_kinds; n++) {
			tried[n] += other.tried[n];
			done[n] += other.done[n];
			for (const auto &[error, count] : other.errors[n])
				errors[n][error] += count;
		}
		skipped += other.skipped;
		avoided += other.avoided;
		programs += other.programs;
		operations += other.operations;
		asked += other.asked;
		for (const auto &[counter, value] : other.reached)
			reached[counter] += value;
	}
	std::string text() const
	{
		std::string all;

		for (unsigned n = 0; n < nr_kinds; n++)
			if (tried[n])
				all += std::format(" {}={}/{}", grammar(static_cast<Kind>(n)).name, done[n], tried[n]);
		all += std::format(" skipped={} avoided={}", skipped, avoided);
		for (const auto &[counter, value] : reached)
			if (value)
				all += std::format(" {}={}", counter, value);
		return all;
	}
};

/* --- one program --- */

/* Where the threads of a group are that does not come to its end. */
void say_where(pid_t group)
{
	for (const auto &entry : std::filesystem::directory_iterator("/proc")) {
		const int pid = std::atoi(entry.path().filename().c_str());

		if (pid <= 0 || ::getpgid(pid) != group)
			continue;
		std::error_code error;
		for (const auto &thread : std::filesystem::directory_iterator(entry.path() / "task", error)) {
			std::ifstream stack(thread.path() / "stack");

			std::printf("#   thread %s:\n", thread.path().filename().c_str());
			for (std::string line; std::getline(stack, line);)
				std::printf("#     %s\n", line.c_str());
		}
	}
}

void end_group(pid_t group)
{
	::kill(-group, SIGKILL);
	while (::waitpid(-group, nullptr, 0) > 0) {
	}
}

class Runner
{
public:
	explicit Runner(const Options &from)
		: options(from), machine(from.control, from.pmu), books(from.control, machine.name_of(Type::synth))
	{
		/* What a program's processes leave behind is ours to end. */
		::prctl(PR_SET_CHILD_SUBREAPER, 1);
		if (options.hasty)
			books.be_hasty();
		(void)books.reached();
	}

	/* What is wrong behind it. */
	std::vector<std::string> run(const Program &program, Sums &sums)
	{
		std::vector<std::string> found;
		Tally &tally = Tally::make();

		/* Each has an account of its own. */
		const uid_t user = next_user++;
		machine.prepare(program);
		std::fflush(nullptr);
		const pid_t first = ::fork();
		if (!first) {
			::setpgid(0, 0);
			play(program, machine, tally, user, options.echo);
		}
		::setpgid(first, first);
		if (!ends(first)) {
			const std::uint32_t at = tally.begun;

			found.push_back(std::format("not at its end after {} s, at operation {}: {}", options.patience,
				at, to_text(program.operations.at(at))));
			say_where(first);
		}
		end_group(first);
		machine.restore();
		/* A ring that is mapped twice is paid twice, and given back once, by any event of any PMU (docs/compatibility.md). */
		const bool asks = !tally.paid_twice || !machine.charges_twice();
		sums.asked += asks;
		for (auto &said :
			books.wrong(asks ? std::optional(user) : std::nullopt, tally.of(Kind::fault).done > 0))
			found.push_back(std::move(said));
		sums.add(tally);
		sums.programs++;
		for (const auto &[counter, value] : books.reached())
			sums.reached[counter] += value;
		tally.give_back();
		return found;
	}

	/* The same of a program that failed before, on a machine where nothing has failed yet. */
	std::vector<std::string> run_anew(const Program &program)
	{
		Sums unused;

		machine.reload();
		books.be_hasty();
		return run(program, unused);
	}

private:
	bool ends(pid_t first) const
	{
		UniqueFd process(static_cast<int>(::syscall(SYS_pidfd_open, first, 0)));
		pollfd one = {process.get(), POLLIN, 0};

		return ::poll(&one, 1, options.patience * 1000) == 1;
	}

	const Options &options;
	Machine machine;
	Books books;
	uid_t next_user = 100000;
};

void say(const std::vector<std::string> &lines)
{
	for (const auto &line : lines)
		std::printf("#   %s\n", line.c_str());
}

/* For people, and for --replay. */
void say(const Program &program)
{
	const std::string text = to_text(program);

	for (std::size_t at = 0; at < text.size();) {
		const auto end = text.find('\n', at);

		std::printf("# | %s\n", text.substr(at, end - at).c_str());
		at = end + 1;
	}
}

void shrink_here(Runner &runner, const Program &program, const Options &options)
{
	if (!options.tries)
		return;
	std::vector<std::string> last;
	const auto fails = [&](const Program &candidate) {
		auto found = runner.run_anew(candidate);

		if (found.empty())
			return false;
		last = std::move(found);
		return true;
	};
	if (!fails(program)) {
		std::printf("# it does not fail again\n");
		return;
	}
	const auto shrunk = shrink(program, fails, options.tries);
	std::printf("# %zu operations of %zu fail, too, found in %u tries%s:\n", shrunk.program.operations.size(),
		program.operations.size(), shrunk.tries, shrunk.whole ? "" : ", of which there were too few");
	say(last);
	say(shrunk.program);
}

/* --- what it all came to --- */

void table(const Sums &sums)
{
	std::printf(
		"# %llu programs, the memory of %llu looked at; %llu operations tried, %llu skipped, %llu avoided\n",
		static_cast<unsigned long long>(sums.programs), static_cast<unsigned long long>(sums.asked),
		static_cast<unsigned long long>(sums.operations), static_cast<unsigned long long>(sums.skipped),
		static_cast<unsigned long long>(sums.avoided));
	for (unsigned n = 0; n < nr_kinds; n++) {
		if (!sums.tried[n])
			continue;
		std::printf("#   %-14s %8llu of %8llu succeeded, %3llu %%", grammar(static_cast<Kind>(n)).name,
			static_cast<unsigned long long>(sums.done[n]), static_cast<unsigned long long>(sums.tried[n]),
			static_cast<unsigned long long>(100 * sums.done[n] / sums.tried[n]));
		/* The reasons that were given most often. */
		auto errors = sums.errors[n];
		for (unsigned shown = 0; shown < 4 && !errors.empty(); shown++) {
			const auto most = std::max_element(errors.begin(), errors.end(),
				[](const auto &a, const auto &b) { return a.second < b.second; });

			std::printf("; %s %llu", ::strerrorname_np(most->first),
				static_cast<unsigned long long>(most->second));
			errors.erase(most);
		}
		std::printf("\n");
	}
	for (const auto &[counter, value] : sums.reached)
		std::printf("#   counted %s %llu\n", counter.c_str(), static_cast<unsigned long long>(value));
}

/* Whoever is refused everything finds nothing. */
std::vector<std::string> blind(const Sums &sums, const Options &options)
{
	std::vector<std::string> found;

	for (unsigned n = 0; n < nr_kinds; n++) {
		const auto &how = grammar(static_cast<Kind>(n));

		if (how.floor && sums.tried[n] >= enough && 100 * sums.done[n] < how.floor * sums.tried[n] &&
			!(how.aux && (options.control || !options.pmu.empty())))
			found.push_back(std::format("{} succeeded {} times of {}, that is less than {} %", how.name,
				sums.done[n], sums.tried[n], how.floor));
	}
	if (sums.programs >= 10 && sums.asked * 5 < sums.programs)
		found.push_back(
			std::format("the memory of {} programs of {} was looked at", sums.asked, sums.programs));
	const std::vector<const char *> wanted =
		options.pmu.empty()
			? std::vector{"sessions", "committed", "overwritten", "interrupts", "truncations", "samples"}
			: std::vector{"sessions", "committed"};
	if (!options.control && sums.operations >= 20 * enough)
		for (const char *counter : wanted)
			if (!sums.reached.contains(counter) || !sums.reached.at(counter))
				found.push_back(std::format("nothing was counted as {}", counter));
	return found;
}

int verdict(unsigned n, const char *name, const std::vector<std::string> &found)
{
	say(found);
	std::printf("%sok %u - %s\n", found.empty() ? "" : "not ", n, name);
	return found.empty() ? exit_pass : exit_fail;
}

int fuzz_all(const Options &options)
{
	const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(options.seconds);
	Runner runner(options);
	Sums all;
	std::vector<std::string> failed;

	std::printf("TAP version 13\n1..2\n");
	for (std::uint64_t n = 0; options.seconds ? std::chrono::steady_clock::now() < end : n < options.programs;
		n++) {
		const std::uint64_t seed = options.seed + n;
		const Program program = generate(seed, options.ops);
		Sums sums;

		/* Whoever reads it after a crash knows which it was. */
		std::printf("# begin seed %llu\n", static_cast<unsigned long long>(seed));
		std::fflush(stdout);
		const auto found = runner.run(program, sums);
		std::printf("# seed %llu of %s:%s\n", static_cast<unsigned long long>(seed),
			program.root ? "root" : "nobody", sums.text().c_str());
		all.add(sums);
		if (found.empty())
			continue;
		failed.push_back(std::format("seed {}, {} operations:", seed, options.ops));
		failed.insert(failed.end(), found.begin(), found.end());
		say(failed);
		/* A module that does not go any more cannot be loaded anew. */
		try {
			shrink_here(runner, program, options);
		} catch (const std::exception &failure) {
			std::printf("# it cannot be shortened here: %s\n", failure.what());
		}
		break;
	}
	table(all);
	const int status = verdict(1, "behind each program the books are right", failed);
	return status | verdict(2, "what matters succeeds often enough", failed.empty() ? blind(all, options) : failed);
}

/* Of a text; says on standard error why there is none. */
std::optional<Program> read_program(const std::string &path)
{
	std::ifstream file(path);
	auto program = parse(std::string(std::istreambuf_iterator<char>(file), {}));

	if (!program) {
		std::fprintf(stderr, "auxpmu_fuzz: %s: %s\n", path.c_str(), program.error().text.c_str());
		return {};
	}
	return std::move(*program);
}

int replay(const Options &options)
{
	const auto program = read_program(options.replay);

	if (!program)
		return exit_usage;
	Runner runner(options);
	Sums sums;
	std::vector<std::string> found;
	for (std::uint64_t n = 0; n < options.times && found.empty(); n++)
		found = runner.run(*program, sums);
	table(sums);
	std::printf("TAP version 13\n1..1\n");
	return verdict(1, "behind the program the books are right", found);
}

/* With a command that says by its status whether a program fails: outside, where a guest can die of it. */
int shrink_with(const Options &options)
{
	const auto program = read_program(options.shrink);
	const std::string candidate_file = options.shrink + ".candidate";

	if (!program)
		return exit_usage;
	const auto shrunk = shrink(
		*program,
		[&](const Program &candidate) {
			std::ofstream(candidate_file) << to_text(candidate);
			const bool failed = std::system((options.with + " " + candidate_file).c_str()) != 0;
			std::fprintf(stderr, "shrink: %zu operations: %s\n", candidate.operations.size(),
				failed ? "fails" : "passes");
			return failed;
		},
		options.tries);
	std::printf("%s", to_text(shrunk.program).c_str());
	return exit_pass;
}

void declare(CLI::App &app, Options &options)
{
	app.add_option("--seed", options.seed, "of the first program");
	app.add_option("--programs", options.programs, "so many of them");
	app.add_option("--seconds", options.seconds, "or as many as begin in this time");
	app.add_option("--ops", options.ops, "operations of each");
	app.add_option("--tries", options.tries, "shorter ones of a program that failed");
	app.add_option("--patience", options.patience, "seconds that a program may take");
	app.add_option("--pmu", options.pmu, "hardware, in the place of the synthetic unit");
	app.add_flag("--control", options.control, "without auxpmu");
	app.add_flag("--echo", options.echo, "say each operation before it is done");
	app.add_flag("--print", options.print, "the program's text; takes no kernel");
	app.add_option("--replay", options.replay, "the program of this text");
	app.add_option("--times", options.times, "replay it so often");
	app.add_flag("--hasty", options.hasty, "what failed before is not waited for that long again");
	auto *shrink =
		app.add_option("--shrink", options.shrink, "a text, of which a shorter one that fails is printed");
	auto *with = app.add_option("--with", options.with, "the command that fails, or does not, for a text");
	shrink->needs(with);
	with->needs(shrink);
}

} // namespace

int main(int argc, char **argv)
{
	Options options;

	if (argc == 2 && std::string_view(argv[1]) == "--executed")
		return play_executed();
	CLI::App app{"fuzzes what a user can do to AUX PMUs"};
	declare(app, options);
	try {
		app.parse(argc, argv);
	} catch (const CLI::ParseError &failure) {
		return app.exit(failure) ? exit_usage : exit_pass;
	}
	try {
		if (options.print) {
			std::printf("%s", to_text(generate(options.seed, options.ops)).c_str());
			return exit_pass;
		}
		if (!options.shrink.empty())
			return shrink_with(options);
		return options.replay.empty() ? fuzz_all(options) : replay(options);
	} catch (const std::exception &failure) {
		std::printf("Bail out! %s\n", failure.what());
		return exit_fail;
	}
}
