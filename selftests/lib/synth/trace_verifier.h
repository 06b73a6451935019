/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * TraceVerifier: reads the trace of the synthetic PMU (its format: uapi/linux/auxpmu.h) and proves every byte of it.
 *
 * It checks magic, size, kind, CRC and zero members of each header; each word of each payload, and the zeros of padding; where
 * records lie; that the sequence numbers of each stream have no gap, repetition or step back; that there is a START wherever
 * the trace changes to another stream or CPU; the path of the program; and that time never goes back on one CPU. error()
 * describes the first difference, with its position. After a difference the verifier accepts no more bytes.
 *
 * Feed it the bytes in the order in which they were written, in pieces of any size. It allocates only in its constructor and
 * for error().
 */
#ifndef AUXPMU_SYNTH_TRACE_VERIFIER_H
#define AUXPMU_SYNTH_TRACE_VERIFIER_H

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <linux/auxpmu.h>

#include "kit/aux_ring.h"

namespace auxpmu
{

/* What address filters do to a block of the program. */
enum class Block : std::uint8_t { traced, left_out, stops };
using Program = std::array<Block, AUXPMU_PROGRAM_BLOCKS>;

/* The required properties of a trace; members left empty are not checked. */
struct TraceExpectation {
	std::optional<std::uint32_t> record_size; /* bytes */
	std::optional<std::uint16_t> pattern;     /* enum auxpmu_synth_pattern */
	std::optional<std::uint32_t> seed;
	std::optional<std::uint32_t> cpu;
	std::optional<Program> program; /* by default all of it is traced */
	bool gaps_allowed = false;      /* lost records are counted instead of being an error; see accounted() */
	bool any_first = false;         /* a stream may begin with any sequence number, not only 0 */
	std::size_t streams = 64;       /* more streams than this are an error */
	/* Bytes of the longest padding, if a snapshot may begin inside of one; otherwise paddings are shorter than a record. */
	std::uint32_t padding = 0;
};

/* What has been verified of one stream. */
struct TraceStream {
	std::uint64_t stream = 0;
	std::uint64_t parent = 0;
	std::uint64_t first_seq = 0;
	std::uint64_t next_seq = 0; /* that of the record after the newest one */
	std::uint64_t records = 0;
	std::uint64_t starts = 0; /* records of kind AUXPMU_RECORD_START */
	std::uint64_t lost = 0;   /* records missing in gaps */
	std::uint64_t bytes = 0;
	std::uint64_t end = 0; /* position behind the newest record */
	std::uint32_t record_size = 0;
	std::uint32_t seed = 0;
	std::uint32_t newest_ip = 0;
	std::uint32_t newest_cpu = 0;
	std::uint16_t pattern = 0;
};

/* Sums over all streams. */
struct TraceTotals {
	std::uint64_t bytes = 0;   /* all bytes fed */
	std::uint64_t records = 0; /* padding does not count */
	std::uint64_t starts = 0;
	std::uint64_t record_bytes = 0;
	std::uint64_t pad_bytes = 0;  /* zeros up to the next multiple of 64, and AUXPMU_RECORD_PAD with its payload */
	std::uint64_t lost = 0;       /* records */
	std::uint64_t lost_bytes = 0; /* the same in bytes */
	std::uint64_t skipped = 0; /* snapshot(): the rest of an overwritten record in front of the oldest whole one */
};

class TraceVerifier
{
public:
	explicit TraceVerifier(TraceExpectation expectation = {});

	/*
	 * Sets the position (as aux_head counts) of the first byte that will be fed; 0 by default. Call it only before the
	 * first feed().
	 */
	void begin_at(std::uint64_t position) noexcept;

	/* Takes the next bytes. False if these, or any before them, are wrong. */
	bool feed(std::span<const std::byte> bytes) noexcept;
	bool feed(const Spans &spans) noexcept { return feed(spans.first) && feed(spans.second); }

	/* Was the last record whole? Call this when all committed trace has been fed. */
	bool complete() noexcept;

