// SPDX-License-Identifier: GPL-2.0-only
/*
 * A sink that the units of several CPUs share. Which area a record gets into is nobody's promise; that each is in exactly one, or
 * is said to be lost, is. So the books are kept over all areas at once.
 */
#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <format>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <ranges>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <csignal>
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kit/debugfs.h"
#include "kit/handle.h"
#include "shared/fault.h"
#include "shared/fixture.h"
#include "shared/knob.h"
#include "shared/modelled.h"
#include "shared/report.h"
#include "shared/sampler.h"
#include "shared/tracepoint.h"
#include "synth/trace_bytes.h"

using namespace auxpmu;
using namespace auxpmu::test;

namespace
{

constexpr std::uint64_t record_bytes = 128, sink_bytes = 64 * KiB;

/* The records of all areas, by their streams and numbers. */
class Ledger
{
public:
	/*
	 * Whole records, and padding. What is wrong with them is in error. In one area, where each call has what came behind
	 * that of the last one, nothing is missing of a stream but at padding.
	 */
	void feed(std::span<const std::byte> bytes, const void *area = nullptr)
	{
		auto &last = last_in[area];

		if (!area)
			last.clear();
		while (bytes.size() >= record_bytes && error.empty()) {
			const std::size_t length = padding_of(bytes);
			padded += length;
			barriers += length > 0;
			if (length)
				last.clear();
			else
				enter(bytes.first(record_bytes), last);
			bytes = bytes.subspan(std::min(bytes.size(), std::max<std::size_t>(length, record_bytes)));
		}
		if (!bytes.empty() && error.empty())
			error = std::format("{} bytes are no record", bytes.size());
	}
	std::uint64_t bytes() const { return records * record_bytes; }
	std::size_t streams() const { return seen.size(); }

	std::string error;
	bool holes_anywhere = false;
	std::uint64_t starts = 0;
	/* Records of padding: barriers, and in an area with windows, what lies between these. */
	std::uint64_t barriers = 0, padded = 0;

private:
	/* The bytes of the padding that begins here; 0: there is none. */
	static std::size_t padding_of(std::span<const std::byte> bytes)
	{
		auxpmu_record record;
		std::memcpy(&record, bytes.data(), sizeof(record));
		const bool good = record.magic == AUXPMU_RECORD_MAGIC && record.crc == header_crc(bytes.data());
		return good && record.kind == AUXPMU_RECORD_PAD ? record.size : 0;
	}
	void enter(std::span<const std::byte> bytes, std::map<std::uint64_t, std::uint64_t> &last)
	{
		auxpmu_record record;
		std::memcpy(&record, bytes.data(), sizeof(record));
		const auto base = auxpmu_record_base(record.stream, record.seq, record.seed);
		const std::size_t words = (record_bytes - sizeof(record)) / 8;

		if (record.magic != AUXPMU_RECORD_MAGIC || record.crc != header_crc(bytes.data()) ||
			record.size != record_bytes || record.kind >= AUXPMU_RECORD_PAD)
			error = "a record's header is wrong";
		else if (!payload_matches(record.pattern, bytes.data() + sizeof(record), words, base))
			error = "a record's payload is wrong";
		else if (!seen[record.stream].insert(record.seq).second)
			error = std::format("record {} of stream {} came twice", record.seq, record.stream);
		else if (!holes_anywhere && last.contains(record.stream) && last[record.stream] + 1 != record.seq)
			error = std::format("record {} of stream {} comes behind {}, without a barrier", record.seq,
				record.stream, last[record.stream]);
		last[record.stream] = record.seq;
		records++;
		starts += record.kind == AUXPMU_RECORD_START;
	}

	std::uint64_t records = 0;
	std::map<std::uint64_t, std::set<std::uint64_t>> seen;
	std::map<const void *, std::map<std::uint64_t, std::uint64_t>> last_in;
};

/* What the sink does while it is read. */
enum class Meanwhile { stops, goes_on, turns };

/* Is the sink polled, and what does it do while it is read? */
struct Kind {
	bool polled;
	Meanwhile meanwhile;
};
constexpr Kind kinds[] = {{false, Meanwhile::stops}, {false, Meanwhile::goes_on}, {false, Meanwhile::turns},
	{true, Meanwhile::stops}, {true, Meanwhile::goes_on}, {true, Meanwhile::turns}};

/* It loses nothing of what a CPU writes while another one collects. */
bool loses_nothing(const Kind &kind)
{
	return kind.meanwhile != Meanwhile::stops;
}

std::string describe(const Kind &kind)
{
	return std::format("{}, {}", kind.polled ? "polled" : "interrupting",
		kind.meanwhile == Meanwhile::stops   ? "stopped"
		: kind.meanwhile == Meanwhile::turns ? "turning"
						     : "continuous");
}

Attributes shared_unit(const Kind &kind = {})
{
	return {{"output", "copy"}, {"record", std::to_string(record_bytes)}, {"ram", std::to_string(sink_bytes)},
		{"shared", "1"}, {"polled", kind.polled ? "1" : "0"},
		{"continuous", kind.meanwhile == Meanwhile::goes_on ? "1" : "0"},
		{"turning", kind.meanwhile == Meanwhile::turns ? "1" : "0"}};
}

Setup setup_on(Target target, std::size_t aux_bytes = 256 * KiB)
{
	Setup setup;

	setup.target = target;
	setup.output = AUXPMU_SYNTH_COPY;
	setup.record = record_bytes;
	setup.aux_bytes = aux_bytes;
	return setup;
}

/* One event that uses the sink, with its area. */
struct User {
	explicit User(const Setup &wanted)
		: setup(wanted), event(Event::open(make_attr(setup), setup.target).value()),
		  data(DataRing::map(event, setup.data_bytes).value()),
		  aux(AuxRing::map(data, event, setup.aux_bytes, setup.mode, true).value())
	{
		event.enable().value();
	}
	void read(Ledger &ledger)
	{
		Spans spans = aux.readable();
		std::vector<std::byte> all(spans.first.begin(), spans.first.end());

		all.insert(all.end(), spans.second.begin(), spans.second.end());
		ledger.feed(all, setup.output == AUXPMU_SYNTH_COPY ? this : nullptr);
		aux.consume(spans.size());
		taken += spans.size();
		hear();
	}
	/* What the records say. */
	void hear()
	{
		data.drain([&](const RecordView &view) {
			Record record = decode(view, event.attr());

			if (auto *one = std::get_if<AuxRecord>(&record)) {
				truncated += one->truncated();
				partial += one->partial();
			}
		});
	}

