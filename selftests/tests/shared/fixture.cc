// SPDX-License-Identifier: GPL-2.0-only
#include "shared/fixture.h"

#include <bit>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <exception>
#include <format>
#include <fstream>
#include <stdexcept>
#include <thread>
#include <utility>

#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>

namespace auxpmu::test
{

namespace
{

constexpr auto patience = std::chrono::seconds(20);

const char *const output_names[] = {"scatter", "window", "copy", "virtual"};

} // namespace

Options &options()
{
	static Options all;

	return all;
}

namespace
{

/* Looked up on first use, and again when another PMU is selected. */
struct Found {
	std::optional<Pmu> pmu;
	std::optional<Emitter> emitter;
};

Found &found()
{
	static Found one;

	return one;
}

} // namespace

const Pmu &pmu()
{
	if (!found().pmu)
		found().pmu = Pmu::find(options().pmu).value();
	return *found().pmu;
}

void select_pmu(const std::string &name)
{
	options().pmu = name;
	found() = {};
}

bool can(const char *what)
{
	return pmu().cap(what).value_or("0").starts_with("1");
}

bool synthetic()
{
	return pmu().has_field("manual") && pmu().has_field("seed") && pmu().has_field("record");
}

namespace
{

/* Would the PMU under test open an event of this output? */
bool takes(unsigned output)
{
	auto attr = pmu().attr();

	attr.disabled = 1;
	return pmu().set(attr, "output", output) && Event::open(attr, Target::task());
}

/* A unit whose output is fixed takes that and 0, which is then no output of its own. */
std::vector<unsigned> look_for_outputs()
{
	std::vector<unsigned> all;

	for (unsigned output = 0; output < std::size(output_names); output++)
		if (takes(output))
			all.push_back(output);
	if (all.size() == 2)
		all.erase(all.begin());
	return all;
}

/* None for a user who may not open any. */
const std::vector<unsigned> &outputs()
{
	/* Each time a PMU is made it has another type. */
	static std::uint32_t of;
	static std::vector<unsigned> all;

	if (const auto type = pmu().attr().type; of != type || all.empty()) {
		all = synthetic() ? look_for_outputs() : std::vector<unsigned>{0};
		of = type;
	}
	return all;
}

} // namespace

std::vector<unsigned> every_output()
{
	/* Tests loop over these: without any they would check nothing. */
	if (outputs().empty())
		throw std::runtime_error(options().pmu + " takes none of the outputs");
	return outputs();
}

std::vector<unsigned> zero_copy_outputs()
{
	auto all = every_output();

	std::erase(all, AUXPMU_SYNTH_COPY);
	return all;
}

std::vector<unsigned> block_outputs()
{
	auto all = every_output();

	std::erase(all, AUXPMU_SYNTH_VIRTUAL);
	return all;
}

unsigned usual_output()
{
	return outputs().empty() ? 0 : outputs().front();
}

std::string describe(const Setup &setup)
{
	if (!synthetic())
		return std::format("{}, AUX area {} KiB ({}), watermark {}, pid {}, CPU {}", options().pmu,
			setup.aux_bytes / KiB, setup.mode == AuxMode::overwrite ? "overwrite" : "full trace",
			setup.watermark, setup.target.pid, setup.target.cpu);
	return std::format("{} output, records of {} bytes, pattern {}, pages {}, AUX area {} KiB ({}), watermark {}, "
			   "pid {}, CPU {}",
		output_names[setup.output], setup.record, setup.pattern, setup.pages, setup.aux_bytes / KiB,
		setup.mode == AuxMode::overwrite ? "overwrite" : "full trace", setup.watermark, setup.target.pid,
		setup.target.cpu);
}

perf_event_attr make_attr(const Setup &setup)
{
	perf_event_attr attr = pmu().attr();

	attr.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU;
	attr.sample_id_all = 1;
	attr.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
	attr.aux_watermark = setup.watermark;
	attr.inherit = setup.inherit;
	attr.enable_on_exec = setup.enable_on_exec;
	attr.exclude_kernel = setup.exclude_kernel;
	attr.mmap = setup.mappings;
	if (!synthetic())
		return attr;
	pmu().set(attr, "output", setup.output).value();
	pmu().set(attr, "record", static_cast<unsigned>(std::countr_zero(setup.record / AUXPMU_RECORD_MIN))).value();
	pmu().set(attr, "pattern", setup.pattern).value();
	pmu().set(attr, "pages", setup.pages).value();
	pmu().set(attr, "seed", setup.seed).value();
	pmu().set(attr, "program", setup.program).value();
	pmu().set(attr, "manual", setup.manual).value();
	pmu().set(attr, "rate", setup.rate).value();
	return attr;
}

TraceExpectation make_expectation(const Setup &setup)
{
	TraceExpectation expectation;

	expectation.record_size = setup.record;
	expectation.pattern = static_cast<std::uint16_t>(setup.pattern);
	expectation.seed = setup.seed;
	if (setup.target.cpu >= 0)
		expectation.cpu = static_cast<std::uint32_t>(setup.target.cpu);
	return expectation;
}

Emitter &emitter()
{
	if (!found().emitter)
		found().emitter = Emitter::open(options().pmu).value();
	return *found().emitter;
}

Statistics statistics()
{
	return Statistics::read(options().pmu).value();
}

std::vector<BufferLine> buffers()
{
	return BufferLine::read(options().pmu).value();
}

void pin(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	if (::sched_setaffinity(0, sizeof(set), &set))
		SKIP("there is no CPU " << cpu);
}

int cpus()
{
	return static_cast<int>(::sysconf(_SC_NPROCESSORS_ONLN));
}

void wait_until(const char *what, const std::function<bool()> &condition)
{
	auto end = std::chrono::steady_clock::now() + patience;

	while (!condition()) {
		if (std::chrono::steady_clock::now() > end)
			throw std::runtime_error(std::format("waited {} s in vain: {}", patience.count(), what));
		std::this_thread::sleep_for(std::chrono::microseconds(200));
	}
}

void need_synthetic()
{
	if (!synthetic())
		SKIP(options().pmu << " is not a synthetic PMU: its trace can be neither asked for nor verified");
}

Tracer::Tracer(const Setup &wanted)
	: setup(wanted), event(Event::open(make_attr(wanted), wanted.target).value()),
	  data(DataRing::map(event, wanted.data_bytes, wanted.data_access).value()),
	  aux(AuxRing::map(data, event, wanted.aux_bytes, wanted.mode, pmu().monotonic_aux_head()).value()),
	  first_head(aux.head())
{
	if (synthetic())
		before = statistics();
	expect(make_expectation(setup));
}

void Tracer::expect(const TraceExpectation &expectation)
{
	verifier = TraceVerifier(expectation);
	verifier.begin_at(setup.mode == AuxMode::full_trace ? first_head : 0);
}

Tracer open_or_skip(const Setup &setup)
{
	auto attr = make_attr(setup);
	auto event = Event::open(attr, setup.target);

	if (!event && !synthetic() &&
		(event.error().code == EINVAL || event.error().code == EOPNOTSUPP || event.error().code == ENODEV ||
			event.error().code == EBUSY))
		SKIP("cannot be opened: " << event.error().text);
	if (event && !synthetic()) {
		auto data = DataRing::map(*event, setup.data_bytes, setup.data_access);
		if (data) {
			auto aux = AuxRing::map(*data, *event, setup.aux_bytes, setup.mode);

			if (!aux)
				SKIP("cannot be mapped: " << aux.error().text);
		}
	}
	if (event)
		event->close();
	return Tracer(setup);
}

Emitter::Outcome Tracer::emit(std::uint64_t bytes, int cpu)
{
	return emitter().emit(cpu >= 0 ? cpu : setup.target.cpu, bytes);
}

void Tracer::emit_all(std::uint64_t bytes, int cpu)
{
	auto outcome = emit(bytes, cpu);

	if (outcome.error)
		throw std::runtime_error(std::format("emit of {} bytes stopped after {}: {}; {}", bytes, outcome.bytes,
			std::strerror(outcome.error), describe(setup)));
}

/*
 * Work for units that promise to trace something within 50 ms. It is not timed by the clock alone: on a loaded host a guest's
 * clock advances while its timers, which may be a unit's own clock, do not.
 */
bool keep_busy()
{
	constexpr int turns = 10;
	constexpr itimerspec every = {.it_interval = {0, 5'000'000}, .it_value = {0, 5'000'000}};
	UniqueFd timer(::timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC));
	volatile std::uint64_t busy = 0;

