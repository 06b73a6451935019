// SPDX-License-Identifier: GPL-2.0-only
#include "stretch.h"

#include <variant>

#include <linux/perf_event.h>

#include "kit/recorder.h"

namespace auxpmu::machine
{
namespace
{

constexpr std::size_t data_bytes = 65536, aux_bytes = 4 << 20;
/* Older headers do not have it: PERF_AUX_FLAG_CORESIGHT_FORMAT_RAW. */
constexpr std::uint64_t without_frames = 0x100;

} // namespace

Pinned::Pinned(unsigned cpu)
{
	cpu_set_t one;

	sched_getaffinity(0, sizeof before, &before);
	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	sched_setaffinity(0, sizeof one, &one);
}

Pinned::~Pinned()
{
	sched_setaffinity(0, sizeof before, &before);
}

Result<Stretch> record_stretch(const Pmu &pmu, const std::function<void()> &run, const std::string &filters)
{
	Recorder::Setup setup{
		.attr = pmu.attr(), .target = Target::task(), .data_bytes = data_bytes, .aux_bytes = aux_bytes};
	Stretch stretch;

	setup.attr.exclude_kernel = setup.attr.exclude_hv = 1;
	setup.attr.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
	/* filters on files follow mappings only while these are asked for */
	setup.attr.mmap = !filters.empty();
	auto recorder = Recorder::open(setup);

	if (!recorder)
		return recorder.error();
	if (!filters.empty())
		if (auto set = recorder->event().set_filter(filters); !set)
			return set.error();
	if (auto started = recorder->start(); !started)
		return started.error();
	run();
	auto finished = recorder->finish(
		[&](const Spans &spans) {
			for (const auto &span : {spans.first, spans.second})
				stretch.trace.insert(stretch.trace.end(), span.begin(), span.end());
		},
		[&](const RecordView &view) {
			const Record one = decode(view, setup.attr);

			if (const auto *aux = std::get_if<AuxRecord>(&one)) {
				stretch.partials += aux->partial();
				stretch.framed = !(aux->flags & without_frames);
			}
		});
	if (!finished)
		return finished.error();
	auto times = recorder->event().times();

	if (!times)
		return times.error();
	stretch.ran = times->running;
	return stretch;
}

} // namespace auxpmu::machine