	Setup setup;
	Event event;
	DataRing data;
	AuxRing aux;
	std::uint64_t taken = 0, truncated = 0, partial = 0;
};

/* Events of the first two CPUs, and what they were asked to trace. */
struct Pair {
	explicit Pair(std::size_t aux_bytes = 256 * KiB)
	{
		for (int cpu = 0; cpu < 2; cpu++)
			users.push_back(std::make_unique<User>(setup_on(Target::on_cpu(cpu), aux_bytes)));
	}
	Emitter::Outcome emit(int cpu, std::uint64_t bytes)
	{
		auto outcome = emitter().emit(cpu, bytes);

		asked += outcome.bytes;
		return outcome;
	}
	/* The CPUs take turns. What is more than half of the sink is on its way, so that it loses nothing; read_all says how much came. */
	void emit_in_turns(unsigned round, std::uint64_t bytes, const std::function<std::uint64_t()> &read_all)
	{
		REQUIRE(emit(static_cast<int>(round % 2), bytes).error == 0);
		wait_until("room in the sink", [&] { return asked < read_all() + sink_bytes / 2; });
	}
	void read()
	{
		for (auto &user : users)
			user->read(ledger);
	}
	void stop()
	{
		for (auto &user : users)
			user->event.disable().value();
		read();
	}
	/* Everything is in one of the areas or counted as lost; returns the bytes that are lost. */
	std::uint64_t balance()
	{
		const auto delta = statistics().since(before);
		const std::uint64_t lost = delta["lost_unit"] + delta["lost_space"];

		INFO(delta.text());
		CHECK(ledger.error == "");
		/* A unit writes a START each time it begins anew; those that are lost are not in the ledger. */
		const std::uint64_t made = asked + delta["sessions"] * record_bytes;
		CHECK(ledger.bytes() + lost == made);
		CHECK(delta["produced"] == made);
		CHECK(delta["committed"] == ledger.bytes() + ledger.barriers * record_bytes);
		CHECK(delta["padded"] == ledger.barriers * record_bytes);
		/* One copy of each byte, and none of those that are lost. */
		CHECK(delta["copied"] == ledger.bytes());
		std::uint64_t said = 0;
		for (auto &user : users)
			said += user->truncated + user->partial;
		CHECK((said > 0) == (lost > 0));
		return lost;
	}

