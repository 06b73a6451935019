/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The records of a data ring as types. A RecordView refers to the bytes in place; decode() turns it into a Record without
 * allocating or copying payload: the spans of the Record point into the view and live as long as it does.
 */
#ifndef AUXPMU_KIT_RECORD_H
#define AUXPMU_KIT_RECORD_H

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <variant>

#include <linux/perf_event.h>

namespace auxpmu
{

/* One record, whole and contiguous: the header and the bytes that follow it. */
struct RecordView {
	perf_event_header header;
	std::span<const std::byte> body; /* header.size - sizeof(header) bytes */
};

/* The trailer that sample_id_all appends to every record that is not a sample; members that sample_type leaves out are 0. */
struct SampleId {
	std::uint32_t pid = 0, tid = 0;
	std::uint64_t time = 0;
	std::uint64_t id = 0;
	std::uint64_t stream_id = 0;
	std::uint32_t cpu = 0;
};

/* PERF_RECORD_AUX: trace was handed over. */
struct AuxRecord {
	std::uint64_t offset; /* full trace: where the trace begins; overwrite: where it ends */
	std::uint64_t size;   /* bytes */
	std::uint64_t flags;  /* PERF_AUX_FLAG_... */
	SampleId id;

	bool truncated() const noexcept { return flags & PERF_AUX_FLAG_TRUNCATED; }
	bool overwrite() const noexcept { return flags & PERF_AUX_FLAG_OVERWRITE; }
	bool partial() const noexcept { return flags & PERF_AUX_FLAG_PARTIAL; }
	bool collision() const noexcept { return flags & PERF_AUX_FLAG_COLLISION; }
};

/* PERF_RECORD_ITRACE_START: this thread is traced from here on. */
struct ItraceStartRecord {
	std::uint32_t pid, tid;
	SampleId id;
};

/* PERF_RECORD_LOST: the data ring was full. */
struct LostRecord {
	std::uint64_t event_id;
	std::uint64_t lost; /* records */
	SampleId id;
};

/* PERF_RECORD_LOST_SAMPLES: the PMU lost samples. */
struct LostSamplesRecord {
	std::uint64_t lost;
	SampleId id;
};

/* PERF_RECORD_THROTTLE and _UNTHROTTLE. */
struct ThrottleRecord {
	bool throttled;
	std::uint64_t time;
	std::uint64_t event_id;
	std::uint64_t stream_id;
	SampleId id;
};

/* PERF_RECORD_AUX_OUTPUT_HW_ID. */
struct AuxOutputHwIdRecord {
	std::uint64_t hw_id;
	SampleId id;
};

/* PERF_RECORD_FORK and _EXIT. */
struct TaskRecord {
	bool exit;
	std::uint32_t pid, ppid, tid, ptid;
	std::uint64_t time;
	SampleId id;
};

/*
 * PERF_RECORD_SAMPLE. The fields from IP to CALLCHAIN, RAW and AUX are decoded. If sample_type has any other field, "rest"
 * holds everything from there on, and raw and aux stay empty.
 */
struct SampleRecord {
	SampleId id;
	std::uint64_t ip = 0;
	std::uint64_t addr = 0;
	std::uint64_t period = 0;
	std::span<const std::byte> callchain; /* 64-bit addresses */
	std::span<const std::byte> raw;
	std::span<const std::byte> aux;
	std::span<const std::byte> rest;
};

/* A record of any other type, or one that is too short for its type. */
struct OtherRecord {
	std::uint32_t type;
	std::span<const std::byte> body;
};

using Record = std::variant<AuxRecord, ItraceStartRecord, LostRecord, LostSamplesRecord, ThrottleRecord,
	AuxOutputHwIdRecord, TaskRecord, SampleRecord, OtherRecord>;

/* attr belongs to the event that owns the ring; its sample_type, sample_id_all and read_format decide the layout. */
Record decode(const RecordView &view, const perf_event_attr &attr) noexcept;

} // namespace auxpmu

#endif /* AUXPMU_KIT_RECORD_H */