	if (!timer || ::timerfd_settime(timer.get(), 0, &every, nullptr))
		throw std::runtime_error(std::format("no timer: {}", std::strerror(errno)));
	for (int n = 0; n < turns;) {
		std::uint64_t expired;

		for (int i = 0; i < 10'000; i++)
			busy = busy + 1;
		if (::read(timer.get(), &expired, sizeof(expired)) == sizeof(expired)) {
			n++;
			/* Lets other tasks run, ksoftirqd among them. */
			::sched_yield();
		}
	}
	return true;
}

void Tracer::produce(std::uint64_t bytes)
{
	if (synthetic()) {
		emit_all(bytes);
		return;
	}
	keep_busy();
}

std::uint64_t Tracer::drain(const std::function<void(const RecordView &)> &sample)
{
	std::uint64_t taken = 0;

	if (setup.mode == AuxMode::full_trace && aux) {
		Spans spans = aux.readable();

		taken = spans.size();
		if (synthetic())
			verifier.feed(spans);
		aux.consume(taken);
	}
	data.drain([&](const RecordView &view) {
		if (view.header.type == PERF_RECORD_SAMPLE) {
			if (sample)
				sample(view);
			return;
		}
		Record record = decode(view, event.attr());

		if (auto *one = std::get_if<AuxRecord>(&record)) {
			verifier.announce(one->offset, one->size, one->truncated() || one->partial());
			tally.aux_records++;
			tally.aux_bytes += one->size;
			tally.truncated += one->truncated();
			tally.partial += one->partial();
			tally.overwrite += one->overwrite();
			tally.empty += !one->size && !one->truncated() && !one->partial() && !one->collision();
			tally.last_offset = one->offset;
			tally.largest = std::max(tally.largest, one->size);
		} else if (std::holds_alternative<ItraceStartRecord>(record)) {
			tally.itrace_starts++;
		} else if (auto *lost = std::get_if<LostRecord>(&record)) {
			tally.lost += lost->lost;
		}
	});
	return taken;
}

std::uint64_t Tracer::pump(std::uint64_t bytes, std::uint64_t piece, int cpu)
{
	std::uint64_t stops = 0;
	unsigned stuck = 0;

	while (bytes && verifier.ok()) {
		auto outcome = emit(std::min(bytes, piece), cpu);

		if (outcome.error && outcome.error != ENOSPC && outcome.error != ENXIO)
			throw std::runtime_error(std::format("emit: {}", std::strerror(outcome.error)));
		bytes -= std::min(bytes, outcome.bytes);
		std::uint64_t taken = drain();
		if (outcome.error || outcome.bytes == 0) {
			/* Once is acceptable: the piece before may have filled the buffer to its end. */
			stuck = outcome.bytes ? 0 : stuck + 1;
			if (stuck > 2)
				throw std::runtime_error(
					std::format("no trace but START records, {} bytes drained: aux_head {:#x}, "
						    "aux_tail {:#x}; {}",
						taken, aux.head(), aux.tail(), describe(setup)));
			stops++;
			wait_until("the full buffer's event to be off", [this] { return off(); });
			drain();
			enable();
		} else {
			stuck = 0;
		}
	}
	return stops;
}

void Tracer::allow_gaps()
{
	auto expectation = make_expectation(setup);

	expectation.gaps_allowed = true;
	expect(expectation);
}

void Tracer::allow_gaps_of_copies()
{
	if (setup.output == AUXPMU_SYNTH_COPY)
		allow_gaps();
}

bool Tracer::off()
{
	auto state = Liveness::State::unknown;

	if (!liveness)
		liveness = Liveness::watch(event).value();
	wait_until("perf's clock to go on", [&] {
		state = liveness->look(event).value();
		return state != Liveness::State::unknown;
	});
	return state == Liveness::State::off;
}

void Tracer::remap()
{
	aux.unmap();
	aux = AuxRing::map(data, event, setup.aux_bytes, setup.mode, pmu().monotonic_aux_head()).value();
}

void Tracer::check_full()
{
	/* If the data ring were too small, all but the last trace records would lack their record in it. */
	CHECK(tally.lost == 0);
	CHECK_FALSE(data.corrupt());
	CHECK(tally.aux_bytes == aux.head() - first_head);
	CHECK(aux.head() == aux.tail());
	CHECK(tally.overwrite == 0);
	CHECK(tally.empty == 0);
	if (!synthetic())
		return;
	/* Trace is missing only where the records say so. */
	const bool whole = verifier.complete() && verifier.accounted();
	INFO(verifier.error());
	CHECK(whole);
	CHECK(verifier.totals().bytes == aux.head() - first_head);
}

void Tracer::check_overwrite()
{
	Snapshot shot = aux.snapshot();

	CHECK(tally.lost == 0);
	CHECK_FALSE(data.corrupt());
	CHECK(tally.overwrite == tally.aux_records);
	CHECK(tally.empty == 0);
	CHECK(tally.truncated == 0);
	CHECK(tally.largest <= setup.aux_bytes);
	if (tally.aux_records)
		CHECK(tally.last_offset == shot.to);
	if (!synthetic())
		return;
	verifier.snapshot(shot);
	INFO(verifier.error());
	CHECK(verifier.ok());
}

void Tracer::check_statistics()
{
	Statistics delta = statistics().since(*before);
	const TraceTotals &totals = verifier.totals();
	std::uint64_t written = aux.head() - (setup.mode == AuxMode::full_trace ? first_head : 0);

	INFO("statistics: " << delta.text());
	CHECK(delta["produced"] + delta["padded"] == delta["committed"] + delta["lost_unit"] + delta["lost_space"]);
	CHECK(delta["committed"] == written);
	CHECK(delta["wraps"] == aux.head() / aux.size() - (aux.head() - written) / aux.size());
	CHECK(delta["begins"] == delta["ends"]);
	CHECK(delta["wrong_pmu"] == 0);
	CHECK(delta["overruns"] == 0);
	CHECK(delta["truncations"] == tally.truncated);
	CHECK(delta["partials"] == tally.partial);
	if (setup.mode == AuxMode::full_trace) {
		CHECK(delta["produced"] == totals.record_bytes + delta["lost_unit"] + delta["lost_space"]);
		CHECK(delta["lost_unit"] + delta["lost_space"] == totals.lost_bytes);
		CHECK(delta["padded"] == totals.pad_bytes);
		CHECK(delta["overwritten"] == 0);
	} else {
		std::uint64_t made = 0;

		for (const auto &stream : verifier.streams())
			made += stream.next_seq * stream.record_size;
		if (verifier.streams().size() == 1)
			CHECK(delta["produced"] == made);
		CHECK(delta["overwritten"] == (written > aux.size() ? written - aux.size() : 0));
	}
}

void Tracer::finish_without_statistics()
{
	INFO(describe(setup));
	disable();
	drain();
	if (setup.mode == AuxMode::full_trace)
		check_full();
	else
		check_overwrite();
}

void Tracer::finish()
{
	finish_without_statistics();
	INFO(describe(setup));
	if (before)
		check_statistics();
}

pid_t spawn(const std::function<bool()> &body)
{
	std::fflush(nullptr);
	pid_t child = ::fork();

	if (child < 0)
		throw std::runtime_error(std::format("fork: {}", std::strerror(errno)));
	if (child)
		return child;
	bool good = false;
	try {
		good = body();
	} catch (const std::exception &failure) {
		std::printf("# child: %s\n", failure.what());
	} catch (...) {
		std::printf("# child: an assertion of its own\n");
	}
	std::fflush(nullptr);
	::_exit(good ? 0 : 1);
}

SharedNumbers::SharedNumbers(std::size_t count) : bytes(count * sizeof(*at))
{
	void *made = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (made == MAP_FAILED)
		throw std::runtime_error(std::format("mmap of {} bytes to share: {}", bytes, std::strerror(errno)));
	at = static_cast<std::atomic<std::uint64_t> *>(made);
}

SharedNumbers::~SharedNumbers()
{
	::munmap(at, bytes);
}

bool succeeded(pid_t child)
{
	int status = 0;

	return ::waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

void until_heard(std::string_view text)
{
	const auto silent = [text] {
		KernelLog log(KernelLog::From::oldest);
		double said = -60, now = 0;

		for (const auto &record : log.records()) {
			unsigned long long at;

			if (record.find(text) != std::string::npos &&
				std::sscanf(record.c_str(), "%*u,%*u,%llu", &at) == 1)
				said = static_cast<double>(at) / 1e6;
		}
		std::ifstream("/proc/uptime") >> now;
		return now - said < 6;
	};

	while (silent())
		std::this_thread::sleep_for(std::chrono::milliseconds(100));
}

} // namespace auxpmu::test