	/*
	 * Announces a PERF_RECORD_AUX of the trace: where it begins, its size in bytes, and whether it says that trace is
	 * missing (TRUNCATED, PARTIAL). May be called before or after its bytes are fed.
	 */
	void announce(std::uint64_t offset, std::uint64_t size, bool missing);
	/*
	 * Does every gap lie where an announced record says that trace is missing? Call this when all records have been
	 * announced.
	 */
	bool accounted() noexcept;

	/*
	 * Verifies an overwrite-mode buffer, while the event is disabled: from the oldest whole record to the newest one, which
	 * must end exactly at aux_head. The oldest record may be preceded by the rest of the record before it, or of padding.
	 * In a buffer that was never full nothing precedes it or, if that is not certain, zeros, and the first record is a
	 * START. Streams may begin with any sequence number. Call this once per verifier.
	 */
	bool snapshot(const Snapshot &shot) noexcept;

	bool ok() const noexcept { return failure.empty(); }
	/* The first difference, as readable text; empty as long as there is none. */
	const std::string &error() const noexcept { return failure; }

	const TraceTotals &totals() const noexcept { return sums; }
	/* The streams in the order in which they were first seen. */
	std::span<const TraceStream> streams() const noexcept { return seen; }
	/* nullptr if no record of this stream was seen. */
	const TraceStream *find(std::uint64_t stream) const noexcept;
	/* The CPUs that wrote any of the trace. */
	std::vector<std::uint32_t> cpus() const;
	/* Position behind the last byte fed. */
	std::uint64_t position() const noexcept { return at + held; }

private:
	struct Gap {
		std::uint64_t behind,
			before; /* positions: where the record before it ends, and the one after it begins */
		std::uint64_t records;
	};
	struct Announced {
		std::uint64_t offset, size;
	};

	bool fail(std::string text) noexcept;
	bool header(const auxpmu_record &record, const std::byte *bytes) noexcept;
	bool padding(const auxpmu_record &record) noexcept;
	bool asked_for(const auxpmu_record &record) noexcept;
	bool clock(const auxpmu_record &record) noexcept;
	bool record(const std::byte *bytes) noexcept;
	bool payload(const auxpmu_record &record, const std::byte *bytes) noexcept;
	bool sequence(const auxpmu_record &record) noexcept;
	bool missing(TraceStream &stream, const auxpmu_record &record) noexcept;
	bool switched(const TraceStream &stream, const auxpmu_record &record) noexcept;
	bool program(const TraceStream &stream, const auxpmu_record &record) noexcept;
	bool filtered_program(const TraceStream &stream, const auxpmu_record &record) noexcept;
	bool cut_front(const Snapshot &shot, std::size_t skip, const auxpmu_record &oldest) noexcept;
	bool zeros(std::span<const std::byte> bytes, const char *what) noexcept;
	TraceStream *stream_of(const auxpmu_record &record) noexcept;
	std::string name(const auxpmu_record &record) const;

	TraceExpectation expected;
	TraceTotals sums;
	std::vector<TraceStream> seen;
	TraceStream *current = nullptr;         /* the stream of the newest record */
	std::vector<std::uint64_t> newest_time; /* by CPU */
	std::vector<Gap> gaps;                  /* reserved in the constructor */
	std::vector<Announced> said_missing;
	std::uint64_t pad_stream = 0; /* stream of padding after which no record came yet */
	std::uint16_t first_kind = 0; /* of the first record that was not padding */
	std::uint64_t at = 0;         /* position of the next byte to be verified */
	std::uint64_t pad_left = 0;   /* bytes of a padding record's payload still to come */
	std::size_t held = 0;         /* bytes in "hold": the beginning of a record not yet whole */
	std::unique_ptr<std::array<std::byte, AUXPMU_RECORD_MAX>> hold;
	std::string failure;
};

} // namespace auxpmu

#endif /* AUXPMU_SYNTH_TRACE_VERIFIER_H */
