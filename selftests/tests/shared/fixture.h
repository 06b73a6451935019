/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the contract tests share: the options of the run, a Tracer that records, verifies and keeps the books of one event,
 * and ways to wait for something to become so.
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
	std::uint64_t bytes = 256 * MiB; /* for each output, in the tests of volume */
	/* In the tests of endurance: */
	std::uint64_t rounds = 4;
	std::uint64_t samples = 400;
	std::uint64_t seed = 1;
	std::string progress; /* a folder, or nothing */
	bool no_skip = false; /* what is skipped has failed */
};
Options &options();

/* The PMU under test; looked up once. */
const Pmu &pmu();
/* From now on that one is under test. */
void select_pmu(const std::string &name);
/* Is it a synthetic PMU, whose trace can be verified and made on demand? */
bool synthetic();

/* How an event is to be opened and mapped. */
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
	bool mappings = false; /* are they recorded? */
	/* Of the synthetic PMU only: */
	unsigned output = AUXPMU_SYNTH_SCATTER;
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

/* What the data ring said. */
struct Tally {
	std::uint64_t aux_records = 0;
	std::uint64_t aux_bytes = 0;
	std::uint64_t empty = 0; /* AUX records of size 0 without a flag that says why */
	std::uint64_t truncated = 0;
	std::uint64_t partial = 0;
	std::uint64_t overwrite = 0;
	std::uint64_t itrace_starts = 0;
	std::uint64_t lost = 0;
	std::uint64_t last_offset = 0;
	std::uint64_t largest = 0;
};

/*
 * One event of the PMU under test with its rings and its books.  Everything that goes wrong in making it throws, which fails
 * the test with the kit's explanation.
 */
class Tracer
{
public:
	explicit Tracer(const Setup &setup);

	void enable() { event.enable().value(); }
	void disable() { event.disable().value(); }

	/* Makes the unit of the event's CPU (or of cpu) write bytes, and returns the result; synthetic PMU only. */
	Emitter::Outcome emit(std::uint64_t bytes, int cpu = -1);
	/* emit() that must succeed whole. */
	void emit_all(std::uint64_t bytes, int cpu = -1);
	/*
	 * Produces trace on any PMU: asks a synthetic one for bytes, and keeps the CPU busy for any other while it is enabled.
	 */
	void produce(std::uint64_t bytes);

	/*
	 * Takes what both rings hold: records into the tally, trace into the verifier, room given back; samples, which need the
	 * attr of the event that took them to be read, to "sample".
	 */
	std::uint64_t drain(const std::function<void(const RecordView &)> &sample = {});
	/* Has bytes written and drained, piece by piece, with ENABLE whenever the buffer was full. Returns how often it was. */
	std::uint64_t pump(std::uint64_t bytes, std::uint64_t piece, int cpu = -1);

	/* What the trace has to be from here on, if it is not what the setup says; nothing may have been fed yet. */
	void expect(const TraceExpectation &expectation);
	/* Losses may be told of in the trace: always, or where the unit has RAM of its own for which there may be no room. */
	void allow_gaps();
	void allow_gaps_of_copies();

	/* Is it switched off?  Waits until that can be told. */
	bool off();

	/*
	 * Disables, takes the rest, and compares the three oracles: the records in the trace, the records of the data ring, and
	 * the statistics since this Tracer was made.
	 */
	void finish();
	/* The same without the statistics, for when somebody else traced, too. */
	void finish_without_statistics();
	/* Unmaps the AUX area and maps it anew. */
	void remap();

	Setup setup;
	Event event;
	DataRing data;
	AuxRing aux;
	TraceVerifier verifier;
	Tally tally;
	std::uint64_t first_head = 0; /* of the AUX area when it was mapped */
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

/* A CPU's work that any PMU traces something of, for 50 ms; returns true. */
bool keep_busy();
/* Binds the calling thread to one CPU; skips the test when it does not exist. */
void pin(int cpu);
/* CPUs online. */
int cpus();

/* Waits until the condition holds; after 20 s the test fails and says what it waited for. */
void wait_until(const char *what, const std::function<bool()> &condition);

/* Skips the test unless the synthetic PMU is under test and debugfs can be read. */
void need_synthetic();
/* Skips the test when the PMU under test cannot do this. */
Tracer open_or_skip(const Setup &setup);

/* Runs body in a child process; true if it returned true. Body prints reasons as lines that begin with "# ". */
pid_t spawn(const std::function<bool()> &body);
bool succeeded(pid_t child);

/* Numbers that a test and its children share; 0 at first. */
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

/* A pipe on which one side tells the other to go on. */
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
		 * The child has a copy of the writing end; if it stays open, the child waits for ever when the parent is gone.
		 */
		out = UniqueFd();
		return ::read(in.get(), &byte, 1) == 1;
	}

private:
	UniqueFd in, out;
};

/* What the kernel logs from now on. */
class KernelLog
{
public:
	KernelLog();
	/* Lines since it was made or last asked. */
	std::vector<std::string> lines();
	/* Is there a line with that text? */
	bool says(std::string_view text);
	/*
	 * What the kernel says it may have to be silent about, because it just said it so often (printk_ratelimited(): ten times
	 * in five seconds). Until it is heard again; at once, if it was never said.
	 */
	static void until_heard(std::string_view text);

private:
	std::vector<std::string> records();

	UniqueFd file;
};

} // namespace auxpmu::test

#endif /* AUXPMU_TESTS_FIXTURE_H */
