/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * PerfData: a perf.data file as perf record writes it, to a file or into a pipe. The format is that of the kernel's
 * tools/perf/Documentation/perf.data-file-format.txt; no part of perf is needed to read it.
 *
 * Every size in the file is checked before use; a wrong one is an Error that names the place. Not supported: compressed files
 * (perf record -z), directories (--threads), files of the other byte order.
 */
#ifndef AUXPMU_PERFDATA_PERF_DATA_H
#define AUXPMU_PERFDATA_PERF_DATA_H

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <linux/perf_event.h>

#include "kit/record.h"
#include "kit/result.h"

namespace auxpmu
{

/* Record types that perf adds to the kernel's. */
enum PerfDataType : std::uint32_t {
	PERF_DATA_HEADER_ATTR = 64,
	PERF_DATA_TRACING_DATA = 66,
	PERF_DATA_ID_INDEX = 69,
	PERF_DATA_AUXTRACE_INFO = 70,
	PERF_DATA_AUXTRACE = 71,
	PERF_DATA_COMPRESSED = 81,
	PERF_DATA_COMPRESSED2 = 83,
};

/* An event as it was opened, and the ids of its instances, one for each thread or CPU. */
struct PerfDataEvent {
	perf_event_attr attr;
	std::vector<std::uint64_t> ids;
};

/* PERF_RECORD_AUXTRACE: what was read from one AUX area at one time. */
struct Auxtrace {
	std::uint64_t offset; /* full trace: position of the first byte */
	std::uint64_t reference;
	std::uint32_t ring; /* which of the AUX areas */
	std::int32_t tid;   /* or -1 */
	std::int32_t cpu;   /* or -1 */
	std::span<const std::byte> trace;
};

struct PerfDataRecord {
	std::uint64_t at; /* offset of its header in the file */
	RecordView view;
	const PerfDataEvent *event;       /* whose layout the record has; nullptr for a sample of an unknown event */
	std::optional<Auxtrace> auxtrace; /* only of PERF_DATA_AUXTRACE */
};

class PerfData
{
public:
	PerfData(PerfData &&) = default; /* no copies: records point into it */
	PerfData &operator=(PerfData &&) = default;

	static Result<PerfData> open(const std::string &path);
	/* Parses a file in memory; errors refer to it by this name. */
	static Result<PerfData> parse(std::vector<std::byte> bytes, std::string name);

	const std::string &name() const noexcept { return called; }
	const std::vector<PerfDataEvent> &events() const noexcept { return opened; }
	const std::vector<PerfDataRecord> &records() const noexcept { return all; }
	/* enum auxtrace_type of perf (1 intel_pt, 2 intel_bts, ...), or 0 when there is no AUXTRACE_INFO. */
	std::uint32_t auxtrace_type() const noexcept { return kind; }
	/* Number of entries of the AUXTRACE index that name no record of this file: perf keeps those of earlier files in it. */
	std::uint64_t stale_index() const noexcept { return stale; }
	/* The AUX area to which the event instance with this id writes. */
	std::optional<std::uint32_t> ring_of(std::uint64_t id) const noexcept;

private:
	explicit PerfData(std::vector<std::byte> from, std::string name)
		: bytes(std::move(from)), called(std::move(name))
	{
	}

	Result<void> read();
	Result<void> read_events(std::uint64_t offset, std::uint64_t size, std::uint64_t each);
	Result<void> read_records(std::uint64_t offset, std::uint64_t end);
	Result<void> read_index(std::uint64_t sections, std::span<const std::uint64_t> features);
	Result<void> take(PerfDataRecord &record, std::uint64_t &next, std::uint64_t end);
	const PerfDataEvent *event_of(const RecordView &view) const noexcept;
	Error wrong(std::uint64_t at, std::string what) const;

	struct Instance {
		std::uint64_t id;
		std::uint32_t ring;
	};

	std::vector<std::byte> bytes;
	std::string called;
	std::vector<PerfDataEvent> opened;
	std::vector<PerfDataRecord> all;
	std::vector<Instance> instances;
	std::uint32_t kind = 0;
	std::uint64_t stale = 0;
};

} // namespace auxpmu

#endif /* AUXPMU_PERFDATA_PERF_DATA_H */
