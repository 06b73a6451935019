/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Code shared by the contract tests: the options of the run, a Tracer that records, verifies and keeps the accounts of one
 * event, and functions that wait for a condition.
 */
#ifndef AUXPMU_TESTS_FIXTURE_H
#define AUXPMU_TESTS_FIXTURE_H

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include <unistd.h>

#include <catch2/catch_test_macros.hpp>

#include "kit/aux_ring.h"
#include "kit/data_ring.h"
#include "kit/event.h"
#include "kit/handle.h"
#include "kit/kernel_log.h"
#include "kit/liveness.h"
#include "kit/pmu.h"
#include "kit/statistics.h"
#include "synth/on_demand.h"
#include "synth/trace_verifier.h"

namespace auxpmu::test
{

constexpr std::size_t KiB = 1024;
constexpr std::size_t MiB = 1024 * KiB;

struct Options {
	std::string pmu = AUXPMU_SYNTH_NAME;
	std::uint64_t bytes = 256 * MiB; /* for each output, in the volume tests */
	/* For the endurance tests: */
	std::uint64_t rounds = 4;
	std::uint64_t samples = 400;
	std::uint64_t seed = 1;
	std::string progress; /* a folder, or empty */
	bool no_skip = false; /* a skipped test counts as failed */
};
Options &options();

/* The PMU under test, looked up once. */
const Pmu &pmu();
/* Makes this PMU the one under test from now on. */
void select_pmu(const std::string &name);
/* Does its caps/ say that it can do this? */
bool can(const char *what);
/* Is it a synthetic PMU, whose trace can be verified and made on demand? */
bool synthetic();

/*
 * The ways in which the synthetic unit under test writes: all, or the one of a modelled unit; those of them that write into the AUX
 * area themselves; those for which it matters which pages lie together.
 */
std::vector<unsigned> every_output();
std::vector<unsigned> zero_copy_outputs();
std::vector<unsigned> block_outputs();
/* The first of them, or 0 for a user who may open none. Any other PMU has one, 0. */
unsigned usual_output();

/* How to open and map an event. */
struct Setup {
	Target target = Target::on_cpu(0);
	AuxMode mode = AuxMode::full_trace;
	DataAccess data_access = DataAccess::read_write;
	std::size_t data_bytes = 64 * KiB;
	std::size_t aux_bytes = 64 * KiB;
	std::uint32_t watermark = 0;
	bool inherit = false;
	bool enable_on_exec = false;
	bool exclude_kernel = false;
	bool mappings = false; /* are mappings recorded? */
	/* For the synthetic PMU only: */
	unsigned output = usual_output();
	std::uint32_t record = 64; /* bytes */
	unsigned pattern = AUXPMU_SYNTH_COUNTER;
	unsigned pages = AUXPMU_SYNTH_PAGES_LARGE;
	std::uint32_t seed = 0x5eed;
	std::uint64_t program = 0; /* its address */
	bool manual = true;
	unsigned rate = 0;
};
std::string describe(const Setup &setup);
perf_event_attr make_attr(const Setup &setup);
TraceExpectation make_expectation(const Setup &setup);

/* Sums of the records of the data ring. */
struct Tally {
	std::uint64_t aux_records = 0;
	std::uint64_t aux_bytes = 0;
	std::uint64_t empty = 0; /* AUX records of size 0 without a flag that explains it */
	std::uint64_t truncated = 0;
	std::uint64_t partial = 0;
	std::uint64_t overwrite = 0;
	std::uint64_t itrace_starts = 0;
	std::uint64_t lost = 0;
	std::uint64_t last_offset = 0;
	std::uint64_t largest = 0;
};

/*
 * One event of the PMU under test with its rings and its accounts. Any failure to create it throws, which fails the test with
 * the kit's explanation.
 */
class Tracer
{
public:
	explicit Tracer(const Setup &setup);

	void enable() { event.enable().value(); }
	void disable() { event.disable().value(); }

