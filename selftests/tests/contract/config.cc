// SPDX-License-Identifier: GPL-2.0-only
/* Which events may be opened, by whom, and what a refusal says. */
#include <format>

#include <sys/wait.h>
#include <unistd.h>

#include "shared/fixture.h"
#include "shared/knob.h"
#include "synth/modelled_unit.h"

using namespace auxpmu;
using namespace auxpmu::test;

namespace
{

/* Is there an AUX PMU that is not auxpmu's, which could be lent our AUX buffers without noticing that they are not its own? */
bool other_aux_pmu()
{
	for (const char *name : {"intel_pt", "intel_bts", "cs_etm", "arm_spe_0"})
		if (Pmu::find(name))
			return true;
	return false;
}

void need_root()
{
	if (::geteuid())
		SKIP("it takes root to become somebody else");
}

} // namespace

TEST_CASE("config 0 opens, follows a thread, and maps as the kernel's own selftest does", "[contract][config]")
{
	perf_event_attr attr{};

	attr.size = sizeof(attr);
	attr.type = pmu().type();
	attr.exclude_kernel = 1;
	attr.exclude_hv = 1;
	attr.disabled = 1;
	auto event = Event::open(attr, Target::task());
	if (!event && !synthetic())
		SKIP("cannot be opened: " << event.error().text);
	auto data = DataRing::map(event.value(), 2 * page_size()).value();
	auto aux = AuxRing::map(data, *event, 64 * KiB, AuxMode::full_trace).value();
	CHECK(event->enable());
	CHECK(event->disable());
	if (synthetic()) {
		TraceVerifier verifier;
		bool good = verifier.feed(aux.readable()) && verifier.complete();
		INFO(verifier.error());
		CHECK(good);
		CHECK(verifier.totals().starts >= 1);
	}
}

TEST_CASE("Every bit of config and config1 outside the fields, and every value that is none, is EINVAL",
	"[synth][config]")
{
	need_synthetic();
	auto refused = [](std::uint64_t config, std::uint64_t config1, std::uint64_t config2) {
		auto attr = pmu().attr();

		attr.config = config;
		attr.config1 = config1;
		attr.config2 = config2;
		auto event = Event::open(attr, Target::on_cpu(0));
		return !event && event.error().code == EINVAL;
	};
	std::uint64_t words[3] = {};
	for (const auto &[name, field] : pmu().format())
		words[field.word] |= field.place(field.limit());
	const auto [known, known1, known2] = words;
	CHECK(known2 == ~std::uint64_t{0}); /* any address may be the program's */
	for (unsigned bit = 0; bit < 64; bit++) {
		CAPTURE(bit);
		if (!(known & std::uint64_t{1} << bit))
			CHECK(refused(std::uint64_t{1} << bit, 0, 0));
		if (!(known1 & std::uint64_t{1} << bit))
			CHECK(refused(0, std::uint64_t{1} << bit, 0));
		CHECK_FALSE(refused(0, 0, std::uint64_t{1} << bit));
	}
	CHECK(refused(7ull << AUXPMU_SYNTH_RECORD_LO, 0, 0));
	CHECK(refused(3ull << AUXPMU_SYNTH_PATTERN_LO, 0, 0));
	CHECK(refused(1ull << AUXPMU_SYNTH_MANUAL_LO | 5ull << AUXPMU_SYNTH_RATE_LO, 0, 0));
	CHECK(refused((AUXPMU_SYNTH_RATE_MAX + 1ull) << AUXPMU_SYNTH_RATE_LO, 0, 0));
	CHECK_FALSE(refused(std::uint64_t{AUXPMU_SYNTH_RATE_MAX} << AUXPMU_SYNTH_RATE_LO, 0, 0));
	CHECK_FALSE(refused(0, ~0u, 0));
}

TEST_CASE("The reason for a refused config can be read in the log, once", "[synth][config]")
{
	need_synthetic();
	/* The kernel limits the rate of each message, and this test wants the first one only, so let the limit expire. */
	KernelLog log;
	auto attr = pmu().attr();

	attr.config = 7ull << AUXPMU_SYNTH_RECORD_LO;
	bool told = false;
	wait_until("the log to say why", [&] {
		auto event = Event::open(attr, Target::on_cpu(0));
		for (const auto &line : log.lines())
			told |= line.find("record") != std::string::npos && line.find("auxpmu") != std::string::npos;
		return told || event;
	});
	CHECK(told);
}

