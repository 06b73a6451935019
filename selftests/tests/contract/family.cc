// SPDX-License-Identifier: GPL-2.0-only
/*
 * A parent's event is redirected while a child that inherited it traces: the child continues in the new ring, and the old ring
 * may be unmapped.
 */
#include <cstdint>
#include <optional>

#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>

#include "contract/idle.h"
#include "shared/fixture.h"
#include "shared/sampler.h"

using namespace auxpmu;
using namespace auxpmu::test;

namespace
{

/*
 * A parent's event, inherited by a child that is traced on CPU 1 all the time, so that no task switch restarts its trace; and
 * memory shared with both, through which they receive commands.
 */
class Family
{
public:
	Family() : said(2) {}
	~Family()
	{
		said[0] = over;
		if (parent > 0)
			succeeded(parent);
	}
	Family(const Family &) = delete;

	/* Starts the parent, for which an event can be opened; then the child, which inherits it. */
	pid_t begin()
	{
		parent = spawn([this] {
			/*
			 * The kernel swaps the contexts of tasks with the same events; an event that is not inherited prevents
			 * that.
			 */
			auto own = Event::open(dummy_attr(), Target::task()).value();

			while (!said[0])
				::usleep(1);
			return succeeded(spawn([this] { return live(); }));
		});
		return parent;
	}
	/* Has the child write so many bytes; returns the errno. */
	int write(std::uint64_t bytes)
	{
		said[1] = unanswered;
		said[0] = bytes;
		wait_until("the child to write", [this] { return said[1] != unanswered; });
		return static_cast<int>(said[1]);
	}
	/*
	 * How often the child had to leave its CPU: the scheduler withholds a 20th of each second from a thread that is always
	 * runnable with real-time priority (sched_rt_runtime_us).
	 */
	std::uint64_t switches()
	{
		said[1] = unanswered;
		said[0] = asked;
		wait_until("the child to answer", [this] { return said[1] != unanswered; });
		return said[1];
	}

private:
	static constexpr std::uint64_t over = ~0ull, asked = over - 1, unanswered = ~0ull;

	bool live()
	{
		sched_param urgent{};

		pin(1);
		urgent.sched_priority = 1;
		if (::sched_setscheduler(0, SCHED_FIFO, &urgent))
			return false;
		for (;;) {
			std::uint64_t bytes = said[0].exchange(0);

			if (bytes == over)
				return true;
			if (bytes == asked) {
				rusage usage{};
				::getrusage(RUSAGE_THREAD, &usage);
				said[1] = static_cast<std::uint64_t>(usage.ru_nivcsw);
			} else if (bytes)
				said[1] = static_cast<std::uint64_t>(emitter().emit(1, bytes).error);
		}
	}

	SharedNumbers said;
	pid_t parent = 0;
};

/*
 * Checks that everything in the area is trace, and was handed over. The core reports what was written into one ring in the
 * other, to which the parent was redirected by then, so the records are not checked.
 */
void take_whole(Tracer &tracer)
{
	tracer.drain();
	INFO(tracer.verifier.error());
	CHECK(tracer.verifier.complete());
	CHECK(tracer.verifier.totals().bytes == tracer.aux.head());
	CHECK(tracer.verifier.totals().records > 0);
}

/* In such a ring the trace of a child may begin anywhere. */
void expect_child(Tracer &tracer)
{
	auto expectation = make_expectation(tracer.setup);

	expectation.any_first = true;
	expectation.cpu = 1;
	expectation.gaps_allowed = tracer.setup.output == AUXPMU_SYNTH_COPY;
	tracer.expect(expectation);
}

/*
 * A child begins in one ring and continues in another. False if it was made to leave its CPU before it wrote beyond its window:
 * then it comes back to the second ring, which does not hold all of it. @brim: one byte of the first ring is given back, so
 * that the unit fills it to its end; the last record written until then is kept back.
 */
bool go_on_in_another_ring(unsigned output, std::uint32_t watermark, bool brim)
{
	auto before = statistics();
	Idle idle[2];
	Family family;
	Setup setup;

	setup.output = output;
	setup.watermark = watermark;
	setup.target = Target::task_on_cpu(idle[0].pid, 1);
	INFO(describe(setup));
	Tracer first(setup);
	setup.target = Target::task_on_cpu(idle[1].pid, 1);
	Tracer second(setup);
	expect_child(first);
	expect_child(second);

	setup.target = Target::task_on_cpu(family.begin(), 1);
	setup.inherit = true;
	auto event = Event::open(make_attr(setup), setup.target).value();
	event.set_output(first.event).value();
	event.enable().value();
	if (brim) {
		REQUIRE(family.write(2048) == 0);
		event.disable().value();
		first.data.page().aux_tail = 1;
		event.enable().value();
	}
	const std::uint64_t switches = family.switches();
	REQUIRE(family.write(2048) == 0);
	event.set_output(second.event).value();
	/* More than the unit's window, and less than both areas hold; copy output has windows of its RAM. */
	const int error = family.write(output == AUXPMU_SYNTH_COPY ? 48 * KiB : watermark + 32 * KiB);
	if (error == ENOSPC && family.switches() != switches)
		return false;
	REQUIRE(error == 0);
	event.disable().value();

	take_whole(first);
	take_whole(second);
	auto counted = statistics().since(before);
	INFO("statistics: " << counted.text());
	/* Nothing was written behind what was handed over and what was kept back. */
	const std::uint64_t written = first.aux.head() + counted["lost_space"];
	CHECK(all_zero(first.aux.view(written, setup.aux_bytes).first));
	CHECK(counted["begins"] == counted["ends"]);
	CHECK(counted["committed"] == first.verifier.totals().bytes + second.verifier.totals().bytes);
	CHECK(counted["produced"] + counted["padded"] ==
		counted["committed"] + counted["lost_unit"] + counted["lost_space"]);
	CHECK(counted["lost_space"] == (brim ? 64u : 0u));
	CHECK((written == setup.aux_bytes) == brim);
	CHECK((second.tally.partial > 0) == (counted["lost_space"] > 0));
	return true;
}

} // namespace

