/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * PerfDataVerifier: proves that perf recorded all of a synthetic unit's trace, without errors.
 *
 * Full trace: the AUXTRACE payloads of each AUX area follow one another without a gap from position 0, every byte of them is
 * verified (TraceVerifier), and the PERF_RECORD_AUX records announce exactly these positions. Trace may be missing only where
 * the record of that place says TRUNCATED or PARTIAL. Overwrite (perf record -S): every payload is a whole snapshot, ends where
 * an AUX record says that the trace ended, and is not older than the one before it. Samples: the payload of each ends with a
 * whole record, has nothing but zeros in front of its trace, and is not older than the one before it.
 *
 * Several files are one recording that perf split (--switch-output), in this order.
 */
#ifndef AUXPMU_PERFDATA_PERF_DATA_VERIFIER_H
#define AUXPMU_PERFDATA_PERF_DATA_VERIFIER_H

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "perfdata/perf_data.h"
#include "synth/trace_verifier.h"

namespace auxpmu
{

/* What the verifier found, summed over all files. */
struct PerfDataFacts {
	std::uint64_t rings = 0;    /* AUX areas with trace or AUX records */
	std::uint64_t payloads = 0; /* AUXTRACE records */
	std::uint64_t bytes = 0;    /* in them */
	std::uint64_t cut = 0;      /* bytes that perf drops at the ends of intel_bts payloads */
	std::uint64_t records = 0;  /* of trace, in payloads and samples */
	std::uint64_t starts = 0;
	std::uint64_t streams = 0;
	std::uint64_t lost = 0; /* bytes of trace, computed from sequence numbers */
	std::uint64_t aux_records = 0;
	std::uint64_t aux_bytes = 0;
	std::uint64_t overwrite = 0, truncated = 0, partial = 0, collision = 0; /* AUX records with that flag */
	std::uint64_t itrace_starts = 0;
	std::uint64_t samples = 0;       /* of all events */
	std::uint64_t aux_samples = 0;   /* with a payload */
	std::uint64_t blank_samples = 0; /* those with nothing but zeros */
	std::uint64_t sample_bytes = 0;
	std::uint64_t lost_records = 0; /* PERF_RECORD_LOST: of the data rings */
	std::uint64_t repeated = 0;     /* records that perf wrote twice */
	std::uint64_t stale_index = 0;  /* entries of AUXTRACE indices that name nothing */
	std::set<std::uint32_t> cpus;   /* that wrote trace */
};

struct PerfDataExpectation {
	/* The files are the end of a recording: the first payload need not be the first of the trace. */
	bool continued = false;
};

class PerfDataVerifier
{
public:
	explicit PerfDataVerifier(PerfDataExpectation expectation = {}) : expected(expectation) {}

	void add(PerfData file);
	/* Call this once, when all files have been added. False if anything is wrong, or if there is no trace at all. */
	bool verify();

	/* The first error; empty if there is none. */
	const std::string &error() const noexcept { return failure; }
	const PerfDataFacts &facts() const noexcept { return found; }

private:
	struct Payload {
		const PerfData *file;
		std::uint64_t at;
		Auxtrace from;
	};
	struct Announced {
		const PerfData *file;
		std::uint64_t at;
		AuxRecord record;
	};
	struct Ring {
		std::vector<Payload> payloads;
		std::vector<Announced> announced;
		std::uint64_t lost = 0; /* records of its data ring */
	};

	bool fail(const PerfData &file, std::uint64_t at, const std::string &what);
	bool collect(const PerfData &file);
	bool repeated(const PerfDataRecord &record);
	bool announce(const PerfData &file, std::uint64_t at, const AuxRecord &aux);
	bool known(const Ring &ring) const;
	bool announced(const Ring &ring);
	bool full_trace(const Ring &ring);
	bool contiguous(const Ring &ring, std::uint64_t end);
	std::uint64_t slack(const Ring &ring) const;
	bool overwritten(const Ring &ring);
	bool sample(const PerfData &file, const PerfDataRecord &record);
	bool newest(const PerfData &file, std::uint64_t at, const TraceVerifier &verifier,
		std::map<std::uint64_t, std::uint64_t> &before);
	void count(const TraceVerifier &verifier);

	PerfDataExpectation expected;
	std::vector<PerfData> files;
	std::map<std::uint32_t, Ring> rings;
	std::uint64_t lost_elsewhere = 0; /* records that data rings lost, when their AUX area is not known */
	std::map<std::uint64_t, std::uint64_t> sampled; /* by stream: the sequence number after the newest */
	std::set<std::uint64_t> streams;
	std::set<std::pair<std::uint32_t, std::string_view>> seen; /* type and body of records made by the kernel */
	PerfDataFacts found;
	std::string failure;
};

} // namespace auxpmu

#endif /* AUXPMU_PERFDATA_PERF_DATA_VERIFIER_H */
