// SPDX-License-Identifier: GPL-2.0-only
/*
 * PERF_EVENT_IOC_SET_OUTPUT: events that share rings, in every order. The core lets the buffer of one AUX PMU reach another
 * through a software event; a buffer that is not the PMU's own must be refused and counted.
 */
#include <algorithm>
#include <array>
#include <atomic>
#include <csignal>
#include <cstring>
#include <format>
#include <initializer_list>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include <sched.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "contract/idle.h"
#include "contract/yields.h"
#include "shared/fault.h"
#include "shared/fixture.h"

using namespace auxpmu;
using namespace auxpmu::test;

namespace
{

constexpr const char *other_name = "auxpmu_example";

Result<Event> dummy(Target target)
{
	auto attr = dummy_attr();

	attr.disabled = 1;
	return Event::open(attr, target);
}

/* Describes bytes of a trace with a seed other than this one, or a failure to read it. */
std::string foreign_bytes(const Spans &spans, std::uint32_t seed, std::uint64_t from)
{
	TraceExpectation expectation;

	expectation.seed = seed;
	expectation.any_first = true;
	expectation.gaps_allowed = true;
	TraceVerifier verifier(expectation);
	verifier.begin_at(from);
	verifier.feed(spans);
	verifier.complete();
	return verifier.error();
}

} // namespace

TEST_CASE("A software event shares an AUX event's ring, whichever is closed first, with no trace lost",
	"[contract][redirect]")
{
	pin(0);
	for (bool close_owner : {true, false}) {
		Setup setup;
		auto software = dummy(setup.target).value();
		auto tracer = open_or_skip(setup);

		INFO("the ring's own event closed first: " << close_owner);
		software.set_output(tracer.event).value();
		software.enable().value();
		tracer.enable();
		tracer.produce(4 * KiB);
		if (!close_owner) {
			software.close();
			tracer.produce(4 * KiB);
			tracer.finish();
			continue;
		}
		/*
		 * A mapping keeps the event it was made with, so this event continues, and nobody can disable it; it ends with
		 * the mapping of its area, and reports that in the data ring.
		 */
		tracer.event.close();
		tracer.produce(4 * KiB);
		tracer.aux.unmap();
		CHECK(tracer.drain() == 0);
		must_yield(tracer.tally.aux_bytes, "while its CPU was busy");
		CHECK(tracer.tally.lost == 0);
		/* PMUs other than the synthetic one may have filled their buffers. */
		if (synthetic()) {
			CHECK(tracer.tally.truncated == 0);
			CHECK(tracer.tally.aux_bytes == 8 * KiB + setup.record);
		}
	}
}

TEST_CASE("An AUX event with a ring of its own cannot be redirected to another, and goes on in its own",
	"[contract][redirect]")
{
	pin(0);
	Setup setup;
	auto software = dummy(setup.target).value();
	auto ring = DataRing::map(software, setup.data_bytes).value();
	auto tracer = open_or_skip(setup);

	tracer.enable();
	auto redirected = tracer.event.set_output(software);
	REQUIRE_FALSE(redirected);
	CHECK(redirected.error().code == EINVAL);
	tracer.produce(4 * KiB);
	tracer.finish();
	must_yield(tracer.aux.head(), "while its CPU was busy");
}

TEST_CASE(
	"An AUX event redirected to a ring without an AUX area traces nothing, until there is one", "[synth][redirect]")
{
	need_synthetic();
	pin(0);
	Setup setup;
	auto software = dummy(setup.target).value();
	auto ring = DataRing::map(software, setup.data_bytes).value();
	auto event = Event::open(make_attr(setup), setup.target).value();

	event.set_output(software).value();
	event.enable().value();
	CHECK(emitter().emit(0, 64).error == ENXIO);
	event.disable().value();
	auto alias = DataRing::map(event, setup.data_bytes);
	if (!alias) {
		/*
		 * Some kernels do not let a redirected event map the ring, but let it map an area, and then count it wrongly:
		 * auxpmu refuses.
		 */
		KernelLog log;
		auto area = AuxRing::map(ring, event, 32 * KiB, AuxMode::full_trace);

		REQUIRE_FALSE(area);
		CHECK(area.error().code == ENOMEM);
		CHECK(log.says("AUX buffer refused: the event writes into another event's ring"));
		CHECK(buffers().empty());
		return;
	}
	auto area = AuxRing::map(ring, event, 32 * KiB, AuxMode::full_trace).value();
	event.enable().value();
	CHECK(emitter().emit(0, 2048).error == 0);
	event.disable().value();
	CHECK(area.head() == 2048 + setup.record);
	CHECK(foreign_bytes(area.readable(), setup.seed, 0) == "");
}