TEST_CASE("A child's trace goes on in the ring that its parent's event is redirected to", "[synth][redirect]")
{
	need_synthetic();
	if (cpus() < 2)
		SKIP("it takes two CPUs");
	pin(0);
	for (unsigned output : every_output())
		for (std::uint32_t watermark : {16384u, 65536u})
			wait_until("a child that stays on its CPU",
				[output, watermark] { return go_on_in_another_ring(output, watermark, false); });
	wait_until("a child that stays on its CPU",
		[] { return go_on_in_another_ring(AUXPMU_SYNTH_WINDOW, 65536, true); });
}

namespace
{

/*
 * A ring is unmapped while a child writes into it. False if the child was made to leave its CPU meanwhile: when it comes back
 * it writes into its parent's present ring, and keeps nothing of the other.
 */
bool orphan_a_ring(unsigned output)
{
	Idle idle[2];
	Family family;
	Setup setup;

	setup.output = output;
	setup.target = Target::task_on_cpu(idle[1].pid, 1);
	Tracer second(setup);
	expect_child(second);
	setup.target = Target::task_on_cpu(family.begin(), 1);
	setup.inherit = true;
	auto event = Event::open(make_attr(setup), setup.target).value();
	std::uint64_t switches;
	{
		setup.target = Target::task_on_cpu(idle[0].pid, 1);
		setup.inherit = false;
		Tracer first(setup);
		event.set_output(first.event).value();
		event.enable().value();
		switches = family.switches();
		REQUIRE(family.write(2048) == 0);
		event.set_output(second.event).value();
	}
	const std::size_t left = buffers().size();
	if (family.switches() != switches)
		return false;
	/* The child holds the last reference to the pages of the first ring. */
	CHECK(left == 2);
	/* Emit from this CPU, so that an interrupt on the child's CPU does the work, once the child is there. */
	wait_until("the child to be on its CPU", [&] { return emitter().emit(1, 64).error == 0; });
	const int error = emitter().emit(1, 64 * KiB).error;
	if (family.switches() != switches)
		return false;
	REQUIRE(error == 0);
	wait_until("the buffer to be freed", [] { return buffers().size() == 1; });
	event.disable().value();
	take_whole(second);
	return true;
}

} // namespace

/* The core warns here, so this test has a guest of its own (selftests/vm/orphan). */
TEST_CASE("A ring that goes while a child writes into it, whose parent was redirected", "[.orphan][core-warns]")
{
	need_synthetic();
	pin(0);
	for (unsigned output : every_output())
		wait_until("a child that stays on its CPU", [output] {
			const bool stayed = orphan_a_ring(output);
			wait_until("the buffers to be freed", [] { return buffers().empty(); });
			return stayed;
		});
}
