/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * TraceVerifier: reads the trace of the synthetic PMU (its format: uapi/linux/auxpmu.h) and proves every byte of it.
 *
 * It checks magic, size, kind, CRC and zero members of each header; each word of each payload, and the zeros of padding; where
 * records lie; that sequence numbers of each stream have no gap, repetition or step back; that there is a START wherever the
 * trace changes to another stream or CPU; the path of the program; that time never goes back on one CPU. error() describes the
 * first difference, with its position. After that the verifier takes nothing more.
 *
 * Feed it the bytes in the order in which they were written, in pieces of any size. Allocates in its constructor, and for
 * error().
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

#include "../../../uapi/linux/auxpmu.h"

#include "kit/aux_ring.h"

namespace auxpmu
{

/* What address filters make of a block of the program. */
enum class Block : std::uint8_t { traced, left_out, stops };
using Program = std::array<Block, AUXPMU_PROGRAM_BLOCKS>;

/* What a trace has to look like; what is left empty is not asked for. */
struct TraceExpectation {
	std::optional<std::uint32_t> record_size; /* bytes */
	std::optional<std::uint16_t> pattern;     /* enum auxpmu_synth_pattern */
	std::optional<std::uint32_t> seed;
	std::optional<std::uint32_t> cpu;
	std::optional<Program> program; /* all of it is traced unless told */
	bool gaps_allowed = false;      /* lost records are counted instead of being an error; see accounted() */
	bool any_first = false;         /* a stream may begin with any sequence number, not only 0 */
	std::size_t streams = 64;       /* more than that many are an error */
	/* Bytes of the longest padding, where a snapshot may begin inside of one; else they are less than a record. */
	std::uint32_t padding = 0;
};

/* What has been verified of one stream. */
struct TraceStream {
	std::uint64_t stream = 0;
	std::uint64_t parent = 0;
	std::uint64_t first_seq = 0;
	std::uint64_t next_seq = 0; /* of the record after the newest */
	std::uint64_t records = 0;
	std::uint64_t starts = 0; /* of those, AUXPMU_RECORD_START */
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
	std::uint64_t bytes = 0;   /* all that was fed */
	std::uint64_t records = 0; /* padding is none */
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

	/* The position (aux_head's count) of the first byte that will be fed; 0 unless told.  Before the first feed() only. */
	void begin_at(std::uint64_t position) noexcept;

	/* The next bytes.  False when they, or any before them, are wrong. */
	bool feed(std::span<const std::byte> bytes) noexcept;
	bool feed(const Spans &spans) noexcept { return feed(spans.first) && feed(spans.second); }

	/* Was the last record whole? Call when all committed trace has been fed. */
	bool complete() noexcept;

	/*
	 * A PERF_RECORD_AUX of the trace that is fed: where it begins, its bytes, and whether it says that trace is missing
	 * (TRUNCATED, PARTIAL).  Before or after its bytes were fed.
	 */
	void announce(std::uint64_t offset, std::uint64_t size, bool missing);
	/* Does every gap lie where an announced record says that trace is missing? Call when all have been announced. */
	bool accounted() noexcept;

	/*
	 * An overwriting buffer, while the event is disabled: from the oldest whole record to the newest, which has to end
	 * exactly at aux_head.  In front of the oldest may lie the rest of the record before it, or of padding; and of a
	 * buffer that was not filled nothing, or, where that is not certain, zeros, and then a START.  Streams may begin with
	 * any sequence number.  Once for each verifier.
	 */
	bool snapshot(const Snapshot &shot) noexcept;

	bool ok() const noexcept { return failure.empty(); }
	/* The first difference, for people; empty while there is none. */
	const std::string &error() const noexcept { return failure; }

	const TraceTotals &totals() const noexcept { return sums; }
	/* In the order they were first seen. */
	std::span<const TraceStream> streams() const noexcept { return seen; }
	/* Nothing when no record of it was seen. */
	const TraceStream *find(std::uint64_t stream) const noexcept;
	/* That wrote any of it. */
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
	TraceStream *current = nullptr;         /* that the newest record is of */
	std::vector<std::uint64_t> newest_time; /* by CPU */
	std::vector<Gap> gaps;                  /* as many as it was made for */
	std::vector<Announced> said_missing;
	std::uint64_t pad_stream = 0; /* that padding was of, and no record yet */
	std::uint16_t first_kind = 0; /* of the first record that was not padding */
	std::uint64_t at = 0;         /* position of the next byte to be verified */
	std::uint64_t pad_left = 0;   /* bytes of a padding record's payload still to come */
	std::size_t held = 0;         /* bytes in "hold": the beginning of a record not yet whole */
	std::unique_ptr<std::array<std::byte, AUXPMU_RECORD_MAX>> hold;
	std::string failure;
};

} // namespace auxpmu

#endif /* AUXPMU_SYNTH_TRACE_VERIFIER_H */