namespace
{

/* An event of this thread is redirected into another's ring, whose area suits its needs or does not. */
void borrow(Tracer &lender, const Setup &borrows, bool suits)
{
	INFO(describe(borrows));
	auto event = Event::open(make_attr(borrows), borrows.target).value();
	event.set_output(lender.event).value();
	const auto before = statistics();
	event.enable().value();
	CHECK(emitter().emit(0, 2048).error == (suits ? 0 : ENXIO));
	event.disable().value();
	const auto delta = statistics().since(before);
	CAPTURE(delta.text());
	CHECK((delta["unsuited"] > 0) == !suits);
	CHECK((delta["begins"] > 0) == suits);
	CHECK((lender.aux.head() > 0) == suits);
}

} // namespace

TEST_CASE(
	"An area that was not made for an event's needs is not written into, and that is counted", "[synth][redirect]")
{
	need_synthetic();
	pin(0);
	Idle idle;
	Setup lends, borrows;
	lends.target = Target::task_on_cpu(idle.pid, 0);
	std::optional<Tracer> lender;
	{
		/* A buffer of single pages that is not mapped for the unit. */
		Fault blocks("orders", 1000);
		lender.emplace(lends);
	}
	REQUIRE(buffers().front().chunks > 1);
	borrows.target = Target::task_on_cpu(0, 0);
	for (const auto &[output, pages, suits] : std::initializer_list<std::tuple<unsigned, unsigned, bool>>{
		     {AUXPMU_SYNTH_SCATTER, AUXPMU_SYNTH_PAGES_HALF, false},
		     {AUXPMU_SYNTH_VIRTUAL, AUXPMU_SYNTH_PAGES_LARGE, false},
		     {AUXPMU_SYNTH_SCATTER, AUXPMU_SYNTH_PAGES_ANY, true}}) {
		borrows.output = output;
		borrows.pages = pages;
		borrow(*lender, borrows, suits);
	}
}

TEST_CASE("An area that was made for windows of virtual memory is no area of large blocks", "[synth][redirect]")
{
	need_synthetic();
	pin(0);
	Idle idle;
	Setup lends, borrows;
	lends.target = Target::task_on_cpu(idle.pid, 0);
	lends.output = AUXPMU_SYNTH_VIRTUAL;
	borrows.target = Target::task_on_cpu(0, 0);
	for (unsigned output : every_output()) {
		const bool suits = output == AUXPMU_SYNTH_VIRTUAL || output == AUXPMU_SYNTH_COPY;
		Tracer lender(lends);

		borrows.output = output;
		borrow(lender, borrows, suits);
	}
}

TEST_CASE("Two events of one PMU cannot write into one ring at once", "[synth][redirect]")
{
	need_synthetic();
	if (cpus() < 2)
		SKIP("it takes two CPUs");
	Setup zero, one;
	one.target = Target::on_cpu(1);
	Tracer first(zero);
	auto second = Event::open(make_attr(one), one.target).value();
	/* The core refuses another CPU's ring, and both events continue. */
	auto redirected = second.set_output(first.event);
	REQUIRE_FALSE(redirected);
	CHECK(redirected.error().code == EINVAL);
	first.enable();
	first.emit_all(1024);
	first.finish();
}

