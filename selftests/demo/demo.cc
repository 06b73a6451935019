// SPDX-License-Identifier: GPL-2.0-only
/*
 * The demo: trace from the synthetic PMU, in full-trace and in overwrite mode, every byte verified, and what happened drawn as
 * it was measured.  Exit status 0 when all of it was right, 1 when not, 4 when there is no such PMU here.
 */
#include <algorithm>
#include <bit>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <format>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <poll.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "kit/liveness.h"
#include "kit/pmu.h"
#include "kit/recorder.h"
#include "kit/statistics.h"
#include "synth/on_demand.h"
#include "synth/trace_verifier.h"

using namespace auxpmu;

namespace
{

constexpr std::size_t KiB = 1024;
constexpr std::size_t MiB = 1024 * KiB;
constexpr std::size_t area = 256 * KiB;
constexpr std::size_t cells = 32; /* of the picture of an area */
constexpr std::uint32_t watermark = 32 * KiB;
constexpr std::uint32_t record = 1024;
constexpr std::uint64_t full_trace_bytes = 6 * MiB; /* for each CPU */
constexpr auto patience = std::chrono::seconds(60);

using Clock = std::chrono::steady_clock;

Clock::time_point began;

template <class... Arguments>
void say(std::format_string<Arguments...> text, Arguments &&...arguments)
{
	std::fputs((std::format(text, std::forward<Arguments>(arguments)...) + "\n").c_str(), stdout);
}

double ms()
{
	return std::chrono::duration<double, std::milli>(Clock::now() - began).count();
}

[[noreturn]] void fail(const std::string &what)
{
	throw std::runtime_error(what);
}

/* A recorder of one CPU, and the proof of what came through it. */
struct Proof {
	int cpu;
	Recorder recorder;
	TraceVerifier verifier;
	Liveness liveness;
	std::uint64_t aux_records = 0;
	std::uint64_t aux_bytes = 0; /* as the PERF_RECORD_AUX say */
	std::uint64_t truncated = 0;
	std::uint64_t wakeups = 0;

	Proof(const Pmu &pmu, int on, AuxMode mode, unsigned rate, std::uint32_t seed)
		: cpu(on), recorder(open(pmu, on, mode, rate, seed)),
		  liveness(Liveness::watch(recorder.event()).value())
	{
		TraceExpectation expectation;

		expectation.record_size = record;
		expectation.seed = seed;
		expectation.cpu = static_cast<std::uint32_t>(on);
		verifier = TraceVerifier(expectation);
	}
	static Recorder open(const Pmu &pmu, int on, AuxMode mode, unsigned rate, std::uint32_t seed)
	{
		auto attr = pmu.attr();

		attr.sample_id_all = 1;
		attr.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU;
		attr.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
		attr.aux_watermark = mode == AuxMode::full_trace ? watermark : 0;
		pmu.set(attr, "record", std::countr_zero(record / AUXPMU_RECORD_MIN)).value();
		pmu.set(attr, "seed", seed).value();
		pmu.set(attr, "rate", rate).value();
		pmu.set(attr, "manual", rate ? 0 : 1).value();
		return Recorder::open({.attr = attr,
					      .target = Target::on_cpu(on),
					      .data_bytes = 64 * KiB,
					      .aux_bytes = area,
					      .mode = mode,
					      .monotonic_head = pmu.monotonic_aux_head()})
			.value();
	}

