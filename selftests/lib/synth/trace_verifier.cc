// SPDX-License-Identifier: GPL-2.0-only
#include "synth/trace_verifier.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <format>

#include "synth/trace_bytes.h"

namespace auxpmu
{

namespace
{

constexpr std::size_t header_size = sizeof(auxpmu_record);
constexpr std::size_t most_cpus = 8192;
/* The number of gaps that are remembered, so that they can be accounted for. */
constexpr std::size_t most_gaps = 1024;

/* The bytes [offset, offset + count) of two consecutive pieces. */
Spans parts(const Spans &spans, std::size_t offset, std::size_t count) noexcept
{
	const std::size_t before = std::min(offset, spans.first.size());
	const std::size_t first = std::min(count, spans.first.size() - before);

	return {spans.first.subspan(before, first), spans.second.subspan(offset - before, count - first)};
}

/* Could a record begin here? */
bool looks_like_record(std::span<const std::byte> bytes) noexcept
{
	auxpmu_record record;

	if (bytes.size() < header_size)
		return false;
	std::memcpy(&record, bytes.data(), header_size);
	return record.magic == AUXPMU_RECORD_MAGIC && record.crc == header_crc(bytes.data());
}

} // namespace

TraceVerifier::TraceVerifier(TraceExpectation expectation)
	: expected(expectation), newest_time(most_cpus, 0),
	  hold(std::make_unique<std::array<std::byte, AUXPMU_RECORD_MAX>>())
{
	seen.reserve(expected.streams);
	gaps.reserve(most_gaps);
	failure.reserve(512);
}

void TraceVerifier::begin_at(std::uint64_t position) noexcept
{
	at = position;
}

bool TraceVerifier::fail(std::string text) noexcept
{
	if (failure.empty())
		failure = std::format("at position {:#x}: {}", at, text);
	return false;
}

std::string TraceVerifier::name(const auxpmu_record &record) const
{
	return std::format("record of {} bytes, stream {}, seq {}, CPU {}", record.size + 0, record.stream + 0,
		record.seq + 0, record.cpu + 0);
}

const TraceStream *TraceVerifier::find(std::uint64_t stream) const noexcept
{
	for (const auto &one : seen)
		if (one.stream == stream)
			return &one;
	return nullptr;
}

std::vector<std::uint32_t> TraceVerifier::cpus() const
{
	std::vector<std::uint32_t> found;

	for (std::uint32_t cpu = 0; cpu < newest_time.size(); cpu++)
		if (newest_time[cpu])
			found.push_back(cpu);
	return found;
}

bool TraceVerifier::zeros(std::span<const std::byte> bytes, const char *what) noexcept
{
	if (all_zero(bytes))
		return true;
	auto other = std::find_if(bytes.begin(), bytes.end(), [](std::byte b) { return b != std::byte{0}; });
	return fail(std::format("{} has {:#04x} where it must be zero, {} bytes further on", what,
		std::to_integer<unsigned>(*other), other - bytes.begin()));
}

bool TraceVerifier::header(const auxpmu_record &record, const std::byte *bytes) noexcept
{
	if (record.magic != AUXPMU_RECORD_MAGIC) [[unlikely]]
		return fail(std::format(
			"no record begins here: magic is {:#010x}, expected {:#010x}; the bytes are {:#018x} "
			"{:#018x} ...",
			record.magic + 0, AUXPMU_RECORD_MAGIC, word_at(bytes), word_at(bytes + 8)));
	if (std::uint32_t crc = header_crc(bytes); record.crc != crc) [[unlikely]]
		return fail(std::format("CRC of the header is {:#010x}, expected {:#010x} (as it reads: {})",
			record.crc + 0, crc, name(record)));
	if (record.reserved) [[unlikely]]
		return fail(std::format("the reserved word is not zero in {}", name(record)));
	if (record.kind == AUXPMU_RECORD_PAD)
		return padding(record);
	if (record.kind != AUXPMU_RECORD_START && record.kind != AUXPMU_RECORD_DATA) [[unlikely]]
		return fail(std::format("kind is {}, which is none, in {}", record.kind + 0, name(record)));
	if (record.size < AUXPMU_RECORD_MIN || record.size > AUXPMU_RECORD_MAX || !std::has_single_bit(record.size + 0))
		[[unlikely]]
		return fail(std::format("size is not a power of two from {} to {} in {}", AUXPMU_RECORD_MIN,
			AUXPMU_RECORD_MAX, name(record)));
	if (at % record.size) [[unlikely]]
		return fail(std::format("it lies at no multiple of its size: {}", name(record)));
	if (record.pattern > AUXPMU_SYNTH_RANDOM || !record.stream || record.cpu >= most_cpus) [[unlikely]]
		return fail(std::format("pattern {}, stream {} or CPU {} is none", record.pattern + 0,
			record.stream + 0, record.cpu + 0));
	/*
	 * Streams are numbered in the order in which their events are created, and an inherited event is younger than its
	 * parent.
	 */
	if (record.parent >= record.stream) [[unlikely]]
		return fail(std::format("parent {} is no older stream, in {}", record.parent + 0, name(record)));
	return asked_for(record);
}

/* A padding header says whose it is, where and when it was written; all else is zero. */
bool TraceVerifier::padding(const auxpmu_record &record) noexcept
{
	if (record.size < header_size || record.size % AUXPMU_RECORD_MIN || record.seq) [[unlikely]]
		return fail(std::format("padding with size {} and seq {}: the size must be a multiple of {}, seq 0",
			record.size + 0, record.seq + 0, AUXPMU_RECORD_MIN));
	if (at % AUXPMU_RECORD_MIN) [[unlikely]]
		return fail(std::format("padding lies at no multiple of {}: {}", AUXPMU_RECORD_MIN, name(record)));
	if (record.pattern || record.parent || record.seed || record.ip) [[unlikely]]
		return fail(std::format("pattern, parent, seed or ip of padding is not zero in {}", name(record)));
	if (!record.stream || record.cpu >= most_cpus) [[unlikely]]
		return fail(std::format("padding of stream {} on CPU {}", record.stream + 0, record.cpu + 0));
	if (expected.cpu && record.cpu != *expected.cpu) [[unlikely]]
		return fail(
			std::format("CPU is not {}, which was asked for, in padding: {}", *expected.cpu, name(record)));
	pad_stream = find(record.stream) ? 0 : record.stream + 0;
	return clock(record);
}

bool TraceVerifier::asked_for(const auxpmu_record &record) noexcept
{
	if (expected.record_size && record.size != *expected.record_size) [[unlikely]]
		return fail(
			std::format("size is not {}, which was asked for, in {}", *expected.record_size, name(record)));
	if (expected.pattern && record.pattern != *expected.pattern) [[unlikely]]
		return fail(std::format(
			"pattern is {}, asked for was {}, in {}", record.pattern + 0, *expected.pattern, name(record)));
	if (expected.seed && record.seed != *expected.seed) [[unlikely]]
		return fail(std::format(
			"seed is {:#x}, asked for was {:#x}, in {}", record.seed + 0, *expected.seed, name(record)));
	if (expected.cpu && record.cpu != *expected.cpu) [[unlikely]]
		return fail(std::format("CPU is not {}, which was asked for, in {}", *expected.cpu, name(record)));
	return true;
}

bool TraceVerifier::clock(const auxpmu_record &record) noexcept
{
	if (!record.time || record.time < newest_time[record.cpu]) [[unlikely]]
		return fail(std::format("time goes back on CPU {} from {} to {} ns in {}", record.cpu + 0,
			newest_time[record.cpu], record.time + 0, name(record)));
	newest_time[record.cpu] = record.time;
	return true;
}

bool TraceVerifier::payload(const auxpmu_record &record, const std::byte *bytes) noexcept
{
	const std::uint64_t base = auxpmu_record_base(record.stream, record.seq, record.seed);
	const std::size_t words = (record.size - header_size) / 8;

	if (payload_matches(record.pattern, bytes + header_size, words, base)) [[likely]]
		return true;
	for (std::size_t i = 0; i < words; i++) {
		std::uint64_t want = payload_word(record.pattern, base, i);
		std::uint64_t got = word_at(bytes + header_size + i * 8);

		if (got != want)
			return fail(std::format(
				"payload word {} (byte {} of the record) is {:#018x}, expected {:#018x}, in {}", i,
				header_size + i * 8, got, want, name(record)));
	}
	return false;
}

TraceStream *TraceVerifier::stream_of(const auxpmu_record &record) noexcept
{
	if (current && current->stream == record.stream) [[likely]]
		return current;
	for (auto &one : seen)
		if (one.stream == record.stream)
			return &one;
	if (seen.size() == seen.capacity()) {
		fail(std::format("more than {} streams: {}", seen.size(), name(record)));
		return nullptr;
	}
	TraceStream fresh;
	fresh.stream = record.stream;
	fresh.parent = record.parent;
	fresh.record_size = record.size;
	fresh.seed = record.seed;
	fresh.pattern = record.pattern;
	fresh.first_seq = fresh.next_seq = expected.any_first ? record.seq : 0;
	seen.push_back(fresh);
	return &seen.back();
}

/* Records a gap in front of this record. */
bool TraceVerifier::missing(TraceStream &stream, const auxpmu_record &record) noexcept
{
	const std::uint64_t gap = record.seq - stream.next_seq;

	if (!expected.gaps_allowed)
		return fail(std::format("{} records ({} bytes) are missing: seq {} was expected next in {}", gap,
			gap * record.size, stream.next_seq, name(record)));
	if (gaps.size() < gaps.capacity())
		gaps.push_back({stream.end, at, gap});
	stream.lost += gap;
	sums.lost += gap;
	sums.lost_bytes += gap * record.size;
	return true;
}

/* Does the trace change to another stream or CPU where it must not? A missing START leaves a gap. */
bool TraceVerifier::switched(const TraceStream &stream, const auxpmu_record &record) noexcept
{
	if (pad_stream && pad_stream != record.stream && !expected.gaps_allowed)
		return fail(std::format("the padding in front is of stream {}, of which there is no record, in {}",
			pad_stream, name(record)));
	pad_stream = 0;
	if (record.kind == AUXPMU_RECORD_START || !current || (current == &stream && stream.newest_cpu == record.cpu))
		return true;
	if (stream.records ? record.seq != stream.next_seq : expected.gaps_allowed)
		return true;
	return fail(std::format("stream {} on CPU {} was traced before, and there is no START of this one: {}",
		current->stream, current->newest_cpu, name(record)));
}

bool TraceVerifier::sequence(const auxpmu_record &record) noexcept
{
	TraceStream *stream = stream_of(record);

	if (!stream)
		return false;
	if (record.size != stream->record_size || record.seed != stream->seed || record.pattern != stream->pattern ||
		record.parent != stream->parent) [[unlikely]]
		return fail(std::format(
			"size, seed, pattern or parent ({}) differ from those of the stream's first record in {}",
			record.parent + 0, name(record)));
	if (record.seq < stream->next_seq) [[unlikely]]
		return fail(std::format("seq goes back: {} was expected next in {}: delivered twice, or out of order",
			stream->next_seq, name(record)));
	if (record.seq == 0 && record.kind != AUXPMU_RECORD_START) [[unlikely]]
		return fail(std::format("a stream begins with something other than a START record: {}", name(record)));
	if (!switched(*stream, record) || !clock(record) || !program(*stream, record)) [[unlikely]]
		return false;
	if (record.seq > stream->next_seq && !missing(*stream, record)) [[unlikely]]
		return false;
	if (!sums.records)
		first_kind = record.kind;
	current = stream;
	stream->newest_ip = record.ip;
	stream->newest_cpu = record.cpu;
	stream->next_seq = record.seq + 1;
	stream->records++;
	stream->bytes += record.size;
	stream->end = at + record.size;
	stream->starts += record.kind == AUXPMU_RECORD_START;
	sums.records++;
	sums.record_bytes += record.size;
	sums.starts += record.kind == AUXPMU_RECORD_START;
	return true;
}

/*
 * Between two records of a stream without a gap, the program executed only blocks that filters leave out. If a filter stopped
 * the trace, the program may have executed any blocks, and the next record is a START, of whatever block comes next.
 */
bool TraceVerifier::filtered_program(const TraceStream &stream, const auxpmu_record &record) noexcept
{
	const Program &blocks = *expected.program;
	const std::size_t here = record.ip / AUXPMU_PROGRAM_BLOCK;
	const bool start = record.kind == AUXPMU_RECORD_START;

	if (!start && blocks[here] != Block::traced)
		return fail(std::format("ip {:#x} is not to be traced, in {}", record.ip + 0, name(record)));
	if (!stream.records || record.seq != stream.next_seq)
		return true;
	auto behind = [](std::size_t block) {
		return (block + 1) % AUXPMU_PROGRAM_BLOCKS;
	};
	for (auto block = behind(stream.newest_ip / AUXPMU_PROGRAM_BLOCK); block != here; block = behind(block)) {
		if (blocks[block] == Block::left_out)
			continue;
		if (blocks[block] == Block::stops && start)
			return true;
		return fail(std::format("ip {:#x} follows {:#x}, but {:#x} {}, in {}", record.ip + 0, stream.newest_ip,
			block * AUXPMU_PROGRAM_BLOCK,
			blocks[block] == Block::stops ? "stops the trace" : "is to be traced", name(record)));
	}
	return true;
}

/* Is this the block that the program executes next? Call this before the newest_ip of the stream is set. */
bool TraceVerifier::program(const TraceStream &stream, const auxpmu_record &record) noexcept
{
	if (record.ip % AUXPMU_PROGRAM_BLOCK || record.ip >= AUXPMU_PROGRAM_BLOCKS * AUXPMU_PROGRAM_BLOCK) [[unlikely]]
		return fail(std::format("ip {:#x} is no block of the program, in {}", record.ip + 0, name(record)));
	if (!record.seq && record.ip) [[unlikely]]
		return fail(std::format("a stream begins with ip {:#x}, not 0, in {}", record.ip + 0, name(record)));
	if (expected.program) [[unlikely]]
		return filtered_program(stream, record);
	if (record.ip != record.seq % AUXPMU_PROGRAM_BLOCKS * AUXPMU_PROGRAM_BLOCK) [[unlikely]]
		return fail(std::format(
			"ip is {:#x}, but without filters record n is of block n, in {}", record.ip + 0, name(record)));
	return true;
}

bool TraceVerifier::record(const std::byte *bytes) noexcept
{
	auxpmu_record record;

	std::memcpy(&record, bytes, header_size);
	return payload(record, bytes) && sequence(record);
}

bool TraceVerifier::feed(std::span<const std::byte> bytes) noexcept
{
	if (!ok())
		return false;
	sums.bytes += bytes.size();
	while (!bytes.empty()) {
		if (pad_left) {
			auto part = bytes.first(std::min<std::uint64_t>(pad_left, bytes.size()));

			if (!zeros(part, "padding"))
				return false;
			pad_left -= part.size();
			sums.pad_bytes += part.size();
			at += part.size();
			bytes = bytes.subspan(part.size());
			continue;
		}
		/* A padding record may follow zeros up to a multiple of 64; every other record starts at such a multiple. */
		if (std::size_t off = at % AUXPMU_RECORD_MIN; !held && off && bytes[0] == std::byte{0}) {
			auto part = bytes.first(std::min(AUXPMU_RECORD_MIN - off, bytes.size()));

			if (!zeros(part, "stretch in front of padding"))
				return false;
			sums.pad_bytes += part.size();
			at += part.size();
			bytes = bytes.subspan(part.size());
			continue;
		}

		/* The header, put together from pieces or in place. */
		auto take_into_hold = [&](std::size_t until) {
			std::size_t part = std::min(until - held, bytes.size());

			std::memcpy(hold->data() + held, bytes.data(), part);
			held += part;
			bytes = bytes.subspan(part);
			return held == until;
		};
		if ((held || bytes.size() < header_size) && held < header_size && !take_into_hold(header_size))
			return true;
		const std::byte *where = held ? hold->data() : bytes.data();
		auxpmu_record next;
		std::memcpy(&next, where, header_size);
		if (!header(next, where))
			return false;
		if (next.kind == AUXPMU_RECORD_PAD) {
			at += header_size;
			if (!held)
				bytes = bytes.subspan(header_size);
			held = 0;
			pad_left = next.size - header_size;
			sums.pad_bytes += header_size;
			continue;
		}

		/* The whole record, likewise. */
		if ((held || bytes.size() < next.size) && !take_into_hold(next.size))
			return true;
		if (!record(held ? hold->data() : bytes.data()))
			return false;
		at += next.size;
		if (!held)
			bytes = bytes.subspan(next.size);
		held = 0;
	}
	return true;
}

bool TraceVerifier::complete() noexcept
{
	if (!ok())
		return false;
	if (held)
		return fail(std::format("the trace ends in the middle of a record, after {} bytes of it", held));
	if (pad_left)
		return fail(std::format("the trace ends in the middle of padding, {} bytes before its end", pad_left));
	return true;
}

void TraceVerifier::announce(std::uint64_t offset, std::uint64_t size, bool missing)
{
	if (missing)
		said_missing.push_back({offset, size});
}

bool TraceVerifier::accounted() noexcept
{
	if (!ok())
		return false;
	for (const auto &gap : gaps) {
		/* Trace that is lost at the end of a transaction leaves its gap in front of the next transaction's trace. */
		bool said = std::ranges::any_of(said_missing, [&](const Announced &one) {
			return one.offset <= gap.before && gap.behind <= one.offset + one.size;
		});
		if (!said)
			return fail(std::format(
				"{} records are missing in front of position {:#x}, and no AUX record there says so",
				gap.records, gap.before));
	}
	return true;
}

/* Checks the bytes at the beginning of the trace, in front of its oldest whole record. */
bool TraceVerifier::cut_front(const Snapshot &shot, std::size_t skip, const auxpmu_record &oldest) noexcept
{
	const std::uint64_t least = seen.empty() ? AUXPMU_RECORD_MAX : seen.front().record_size;
	std::array<std::byte, AUXPMU_RECORD_MAX> front;

	if (shot.certain && !shot.wrapped)
		return fail(std::format("{} bytes in front of the first record of a buffer that was not filled", skip));
	const auto [older, newer] = parts(shot.spans, 0, skip);
	if (all_zero(older) && all_zero(newer)) {
		/* Zeros come from padding, or from a buffer that was never full: then its first record is a START. */
		if (skip < std::max<std::uint64_t>(least, expected.padding) ||
			(!shot.certain && first_kind == AUXPMU_RECORD_START))
			return true;
		return fail(std::format("{} bytes of zeros in front of {}", skip, name(oldest)));
	}
	if (skip >= least)
		return fail(std::format("the oldest whole record lies {} bytes further on: more is in front of it than "
					"the rest of one overwritten record",
			skip));
	if (oldest.kind != AUXPMU_RECORD_DATA || expected.gaps_allowed)
		return true;
	/* The oldest record belongs to the same start..stop, so these bytes are the end of the record before it. */
	std::copy(newer.begin(), newer.end(), std::copy(older.begin(), older.end(), front.begin()));
	const std::uint64_t base = auxpmu_record_base(oldest.stream, oldest.seq - 1, oldest.seed);
	for (std::size_t back = 8; back <= std::min<std::size_t>(skip, oldest.size - header_size); back += 8)
		if (word_at(&front[skip - back]) !=
			payload_word(oldest.pattern, base, (oldest.size - header_size - back) / 8))
			return fail(std::format(
				"{} bytes in front of it is not the end of the record before {}", back, name(oldest)));
	return true;
}

bool TraceVerifier::snapshot(const Snapshot &shot) noexcept
{
	const Spans &spans = shot.spans;
	std::array<std::byte, header_size> joined;
	auxpmu_record oldest{};

	if (!ok())
		return false;
	expected.any_first = true;
	/* Even an uncertain position tells where records may lie. */
	at = shot.certain ? shot.from : (shot.to - spans.size()) % AUXPMU_RECORD_MAX;
	if (shot.certain && shot.to - shot.from != spans.size())
		return fail(std::format("{} bytes from there to {:#x}", spans.size(), shot.to));

	/* The bytes at an offset of the snapshot, as one contiguous stretch of at most a header's length. */
	auto header_at = [&](std::size_t offset) -> std::span<const std::byte> {
		const auto [part, more] = parts(spans, offset, std::min(header_size, spans.size() - offset));

		std::copy(more.begin(), more.end(), std::copy(part.begin(), part.end(), joined.begin()));
		return {joined.data(), part.size() + more.size()};
	};
	std::size_t skip = (AUXPMU_RECORD_MIN - at % AUXPMU_RECORD_MIN) % AUXPMU_RECORD_MIN;
	while (skip < spans.size() && !looks_like_record(header_at(skip)))
		skip += AUXPMU_RECORD_MIN;
	if (!spans.size())
		return true;
	if (skip >= spans.size())
		return fail(std::format("no record in the {} bytes of the buffer", spans.size()));
	std::memcpy(&oldest, header_at(skip).data(), header_size);

	sums.skipped = skip;
	at += skip;
	if (!feed(parts(spans, skip, spans.size() - skip)) || !complete())
		return false;
	if (shot.certain && !shot.wrapped && !shot.from && sums.records && first_kind != AUXPMU_RECORD_START)
		return fail("the first record of a buffer that was not filled is no START");
	return !skip || cut_front(shot, skip, oldest);
}

} // namespace auxpmu