	const Statistics before = statistics();
	std::vector<std::unique_ptr<User>> users;
	Ledger ledger;
	std::uint64_t asked = 0;
};

void need_two_cpus()
{
	need_configfs();
	if (cpus() < 2)
		SKIP("it takes two CPUs");
}

std::uint64_t busy()
{
	return statistics()["sink_busy"];
}

/* The same, for whoever could read the statistics when this was made. */
class Busy
{
public:
	Busy() : file(::open(debugfs_file(options().pmu, "stats").c_str(), O_RDONLY | O_CLOEXEC))
	{
		REQUIRE(file.get() >= 0);
	}
	std::uint64_t now() const
	{
		std::string text(64 * KiB, 0);
		const ssize_t got = ::pread(file.get(), text.data(), text.size(), 0);

		text.resize(static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
		return Statistics::parse(text).value()["sink_busy"];
	}

private:
	UniqueFd file;
};

} // namespace

TEST_CASE("What a shared sink cannot be is refused", "[synth][sink]")
{
	need_configfs();
	auto unit = ModelledUnit::make("modelled").value();
	KernelLog log;

	unit.set("shared", "1").value();
	CHECK_FALSE(unit.live(true));
	CHECK(log.says("shared takes output copy, window or scatter"));
	unit.set("output", "virtual").value();
	CHECK_FALSE(unit.live(true));
	CHECK(log.says("shared takes output copy, window or scatter"));
	unit.set("output", "copy").value();
	CHECK_FALSE(unit.live(true));
	CHECK(log.says("set record"));
	unit.set("shared", "0").value();
	unit.set("polled", "1").value();
	CHECK_FALSE(unit.live(true));
	CHECK(log.says("polled, reach, continuous and turning take shared"));
	unit.set("polled", "0").value();
	unit.set("reach", "4096").value();
	CHECK_FALSE(unit.live(true));
	unit.set("reach", "0").value();
	unit.set("shared", "1").value();
	unit.set("record", "128").value();
	unit.set("ram", "1000").value();
	CHECK_FALSE(unit.live(true));
	CHECK(log.says("shared takes ram of whole records"));
}

TEST_CASE("Each record that two CPUs write into one sink is in one of their areas, once", "[synth][sink]")
{
	need_two_cpus();
	for (const Kind &kind : kinds | std::views::filter(loses_nothing)) {
		UnitUnderTest under(shared_unit(kind));
		INFO(describe(kind));
		Pair pair;
		for (unsigned round = 0; round < 400; round++) {
			pair.emit_in_turns(round, record_bytes * (1 + round % 50), [&] {
				pair.read();
				return pair.ledger.bytes();
			});
		}
		pair.stop();
		CHECK(pair.balance() == 0);
		CHECK(pair.ledger.streams() == 2);
	}
}

TEST_CASE("While events share a sink, the trace of all is in one area, in one piece", "[synth][sink]")
{
	need_two_cpus();
	for (const Kind &kind : kinds | std::views::filter(loses_nothing)) {
		UnitUnderTest under(shared_unit(kind));
		INFO(describe(kind));
		Pair pair;
		Ledger areas[2];
		auto read = [&] {
			for (std::size_t n = 0; n < 2; n++)
				pair.users[n]->read(areas[n]);
		};
		/* Four times what the sink holds. */
		for (unsigned round = 0; round < 64; round++) {
			pair.emit_in_turns(round, 4 * KiB, [&] {
				read();
				return areas[0].bytes() + areas[1].bytes();
			});
		}
		for (auto &user : pair.users)
			user->event.disable().value();
		read();
		const Ledger &full = areas[0].bytes() ? areas[0] : areas[1],
			     &empty = areas[0].bytes() ? areas[1] : areas[0];
		CHECK(full.error == "");
		CHECK(full.streams() == 2);
		CHECK(full.barriers == 0);
		CHECK(full.bytes() == pair.asked + 2 * record_bytes);
		CHECK(empty.bytes() == 0);
	}
}

TEST_CASE(
	"CPUs that write into one sink while it is collected lose what it drops, and that is counted", "[synth][sink]")
{
	need_two_cpus();
	for (const Kind &kind : kinds) {
		UnitUnderTest under(shared_unit(kind));
		INFO(describe(kind));
		/* Room for all, so that no event is switched off: two emitters at once could not tell how far each got. */
		Pair pair(4 * MiB);
		/* One that is read while it takes more may be full in between, and lose in the midst of the next piece. */
		pair.ledger.holes_anywhere = kind.meanwhile == Meanwhile::goes_on;
		std::uint64_t asked[2] = {};
		std::vector<std::thread> writers;
		std::atomic<unsigned> at_work = 2;
		for (int cpu = 0; cpu < 2; cpu++)
			writers.emplace_back([&, cpu] {
				auto own = Emitter::open(options().pmu).value();

				pin(cpu);
				for (unsigned n = 0; n < 500; n++)
					asked[cpu] += own.emit(cpu, record_bytes * (1 + n % 40)).bytes;
				at_work--;
			});
		while (at_work)
			pair.read();
		for (auto &writer : writers)
			writer.join();
		pair.asked = asked[0] + asked[1];
		pair.stop();
		std::printf("# %s: %llu of %llu bytes lost\n", describe(kind).c_str(),
			static_cast<unsigned long long>(pair.balance()), static_cast<unsigned long long>(pair.asked));
	}
}

TEST_CASE("Readers of a shared sink that lag lose trace, which their records say, and go on when they have read",
	"[synth][sink]")
{
	need_two_cpus();
	UnitUnderTest under(shared_unit());
	Pair pair(32 * KiB);

	for (unsigned round = 0; round < 40; round++)
		pair.emit(static_cast<int>(round % 2), 8 * KiB);
	pair.stop();
	CHECK(pair.balance() > 0);
	CHECK(pair.users[0]->truncated + pair.users[1]->truncated >= 1);
	CHECK(pair.ledger.barriers >= 1);
	for (auto &user : pair.users)
		user->event.enable().value();
	for (int cpu : {0, 1, 0, 1}) {
		CHECK(pair.emit(cpu, 4 * KiB).error == 0);
		pair.read();
	}
	pair.stop();
	pair.balance();
}

TEST_CASE("What is lost whole, for want of any room, is missing at a barrier", "[synth][sink]")
{
	need_two_cpus();
	/* The core keeps a byte back: where two records are left there is no room for a barrier and one record. */
	for (std::uint64_t left : {2u, 3u, 4u}) {
		UnitUnderTest under(shared_unit({true, Meanwhile::goes_on}));
		const Setup setup = setup_on(Target::on_cpu(0), 32 * KiB);
		const std::uint64_t room = left * record_bytes, more = 4 * record_bytes;
		const auto before = statistics();
		User user(setup);
		Ledger ledger;
		INFO(left << " records are left");

		/* The event has begun with a record of its own. */
		CHECK(emitter().emit(0, setup.aux_bytes - room - record_bytes).error == 0);
		wait_until("a full area", [&] { return user.aux.head() + room >= setup.aux_bytes; });
		CHECK(emitter().emit(0, more).error == 0);
		wait_until("a loss", [&] { return statistics().since(before)["lost_space"] > 0; });
		user.read(ledger);
		user.event.enable().value();
		CHECK(emitter().emit(0, more).error == 0);
		user.event.disable().value();
		user.read(ledger);
		CHECK(ledger.error == "");
		const auto delta = statistics().since(before);
		INFO(delta.text());
		CHECK(ledger.bytes() + delta["lost_space"] == delta["produced"]);
		CHECK(user.truncated + user.partial > 0);
	}
}

TEST_CASE("What is lost with another area's trace is told of where it is missing, too", "[synth][sink]")
{
	need_two_cpus();
	for (Meanwhile meanwhile : {Meanwhile::stops, Meanwhile::goes_on, Meanwhile::turns}) {
		const Kind kind{false, meanwhile};
		UnitUnderTest under(shared_unit(kind));
		INFO(describe(kind));
		User here(setup_on(Target::on_cpu(1)));
		CHECK(emitter().emit(1, record_bytes).error == 0);
		here.event.disable().value();
		/* What this one leaves in the sink is collected into the smallest area, behind which there is more. */
		User elsewhere(setup_on(Target::on_cpu(0), page_size()));
		here.event.enable().value();
		CHECK(emitter().emit(1, record_bytes).error == 0);
		here.event.disable().value();
		CHECK(emitter().emit(0, page_size() + 4 * KiB).error == 0);
		elsewhere.event.disable().value();
		elsewhere.hear();
		CHECK(elsewhere.truncated == 1);
		here.hear();
		CHECK(here.partial == 0);
		/* Alone: nobody else's trace is in between. */
		here.event.enable().value();
		CHECK(emitter().emit(1, record_bytes).error == 0);
		here.event.disable().value();
		Ledger ledger;
		here.read(ledger);
		CHECK(here.partial == 1);
		CHECK(ledger.error == "");
		CHECK(ledger.bytes() == 4 * record_bytes);
		CHECK(ledger.barriers == 1);
	}
}

TEST_CASE("A reader of one CPU's area gets bytes without a stop, though the sink interrupts elsewhere or is polled",
	"[synth][sink]")
{
	need_two_cpus();
	for (const Kind &kind : kinds)
		for (int cpu : {0, 1}) {
			UnitUnderTest under(shared_unit(kind));
			INFO(describe(kind) << ", traced: CPU " << cpu);
			auto setup = setup_on(Target::on_cpu(cpu));
			setup.watermark = record_bytes;
			User user(setup);
			/* A sink that is polled delivers whatever there is, one that interrupts when it is half full. */
			const std::uint64_t bytes = kind.polled ? record_bytes : sink_bytes / 2;
			CHECK(emitter().emit(cpu, bytes).error == 0);
			wait_until("the trace", [&] { return user.aux.head() >= bytes; });
			Ledger ledger;
			user.event.disable().value();
			user.read(ledger);
			CHECK(ledger.error == "");
			CHECK(ledger.bytes() == bytes + record_bytes);
		}
}

TEST_CASE(
	"A sink is shared by events that hide the same and that one process opened, and by no others", "[synth][sink]")
{
	need_two_cpus();
	UnitUnderTest under(shared_unit());
	Unprivileged everybody;
	Paranoid level(-1);
	User first(setup_on(Target::on_cpu(0)));
	auto is_refused = [](const Setup &setup) {
		const auto before = busy();
		User user(setup);
		const bool traces = emitter().emit(1, record_bytes).error == 0;
		CHECK((busy() > before) == !traces);
		return !traces;
	};

	CHECK_FALSE(is_refused(setup_on(Target::on_cpu(1))));
	Setup hides = setup_on(Target::on_cpu(1));
	hides.exclude_kernel = true;
	CHECK(is_refused(hides));
	CHECK(succeeded(spawn([&] { return is_refused(setup_on(Target::on_cpu(1))); })));
	/* The same process, with fewer rights. */
	pid_t lesser = spawn([&] {
		User own(setup_on(Target::on_cpu(0)));
		return !busy() && become_nobody() && is_refused(setup_on(Target::on_cpu(1)));
	});
	succeeded(lesser);
	/* It is nobody's when its last event has gone. */
	first.event.disable().value();
	CHECK(succeeded(spawn([&] { return !is_refused(setup_on(Target::on_cpu(1))); })));
}

TEST_CASE("Whoever may not trace everything shares a sink between events of one task only", "[synth][sink]")
{
	need_two_cpus();
	UnitUnderTest under(shared_unit());
	Unprivileged everybody;
	Paranoid level(-1);

	for (bool privileged : {true, false}) {
		INFO((privileged ? "root" : "nobody"));
		CHECK(succeeded(spawn([&] {
			const Busy busy;

			/* Whoever has changed the user is not dumpable, and so not to be traced by that user. */
			if ((!privileged && !become_nobody()) || ::prctl(PR_SET_DUMPABLE, 1))
				return false;
			Gate go;
			pid_t child = spawn([&] {
				pin(1);
				go.wait();
				for (;;)
					::usleep(200);
				return true;
			});
			pin(0);
			User mine(setup_on(Target::task_on_cpu(0, 0)));
			User theirs(setup_on(Target::task_on_cpu(child, 1)));
			Ledger here, there, all;
			const auto before = busy.now();
			/* Both run from time to time, and now and then at the same time. */
			go.open();
			wait_until("both to be traced, or one refused", [&] {
				mine.read(privileged ? all : here);
				theirs.read(privileged ? all : there);
				return privileged ? all.streams() == 2 && mine.taken && theirs.taken
						  : busy.now() > before && here.streams() && there.streams();
			});
			::kill(child, SIGKILL);
			::waitpid(child, nullptr, 0);
			if (privileged)
				return busy.now() == before;
			/* Neither has ever got what is the other's. */
			return here.streams() == 1 && there.streams() == 1;
		})));
	}
}

TEST_CASE("Nothing of an earlier user's trace is in a sink for the next", "[synth][sink]")
{
	need_two_cpus();
	UnitUnderTest under(shared_unit());

	for (unsigned round = 0; round < 4; round++)
		CHECK(succeeded(spawn([&] {
			Pair pair;
			/* Less than half of the sink: it does not interrupt, so it is not collected while a CPU writes. */
			for (unsigned n = 0; n < 8; n++)
				pair.emit(static_cast<int>(n % 2), 3 * KiB);
			pair.stop();
			return pair.balance() == 0 && pair.ledger.streams() == 2;
		})));
}

TEST_CASE("Fault sink: what cannot be started takes no trace, says so, and does when it can", "[synth][sink]")
{
	need_two_cpus();
	UnitUnderTest under(shared_unit());
	Setup setup = setup_on(Target::on_cpu(0));
	User user(setup);
	Ledger ledger;

	user.event.disable().value();
	{
		Fault fault("sink", 1000000);
		user.event.enable().value();
		CHECK(emitter().emit(0, record_bytes).error == ENXIO);
		user.event.disable().value();
	}
	user.read(ledger);
	CHECK(user.partial == 1);
	user.event.enable().value();
	CHECK(emitter().emit(0, 16 * record_bytes).error == 0);
	user.event.disable().value();
	user.read(ledger);
	CHECK(ledger.error == "");
	CHECK(ledger.starts == 2);
	CHECK(ledger.bytes() == 18 * record_bytes);
}

TEST_CASE("Fault wrap: where nobody knows how much is missing there is a barrier and a record that says so",
	"[synth][sink]")
{
	need_two_cpus();
	for (auto mode : {AuxMode::full_trace, AuxMode::overwrite}) {
		UnitUnderTest under(shared_unit());
		Setup setup = setup_on(Target::on_cpu(0));
		setup.mode = mode;
		User user(setup);
		const auto before = statistics();
		Fault fault("wrap", 1);

		CHECK(emitter().emit(0, 16 * record_bytes).error == 0);
		user.event.disable().value();
		const auto delta = statistics().since(before);
		INFO(delta.text());
		CHECK(delta["gaps"] == 1);
		CHECK(delta["padded"] == record_bytes);
		CHECK(delta["partials"] == 1);
		Ledger ledger;
		if (mode == AuxMode::full_trace) {
			user.read(ledger);
			CHECK(user.partial == 1);
		} else {
			Snapshot shot = user.aux.snapshot();
			ledger.feed(shot.spans.second.empty() ? shot.spans.first : shot.spans.second);
		}
		CHECK(ledger.error == "");
		CHECK(ledger.barriers == 1);
		CHECK(ledger.bytes() == 17 * record_bytes);
	}
}

namespace
{

/* How it is known that it is time for a sink: it can be polled, but maybe not tell how far it is. */
enum class Told { by_interrupt, by_polls, by_blind_polls };

/* A sink that writes into the area of the one event that uses it. */
struct Direct {
	const char *output;
	Told told;
	bool each = false;

