/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Trace, NMIs and a benchmark of the synthetic PMU on demand, by files of debugfs. Needs root.
 */
#ifndef AUXPMU_SYNTH_ON_DEMAND_H
#define AUXPMU_SYNTH_ON_DEMAND_H

#include <cstdint>
#include <string>
#include <string_view>

#include "kit/handle.h"
#include "kit/result.h"

namespace auxpmu
{

/* Trace on demand.  The descriptor stays usable after privileges are dropped. */
class Emitter
{
public:
	static Result<Emitter> open(std::string_view pmu);

	struct Outcome {
		int error;           /* 0, ENXIO: no event is tracing there, ENOSPC: the buffer became full first */
		std::uint64_t bytes; /* that were written */
	};
	/* Makes the unit of cpu write that many bytes, a multiple of the record size, now. Does not allocate. */
	Outcome emit(int cpu, std::uint64_t bytes) noexcept;

private:
	UniqueFd command;
	UniqueFd result;
};

/* NMIs on demand; for one user at a time. The destructor ends them. */
class NmiSender
{
public:
	static Result<NmiSender> open(std::string_view pmu);

	/* What they are: NMI, pseudo-NMI or interrupt (uapi/linux/auxpmu.h). */
	const std::string &kind() const noexcept { return what; }
	/* Only an interrupt waits until interrupts are on. */
	bool waits() const noexcept { return what == "interrupt"; }
	/* Sends that many to cpu, each when the one before was handled.  Returns 0 or an errno.  Does not allocate. */
	int send(int cpu, unsigned count) noexcept;
	/*
	 * From now on each CPU sends itself an NMI at that step of its sessions: "begin", "sample", ... (uapi/linux/auxpmu.h).
	 */
	Result<void> at(std::string_view step);
	/* No more of these. */
	Result<void> off();

private:
	Result<void> command(std::string_view text);

	UniqueFd file;
	std::string what;
};

/* What "bench" measured. */
struct BenchResult {
	std::uint64_t bytes = 0;
	std::uint64_t records_ns = 0; /* to write them as records */
	std::uint64_t memset_ns = 0;  /* to write them with memset() */
};
Result<BenchResult> run_bench(std::string_view pmu, std::uint64_t bytes);

} // namespace auxpmu

#endif /* AUXPMU_SYNTH_ON_DEMAND_H */
