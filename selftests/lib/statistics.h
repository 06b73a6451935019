/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a PMU of auxpmu shows in debugfs: counters, live buffers, and, for the synthetic one, trace on demand.  Needs root.
 */
#ifndef AUXPMU_LIB_STATISTICS_H
#define AUXPMU_LIB_STATISTICS_H

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "handle.h"
#include "result.h"

namespace auxpmu
{

/* The counters at one moment: bytes or counts since the PMU was registered. */
class Statistics
{
public:
	static Result<Statistics> read(std::string_view pmu);
	/* From the text of the file. */
	static Result<Statistics> parse(std::string_view text);

	/* Summed over all CPUs; a counter that does not exist throws std::out_of_range with its name. */
	std::uint64_t operator[](std::string_view counter) const;
	std::uint64_t on_cpu(std::string_view counter, unsigned cpu) const;
	/* What was counted since "before". */
	Statistics since(const Statistics &before) const;
	/* Counters that are not zero, for people. */
	std::string text() const;

private:
	struct Row {
		std::uint64_t total = 0;
		std::map<unsigned, std::uint64_t> cpus;
	};
	const Row &row(std::string_view counter) const;

	std::vector<std::string> order;
	std::map<std::string, Row, std::less<>> rows;
};

/* One line of "buffers". */
struct BufferLine {
	std::uint64_t bytes = 0;
	bool overwrite = false;
	std::uint64_t chunks = 0;
	std::map<unsigned, std::uint64_t> orders; /* order -> number of chunks */

	static Result<std::vector<BufferLine>> read(std::string_view pmu);
	static Result<std::vector<BufferLine>> parse(std::string_view text);
};

/* Trace on demand.  The descriptor stays usable after privileges are dropped. */
class Emitter
{
public:
	static Result<Emitter> open(std::string_view pmu);

	struct Outcome {
		int error;           /* 0, ENXIO: no event is tracing there, ENOSPC: the buffer became full first */
		std::uint64_t bytes; /* that were written */
	};
	/* Has the unit of cpu write that many bytes, a multiple of the record size, now.  Does not allocate. */
	Outcome emit(int cpu, std::uint64_t bytes) noexcept;

private:
	UniqueFd command;
	UniqueFd result;
};

/* NMIs on demand; for one user at a time.  What was asked for ends with the object. */
class NmiSender
{
public:
	static Result<NmiSender> open(std::string_view pmu);

	/* Sends that many to cpu, each when the one before was handled.  Returns 0 or an errno.  Does not allocate. */
	int send(int cpu, unsigned count) noexcept;
	/* From now on each CPU sends itself one at that step of its sessions: "begin", "sample", ... (uapi/linux/auxpmu.h). */
	Result<void> at(std::string_view step);
	/* No more of these. */
	Result<void> off();

private:
	Result<void> command(std::string_view text);

	UniqueFd file;
};

/* What "bench" measured. */
struct BenchResult {
	std::uint64_t bytes = 0;
	std::uint64_t records_ns = 0; /* to write them as records */
	std::uint64_t memset_ns = 0;  /* to write them with memset() */
};
Result<BenchResult> run_bench(std::string_view pmu, std::uint64_t bytes);

} // namespace auxpmu

#endif /* AUXPMU_LIB_STATISTICS_H */
