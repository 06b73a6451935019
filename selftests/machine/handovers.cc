// SPDX-License-Identifier: GPL-2.0-only
#include "handovers.h"

#include <algorithm>
#include <array>
#include <unistd.h>
#include <variant>
#include <vector>

#include <linux/perf_event.h>

#include "packets.h"
#include "stretch.h"
#include "work.h"

#include "kit/recorder.h"

namespace auxpmu::machine
{
namespace
{

/* Little work, after which one looks. */
void rounds(unsigned number)
{
	for (unsigned n = 0; n < number; n++)
		paced_recursion(7);
}

/* Bytes of so many rounds: mostly. Some may be missing where hardware has a fault, or padding be there where a time slice ended. */
Result<std::size_t> bytes_of(const Pmu &pmu, unsigned number)
{
	std::array<std::size_t, 9> sizes{};

	for (auto &size : sizes) {
		auto stretch = record_stretch(pmu, [&] { rounds(number); });

		if (!stretch)
			return stretch.error();
		size = stretch->trace.size();
	}
	std::ranges::nth_element(sizes, sizes.begin() + sizes.size() / 2);
	return sizes[sizes.size() / 2];
}

/* What one round makes, without what begins and ends a stretch. */
Result<double> bytes_of_round(const Pmu &pmu)
{
	constexpr unsigned few = 4, many = 16;
	auto a = bytes_of(pmu, few), b = bytes_of(pmu, many);

	if (!a || !b)
		return (a ? b : a).error();
	if (*b <= *a)
		return Error{0, "more work does not make more trace"};
	return static_cast<double>(*b - *a) / (many - few);
}

class Account
{
public:
	Account(std::size_t window, double round) : window(window), round(round) {}

	void work()
	{
		rounds(1);
		since += round;
	}
	void add(const AuxRecord &record)
	{
		since -= static_cast<double>(record.size);
		if (record.offset + record.size >= (record.offset / window + 1) * window) {
			all.stops++;
			all.missed += since >= static_cast<double>(window);
		} else if (record.partial()) {
			all.faults++;
		} else {
			/* the end of a time slice */
			return;
		}
		since = 0;
	}
	bool waits_in_vain() const { return since > 4.0 * static_cast<double>(window); }
	const Handovers &result() const { return all; }

private:
	std::size_t window;
	double round, since = 0; /* bytes that work has made since the last stop, and that are not there */
	Handovers all;
};

} // namespace

Result<Handovers> measure_handovers(const Pmu &pmu, unsigned windows)
{
	const std::size_t window = std::max<std::size_t>(16384, static_cast<std::size_t>(sysconf(_SC_PAGESIZE)));
	auto round = bytes_of_round(pmu);

	if (!round)
		return round.error();
	const auto number = static_cast<unsigned>(static_cast<double>(windows * window) / *round);
	Recorder::Setup setup{
		.attr = pmu.attr(), .target = Target::task(), .data_bytes = 65536, .aux_bytes = 8 * window};

	setup.attr.exclude_kernel = setup.attr.exclude_hv = 1;
	setup.attr.aux_watermark = static_cast<std::uint32_t>(window);
	auto stretch = record_stretch(pmu, [&] { rounds(number); });

	if (!stretch)
		return stretch.error();
	auto recorder = Recorder::open(setup);

	if (!recorder)
		return recorder.error();
	Account account(window, *round);
	std::vector<std::byte> all;
	const auto trace = [&](const Spans &spans) {
		for (const auto &span : {spans.first, spans.second})
			all.insert(all.end(), span.begin(), span.end());
	};
	const auto record = [&](const RecordView &view) {
		const Record one = decode(view, setup.attr);

		if (const auto *aux = std::get_if<AuxRecord>(&one); aux && (aux->size || aux->partial()))
			account.add(*aux);
	};

	if (auto started = recorder->start(); !started)
		return started.error();
	for (unsigned n = 0; n < number; n++) {
		account.work();
		recorder->drain(trace, record);
		/* nobody knows that it has stopped until the event is switched off */
		const bool off = account.waits_in_vain();

		if (off)
			if (auto finished = recorder->finish(trace, record); !finished)
				return finished.error();
		if (off || recorder->is_full())
			if (auto started = recorder->restart(); !started)
				return started.error();
	}
	if (auto finished = recorder->finish(trace, record); !finished)
		return finished.error();
	Handovers found = account.result();

	found.overflows = count_overflows(all);
	found.without_stops = count_overflows(stretch->trace);
	return found;
}

} // namespace auxpmu::machine
