// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * hwsim-compare: compares the branches that a decoder found with the truth log.
 *
 *   hwsim-compare [--partial | --last] [--bts [--dropped] | --cs-etm] TRUTH-PREFIX < branches
 *
 * Branches are what "perf script --itrace=b -F cpu,ip,addr" or hwsim-decode print: "[cpu] from => to", hexadecimal. The truth is in
 * TRUTH-PREFIX.0, .1, ... --partial: the trace has parts of the truth only; --last: the trace has the whole end of the truth; --bts: the
 * truth is what branch trace store had to record; --dropped: except records for which it had no room; --cs-etm: perf has decoded an ETM's
 * trace of programs, and reports exceptions in a way of its own. Exit status 0: no differences, 1: differences, 2: nothing to compare.
 */
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <map>
#include <span>
#include <unistd.h>

#include "../base/compare.h"
#include "cs_etm.h"

using namespace hwsim;

namespace
{

/* So many differences of each vCPU are shown. */
constexpr std::size_t shown = 3;

/* "[001]  401136 => 401020", as perf prints it; other lines are not branches. */
bool parse(const char *line, unsigned &cpu, Step &step)
{
	return std::sscanf(line, " [%u] %lx => %lx", &cpu, &step.from, &step.to) == 3;
}

std::map<unsigned, std::vector<Step>> read_branches(std::FILE *from)
{
	std::map<unsigned, std::vector<Step>> branches;
	char line[4096];
	unsigned cpu;
	Step step;
	while (std::fgets(line, sizeof line, from))
		if (parse(line, cpu, step))
			branches[cpu].push_back(step);
	return branches;
}

std::map<unsigned, std::vector<Step>> read_truths(const std::string &prefix)
{
	std::map<unsigned, std::vector<Step>> truths;
	for (unsigned cpu = 0;; cpu++) {
		const std::string path = prefix + "." + std::to_string(cpu);
		if (access(path.c_str(), R_OK))
			return truths;
		truths[cpu] = read_truth(path);
	}
}

/*
 * Records for which branch trace store had no room: leaves them out, and returns how many they are; or makes them records that it had to
 * write.
 */
std::size_t leave_out_dropped(std::vector<Step> &truth, bool leave_out)
{
	if (leave_out)
		return std::erase_if(truth, [](const Step &step) { return is_dropped(step.from); });
	for (Step &step : truth)
		if (is_dropped(step.from))
			step.from ^= dropped;
	return 0;
}

int run(const std::string &prefix, const Rules &rules, bool last, bool without_dropped, bool by_cs_etm)
{
	auto decoded = read_branches(stdin);
	auto truths = read_truths(prefix);
	if (truths.empty()) {
		std::cerr << "hwsim-compare: there is no truth log " << prefix << ".0\n";
		return 2;
	}
	std::size_t differences = 0, total = 0, missing = 0, losses = 0, left_out = 0, held_back = 0;
	for (auto &[cpu, truth] : truths) {
		left_out += leave_out_dropped(truth, without_dropped);
		if (by_cs_etm) {
			truth = cs_etm::with_branches(cs_etm::as_perf_tells(truth));
			decoded[cpu] = cs_etm::with_branches(decoded[cpu]);
		}
		if (by_cs_etm && rules.partial) {
			/* Where a part begins or ends, perf has a branch from or to 0 in the middle of the trace, too. */
			std::erase_if(truth, cs_etm::is_edge);
			std::erase_if(decoded[cpu], cs_etm::is_edge);
		}
		std::span<const Step> told(truth);
		if (last)
			told = told.last(std::min(told.size(), decoded[cpu].size()));
		const Comparison result = compare(told, decoded[cpu], rules);
		std::printf("cpu %u: truth %zu, decoded %zu, differences %zu\n", cpu, result.truth, result.decoded,
			result.differences.size());
		for (std::size_t i = 0; i < std::min(result.differences.size(), shown); i++)
			std::cout << describe(result.differences[i], told, decoded[cpu]);
		differences += result.differences.size();
		total += result.equal;
		missing += result.missing;
		losses += result.losses;
		held_back += result.excused;
	}
	if (losses)
		std::printf("%zu losses are marked\n", losses);
	if (left_out)
		std::printf("%zu branches were dropped\n", left_out);
	if (missing)
		std::printf("%zu branches are not in the trace\n", missing);
	std::printf("%zu branches agree, %zu differences", total, differences);
	if (held_back)
		std::printf(", %zu ends of records lost by perf", held_back);
	std::printf("\n");
	if (!total && !differences)
		return 2;
	return differences ? 1 : 0;
}

} // namespace

int main(int argc, char **argv)
{
	Rules rules;
	std::string prefix, which;
	bool last = false, without_dropped = false, by_cs_etm = false;
	for (int i = 1; i < argc; i++) {
		if (argv[i] == std::string("--partial"))
			rules.partial = true;
		else if (argv[i] == std::string("--last"))
			last = true;
		else if (argv[i] == std::string("--bts"))
			which = ".bts";
		else if (argv[i] == std::string("--dropped"))
			without_dropped = true;
		else if (argv[i] == std::string("--cs-etm")) {
			by_cs_etm = true;
			rules.excuse = cs_etm::is_held_back;
		} else
			prefix = argv[i];
	}
	if (prefix.empty()) {
		std::cerr << "usage: hwsim-compare [--partial | --last] [--bts [--dropped] | --cs-etm] TRUTH-PREFIX < "
			     "branches\n";
		return 2;
	}
	try {
		return run(prefix + which, rules, last, without_dropped, by_cs_etm);
	} catch (const std::exception &error) {
		std::cerr << "hwsim-compare: " << error.what() << "\n";
		return 2;
	}
}