TEST_CASE("A branch stack is refused, and the log says where else to take it", "[synth][config]")
{
	need_synthetic();
	until_heard("branch stack refused");
	KernelLog log;
	auto attr = pmu().attr();

	attr.sample_type |= PERF_SAMPLE_BRANCH_STACK;
	attr.branch_sample_type = PERF_SAMPLE_BRANCH_ANY | PERF_SAMPLE_BRANCH_USER;
	auto event = Event::open(attr, Target::on_cpu(0));
	REQUIRE_FALSE(event);
	CHECK(event.error().code == EOPNOTSUPP);
	CHECK(log.says(std::format("{}: branch stack refused: take it with another event", options().pmu)));
}

TEST_CASE("The uapi header and sysfs format/ say the same", "[synth][config]")
{
	need_synthetic();
	struct Field {
		const char *name;
		unsigned word, low, high;
	};
	for (const Field &want : {
		     Field{"rate", 0, AUXPMU_SYNTH_RATE_LO, AUXPMU_SYNTH_RATE_HI},
		     Field{"output", 0, AUXPMU_SYNTH_OUTPUT_LO, AUXPMU_SYNTH_OUTPUT_HI},
		     Field{"record", 0, AUXPMU_SYNTH_RECORD_LO, AUXPMU_SYNTH_RECORD_HI},
		     Field{"pattern", 0, AUXPMU_SYNTH_PATTERN_LO, AUXPMU_SYNTH_PATTERN_HI},
		     Field{"pages", 0, AUXPMU_SYNTH_PAGES_LO, AUXPMU_SYNTH_PAGES_HI},
		     Field{"manual", 0, AUXPMU_SYNTH_MANUAL_LO, AUXPMU_SYNTH_MANUAL_HI},
		     Field{"seed", 1, AUXPMU_SYNTH_SEED_LO, AUXPMU_SYNTH_SEED_HI},
		     Field{"program", 2, AUXPMU_SYNTH_PROGRAM_LO, AUXPMU_SYNTH_PROGRAM_HI},
	     }) {
		CAPTURE(want.name);
		auto found = pmu().format().find(want.name);
		REQUIRE(found != pmu().format().end());
		CHECK(found->second.word == want.word);
		REQUIRE(found->second.ranges.size() == 1);
		CHECK(found->second.ranges[0].lowest == want.low);
		CHECK(found->second.ranges[0].highest == want.high);
	}
	CHECK(pmu().monotonic_aux_head());
	CHECK(pmu().format().size() == 8);
}

TEST_CASE("With perf_event_paranoid 2 a user traces own threads, and gets whole and verified trace", "[synth][config]")
{
	need_synthetic();
	need_root();
	if (other_aux_pmu())
		SKIP("an AUX PMU of the kernel's is here: ours may then ask for CAP_PERFMON");
	Paranoid two(2);
	Unprivileged all;
	REQUIRE(all);
	auto &emit = emitter();

	pid_t child = spawn([&] {
		pin(0);
		if (!become_nobody())
			return false;
		Setup setup;
		setup.target = Target::task();
		setup.exclude_kernel = true;
		setup.data_bytes = 16 * KiB;
		auto event = Event::open(make_attr(setup), setup.target);
		if (!event) {
			std::printf("# %s\n", event.error().text.c_str());
			return false;
		}
		auto data = DataRing::map(*event, setup.data_bytes).value();
		auto aux = AuxRing::map(data, *event, setup.aux_bytes, setup.mode).value();
		event->enable().value();
		bool good = emit.emit(0, 8 * KiB).error == 0;
		event->disable().value();
		TraceVerifier verifier(make_expectation(setup));
		good &= verifier.feed(aux.readable()) && verifier.complete() &&
			verifier.totals().record_bytes >= 8 * KiB;
		if (!verifier.ok())
			std::printf("# %s\n", verifier.error().c_str());
		return good;
	});
	CHECK(succeeded(child));
}

TEST_CASE("A user may not trace a whole CPU, and is told which knob forbids it", "[contract][config]")
{
	need_root();
	Paranoid two(2);
	Unprivileged all;

	pid_t child = spawn([&] {
		if (!become_nobody())
			return false;
		Setup setup;
		auto event = Event::open(make_attr(setup), setup.target);
		return !event && (event.error().code == EACCES || event.error().code == EPERM) &&
		       event.error().text.find("perf_event_paranoid is 2") != std::string::npos;
	});
	CHECK(succeeded(child));
}