TEST_CASE("Two threads' events share one ring by turns, and what one steps over for the other is padded",
	"[synth][redirect]")
{
	need_synthetic();
	for (unsigned output : every_output()) {
		auto before = statistics();
		Setup mine, theirs;
		Gate to_child, to_parent;

		/* Records of a different size begin at different multiples. */
		mine.output = theirs.output = output;
		mine.aux_bytes = theirs.aux_bytes = 512 * KiB;
		theirs.record = 1024;
		constexpr int rounds = 30;
		constexpr std::uint64_t bytes = 2048 + 64;
		pid_t child = spawn([&] {
			bool good = true;

			pin(0);
			for (int i = 0; i < rounds; i++) {
				good &= to_child.wait() && emitter().emit(0, 2048).error == 0;
				to_parent.open();
			}
			return good;
		});
		mine.target = Target::task_on_cpu(0, 0);
		theirs.target = Target::task_on_cpu(child, 0);
		pin(0);
		Tracer shared(mine);
		INFO(describe(mine));
		/* Two events have two record sizes. */
		TraceExpectation expectation;
		expectation.seed = mine.seed;
		expectation.cpu = 0;
		shared.expect(expectation);
		auto guest = Event::open(make_attr(theirs), theirs.target).value();
		guest.set_output(shared.event).value();
		shared.enable();
		guest.enable().value();
		/* Each task waits for the other, so the CPU switches between them. */
		for (int i = 0; i < rounds; i++) {
			shared.emit_all(bytes, 0);
			to_child.open();
			REQUIRE(to_parent.wait());
		}
		CHECK(succeeded(child));
		guest.disable().value();
		guest.close();
		shared.finish_without_statistics();

		const auto &totals = shared.verifier.totals();
		auto delta = statistics().since(before);
		CHECK(shared.verifier.streams().size() == 2);
		CHECK(totals.lost == 0);
		CHECK(totals.pad_bytes > 0);
		CHECK(delta["padded"] == totals.pad_bytes);
		CHECK(delta["produced"] == totals.record_bytes);
		CHECK(delta["committed"] == totals.bytes);
		CHECK(delta["begins"] == delta["ends"]);
	}
}

TEST_CASE("Two PMUs and a software event, redirected in every order, never write into each other's buffers",
	"[synth][redirect]")
{
	need_synthetic();
	auto other = Pmu::find(other_name);
	if (!other)
		SKIP("it takes a second AUX PMU, " << other_name << ": load drivers/example");

	Statistics mine = statistics();
	Statistics theirs = Statistics::read(other_name).value();
	constexpr std::uint32_t seed = 0xa11ce;
	pin(0);

	/* Which event is redirected to which: 0 is ours, 1 the other PMU's, 2 the software event. */
	using Step = std::pair<int, int>;
	const std::vector<Step> all{{2, 0}, {1, 2}, {2, 1}, {0, 2}, {1, 0}, {0, 1}};
	std::uint64_t accepted = 0, refused = 0;

	/* Which of the two has its rings mapped: bit 0 for ours, bit 1 for the other. */
	for (unsigned mapped = 1; mapped < 4; mapped++)
		for (const Step &first : all)
			for (const Step &second : all)
				for (const Step &third : all) {
					if (first == second || second == third || first == third)
						continue;
					Setup setup;
					setup.seed = seed;
					setup.aux_bytes = 16 * KiB;
					setup.data_bytes = 2 * page_size();
					setup.target = Target::task();
					std::array<Event, 3> events;
					events[0] = Event::open(make_attr(setup), setup.target).value();
					events[1] = Event::open(other->attr(), setup.target).value();
					events[2] = dummy(setup.target).value();

					DataRing data[2];
					AuxRing aux[2];
					for (unsigned k = 0; k < 2; k++) {
						if (!(mapped & 1u << k))
							continue;
						data[k] = DataRing::map(events[k], setup.data_bytes).value();
						aux[k] = AuxRing::map(
							data[k], events[k], setup.aux_bytes, AuxMode::full_trace)
								 .value();
					}
					for (const Step &step : {first, second, third}) {
						if (events[static_cast<std::size_t>(step.first)].set_output(
							    events[static_cast<std::size_t>(step.second)]))
							accepted++;
						else
							refused++;
					}
					for (auto &event : events)
						event.enable().value();
					auto outcome = emitter().emit(0, 1024);
					for (auto &event : events)
						event.disable().value();
					CAPTURE(mapped, first, second, third, outcome.error);
					/* Our unit writes into our buffer, whole records, or not at all. */
					if (mapped & 1)
						CHECK(foreign_bytes(aux[0].readable(), seed, 0) == "");
					if (!outcome.error && mapped & 1)
						CHECK(aux[0].head() >= 1024);
					/* None of our trace is in the other's buffer. */
					if (mapped & 2) {
						auto all_of_it = aux[1].view(0, aux[1].size()).first;
						std::uint32_t magic = AUXPMU_RECORD_MAGIC;
						bool found = ::memmem(
							all_of_it.data(), all_of_it.size(), &magic, sizeof(magic));
						if (found) {
							TraceVerifier verifier;
							auxpmu_record record{};
							auto at = static_cast<const std::byte *>(
								::memmem(all_of_it.data(), all_of_it.size(), &magic,
									sizeof(magic)));
							std::memcpy(&record, at, sizeof(record));
							CHECK(record.seed != seed);
						}
					}
				}
	INFO(accepted << " redirections accepted by the core, " << refused << " refused");
	CHECK(accepted > 0);
	/* The core passed buffers to the wrong PMU; that was detected and counted. */
	CHECK(statistics().since(mine)["wrong_pmu"] + Statistics::read(other_name).value().since(theirs)["wrong_pmu"] >
		0);
	CHECK(statistics().since(mine)["begins"] == statistics().since(mine)["ends"]);
	CHECK(buffers().empty());
}

