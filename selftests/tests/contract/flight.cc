// SPDX-License-Identifier: GPL-2.0-only
/*
 * Flight recording: records and trace are overwritten until a snapshot is requested. A backward data ring and an overwrite-mode
 * AUX area, on one event and on events of a group, are paused, dumped and resumed repeatedly.
 */
#include <format>
#include <string>
#include <vector>

#include "kit/recorder.h"

#include "shared/sampler.h"

using namespace auxpmu;
using namespace auxpmu::test;

namespace
{

constexpr std::uint32_t sample_bytes = 512;

Setup overwriting(unsigned output, std::size_t aux_bytes)
{
	Setup setup;

	pin(0);
	setup.output = output;
	setup.mode = AuxMode::overwrite;
	setup.aux_bytes = aux_bytes;
	return setup;
}

/* An AUX event with a backward ring and an overwrite-mode AUX area, whose trace is made on demand. */
struct Flight {
	Flight(const Setup &wanted, std::size_t ring_bytes) : setup(wanted), recorder(open(wanted, ring_bytes)) {}

	static Recorder open(const Setup &setup, std::size_t ring_bytes)
	{
		auto attr = make_attr(setup);

		attr.write_backward = 1;
		return Recorder::open({.attr = attr,
					      .target = setup.target,
					      .data_bytes = ring_bytes,
					      .aux_bytes = setup.aux_bytes,
					      .mode = AuxMode::overwrite,
					      .monotonic_head = pmu().monotonic_aux_head()})
			.value();
	}

	/* Has this many bytes written; "made" counts what the event has written so far. */
	void emit(std::uint64_t bytes)
	{
		REQUIRE(emitter().emit(0, bytes).error == 0);
		made += bytes;
	}
	void start()
	{
		recorder.start().value();
		made += setup.record; /* START */
	}
	const Event &event() const { return recorder.event(); }
	const AuxRing &aux() const { return recorder.aux(); }

	Setup setup;
	Recorder recorder;
	std::uint64_t made = 0;
};

/* Proves that a chain of snapshots is one trace. Gaps are allowed only where bytes are known to be missed. */
struct Chain {
	explicit Chain(const Setup &setup) : record(setup.record), verifier(expectation(setup)) {}

	static TraceExpectation expectation(const Setup &setup)
	{
		auto wanted = make_expectation(setup);

		wanted.gaps_allowed = true;
		return wanted;
	}
	void take(const AuxRing &aux)
	{
		last = aux.snapshot_since(last);
		missed += last.missed;
		verifier.feed(last.spans);
		verifier.complete();
		INFO(verifier.error());
		CHECK(verifier.ok());
		CHECK(verifier.totals().lost_bytes == missed);
	}

	std::uint32_t record;
	TraceVerifier verifier;
	Snapshot last;
	std::uint64_t missed = 0;
};

} // namespace

TEST_CASE("A flight recorder of one event: its records and its trace, dump after dump, nothing lost or repeated",
	"[synth][flight]")
{
	need_synthetic();
	/* The data ring and the AUX area are large enough, or not. A record of a session takes some 60 bytes. */
	const unsigned many = static_cast<unsigned>(page_size() / 51);
	for (unsigned output : every_output())
		for (std::uint64_t piece : {2 * KiB, 40 * KiB})
			for (unsigned sessions : {1u, many}) {
				Flight flight(overwriting(output, 32 * KiB), page_size());
				Chain chain(flight.setup);
				std::uint64_t end = 0; /* end of the trace at the previous dump */
				bool wrapped = false;

				INFO(describe(flight.setup)
					<< ", " << sessions << " sessions of " << piece << " bytes");
				for (int round = 0; round < 5; round++) {
					for (unsigned i = 0; i < sessions; i++) {
						flight.start();
						flight.emit(piece);
						flight.event().disable().value();
					}
					flight.event().pause_output().value();

					/* Newest first: each record of trace begins where the one before it ended. */
					std::uint64_t at = flight.aux().head();
					std::uint64_t found = 0;
					bool chained = true;
					Dump dump = flight.recorder.backward().dump([&](const RecordView &view) {
						Record one = decode(view, flight.event().attr());
						auto *piece_of = std::get_if<AuxRecord>(&one);

						if (!piece_of)
							return;
						chained &= piece_of->offset == at && piece_of->overwrite() &&
							   piece_of->size ==
								   std::min<std::uint64_t>(piece + flight.setup.record,
									   flight.setup.aux_bytes);
						at -= piece + flight.setup.record;
						found++;
					});
					wrapped |= dump.overwritten > 0;
					CHECK(chained);
					CHECK_FALSE(dump.corrupt);
					if (!dump.overwritten) {
						CHECK(found == sessions);
						CHECK(at == end);
					} else {
						CHECK(dump.bytes + 128 > flight.recorder.backward().data().size());
						CHECK(found < sessions);
						CHECK(found > 10);
					}
					CHECK((!wrapped || dump.wrapped));

					CHECK(flight.aux().head() == flight.made);
					CHECK(flight.aux().snapshot().wrapped ==
						(flight.made > flight.setup.aux_bytes));
					chain.take(flight.aux());
					end = flight.aux().head();
					flight.event().resume_output().value();
				}
				CHECK(wrapped == (sessions == many));
				std::uint64_t each = sessions * (piece + flight.setup.record);
				CHECK(chain.missed ==
					5 * (each > flight.setup.aux_bytes ? each - flight.setup.aux_bytes : 0));
				CHECK(chain.verifier.totals().bytes + chain.missed == flight.made);
			}
}