	bool goes_round() const { return told != Told::by_interrupt; }
};
constexpr Direct directs[] = {{"window", Told::by_interrupt}, {"window", Told::by_polls},
	{"window", Told::by_blind_polls}, {"scatter", Told::by_interrupt}, {"scatter", Told::by_polls},
	{"scatter", Told::by_blind_polls}};

std::string describe(const Direct &direct)
{
	return std::format("{}, {}, {}", direct.output,
		direct.told == Told::by_interrupt ? "interrupting"
		: direct.told == Told::by_polls   ? "polled"
						  : "polled blindly",
		direct.each ? "one for each CPU" : "one");
}

Attributes direct_unit(const Direct &direct, Attributes more = {})
{
	Attributes all = {{"output", direct.output}, {"record", std::to_string(record_bytes)},
		{"ram", std::to_string(sink_bytes)}, {"shared", direct.each ? "2" : "1"},
		{"polled", std::to_string(static_cast<int>(direct.told))}};

	all.insert(all.end(), more.begin(), more.end());
	return all;
}

Setup setup_of(const Direct &direct, std::size_t aux_bytes = 256 * KiB)
{
	Setup setup = setup_on(Target::on_cpu(0), aux_bytes);

	setup.output = std::string_view(direct.output) == "window" ? AUXPMU_SYNTH_WINDOW : AUXPMU_SYNTH_SCATTER;
	return setup;
}

/* One user's books: what is in the area, and what is said to be lost. */
struct Books {
	explicit Books(const Setup &setup) : user(setup) {}
	void emit(std::uint64_t bytes, int cpu = 0) { asked += emitter().emit(cpu, bytes).bytes; }
	void read() { user.read(ledger); }
	/* Returns the bytes lost. */
	std::uint64_t close()
	{
		user.event.disable().value();
		read();
		const auto delta = statistics().since(before);
		const std::uint64_t lost = delta["lost_unit"] + delta["lost_space"],
				    made = asked + delta["sessions"] * record_bytes;
		INFO(delta.text());
		CHECK(ledger.error == "");
		CHECK(ledger.bytes() + lost == made);
		CHECK(delta["committed"] == ledger.bytes() + ledger.padded);
		CHECK(delta["padded"] == ledger.padded);
		/* A full area may be, without a byte lost. */
		if (lost)
			CHECK(user.truncated + user.partial > 0);
		copied = delta["copied"];
		return lost;
	}