	/* Makes the unit of the event's CPU (or of cpu) write bytes, and returns the result; synthetic PMU only. */
	Emitter::Outcome emit(std::uint64_t bytes, int cpu = -1);
	/* An emit() that must write all bytes. */
	void emit_all(std::uint64_t bytes, int cpu = -1);
	/*
	 * Produces trace on any PMU: asks a synthetic one for bytes, and keeps the CPU busy for any other while it is enabled.
	 */
	void produce(std::uint64_t bytes);

	/*
	 * Takes the contents of both rings: records go to the tally, trace to the verifier, and room is given back; samples go
	 * to "sample", because reading them requires the attr of the event that took them.
	 */
	std::uint64_t drain(const std::function<void(const RecordView &)> &sample = {});
	/*
	 * Has bytes written and drained piece by piece, with ENABLE whenever the buffer was full. Returns how often it was
	 * full.
	 */
	std::uint64_t pump(std::uint64_t bytes, std::uint64_t piece, int cpu = -1);

	/* Sets the expected trace from here on, if it differs from the setup; nothing may have been fed yet. */
	void expect(const TraceExpectation &expectation);
	/* Allows gaps in the trace: always, or only for units with RAM of their own, whose contents may find no room. */
	void allow_gaps();
	void allow_gaps_of_copies();

	/* Is the event switched off? Waits until this can be determined. */
	bool off();

	/*
	 * Disables the event, takes the rest, and compares the three oracles: the records in the trace, the records of the data
	 * ring, and the statistics since this Tracer was created.
	 */
	void finish();
	/* Likewise without the statistics, for tests in which others traced, too. */
	void finish_without_statistics();
	/* Unmaps the AUX area and maps it anew. */
	void remap();

	Setup setup;
	Event event;
	DataRing data;
	AuxRing aux;
	TraceVerifier verifier;
	Tally tally;
	std::uint64_t first_head = 0; /* aux_head when the area was mapped */
	std::optional<Statistics> before;

private:
	std::optional<Liveness> liveness;

	void check_full();
	void check_overwrite();
	void check_statistics();
};

/* The emitter of the PMU under test, opened once. */
Emitter &emitter();
Statistics statistics();
std::vector<BufferLine> buffers();

/* Keeps a CPU busy for 50 ms with work of which any PMU traces something; returns true. */
bool keep_busy();
/* Binds the calling thread to one CPU; skips the test if there is no such CPU. */
void pin(int cpu);
/* The number of online CPUs. */
int cpus();

/* Waits until the condition holds; after 20 s the test fails and reports what it waited for. */
void wait_until(const char *what, const std::function<bool()> &condition);

/* Skips the test unless the synthetic PMU is under test and debugfs can be read. */
void need_synthetic();
/* Skips the test when the PMU under test cannot do this. */
Tracer open_or_skip(const Setup &setup);

/* Runs body in a child process, which succeeded if body returned true. Body prints reasons as lines that begin with "# ". */
pid_t spawn(const std::function<bool()> &body);
bool succeeded(pid_t child);

/* Numbers shared by a test and its children; 0 at first. */
class SharedNumbers
{
public:
	explicit SharedNumbers(std::size_t count);
	~SharedNumbers();
	SharedNumbers(const SharedNumbers &) = delete;
	std::atomic<std::uint64_t> &operator[](std::size_t n) const { return at[n]; }

private:
	std::atomic<std::uint64_t> *at;
	std::size_t bytes;
};

/* A pipe through which one side tells the other to continue. */
class Gate
{
public:
	Gate()
	{
		int ends[2];

		if (::pipe(ends))
			throw std::runtime_error("pipe");
		in = UniqueFd(ends[0]);
		out = UniqueFd(ends[1]);
	}
	void open() { (void)!::write(out.get(), "x", 1); }
	bool wait()
	{
		char byte;

		/*
		 * The child has a copy of the writing end; if it stays open, the child waits forever once the parent is gone.
		 */
		out = UniqueFd();
		return ::read(in.get(), &byte, 1) == 1;
	}

private:
	UniqueFd in, out;
};

/*
 * Waits until the kernel logs a message again that its rate limit may suppress because it came too often (printk_ratelimited(): ten
 * times in five seconds). Returns at once if the message never came.
 */
void until_heard(std::string_view text);

} // namespace auxpmu::test

#endif /* AUXPMU_TESTS_FIXTURE_H */