namespace
{

/* Checks dumps of numbered samples: newest first, none missing, none twice, each with the trace of its moment. */
struct Numbered {
	std::vector<std::uint64_t> records_at{0}; /* records of trace made when number n was taken */
	std::uint64_t dumped = 0;                 /* the newest number of the dump before */

	void take(Flight &flight)
	{
		sample_numbered(static_cast<unsigned>(records_at.size()));
		records_at.push_back(flight.made / flight.setup.record);
	}

	/* Returns how many samples there were. */
	std::uint64_t check(BackwardRing &ring, const perf_event_attr &attr, const Setup &setup)
	{
		std::uint64_t next = records_at.size() - 1;
		std::string wrong;
		Dump dump = ring.dump([&](const RecordView &view) {
			if (view.header.type != PERF_RECORD_SAMPLE || !wrong.empty())
				return;
			auto sample = std::get<SampleRecord>(decode(view, attr));

			if (number_of(sample.raw) != next)
				wrong = std::format("number {}, expected {}", number_of(sample.raw), next);
			else
				wrong = wrong_with(sample.aux, setup, records_at[next], sample_bytes);
			next--;
		});
		CHECK(wrong == "");
		CHECK_FALSE(dump.corrupt);
		if (!dump.overwritten)
			CHECK(next == dumped);
		else
			CHECK(next > dumped);
		std::uint64_t found = records_at.size() - 1 - next;
		dumped = records_at.size() - 1;
		return found;
	}
};

perf_event_attr numbered_member()
{
	auto attr = sampling_member("getpgid", sample_bytes);

	attr.sample_type |= PERF_SAMPLE_TIME | PERF_SAMPLE_CPU | PERF_SAMPLE_RAW;
	attr.sample_id_all = 1;
	attr.write_backward = 1;
	return attr;
}

} // namespace

TEST_CASE("A flight recorder of a group in one ring: each sample carries the trace of its moment, dump after dump",
	"[synth][flight]")
{
	need_synthetic();
	need_sampling();
	for (unsigned output : every_output())
		for (unsigned calls : {5u, 60u}) {
			Flight flight(overwriting(output, 16 * KiB), 16 * KiB);
			auto attr = numbered_member();
			flight.recorder.add_member(attr, flight.setup.target).value();
			Numbered numbered;
			Chain chain(flight.setup);

			INFO(describe(flight.setup) << ", " << calls << " samples");
			for (int round = 0; round < 4; round++) {
				flight.start();
				for (unsigned i = 0; i < calls; i++) {
					numbered.take(flight);
					flight.emit(192);
				}
				flight.event().disable().value();
				flight.event().pause_output().value();
				auto found = numbered.check(flight.recorder.backward(), attr, flight.setup);
				CHECK(found == (calls == 5 ? calls : found));
				CHECK((calls == 5 || (found < calls && found > 20)));
				chain.take(flight.aux());
				flight.event().resume_output().value();
			}
			CHECK(chain.missed == 0);
			CHECK(chain.verifier.totals().bytes == flight.made);
		}
}

TEST_CASE("A flight recorder whose sibling has a ring of its own: paused while the trace runs on, and what is lost is "
	  "said",
	"[synth][flight]")
{
	need_synthetic();
	need_sampling();
	Setup setup = overwriting(AUXPMU_SYNTH_SCATTER, 64 * KiB);
	Flight flight(setup, page_size());
	auto attr = numbered_member();
	auto member = Event::open(attr, setup.target, flight.event().fd()).value();
	auto ring = BackwardRing::map(member, 32 * KiB).value();
	Numbered numbered;

	flight.start();
	for (unsigned round = 1; round <= 4; round++) {
		for (int i = 0; i < 10; i++) {
			numbered.take(flight);
			flight.emit(640);
		}
		/* Only the sibling's ring is paused: events and trace continue. */
		member.pause_output().value();
		CHECK(numbered.check(ring, attr, setup) == 10);
		for (unsigned i = 0; i < round; i++) {
			sample_numbered(1);
			flight.emit(64);
		}
		member.resume_output().value();

		/* The PERF_RECORD_LOST comes with the next record. */
		numbered.take(flight);
		std::uint64_t lost = 0;
		member.pause_output().value();
		Dump dump = ring.dump([&](const RecordView &view) {
			Record one = decode(view, attr);

			if (auto *said = std::get_if<LostRecord>(&one))
				lost += said->lost;
		});
		CHECK(lost == round);
		CHECK(dump.records == 2);
		numbered.dumped = numbered.records_at.size() - 1;
		member.resume_output().value();
	}
	flight.event().disable().value();
	Chain chain(setup);
	chain.take(flight.aux());
	CHECK(chain.missed == 0);
	CHECK(chain.verifier.totals().bytes == flight.made);
}

TEST_CASE("Events share a ring only when they write it in the same direction", "[contract][flight]")
{
	Setup setup;
	auto attr = make_attr(setup);
	auto backward = attr;
	auto software = at_syscall("getppid");

	backward.write_backward = 1;
	auto event = Event::open(backward, setup.target);
	if (!event)
		SKIP("cannot be opened: " << event.error().text);
	auto ring = BackwardRing::map(*event, page_size()).value();
	auto member = Event::open(software, setup.target).value();
	CHECK_FALSE(member.set_output(*event));
	software.write_backward = 1;
	CHECK(Event::open(software, setup.target).value().set_output(*event));
}
