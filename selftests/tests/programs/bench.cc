// SPDX-License-Identifier: GPL-2.0-only
/*
 * The speed of the synthetic PMU: compared with memset() on the same bytes, and from the unit to a verified byte in user space.
 */
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <format>
#include <vector>

#include "kit/aux_ring.h"
#include "kit/data_ring.h"
#include "kit/event.h"
#include "kit/pmu.h"
#include "kit/statistics.h"
#include "synth/on_demand.h"
#include "synth/trace_verifier.h"

using namespace auxpmu;

namespace
{

constexpr std::uint64_t MiB = 1024 * 1024;
constexpr std::uint64_t bench_bytes = 64 * MiB;
constexpr std::uint64_t path_bytes = 128 * MiB;
constexpr int rounds = 5;

double seconds_since(std::chrono::steady_clock::time_point began)
{
	return std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
}

/* The synthetic PMU promises half the speed of memset(). */
bool against_memset()
{
	std::vector<double> ratios;

	for (int i = 0; i < rounds; i++) {
		auto result = run_bench(AUXPMU_SYNTH_NAME, bench_bytes).value();
		double records = static_cast<double>(result.bytes) * 1e3 / static_cast<double>(result.records_ns);
		double memset = static_cast<double>(result.bytes) * 1e3 / static_cast<double>(result.memset_ns);

		ratios.push_back(records / memset);
		std::printf("# round %d: records %.0f MB/s, memset %.0f MB/s, ratio %.2f\n", i + 1, records, memset,
			ratios.back());
	}
	std::sort(ratios.begin(), ratios.end());
	std::printf("# median ratio %.2f, at least 0.50 is promised\n", ratios[rounds / 2]);
	return ratios[rounds / 2] >= 0.5;
}

bool whole_path(unsigned output, const char *name)
{
	auto pmu = Pmu::find(AUXPMU_SYNTH_NAME).value();
	auto attr = pmu.attr();

	pmu.set(attr, "output", output).value();
	pmu.set(attr, "record", 6).value();
	pmu.set(attr, "manual", 1).value();
	auto event = Event::open(attr, Target::on_cpu(0)).value();
	auto data = DataRing::map(event, 64 * 1024).value();
	auto aux = AuxRing::map(data, event, 4 * MiB, AuxMode::full_trace).value();
	auto emitter = Emitter::open(AUXPMU_SYNTH_NAME).value();
	TraceVerifier verifier;
	double emitting = 0, verifying = 0;

	event.enable().value();
	for (std::uint64_t done = 0; done < path_bytes; done += MiB) {
		auto began = std::chrono::steady_clock::now();
		auto outcome = emitter.emit(0, MiB);
		emitting += seconds_since(began);
		if (outcome.error) {
			std::printf("# emit: error %d after %llu bytes\n", outcome.error,
				static_cast<unsigned long long>(outcome.bytes));
			return false;
		}
		began = std::chrono::steady_clock::now();
		Spans spans = aux.readable();
		verifier.feed(spans);
		aux.consume(spans.size());
		verifying += seconds_since(began);
		data.drain([](const RecordView &) {});
	}
	event.disable().value();
	verifier.feed(aux.readable());
	if (!verifier.complete()) {
		std::printf("# %s\n", verifier.error().c_str());
		return false;
	}
	double megabytes = static_cast<double>(path_bytes) / 1e6;
	std::printf("# %s: emitted at %.0f MB/s, verified at %.0f MB/s\n", name, megabytes / emitting,
		megabytes / verifying);
	return true;
}

} // namespace

int main()
{
	constexpr int tests = 4;
	bool all = true;
	int number = 0;
	auto report = [&](bool good, const char *name) {
		all &= good;
		std::printf("%s %d %s\n", good ? "ok" : "not ok", ++number, name);
	};

	std::setvbuf(stdout, nullptr, _IOLBF, 0);
	if (auto pmu = Pmu::find(AUXPMU_SYNTH_NAME); !pmu) {
		std::printf("TAP version 13\n1..0 # SKIP %s\n", pmu.error().text.c_str());
		return 4;
	}
	std::printf("TAP version 13\n1..%d\n", tests);
	try {
		report(against_memset(), "Trace is written at half of memset's speed or more");
		report(whole_path(AUXPMU_SYNTH_SCATTER, "scatter"), "The whole path through scatter output");
		report(whole_path(AUXPMU_SYNTH_WINDOW, "window"), "The whole path through window output");
		report(whole_path(AUXPMU_SYNTH_COPY, "copy"), "The whole path through copy output");
	} catch (const std::exception &failure) {
		std::printf("# %s\nBail out! %s\n", failure.what(), failure.what());
		return 1;
	}
	return all ? 0 : 1;
}