	const Statistics before = statistics();
	User user;
	Ledger ledger;
	std::uint64_t asked = 0, copied = 0;
};

} // namespace

TEST_CASE("A sink that writes into its event's area has nothing copied, and loses nothing", "[synth][sink]")
{
	need_two_cpus();
	for (const Direct &direct : directs) {
		/*
		 * Chunks are a quarter of the area, by its watermark, and the unit hands over when half of its window is full.
		 * What is left of a chunk then could be full before anybody looks.
		 */
		UnitUnderTest under(direct_unit(
			direct, {{"least", std::to_string(176 * KiB)}, {"min_chunk", std::to_string(256 * KiB)}}));
		INFO(describe(direct));
		Setup setup = setup_of(direct, 1 * MiB);
		setup.watermark = 256 * KiB;
		Books books(setup);
		/* So much may be written before it hands over. */
		const std::uint64_t part =
			direct.goes_round() && setup.output == AUXPMU_SYNTH_WINDOW ? 128 * KiB : 256 * KiB;
		/* Eight laps of the area. */
		while (books.asked < 8 * MiB) {
			books.emit(16 * KiB);
			wait_until("trace", [&] {
				books.read();
				return books.asked < books.ledger.bytes() + part + 32 * KiB;
			});
		}
		CHECK(books.close() == 0);
		CHECK(books.user.truncated + books.user.partial == 0);
		CHECK(books.copied == 0);
	}
}

TEST_CASE("A sink writes into an area that is in its reach; trace for another one is copied", "[synth][sink]")
{
	need_two_cpus();
	for (const Direct &direct : directs) {
		UnitUnderTest under(direct_unit(direct, {{"reach", std::to_string(128 * KiB)}}));
		for (std::size_t area : {64 * KiB, 128 * KiB, 256 * KiB}) {
			INFO(describe(direct) << ", " << area << " bytes");
			Books books(setup_of(direct, area));
			for (unsigned n = 0; n < 4; n++)
				books.emit(4 * KiB);
			CHECK(books.close() == 0);
			CHECK(books.copied == (area > 128 * KiB ? books.ledger.bytes() : 0));
		}
	}
}

TEST_CASE("An event whose sink writes into its area has the sink for itself, and who may not share it waits",
	"[synth][sink]")
{
	need_two_cpus();
	UnitUnderTest under(direct_unit(directs[1]));
	Setup setup = setup_of(directs[1]);
	auto first = std::make_unique<User>(setup);
	const auto before = busy();

	setup.target = Target::on_cpu(1);
	setup.exclude_kernel = true;
	User second(setup);
	CHECK(emitter().emit(1, record_bytes).error != 0);
	CHECK(busy() > before);
	CHECK(emitter().emit(0, record_bytes).error == 0);
	first->event.disable().value();
	second.event.disable().value();
	second.event.enable().value();
	CHECK(emitter().emit(1, record_bytes).error == 0);
	/* That it was kept waiting is said. */
	second.event.disable().value();
	second.hear();
	CHECK(second.partial == 1);
}

namespace
{

/* Until the sink admits this user of a CPU, whose unit then writes a record. Returns the bytes written. */
std::uint64_t emit_when_admitted(User &user, int cpu)
{
	std::uint64_t bytes = 0;

	wait_until("the sink to admit another event", [&] {
		/* The core of 6.1 tries again only when an event is enabled, or its task scheduled. */
		user.event.disable().value();
		user.event.enable().value();
		const auto outcome = emitter().emit(cpu, record_bytes);
		bytes += outcome.bytes;
		return outcome.error == 0;
	});
	return bytes;
}

} // namespace

TEST_CASE("A sink that writes into the area of the event that has it is shared when another one may, and copied from "
	  "then on",
	"[synth][sink]")
{
	need_two_cpus();
	for (const Direct &direct : directs) {
		for (AuxMode mode : {AuxMode::full_trace, AuxMode::overwrite}) {
			UnitUnderTest under(direct_unit(direct, {{"turning", "1"}}));
			INFO(describe(direct) << (mode == AuxMode::overwrite ? ", flight recorder" : ""));
			const auto before = statistics();
			Setup setup = setup_of(direct);
			setup.mode = mode;
			User first(setup);
			Ledger ledger;
			std::uint64_t asked = emitter().emit(0, 8 * KiB).bytes;
			setup.target = Target::on_cpu(1);
			User second(setup);
			asked += emit_when_admitted(second, 1);
			/* No more than areas and sink hold. */
			for (int n = 0; n < 12; n++) {
				asked += emitter().emit(n % 2, 4 * KiB).bytes;
				if (mode == AuxMode::full_trace)
					wait_until("room in the sink", [&] {
						first.read(ledger);
						second.read(ledger);
						return asked < ledger.bytes() + sink_bytes / 2;
					});
			}
			for (User *user : {&first, &second}) {
				user->event.disable().value();
				if (mode == AuxMode::full_trace) {
					user->read(ledger);
					continue;
				}
				user->hear();
				Snapshot shot = user->aux.snapshot();
				ledger.feed(shot.spans.first);
				ledger.feed(shot.spans.second);
			}
			const auto delta = statistics().since(before);
			INFO(delta.text());
			CHECK(ledger.error == "");
			CHECK(ledger.streams() == 2);
			CHECK(ledger.bytes() == asked + delta["sessions"] * record_bytes);
			/* All but what the first had written alone, with its START. */
			CHECK(delta["copied"] == ledger.bytes() - 8 * KiB - record_bytes);
			/*
			 * Only that the second was kept waiting, until the first had handed over: again if the
			 * core had admitted it by itself before emit_when_admitted() disabled it.
			 */
			CHECK(delta["gaps"] >= 1);
			CHECK(delta["gaps"] <= delta["sink_busy"]);
			CHECK(first.truncated + first.partial == 0);
			CHECK(second.truncated == 0);
			CHECK(second.partial == delta["gaps"]);
			CHECK(delta["contract_violations"] == 0);
		}
	}
}

TEST_CASE("An event that has its sink for itself and is paused when another one comes shares it when it is resumed",
	"[synth][sink]")
{
	need_two_cpus();
	if (!can("pause"))
		SKIP("this kernel cannot pause AUX events");
	pin(0);
	for (const Direct &direct : directs) {
		UnitUnderTest under(direct_unit(direct, {{"turning", "1"}}));
		INFO(describe(direct));
		Setup setup = setup_of(direct);
		User first(setup);
		/* Members are scheduled when their leader is. */
		first.event.disable().value();
		auto pausing = at_syscall("getppid"), resuming = at_syscall("getpgid");
		set_aux_action(pausing, AuxAction::pause);
		set_aux_action(resuming, AuxAction::resume);
		const Event pause = Event::open(pausing, setup.target, first.event.fd()).value();
		const Event resume = Event::open(resuming, setup.target, first.event.fd()).value();
		const auto before = statistics();
		Ledger ledger;
		first.read(ledger);
		const std::uint64_t earlier = ledger.bytes();

		first.event.enable().value();
		std::uint64_t asked = emitter().emit(0, 8 * KiB).bytes;
		::syscall(SYS_getppid);
		CHECK(emitter().emit(0, record_bytes).error != 0);
		setup.target = Target::on_cpu(1);
		User second(setup);
		asked += emit_when_admitted(second, 1);
		/* What a paused event has written it hands over when it is resumed. */
		const auto both_emit = [&](bool first_too, std::uint64_t kept) {
			for (int n = 0; n < 12; n++) {
				const auto outcome = emitter().emit(n % 2, 4 * KiB);
				CHECK((outcome.error == 0) == (n % 2 || first_too));
				asked += outcome.bytes;
				wait_until("room in the sink", [&] {
					first.read(ledger);
					second.read(ledger);
					return asked < ledger.bytes() - earlier + kept + sink_bytes / 2;
				});
			}
		};
		both_emit(false, 8 * KiB + record_bytes);
		::syscall(SYS_getpgid, 0);
		both_emit(true, 0);
		for (User *user : {&first, &second}) {
			user->event.disable().value();
			user->read(ledger);
		}
		const auto delta = statistics().since(before);
		INFO(delta.text());
		CHECK(ledger.error == "");
		CHECK(ledger.streams() == 2);
		CHECK(ledger.bytes() - earlier == asked + delta["sessions"] * record_bytes);
		/* All but what the first had written until it was paused, with its START. */
		CHECK(delta["copied"] == ledger.bytes() - earlier - 8 * KiB - record_bytes);
		CHECK(first.truncated + first.partial == 0);
		CHECK(second.truncated == 0);
		CHECK(delta["contract_violations"] == 0);
	}
}

TEST_CASE("Where each CPU has a sink, a task's event uses that of the CPU that it is on", "[synth][sink]")
{
	need_two_cpus();
	std::vector<Direct> all(std::begin(directs), std::end(directs));
	all.push_back({"copy", Told::by_interrupt});
	all.push_back({"copy", Told::by_polls});
	for (Direct direct : all) {
		direct.each = true;
		UnitUnderTest under(direct_unit(direct));
		INFO(describe(direct));
		const bool copies = std::string_view(direct.output) == "copy";
		Setup setup = copies ? setup_on(Target::task(0)) : setup_of(direct);
		setup.target = Target::task(0);
		pin(0);
		Books books(setup);
		for (int n = 0; n < 8; n++) {
			pin(n % 2);
			books.emit(4 * KiB, n % 2);
		}
		CHECK(books.close() == 0);
		CHECK(books.ledger.bytes() > 8 * 4 * KiB);
		CHECK(books.copied == (copies ? books.ledger.bytes() : 0));
	}
}

TEST_CASE("Where each CPU has a sink, events of several CPUs have one each", "[synth][sink]")
{
	need_two_cpus();
	for (Direct direct : directs) {
		direct.each = true;
		UnitUnderTest under(direct_unit(direct));
		INFO(describe(direct));
		Setup setup = setup_of(direct);
		User first(setup);
		const auto before = busy();

		setup.target = Target::on_cpu(1);
		User second(setup);
		CHECK(emitter().emit(0, record_bytes).error == 0);
		CHECK(emitter().emit(1, record_bytes).error == 0);
		CHECK(busy() == before);
	}
}

TEST_CASE("A polled sink that went round in its window says how much is missing", "[synth][sink]")
{
	need_two_cpus();
	for (const char *output : {"window", "scatter"}) {
		const Direct direct{output, Told::by_polls};
		UnitUnderTest under(direct_unit(direct));
		INFO(describe(direct));
		Books books(setup_of(direct, 16 * KiB));
		/* IRQs are off while it is emitted: nobody looks. */
		for (unsigned n = 0; n < 8; n++) {
			books.emit(20 * KiB);
			books.read();
		}
		CHECK(books.close() > 0);
	}
}

/* What is there by now has been looked at. */
void wait_for_a_look()
{
	const std::uint64_t before = statistics()["polls"];

	wait_until("a look at the sink, and its end", [&] { return statistics()["polls"] >= before + 2; });
}

TEST_CASE("A polled sink is collected when it has enough, and little of it after a number of looks", "[synth][sink]")
{
	need_configfs();
	for (Meanwhile meanwhile : {Meanwhile::stops, Meanwhile::goes_on, Meanwhile::turns})
		for (AuxMode mode : {AuxMode::full_trace, AuxMode::overwrite}) {
			const Kind kind{true, meanwhile};
			UnitUnderTest under(shared_unit(kind));
			INFO(describe(kind) << ", " << (mode == AuxMode::overwrite ? "overwrite" : "full trace"));
			auto setup = setup_on(Target::on_cpu(0));
			setup.mode = mode;
			const auto before = statistics();
			/* A flight recorder's area has what was collected, though its head tells of none of it. */
			const auto collected = [&before] {
				return statistics().since(before)["produced"];
			};
			User user(setup);
			wait_until("the record at the start", [&] { return collected() > 0; });
			CHECK(statistics().since(before)["polls"] >= 16);
			/* A quarter of the sink, again and again: more than fits in. */
			for (std::uint64_t i = 1; i <= 8; i++) {
				CHECK(emitter().emit(0, sink_bytes / 4).error == 0);
				wait_for_a_look();
				CHECK(collected() >= i * sink_bytes / 4);
			}
		}
}

TEST_CASE("A polled sink is collected when it has what its reader waits for, or cannot tell how much it has",
	"[synth][sink]")
{
	need_configfs();
	constexpr std::uint64_t watermark = 8 * record_bytes;
	auto unit = shared_unit({true, Meanwhile::turns});
	auto setup = setup_on(Target::on_cpu(0));
	SECTION("waits")
	{
		UnitUnderTest under(unit);
		setup.watermark = watermark;
		User user(setup);
		for (std::uint64_t i = 1; i <= 64; i++) {
			CHECK(emitter().emit(0, watermark).error == 0);
			wait_for_a_look();
			CHECK(user.aux.head() >= i * watermark);
		}
	}
	SECTION("cannot tell")
	{
		unit.emplace_back("polled", "2");
		UnitUnderTest under(unit);
		User user(setup);
		for (std::uint64_t i = 1; i <= 64; i++) {
			CHECK(emitter().emit(0, record_bytes).error == 0);
			wait_for_a_look();
			CHECK(user.aux.head() >= i * record_bytes);
		}
	}
}

TEST_CASE("Fault late_poll: looks that come late are counted, and all is there", "[synth][sink]")
{
	need_configfs();
	need_two_cpus();
	const Direct direct{"window", Told::by_polls};
	for (const bool copies : {true, false}) {
		UnitUnderTest under(copies ? shared_unit({true, Meanwhile::turns}) : direct_unit(direct));
		Books books(copies ? setup_on(Target::on_cpu(0)) : setup_of(direct));
		Fault fault("late_poll", 3);

		wait_until("three late looks", [&] { return statistics().since(books.before)["late_polls"] >= 3; });
		CHECK(fault.left() == 0);
		books.emit(16 * record_bytes);
		CHECK(books.close() == 0);
	}
}

TEST_CASE("A sink that is looked at now and then gets no window below its least", "[synth][sink]")
{
	need_two_cpus();
	for (const char *output : {"window", "scatter"}) {
		const Direct direct{output, Told::by_polls};
		UnitUnderTest under(direct_unit(direct, {{"least", std::to_string(16 * KiB)}}));
		INFO(describe(direct));
		Books books(setup_of(direct, 128 * KiB));
		/* It may go round in a window meanwhile: what counts is how much of the area windows leave over. */
		wait_until("a full area", [&] {
			books.emit(record_bytes);
			books.user.hear();
			return books.user.truncated > 0;
		});
		CHECK(books.user.aux.head() > 64 * KiB);
		CHECK(books.user.aux.head() > 112 * KiB - record_bytes);
		CHECK(books.user.aux.head() < 128 * KiB);
		books.read();
		books.user.event.enable().value();
		books.emit(record_bytes);
		books.close();
	}
}

TEST_CASE("Fault wrap in an area: a barrier is in the place of the first bytes, which are lost", "[synth][sink]")
{
	need_two_cpus();
	for (const Direct &direct : directs) {
		UnitUnderTest under(direct_unit(direct));
		INFO(describe(direct));
		Books books(setup_of(direct));
		Fault fault("wrap", 1);

		books.emit(16 * record_bytes);
		CHECK(books.close() == record_bytes);
		CHECK(books.ledger.barriers == 1);
		CHECK(books.ledger.bytes() == 16 * record_bytes);
		CHECK(statistics().since(books.before)["gaps"] == 1);
	}
}

TEST_CASE("A flight recorder that its sink writes into has the newest trace", "[synth][sink]")
{
	need_two_cpus();
	for (const Direct &direct : directs) {
		UnitUnderTest under(direct_unit(direct));
		INFO(describe(direct));
		Setup setup = setup_of(direct, 64 * KiB);
		setup.mode = AuxMode::overwrite;
		User user(setup);
		const auto before = statistics();

		for (unsigned n = 0; n < 10; n++)
			CHECK(emitter().emit(0, 16 * KiB).error == 0);
		user.event.disable().value();
		Snapshot shot = user.aux.snapshot();
		Ledger ledger;
		ledger.feed(shot.spans.first);
		ledger.feed(shot.spans.second);
		CHECK(ledger.error == "");
		CHECK(ledger.bytes() == 64 * KiB);
		const auto delta = statistics().since(before);
		INFO(delta.text());
		CHECK(delta["copied"] == 0);
		CHECK(delta["overwritten"] == 10 * 16 * KiB + record_bytes - 64 * KiB);
	}
}

TEST_CASE("A sample that is taken while another sink is collected on this CPU waits for no sink", "[synth][sink]")
{
	need_two_cpus();
	need_sampling();
	UnitUnderTest under(shared_unit());
	std::optional<UnitUnderTest> other;
	Setup setup = setup_on(Target::on_cpu(0));
	User user(setup);
	{
		const std::string first = options().pmu;
		other.emplace(shared_unit(), "another");
		/* The collecting unit says how far it got. */
		auto sampling = sampling_member(at_tracepoint("auxpmu/auxpmu_disarm"), 1024);
		Setup second = setup_on(Target::on_cpu(0));
		User sampled(second);
		auto member = Event::open(sampling, second.target, sampled.event.fd()).value();
		member.set_output(sampled.event).value();
		/* A member that is enabled alone waits for a switch of tasks. */
		sampled.event.disable().value();
		sampled.event.enable().value();
		auto emit = Emitter::open(first).value();
		const auto before = statistics();
		Ledger ledger;
		for (unsigned round = 0; round < 16; round++) {
			CHECK(emit.emit(0, sink_bytes / 2).error == 0);
			user.read(ledger);
		}
		CHECK(ledger.error == "");
		const auto delta = statistics().since(before);
		CHECK(delta["samples"] > 0);
		CHECK(delta["sample_no_trace"] > 0);
	}
}
