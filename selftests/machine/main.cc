// SPDX-License-Identifier: GPL-2.0-only
/*
 * auxpmu-check: on a machine with trace units, does all work that this project promises? Makes one report, leaves the machine as it
 * was, and goes on where it was when the machine went down meanwhile. docs/testing-on-hardware.md, docs/man/auxpmu-check.1.
 *
 * Exit status: 0 passed, 1 failed, 2 incomplete (or not begun), as the report's first line says.
 */
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <format>
#include <fstream>
#include <iostream>
#include <unistd.h>

#include <CLI/CLI.hpp>

#include "check.h"
#include "journal.h"
#include "report.h"
#include "stretch.h"
#include "watchdog.h"
#include "work.h"

#include "kit/pmu.h"

using namespace auxpmu::machine;
using auxpmu::read_small_file;

namespace
{

struct Options {
	Choice choice;
	std::string report = "auxpmu-check.txt", state = "/var/lib/auxpmu-check", watchdog, helpers;
	std::string forever; /* a PMU */
	bool yes = false, list = false;
};

/* Exit status: nothing was done, or not enough. */
constexpr int incomplete = 2;

bool asked(const std::string &question)
{
	std::string answer;

	std::cout << question << " [y/N] " << std::flush;
	return std::getline(std::cin, answer) && (answer == "y" || answer == "yes");
}

int refuse(const std::string &sentence)
{
	std::cerr << "auxpmu-check: " << sentence << "\n";
	return incomplete;
}

/* Where the programs are: beside this one, or where the package has them. */
std::vector<std::string> folders_of(const Options &options)
{
	std::vector<std::string> folders;
	std::istringstream named(options.helpers);

	for (std::string one; std::getline(named, one, ':');)
		folders.push_back(one);
	folders.push_back(std::filesystem::read_symlink("/proc/self/exe").parent_path());
	folders.push_back("/usr/libexec/auxpmu");
	return folders;
}

std::string folder_for_scratch()
{
	char path[] = "/tmp/auxpmu-check.XXXXXX";

	return mkdtemp(path) ? path : "";
}

void say(const StepResult *result, const std::string &name, const std::string &title)
{
	if (!result)
		std::cout << std::format("{}: {} ...\n", name, title) << std::flush;
	else
		std::cout << std::format("{}: {}{}{}\n", name, text_of(result->verdict),
				     result->reason.empty() ? "" : ": ", result->reason)
			  << std::flush;
}

/* What a person has to say yes to before anything is done. */
bool agreed(const Options &options, bool resumed)
{
	if (options.yes)
		return true;
	if (!isatty(STDIN_FILENO))
		return false;
	if (resumed)
		return asked("The machine went down, or this program, in an earlier check. Go on with the next step?");
	return asked("This loads kernel modules and traces with them, for minutes. Should a driver or the machine have "
		     "a fault, it may hang,\n"
		     "crash, or lose what is not saved. Do it on a machine that nobody else uses. Go on?");
}

/* Ends only if it cannot trace. */
int trace_forever(const std::string &name)
{
	auto pmu = auxpmu::Pmu::find(name);

	while (pmu && record_stretch(*pmu, [] { work(Density::dense); }))
		;
	return incomplete;
}

int check(Options &options)
{
	auto opened = Journal::open(options.state, read_small_file("/proc/sys/kernel/random/boot_id").value_or(""));

	if (!opened)
		return refuse(opened.error().text);
	Journal &journal = *opened;

	if (!agreed(options, journal.resumed())) {
		if (!journal.resumed())
			journal.remove();
		return refuse("nothing was done: it takes your yes, or --yes");
	}
	std::unique_ptr<Watchdog> watchdog;

	if (!options.watchdog.empty()) {
		auto started = Watchdog::start(options.watchdog);

		if (!started) {
			if (!journal.resumed())
				journal.remove();
			return refuse(started.error().text);
		}
		watchdog = std::move(started).value();
		std::cout << "watchdog: " << watchdog->text() << "\n";
	}
	for (const auto &done : journal.done())
		if (journal.resumed())
			say(&done, done.name, "");
	options.choice.scratch = folder_for_scratch();
	options.choice.folders = folders_of(options);
	const State before = State::read();
	Facts facts;
	{
		Check check(options.choice, journal, before);

		check.run([&](const StepResult *result, const std::string &name, const std::string &title) {
			say(result, name, title);
			/* while the modules are there */
			if (result && result->name.starts_with("load/"))
				facts.merge(read_facts());
		});
	}
	if (facts.lines.empty())
		facts = read_facts();
	std::filesystem::remove_all(options.choice.scratch);
	std::vector<StepResult> results = journal.done();

	for (auto &result : results)
		if (!result.findings.empty() && result.findings[0].name == "machine-down")
			for (const auto &line : crash_lines())
				result.excerpt.push_back(line);
	const Conclusion conclusion = conclude(results, options.choice);
	std::ofstream file(options.report);

	file << report(facts, conclusion, results) << std::flush;
	if (!file)
		return refuse(std::format("the report {} cannot be written: {}; name another file with --report",
			options.report, std::strerror(errno)));
	journal.remove();
	std::cout << std::format("{}; the report is {}\n", conclusion.sentence, options.report);
	return conclusion.verdict == Verdict::passed ? 0 : conclusion.verdict == Verdict::failed ? 1 : incomplete;
}

} // namespace

int main(int argc, char **argv)
{
	Options options;
	CLI::App app("checks a machine with trace units: the kernel modules of auxpmu, and the hardware");

	app.add_option("--report", options.report, "file for the report")->capture_default_str();
	app.add_option("--only", options.choice.only, "steps, or patterns of them, as --list has them")->delimiter(',');
	app.add_option("--rounds", options.choice.rounds, "rounds of load, trace, unload")
		->check(CLI::Range(1, 10000))
		->capture_default_str();
	app.add_option("--programs", options.choice.programs, "random programs")
		->check(CLI::Range(1, 100000))
		->capture_default_str();
	app.add_option("--watchdog", options.watchdog, "device of a watchdog, which restarts the machine if it hangs");
	app.add_option("--state", options.state, "folder for what outlives a crash")->capture_default_str();
	app.add_option("--helpers", options.helpers, "folders with the programs, separated by colons");
	app.add_flag("--write-registers", options.choice.write_registers,
		"also the step that writes registers past the kernel and taints it");
	app.add_flag("--yes", options.yes, "do not ask");
	app.add_flag("--list", options.list, "print the steps");
	/* for the step "rounds" */
	app.add_option("--trace-forever", options.forever, "trace with this PMU until somebody kills it")->group("");
	CLI11_PARSE(app, argc, argv);
	if (!options.forever.empty())
		return trace_forever(options.forever);
	const State none;
	Journal empty;
	const Check plan(options.choice, empty, none);

	if (options.list) {
		for (const auto &[name, title] : plan.list())
			std::cout << std::format("{:<24} {}\n", name, title);
		return 0;
	}
	for (const auto &pattern : options.choice.only)
		if (!plan.has(pattern))
			return refuse(std::format("there is no step {}; --list has them", pattern));
	if (geteuid())
		return refuse("it takes root: it loads modules, and looks at every processor");
	return check(options);
}
