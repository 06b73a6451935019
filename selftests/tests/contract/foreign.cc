// SPDX-License-Identifier: GPL-2.0-only
/* Beside a foreign AUX PMU: users need CAP_PERFMON, and neither PMU takes the other's buffers. */
#include <cerrno>
#include <string>

#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include "contract/foreign.h"
#include "shared/fixture.h"
#include "shared/hardware.h"
#include "shared/knob.h"

using namespace auxpmu;
using namespace auxpmu::test;

namespace
{

void need_foreign()
{
	if (::geteuid())
		SKIP("it takes root to load modules and to become somebody else");
	Foreign::need();
}

/* The result of perf_event_open() for a user who traces a task of his own: 0 or an errno. */
int as_user(const perf_event_attr &attr)
{
	pid_t child = ::fork();

	if (!child) {
		if (!become_nobody())
			::_exit(255);
		auto event = Event::open(attr, Target::task());
		::_exit(event ? 0 : event.error().code);
	}
	int status = 0;
	::waitpid(child, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 255;
}

} // namespace

TEST_CASE("Beside AUX PMUs that are not auxpmu's a user needs CAP_PERFMON, whichever of auxpmu's it is",
	"[synth][foreign]")
{
	need_synthetic();
	need_foreign();
	Paranoid two(2);
	Unprivileged all;
	REQUIRE(all);
	/* Another backend, which does nothing about foreign PMUs itself. */
	auto example = Pmu::find("auxpmu_example");
	if (!example)
		SKIP("it takes a second AUX PMU of auxpmu's, auxpmu_example: load drivers/example");
	Setup setup;
	setup.target = Target::task();
	setup.exclude_kernel = true;
	auto another = example->attr();
	another.exclude_kernel = true;

	for (const auto &attr : {make_attr(setup), another}) {
		INFO("PMU type " << attr.type);
		CHECK(as_user(attr) == 0);
		{
			Foreign foreign;
			KernelLog log;

			CHECK(as_user(attr) == EACCES);
			CHECK(log.says("beside AUX PMUs that are not auxpmu's it needs CAP_PERFMON"));
			CHECK(Event::open(attr, setup.target));
		}
		CHECK(as_user(attr) == 0);
	}
}

TEST_CASE("Children of a user who traced before a foreign came are born, and traced", "[synth][foreign]")
{
	need_synthetic();
	need_foreign();
	Paranoid two(2);
	Unprivileged all;
	REQUIRE(all);
	Setup setup;
	setup.target = Target::task_on_cpu(0, 0);
	setup.inherit = true;
	setup.exclude_kernel = true;
	Gate opened, loaded;
	const pid_t user = spawn([&] {
		if (!become_nobody())
			return false;
		const auto event = Event::open(make_attr(setup), setup.target);
		opened.open();
		return loaded.wait() && event && succeeded(spawn([] { return true; }));
	});
	REQUIRE(opened.wait());
	Foreign foreign;
	loaded.open();
	CHECK(succeeded(user));
}

TEST_CASE("An event whose trace would go to a foreign PMU's buffer writes nothing, and is counted", "[synth][foreign]")
{
	need_synthetic();
	Foreign::need();
	Foreign foreign;
	pin(0);
	perf_event_attr theirs = Pmu::find("auxpmu_foreign").value().attr();
	Setup setup;

	/* Redirected through the ring of a software event, which may be anybody's. */
	auto lender = Event::open(theirs, Target::task()).value();
	auto data = DataRing::map(lender, 64 * KiB).value();
	auto aux = AuxRing::map(data, lender, 64 * KiB, AuxMode::full_trace).value();
	auto between = Event::open(dummy_attr(), Target::task()).value();
	between.set_output(lender).value();
	setup.target = Target::task();
	auto borrower = Event::open(make_attr(setup), setup.target).value();
	borrower.set_output(between).value();
	auto before = statistics();
	borrower.enable().value();
	CHECK(emitter().emit(0, 64).error == ENXIO);
	borrower.disable().value();
	auto delta = statistics().since(before);
	CHECK(delta["begins"] == 0);
	CHECK(delta["unmapped"] > 0);
	CHECK(aux.head() == 0);
	/* The foreign PMU still works. */
	lender.enable().value();
	lender.disable().value();
}

TEST_CASE("The intree that the claim holds is no danger, any other AUX PMU is", "[hardware][claim][foreign]")
{
	need_in_tree();
	need_foreign();
	/*
	 * 6.1 does not let modules find out what users may see: there BTS requires CAP_PERFMON in any case (docs/intel-bts.md).
	 */
	utsname kernel{};
	::uname(&kernel);
	if (options().pmu == "auxpmu_bts" && std::string(kernel.release).starts_with("6.1."))
		SKIP("this driver takes CAP_PERFMON here, foreign PMU or not");
	if (!another_in_tree().empty())
		SKIP("beside " << another_in_tree() << " a user needs CAP_PERFMON, foreign PMU or not");
	/* Let users record at all; otherwise this test shows nothing. */
	Paranoid one(1);
	Setup setup = on_cpu(0, 16 * KiB);
	setup.target = Target::task();
	auto attr = make_attr(setup);

	wait_until_free();
	CHECK(as_user(attr) == 0);
	wait_until_free();
	{
		Foreign foreign;
		KernelLog log;

		CHECK(as_user(attr) == EACCES);
		CHECK(log.says("beside AUX PMUs that are not auxpmu's it needs CAP_PERFMON"));
		/* No unit was claimed for the refused event. */
		CHECK(attribute("claim") == "free");
		CHECK(Event::open(attr, setup.target));
	}
	wait_until_free();
	CHECK(as_user(attr) == 0);
	wait_until_free();
}
