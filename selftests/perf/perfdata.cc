// SPDX-License-Identifier: GPL-2.0-only
/*
 * perfdata: what is in perf.data files recorded from a synthetic trace unit, and whether all of it is right.
 *
 *	perfdata [--continued] FILE...
 *
 * Several files are one recording, in that order.  Prints a fact per line, its name and its value, and then "verified".
 * Exit status 0 when all trace was verified, 1 when something is wrong (on standard error, one sentence), 2 for usage.
 */
#include <cstdio>
#include <format>
#include <string>
#include <string_view>

#include "perfdata/perf_data.h"
#include "perfdata/perf_data_verifier.h"

using namespace auxpmu;

namespace
{

void say(std::string_view name, std::uint64_t value)
{
	std::fputs(std::format("{} {}\n", name, value).c_str(), stdout);
}

void print(const PerfDataFacts &facts)
{
	std::string cpus;

	say("rings", facts.rings);
	say("payloads", facts.payloads);
	say("bytes", facts.bytes);
	say("cut", facts.cut);
	say("records", facts.records);
	say("starts", facts.starts);
	say("streams", facts.streams);
	say("lost", facts.lost);
	say("aux_records", facts.aux_records);
	say("aux_bytes", facts.aux_bytes);
	say("overwrite", facts.overwrite);
	say("truncated", facts.truncated);
	say("partial", facts.partial);
	say("collision", facts.collision);
	say("itrace_starts", facts.itrace_starts);
	say("samples", facts.samples);
	say("aux_samples", facts.aux_samples);
	say("blank_samples", facts.blank_samples);
	say("sample_bytes", facts.sample_bytes);
	say("lost_records", facts.lost_records);
	for (auto cpu : facts.cpus)
		cpus += std::format(" {}", cpu);
	say("repeated", facts.repeated);
	say("stale_index", facts.stale_index);
	std::fputs(("cpus" + cpus + "\n").c_str(), stdout);
}

} // namespace

int main(int argc, char **argv)
{
	PerfDataExpectation expectation;
	int first = 1;

	if (first < argc && argv[first] == std::string_view("--continued")) {
		expectation.continued = true;
		first++;
	}
	if (first == argc || argv[first][0] == '-') {
		std::fputs("usage: perfdata [--continued] FILE...\n", stderr);
		return 2;
	}
	PerfDataVerifier verifier(expectation);
	for (; first < argc; first++) {
		auto file = PerfData::open(argv[first]);

		if (!file) {
			std::fprintf(stderr, "perfdata: %s\n", file.error().text.c_str());
			return 1;
		}
		verifier.add(std::move(*file));
	}
	bool right = verifier.verify();
	print(verifier.facts());
	std::fflush(stdout);
	if (!right) {
		std::fprintf(stderr, "perfdata: %s\n", verifier.error().c_str());
		return 1;
	}
	std::puts("verified");
	return 0;
}
