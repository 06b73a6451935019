// SPDX-License-Identifier: GPL-2.0-only
#include "perfdata/perf_data_verifier.h"

#include <algorithm>
#include <bit>
#include <format>
#include <utility>

namespace auxpmu
{

namespace
{

/* perf's enum auxtrace_type. */
constexpr std::uint32_t type_intel_bts = 2;
/* For intel_bts, perf keeps only whole branch records, whatever the trace consists of. */
constexpr std::uint64_t bts_record = 24;
constexpr std::size_t most_streams = 4096;
constexpr std::uint64_t least_area = 4096;

TraceExpectation expectation(std::int32_t cpu)
{
	TraceExpectation trace;

	trace.streams = most_streams;
	if (cpu >= 0)
		trace.cpu = static_cast<std::uint32_t>(cpu);
	return trace;
}

std::uint64_t end_of(const Auxtrace &payload)
{
	return payload.offset + payload.trace.size();
}

bool is_blank(std::span<const std::byte> bytes)
{
	return std::ranges::all_of(bytes, [](std::byte one) { return one == std::byte{0}; });
}

} // namespace

bool PerfDataVerifier::fail(const PerfData &file, std::uint64_t at, const std::string &what)
{
	if (failure.empty())
		failure = std::format("{}: record at {:#x}: {}", file.name(), at, what);
	return false;
}

void PerfDataVerifier::add(PerfData file)
{
	files.push_back(std::move(file));
}

bool PerfDataVerifier::verify()
{
	for (const auto &file : files) {
		found.stale_index += file.stale_index();
		if (!collect(file))
			return false;
	}
	for (const auto &[number, ring] : rings) {
		auto overwrite = std::ranges::count_if(
			ring.announced, [](const Announced &one) { return one.record.overwrite(); });

		if (overwrite && static_cast<std::size_t>(overwrite) != ring.announced.size())
			return fail(*ring.announced[0].file, ring.announced[0].at,
				std::format("AUX area {} was both overwritten and not", number));
		if (!(overwrite ? overwritten(ring) : full_trace(ring)))
			return false;
	}
	found.rings = rings.size();
	found.streams = streams.size();
	if (!found.records)
		failure = "there is no trace";
	return failure.empty();
}

/* Sorts the records of the file by AUX area, and verifies the samples on the way. */
bool PerfDataVerifier::collect(const PerfData &file)
{
	for (const auto &record : file.records()) {
		if (record.auxtrace) {
			rings[record.auxtrace->ring].payloads.push_back({&file, record.at, *record.auxtrace});
			found.payloads++;
			found.bytes += record.auxtrace->trace.size();
			continue;
		}
		if (!record.event && record.view.header.type == PERF_RECORD_SAMPLE)
			return fail(file, record.at, "a sample of an event that is not known");
		if (!record.event || record.view.header.type >= PERF_DATA_HEADER_ATTR)
			continue;
		if (repeated(record)) {
			found.repeated++;
			continue;
		}
		Record decoded = decode(record.view, record.event->attr);
		if (auto *aux = std::get_if<AuxRecord>(&decoded)) {
			if (!announce(file, record.at, *aux))
				return false;
		} else if (auto *lost = std::get_if<LostRecord>(&decoded)) {
			auto ring = file.ring_of(lost->event_id);

			found.lost_records += lost->lost;
			(ring ? rings[*ring].lost : lost_elsewhere) += lost->lost;
		} else if (std::holds_alternative<ItraceStartRecord>(decoded)) {
			found.itrace_starts++;
		} else if (record.view.header.type == PERF_RECORD_SAMPLE && !sample(file, record)) {
			return false;
		} else if (record.view.header.type == PERF_RECORD_AUX) {
			return fail(file, record.at, "an AUX record that is too short");
		}
	}
	return true;
}

/*
 * perf reads data_head twice, writes records up to the second value and continues from the first (perf_mmap__push() in
 * tools/perf/util/mmap.c): it writes a record that comes in between twice. Two records that are identical, down to the
 * nanosecond, are such a pair.
 */
bool PerfDataVerifier::repeated(const PerfDataRecord &record)
{
	const auto &attr = record.event->attr;
	const auto body = record.view.body;

	return attr.sample_id_all && (attr.sample_type & PERF_SAMPLE_TIME) &&
	       !seen.emplace(record.view.header.type,
			    std::string_view(reinterpret_cast<const char *>(body.data()), body.size()))
			.second;
}

bool PerfDataVerifier::announce(const PerfData &file, std::uint64_t at, const AuxRecord &aux)
{
	constexpr std::uint64_t flags =
		PERF_AUX_FLAG_TRUNCATED | PERF_AUX_FLAG_OVERWRITE | PERF_AUX_FLAG_PARTIAL | PERF_AUX_FLAG_COLLISION;
	auto ring = file.ring_of(aux.id.id);

	if (!ring)
		return fail(file, at, std::format("no AUX area is known for event id {}", aux.id.id));
	if (aux.flags & ~flags)
		return fail(
			file, at, std::format("an AUX record with flags {:#x}, of which nothing is known", aux.flags));
	if (!aux.size && !(aux.flags & ~std::uint64_t{PERF_AUX_FLAG_OVERWRITE}))
		return fail(file, at, "an AUX record of no trace, without a flag that says why");
	rings[*ring].announced.push_back({&file, at, aux});
	found.aux_records++;
	found.aux_bytes += aux.size;
	found.overwrite += aux.overwrite();
	found.truncated += aux.truncated();
	found.partial += aux.partial();
	found.collision += aux.collision();
	return true;
}

/* Does the file hold all AUX records of this area? */
bool PerfDataVerifier::known(const Ring &ring) const
{
	return !ring.lost && !lost_elsewhere;
}

/* The AUX records of a full trace follow one another. If the data ring lost records, this cannot be checked. */
bool PerfDataVerifier::announced(const Ring &ring)
{
	for (std::size_t n = 1; n < ring.announced.size() && known(ring); n++) {
		const auto &before = ring.announced[n - 1].record;
		const auto &one = ring.announced[n];

		if (one.record.offset != before.offset + before.size)
			return fail(*one.file, one.at,
				std::format("AUX announces trace from {:#x}, the one before it ended at {:#x}",
					one.record.offset, before.offset + before.size));
	}
	return true;
}

bool PerfDataVerifier::full_trace(const Ring &ring)
{
	if (!announced(ring))
		return false;
	if (ring.payloads.empty()) {
		for (const auto &one : ring.announced)
			if (one.record.size)
				return fail(*one.file, one.at, "trace was announced, and there is none");
		return true;
	}
	const auto &first = ring.payloads.front(), &last = ring.payloads.back();
	if (first.from.offset && !expected.continued)
		return fail(*first.file, first.at,
			std::format("the first trace there is begins at {:#x}, not at 0", first.from.offset));
	std::uint64_t end = end_of(last.from);
	if (known(ring)) {
		if (ring.announced.empty())
			return fail(*first.file, first.at, "trace that no AUX record announces");
		const auto &from = ring.announced.front().record, &to = ring.announced.back().record;

		if (from.offset != first.from.offset || to.offset + to.size - end >= slack(ring))
			return fail(*last.file, last.at,
				std::format("there is trace from {:#x} to {:#x}, announced was {:#x} to {:#x}",
					first.from.offset, end, from.offset, to.offset + to.size));
		end = to.offset + to.size;
	}
	return contiguous(ring, end);
}

/* Fewer bytes than this may be missing at the end of a payload. */
std::uint64_t PerfDataVerifier::slack(const Ring &ring) const
{
	return ring.payloads[0].file->auxtrace_type() == type_intel_bts ? bts_record : 1;
}

/* Checks every byte up to the end, and that nothing is missing between payloads except what perf itself cuts away. */
bool PerfDataVerifier::contiguous(const Ring &ring, std::uint64_t end)
{
	TraceExpectation trace = expectation(ring.payloads[0].from.cpu);
	std::map<std::uint64_t, std::uint64_t> next;
	std::optional<TraceVerifier> verifier;

	trace.gaps_allowed = std::ranges::any_of(
		ring.announced, [](const Announced &one) { return one.record.truncated() || one.record.partial(); });
	trace.any_first = expected.continued;
	for (std::size_t n = 0; n < ring.payloads.size(); n++) {
		const auto &[file, at, from] = ring.payloads[n];
		const bool last = n + 1 == ring.payloads.size();
		const std::uint64_t cut = (last ? end : ring.payloads[n + 1].from.offset) - end_of(from);

		if (cut >= slack(ring))
			return fail(*ring.payloads[n + 1].file, ring.payloads[n + 1].at,
				std::format("trace goes on at {:#x}, the payload before it ended at {:#x}",
					ring.payloads[n + 1].from.offset, end_of(from)));
		if (from.cpu != ring.payloads[0].from.cpu)
			return fail(*file, at, "payloads of one AUX area are from several CPUs");
		if (!verifier) {
			verifier.emplace(trace);
			verifier->begin_at(from.offset);
			for (const auto &one : ring.announced)
				verifier->announce(one.record.offset, one.record.size,
					one.record.truncated() || one.record.partial());
		}
		if (!verifier->feed(from.trace) || (last && !cut && !verifier->complete()))
			return fail(*file, at, verifier->error());
		if (!cut && !last)
			continue;
		if (known(ring) && !verifier->accounted())
			return fail(*file, at, verifier->error());
		for (const auto &stream : verifier->streams()) {
			auto known = next.find(stream.stream);

			if (known != next.end() && stream.first_seq != known->second)
				return fail(*file, at,
					std::format("stream {} goes on with seq {}, expected {}", stream.stream,
						stream.first_seq, known->second));
			next[stream.stream] = stream.next_seq + 1;
		}
		/* The record that was cut is not checked; a new trace begins behind it. */
		found.cut += cut;
		count(*verifier);
		verifier.reset();
		trace.any_first = true;
	}
	return true;
}

/* Verifies the snapshots of one AUX area. */
bool PerfDataVerifier::overwritten(const Ring &ring)
{
	std::map<std::uint64_t, std::uint64_t> before;

	for (const auto &[file, at, from] : ring.payloads) {
		TraceVerifier verifier(expectation(from.cpu));
		const std::uint64_t end = end_of(from);

		if (!verifier.snapshot({.spans = {from.trace, {}}, .to = end}))
			return fail(*file, at, verifier.error());
		/* The kernel says where in the area the trace ended; perf's position may be one area further on. */
		bool announced = std::ranges::any_of(ring.announced, [&](const Announced &one) {
			std::uint64_t beyond = end - one.record.offset;
			return !beyond || (beyond >= least_area && std::has_single_bit(beyond));
		});
		if (!announced && known(ring))
			return fail(*file, at,
				std::format("a snapshot that ends at {:#x}, which no AUX record announces", end));
		if (!newest(*file, at, verifier, before))
			return false;
		count(verifier);
	}
	return true;
}

bool PerfDataVerifier::sample(const PerfData &file, const PerfDataRecord &record)
{
	const auto &attr = record.event->attr;
	auto decoded = decode(record.view, attr);
	auto *one = std::get_if<SampleRecord>(&decoded);

	found.samples++;
	if (!one || !(attr.sample_type & PERF_SAMPLE_AUX))
		return true;
	if (!one->rest.empty())
		return fail(file, record.at, std::format("{} bytes behind a sample's trace", one->rest.size()));
	found.aux_samples++;
	found.sample_bytes += one->aux.size();
	if (one->aux.size() != ((attr.aux_sample_size + 7) & ~7u))
		return fail(file, record.at,
			std::format("a sample of {} bytes of trace, asked for were {}", one->aux.size(),
				attr.aux_sample_size + 0));
	if (is_blank(one->aux)) {
		found.blank_samples++;
		return true;
	}
	/*
	 * The payload ends with a record; what lies in front of the first multiple of 64, counted from the end, is part of a
	 * record.
	 */
	auto whole = one->aux.last(one->aux.size() / AUXPMU_RECORD_MIN * AUXPMU_RECORD_MIN);
	TraceVerifier verifier(
		expectation(attr.sample_type & PERF_SAMPLE_CPU ? static_cast<std::int32_t>(one->id.cpu) : -1));
	if (!verifier.snapshot({.spans = {whole, {}}}))
		return fail(file, record.at, verifier.error());
	if (!newest(file, record.at, verifier, sampled))
		return false;
	count(verifier);
	return true;
}

/* No stream may end earlier than in the payload before. */
bool PerfDataVerifier::newest(const PerfData &file, std::uint64_t at, const TraceVerifier &verifier,
	std::map<std::uint64_t, std::uint64_t> &before)
{
	for (const auto &stream : verifier.streams()) {
		auto &known = before[stream.stream];

		if (stream.next_seq < known)
			return fail(file, at,
				std::format("stream {} ends before seq {}, it was at {} before", stream.stream,
					stream.next_seq, known));
		known = stream.next_seq;
	}
	return true;
}

void PerfDataVerifier::count(const TraceVerifier &verifier)
{
	const auto &totals = verifier.totals();

	found.records += totals.records;
	found.starts += totals.starts;
	found.lost += totals.lost_bytes;
	for (const auto &stream : verifier.streams())
		streams.insert(stream.stream);
	for (const auto cpu : verifier.cpus())
		found.cpus.insert(cpu);
}

} // namespace auxpmu