TEST_CASE("With Debian's perf_event_paranoid 3 a user may open nothing", "[contract][config]")
{
	need_root();
	Paranoid three(3);
	Unprivileged all;

	/* Kernels without Debian's patch treat 3 as 2: they let users count their own instructions. */
	pid_t probe = spawn([] {
		perf_event_attr attr{};

		attr.size = sizeof(attr);
		attr.type = PERF_TYPE_SOFTWARE;
		attr.config = PERF_COUNT_SW_TASK_CLOCK;
		attr.exclude_kernel = 1;
		return become_nobody() && !Event::open(attr, Target::task());
	});
	if (!succeeded(probe))
		SKIP("this kernel takes perf_event_paranoid 3 for 2");
	pid_t child = spawn([&] {
		if (!become_nobody())
			return false;
		Setup setup;
		setup.target = Target::task();
		setup.exclude_kernel = true;
		auto event = Event::open(make_attr(setup), setup.target);
		return !event && event.error().text.find("perf_event_paranoid is 3") != std::string::npos;
	});
	CHECK(succeeded(child));
}

TEST_CASE("An AUX area beyond the locked-memory limits fails with the limits named", "[contract][config]")
{
	need_root();
	Paranoid one(1);
	Unprivileged all;

	pid_t child = spawn([&] {
		if (!become_nobody())
			return false;
		Setup setup;
		setup.target = Target::task();
		setup.exclude_kernel = true;
		auto event = Event::open(make_attr(setup), setup.target);
		if (!event) {
			std::printf("# %s\n", event.error().text.c_str());
			return event.error().code == EACCES || event.error().code == EPERM;
		}
		auto data = DataRing::map(*event, 16 * KiB).value();
		auto aux = AuxRing::map(data, *event, 64 * MiB, AuxMode::overwrite);
		if (aux || aux.error().code != EPERM)
			return false;
		return aux.error().text.find("perf_event_mlock_kb") != std::string::npos &&
		       aux.error().text.find("RLIMIT_MEMLOCK") != std::string::npos;
	});
	CHECK(succeeded(child));
}

TEST_CASE("Synthetic and modelled PMUs are for CAP_PERFMON, unless root has said that everybody may open them",
	"[synth][config]")
{
	need_synthetic();
	need_root();
	if (other_aux_pmu())
		SKIP("an AUX PMU of the kernel's is here: ours may then ask for CAP_PERFMON");
	need_configfs();
	Paranoid lowest(-1);
	auto unit = ModelledUnit::make("config_model").value();
	unit.live(true).value();

	CHECK(read_small_file("/sys/module/auxpmu_synth/parameters/unprivileged") == "N");
	for (const char *name : {AUXPMU_SYNTH_NAME, "config_model"}) {
		auto attr = Pmu::find(name).value().attr();
		auto as_nobody = [&] {
			KernelLog log;
			bool opened = succeeded(spawn([&] {
				if (!become_nobody())
					return false;
				auto event = Event::open(attr, Target::task());
				return event || event.error().code != EACCES;
			}));

			CHECK(log.says(std::format("{}: event refused: synthetic units take CAP_PERFMON", name)) ==
				!opened);
			return opened;
		};

		INFO(name);
		CHECK_FALSE(as_nobody());
		{
			Unprivileged all;

			REQUIRE(all);
			CHECK(as_nobody());
			/* Only root may change the setting. */
			CHECK_FALSE(succeeded(spawn([] { return become_nobody() && Unprivileged(); })));
		}
		CHECK_FALSE(as_nobody());
		/* Root may open the event. */
		CHECK(Event::open(attr, Target::task()));
	}
}

TEST_CASE("What records cost beside memset() is measured for as many bytes as are asked for", "[synth][config]")
{
	need_synthetic();
	const auto measured = run_bench(options().pmu, 300 * KiB).value();

	CHECK(measured.bytes >= 300 * KiB);
	CHECK(measured.bytes < 16 * MiB);
	CHECK(measured.records_ns > 0);
	CHECK(measured.memset_ns > 0);
	const auto refused = write_small_file(std::format("{}/{}/bench", AUXPMU_DEBUGFS, options().pmu), "many");
	REQUIRE_FALSE(refused);
	CHECK(refused.error().code == EINVAL);
}