TEST_CASE("Exec and inheritance do not get two writers into one ring", "[synth][redirect]")
{
	need_synthetic();
	if (cpus() < 2)
		SKIP("it takes two CPUs");
	/*
	 * C follows a thread and is removed when this executes a program; D follows the same thread, inherited, into C's ring;
	 * the thread forks, and parent and child run on two CPUs.
	 */
	int up[2], down[2];
	REQUIRE(::pipe(up) == 0);
	REQUIRE(::pipe(down) == 0);
	pid_t child = spawn([&] {
		char byte;

		::close(down[1]);
		if (::read(down[0], &byte, 1) != 1)
			return false;
		::dup2(down[0], 8);
		::dup2(up[1], 9);
		/* The shell reports that it runs, waits, and then it and a child of its own are busy. */
		::execl("/bin/sh", "sh", "-c",
			"echo x >&9; read x <&8; (i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done) & "
			"i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done; wait",
			static_cast<char *>(nullptr));
		return false;
	});

	Setup setup;
	setup.target = Target::task(child);
	setup.manual = false;
	setup.rate = 64;
	auto attr = make_attr(setup);
	attr.remove_on_exec = 1;
	auto C = Event::open(attr, setup.target).value();
	auto data = DataRing::map(C, setup.data_bytes).value();
	auto aux = AuxRing::map(data, C, 256 * KiB, AuxMode::full_trace).value();
	C.enable().value();
	(void)!::write(down[1], "g", 1);
	::close(std::exchange(up[1], -1));
	char byte;
	REQUIRE(::read(up[0], &byte, 1) == 1);

	/* On any CPU, inherited: an old trick, which is refused. */
	setup.inherit = true;
	CHECK_FALSE(Event::open(make_attr(setup), setup.target));
	/* On any CPU, not inherited; and inherited, one per CPU. */
	setup.inherit = false;
	std::vector<Event> events;
	if (auto D = Event::open(make_attr(setup), setup.target)) {
		if (D->set_output(C))
			D->enable().value();
		events.push_back(std::move(*D));
	}
	setup.inherit = true;
	for (int cpu = 0; cpu < 2; cpu++) {
		setup.target = Target::task_on_cpu(child, cpu);
		if (auto D = Event::open(make_attr(setup), setup.target)) {
			(void)D->set_output(C);
			(void)D->enable();
			events.push_back(std::move(*D));
		}
	}
	(void)!::write(down[1], "g\n", 2);
	CHECK(succeeded(child));
	for (auto &event : events)
		event.disable().value();
	std::string wrong = foreign_bytes(aux.readable(), setup.seed, 0);
	CHECK(wrong == "");
	for (int fd : {up[0], down[0], down[1]})
		::close(fd);
}

namespace Catch
{

template <>
struct StringMaker<std::pair<int, int>> {
	static std::string convert(const std::pair<int, int> &step)
	{
		return std::format("{}->{}", step.first, step.second);
	}
};

} // namespace Catch