	void feed(const Spans &spans)
	{
		if (!verifier.feed(spans))
			fail(std::format("CPU {}: {}", cpu, verifier.error()));
	}
	void count(const RecordView &view)
	{
		Record one = decode(view, recorder.event().attr());

		if (auto *handed = std::get_if<AuxRecord>(&one)) {
			aux_records++;
			aux_bytes += handed->size;
			truncated += handed->truncated();
		}
	}
	void read_records()
	{
		recorder.drain_records([this](const RecordView &view) { count(view); });
	}
	/* Verifies what there is, and gives its room back. */
	void read_all()
	{
		recorder.drain(
			[this](const Spans &spans) { feed(spans); }, [this](const RecordView &view) { count(view); });
	}
	void finish()
	{
		recorder.finish([this](const Spans &spans) { feed(spans); },
				[this](const RecordView &view) { count(view); })
			.value();
	}
	bool off() { return liveness.look(recorder.event()).value() == Liveness::State::off; }
};

/* The area as it is: T oldest unread byte (aux_tail), H where the unit goes on (aux_head), # unread, . free. */
std::string picture(std::uint64_t tail, std::uint64_t head)
{
	std::string line(cells, '.');
	auto cell = [](std::uint64_t position) {
		return static_cast<std::size_t>(position % area * cells / area);
	};

	if (head != tail)
		for (std::uint64_t at = tail; at < head; at += area / cells)
			line[cell(at)] = '#';
	line[cell(tail)] = 'T';
	line[cell(head)] = cell(head) == cell(tail) ? (head - tail >= area - record ? 'F' : '=') : 'H';
	return "[" + line + "]";
}

void row(const std::vector<std::unique_ptr<Proof>> &all, const char *remark = "")
{
	std::string line = std::format("{:9.1f}", ms());

	for (const auto &one : all) {
		std::uint64_t tail = one->recorder.aux().tail(), head = one->recorder.aux().head();

		line += std::format("   {:>6} {:>6}  {}", tail / KiB, head / KiB, picture(tail, head));
	}
	say("{}{}", line, remark);
}

void check_deadline()
{
	if (Clock::now() - began > patience)
		fail("nothing came for a minute");
}

/* Waits, without reading, until the unit has nowhere to go. */
void look_away(Proof &one)
{
	std::uint64_t before = one.truncated;

	while (one.truncated == before || !one.off()) {
		std::this_thread::sleep_for(std::chrono::microseconds(500));
		one.read_records();
		check_deadline();
	}
}

bool full_trace(const Pmu &pmu, int cpus)
{
	const unsigned rates[] = {16, 7}; /* KiB per ms */
	std::vector<std::unique_ptr<Proof>> all;
	auto before = Statistics::read(pmu.name()).value();

	say("1. Full trace: every byte arrives, once\n");
	for (int cpu = 0; cpu < cpus; cpu++)
		all.push_back(std::make_unique<Proof>(pmu, cpu, AuxMode::full_trace, rates[cpu], 0xd0 + cpu));
	say("   On {} a software trace unit writes into an AUX area of {} KiB, mapped writable. It goes on at aux_head "
	    "(H);",
		cpus > 1 ? "CPU 0 and on CPU 1" : "CPU 0", area / KiB);
	say("   this program is woken every {} KiB, checks every byte (#), and gives the room back by moving aux_tail "
	    "(T).",
		watermark / KiB);
	say("   Where both are in one place (=) there is nothing to read.\n");
	std::string title = "       ms";
	for (int cpu = 0; cpu < cpus; cpu++)
		title += std::format(
			"   {:>6} {:>6}  {:<34}", "tail", "head", std::format("CPU {} (positions in KiB)", cpu));
	say("{}", title);

	began = Clock::now();
	for (auto &one : all)
		one->recorder.start().value();
	unsigned rows = 0;
	bool looked_away = false;
	bool more = true;
	while (more) {
		std::vector<pollfd> waits;

		for (auto &one : all)
			waits.push_back({one->recorder.event().fd(), POLLIN, 0});
		if (::poll(waits.data(), waits.size(), 1000) < 0)
			fail(std::format("poll: {}", std::strerror(errno)));
		if (++rows <= 10 || (looked_away && rows <= 14))
			row(all);
		else if (rows == 15)
			say("      ...");
		more = false;
		for (std::size_t i = 0; i < all.size(); i++) {
			Proof &one = *all[i];

			one.wakeups += (waits[i].revents & POLLIN) != 0;
			one.read_all();
			/* This program was too slow, and was told so: room has been made, go on. */
			if (one.recorder.is_full())
				one.recorder.restart().value();
			more |= one.verifier.position() < full_trace_bytes;
		}
		if (rows == 10) {
			say("           now this program looks away from CPU 0 until the area is full ...");
			look_away(*all[0]);
			row(all, "  <- full");
			all[0]->read_all();
			all[0]->recorder.start().value();
			say("           ... the unit stopped, said TRUNCATED once, and the event is off; all of it was "
			    "read and checked,\n"
			    "           aux_tail moved, and PERF_EVENT_IOC_ENABLE set it going again:");
			looked_away = true;
		}
		check_deadline();
	}
	for (auto &one : all)
		one->finish();
	row(all, "  <- stopped, and read to the last byte");
	double took = ms();

	auto counted = Statistics::read(pmu.name()).value().since(before);
	bool good = true;
	std::uint64_t records = 0, bytes = 0;
	say("\n   who wrote        started   records      bytes   = aux_head   = in AUX records   wake-ups   full   "
	    "lost");
	for (auto &one : all) {
		const auto &totals = one->verifier.totals();

		if (!one->verifier.complete())
			fail(one->verifier.error());
		say("   CPU {:<3} stream {:<3} {:>3} x   {:>7} {:>10}   {:>10}   {:>16}   {:>8}   {:>4}   {:>4}",
			one->cpu, one->verifier.streams()[0].stream, totals.starts, totals.records, totals.bytes,
			one->recorder.aux().head(), one->aux_bytes, one->wakeups, one->truncated,
			totals.lost ? std::to_string(totals.lost) : "none");
		good &= totals.lost == 0 && totals.bytes == one->recorder.aux().head() &&
			one->aux_bytes == one->recorder.aux().head();
		records += totals.records;
		bytes += totals.record_bytes;
	}
	say("   {} records, {:.1f} MiB, each byte verified, in {:.0f} ms; the unit says it wrote {} bytes: {}\n",
		records, static_cast<double>(bytes) / MiB, took, counted["produced"],
		counted["produced"] == bytes ? "the same" : "NOT THE SAME");
	return good && counted["produced"] == bytes;
}

/* What an overwriting area holds: the newest as #, what was never written as a space. */
std::string flight_picture(std::uint64_t head)
{
	std::string line(cells, head >= area ? '#' : ' ');
	auto at = static_cast<std::size_t>(head % area * cells / area);

	for (std::size_t i = 0; i < at && head < area; i++)
		line[i] = '#';
	line[at] = 'H';
	return "[" + line + "]";
}

bool overwrite(const Pmu &pmu)
{
	constexpr std::uint64_t amounts[] = {40 * KiB, 140 * KiB, 200 * KiB, 1000 * KiB, 5000 * KiB};
	auto before = Statistics::read(pmu.name()).value();
	auto emitter = Emitter::open(pmu.name()).value();
	Proof one(pmu, 0, AuxMode::overwrite, 0, 0xf1);
	std::uint64_t next_seq = 0, checked = 0;
	bool good = true;

	say("2. Overwrite: a flight recorder, the newest {} KiB are kept\n", area / KiB);
	say("   The AUX area is mapped read-only. The unit on CPU 0 is asked for trace, switched off, and looked "
	    "at:\n");
	say("     written now   aux_head (KiB)   wrapped   {:<34}   oldest seq   newest   verified, no gap",
		"the area");
	for (std::uint64_t amount : amounts) {
		one.recorder.start().value();
		if (auto outcome = emitter.emit(0, amount); outcome.error)
			fail(std::format("emit: {}", std::strerror(outcome.error)));
		one.finish();

		TraceExpectation expectation;
		expectation.record_size = record;
		expectation.seed = 0xf1;
		TraceVerifier verifier(expectation);
		Snapshot shot = one.recorder.aux().snapshot();
		if (!verifier.snapshot(shot))
			fail(verifier.error());
		const TraceStream &stream = verifier.streams()[0];
		next_seq += amount / record + 1; /* a START record each time it is switched on */
		good &= stream.next_seq == next_seq && verifier.totals().lost == 0;
		checked += verifier.totals().bytes;
		say("   {:>9} KiB   {:>14}   {:>7}   {}   {:>10} {:>8}   {:>7} records", amount / KiB, shot.to / KiB,
			shot.wrapped ? "yes" : "not yet", flight_picture(shot.to), stream.first_seq,
			stream.next_seq - 1, verifier.totals().records);
	}
	auto counted = Statistics::read(pmu.name()).value().since(before);
	std::uint64_t head = one.recorder.aux().head();
	std::uint64_t overwritten = head > area ? head - area : 0;
	say("\n   {} records were written, and the newest were there each time, whole and in order; {:.1f} MiB "
	    "verified.",
		next_seq, static_cast<double>(checked) / MiB);
	say("   Overwritten, as asked for: {} bytes; the unit's own count says {}: {}.\n", overwritten,
		counted["overwritten"], counted["overwritten"] == overwritten ? "the same" : "NOT THE SAME");
	return good && counted["overwritten"] == overwritten && counted["produced"] == next_seq * record;
}

int run()
{
	auto found = Pmu::find(AUXPMU_SYNTH_NAME);
	utsname system{};

	if (!found) {
		say("{}", found.error().text);
		return 4;
	}
	::uname(&system);
	say("\nauxpmu: perf AUX area tracing on Linux {}, without trace hardware\n", system.release);
	int cpus = static_cast<int>(std::min<long>(2, ::sysconf(_SC_NPROCESSORS_ONLN)));
	bool first = full_trace(*found, cpus);
	bool second = overwrite(*found);
	say("Full trace: {}.  Overwrite: {}.", first ? "every byte verified, loss: none" : "NOT RIGHT, see above",
		second ? "every byte verified, loss: none" : "NOT RIGHT, see above");
	return first && second ? 0 : 1;
}

} // namespace

int main()
{
	std::setvbuf(stdout, nullptr, _IOLBF, 0);
	began = Clock::now();
	try {
		return run();
	} catch (const std::exception &failure) {
		say("\nNot right: {}", failure.what());
		return 1;
	}
}
