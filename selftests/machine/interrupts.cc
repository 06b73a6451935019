// SPDX-License-Identifier: GPL-2.0-only
#include "interrupts.h"

#include <algorithm>
#include <format>
#include <fstream>
#include <vector>

#include <linux/perf_event.h>

#include "kit/recorder.h"

namespace auxpmu::machine
{
namespace
{

constexpr std::uint64_t window = 16384; /* bytes between two interrupts: aux_watermark */
constexpr std::uint64_t slack = 256;    /* stays unused at the end of a window */
constexpr std::size_t area = 8 * window;
/* So many rounds of work make more trace than the area takes. */
constexpr unsigned rounds_to_fill = 100;

/* The kernel wakes up, and has the unit interrupt, where a multiple of the watermark is passed. */
class Windows
{
public:
	void add(const AuxRecord &record)
	{
		const std::uint64_t end = record.offset + record.size;
		const std::uint64_t due = (record.offset / window + 1) * window;

		records++;
		/* What ends before is the end of a time slice. */
		if (end < due)
			return;
		/* A unit that has come to where the next one is due was not interrupted, but has stopped there. */
		if (record.truncated() || end + slack >= due + window) {
			missed++;
			return;
		}
		overshoots.push_back(end - due);
	}
	std::size_t number() const { return overshoots.size() + missed; }
	Interrupts result()
	{
		Interrupts found;

		found.records = records;
		found.windows = static_cast<unsigned>(overshoots.size());
		found.missed = missed;
		if (!overshoots.empty()) {
			const auto middle = overshoots.begin() + static_cast<std::ptrdiff_t>(overshoots.size() / 2);

			std::ranges::nth_element(overshoots, middle);
			found.overshoot = *middle;
		}
		return found;
	}

private:
	std::vector<std::uint64_t> overshoots;
	unsigned missed = 0, records = 0;
};

} // namespace

std::uint64_t interrupts_on_0(std::string_view words)
{
	std::ifstream lines("/proc/interrupts");
	std::uint64_t all = 0;

	for (std::string line; std::getline(lines, line);)
		if (line.find(words) != std::string::npos)
			all += std::strtoull(line.c_str() + line.find(':') + 1, nullptr, 10);
	return all;
}

std::string Interrupts::text() const
{
	return std::format("{} windows ended by an interrupt, {} bytes behind it (median), {} without one", windows,
		overshoot, missed);
}

Result<Interrupts> measure_interrupts(const Pmu &pmu, Density density, unsigned windows)
{
	Recorder::Setup setup{.attr = pmu.attr(), .target = Target::task(), .data_bytes = 65536, .aux_bytes = area};
	Windows seen;

	setup.attr.exclude_kernel = setup.attr.exclude_hv = 1;
	setup.attr.aux_watermark = window;
	/* a packet for each RET */
	if (pmu.has_field("noretcomp"))
		if (auto set = pmu.set(setup.attr, "noretcomp", 1); !set)
			return set.error();
	auto opened = Recorder::open(setup);

	if (!opened)
		return opened.error();
	Recorder &recorder = *opened;
	const auto trace = [](const Spans &) {
	};
	const auto record = [&](const RecordView &view) {
		const Record one = decode(view, setup.attr);

		if (const auto *aux = std::get_if<AuxRecord>(&one); aux && aux->size)
			seen.add(*aux);
	};

	if (auto started = recorder.start(); !started)
		return started.error();
	/*
	 * Where no interrupt comes the unit stops at the end of the area, and nobody knows, until the event is switched off.
	 */
	for (unsigned idle = 0; seen.number() < windows;) {
		const std::size_t before = seen.number();

		work(density);
		recorder.drain(trace, record);
		idle = seen.number() > before ? 0 : idle + 1;
		if (idle && idle % rounds_to_fill == 0) {
			if (auto off = recorder.finish(trace, record); !off)
				return off.error();
			if (seen.number() == before && idle >= 3 * rounds_to_fill)
				return Error{0, std::format("there is no trace any more, behind {} windows", before)};
		}
		if (recorder.is_full() || (idle && idle % rounds_to_fill == 0))
			if (auto started = recorder.restart(); !started)
				return started.error();
	}
	if (auto finished = recorder.finish(trace, record); !finished)
		return finished.error();
	return seen.result();
}

} // namespace auxpmu::machine
