/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Trace, NMIs and a benchmark of the synthetic PMU on demand, through debugfs files. Requires root.
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
		int error; /* 0; ENXIO: no event is tracing on this CPU; ENOSPC: the buffer became full first */
		std::uint64_t bytes; /* bytes that were written */
	};
	/* Makes the unit of cpu write this many bytes, a multiple of the record size, at once. Does not allocate. */
	Outcome emit(int cpu, std::uint64_t bytes) noexcept;

private:
	UniqueFd command;
	UniqueFd result;
};

/* NMIs on demand, for one user at a time. The destructor stops them. */
class NmiSender
{
public:
	static Result<NmiSender> open(std::string_view pmu);

	/* What is sent: NMI, pseudo-NMI or interrupt (uapi/linux/auxpmu.h). */
	const std::string &kind() const noexcept { return what; }
	/* Does delivery wait until interrupts are enabled? Only that of an interrupt does. */
	bool waits() const noexcept { return what == "interrupt"; }
	/* Sends this many to cpu, each after the previous one was handled. Returns 0 or an errno. Does not allocate. */
	int send(int cpu, unsigned count) noexcept;
	/*
	 * From now on each CPU sends itself an NMI at this step of its sessions: "begin", "sample", ... (uapi/linux/auxpmu.h).
	 */
	Result<void> at(std::string_view step);
	/* Stops these NMIs. */
	Result<void> off();

private:
	Result<void> command(std::string_view text);

	UniqueFd file;
	std::string what;
};

/* The result of the debugfs file "bench". */
struct BenchResult {
	std::uint64_t bytes = 0;
	std::uint64_t records_ns = 0; /* time to write the bytes as records */
	std::uint64_t memset_ns = 0;  /* time to write them with memset() */
};
Result<BenchResult> run_bench(std::string_view pmu, std::uint64_t bytes);

} // namespace auxpmu

#endif /* AUXPMU_SYNTH_ON_DEMAND_H */
