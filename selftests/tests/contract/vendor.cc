// SPDX-License-Identifier: GPL-2.0-only
/*
 * Mistakes of a vendor's backend: the one of selftests/vendor makes them one at a time. The framework refuses each, or counts
 * and flags it, and logs a sentence; the kernel does not complain, and the module can be unloaded.
 */
#include <cerrno>
#include <format>

#include <fcntl.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "shared/fixture.h"
#include "shared/knob.h"
#include "shared/tracepoint.h"

using namespace auxpmu;
using namespace auxpmu::test;

namespace
{

constexpr const char *backend_name = "auxpmu_mistakes";

struct Paranoia : Knob {
	explicit Paranoia(bool on) : Knob("/sys/module/auxpmu/parameters/paranoid", on ? "Y" : "N") {}
};

UniqueFd open_module()
{
	utsname kernel{};

	::uname(&kernel);
	/* The folders of the module with and without DKMS. */
	for (const char *folder : {"extra", "updates"}) {
		std::string path = std::format("/lib/modules/{}/{}/{}.ko", kernel.release, folder, backend_name);
		UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
		if (file)
			return file;
	}
	return UniqueFd();
}

/* The backend with one of its mistakes, which is under test during the lifetime of this object. */
class Backend
{
public:
	explicit Backend(const char *mistake, const char *name = backend_name, const std::string &more = "")
		: users(read_small_file("/sys/module/auxpmu/refcnt")), pmu_before(options().pmu)
	{
		UniqueFd file = open_module();
		if (!file)
			SKIP("no " << backend_name << ".ko: selftests/vm/modules builds it");
		std::string parameters = std::format("mistake={} name=\"{}\" {}", mistake, name, more);
		if (::syscall(SYS_finit_module, file.get(), parameters.c_str(), 0))
			refusal = errno;
		else
			select_pmu(backend_name);
	}
	~Backend()
	{
		select_pmu(pmu_before);
		if (!refusal)
			unload();
	}
	Backend(const Backend &) = delete;

	/* 0, or the errno with which it could not be loaded. */
	int refused() const { return refusal; }
	/* Unloads the backend; throws unless what it held becomes free again. */
	void unload()
	{
		refusal = ENOENT;
		wait_until("the backend to be unloaded",
			[] { return !::syscall(SYS_delete_module, backend_name, O_NONBLOCK); });
	}
	bool nothing_held() const { return read_small_file("/sys/module/auxpmu/refcnt") == users; }

private:
	std::optional<std::string> users;
	std::string pmu_before;
	int refusal = 0;
};

/* All messages logged since this object was created. */
class Sayings
{
public:
	unsigned count(std::string_view text)
	{
		for (auto &line : log.lines())
			said.push_back(line);
		unsigned n = 0;
		for (const auto &line : said)
			n += line.find(text) != std::string::npos;
		return n;
	}
	std::string all() const
	{
		std::string text;
		for (const auto &line : said)
			text += "\n" + line;
		return text;
	}

private:
	KernelLog log;
	std::vector<std::string> said;
};

struct Mistake {
	const char *name;
	const char *says;
};

Setup full_trace()
{
	Setup setup;

	pin(0);
	setup.data_bytes = 16 * KiB;
	return setup;
}

void need_backend()
{
	if (::geteuid())
		SKIP("it takes root to load modules");
	if (!open_module())
		SKIP("no " << backend_name << ".ko: selftests/vm/modules builds it");
}

/* Checks what holds for every backend, however it counts. */
void check_books(const Statistics &counted, const Tracer &tracer)
{
	INFO(counted.text());
	CHECK(counted["produced"] + counted["padded"] ==
		counted["committed"] + counted["lost_unit"] + counted["lost_space"]);
	CHECK(counted["committed"] == tracer.tally.aux_bytes);
	CHECK(counted["committed"] == tracer.aux.head());
	CHECK(counted["begins"] == counted["ends"]);
	CHECK(counted["partials"] == tracer.tally.partial);
	/* An upper bound for three starts: no counter has fallen below 0. */
	CHECK(counted["produced"] < 16 * MiB);
	CHECK(counted["lost_unit"] < 16 * MiB);
}

/* Starts and stops three times, so that repeated effects show; returns the counts. */
Statistics trace(Tracer &tracer)
{
	for (int round = 0; round < 3; round++) {
		tracer.enable();
		tracer.disable();
		tracer.drain();
	}
	auto counted = statistics();
	check_books(counted, tracer);
	return counted;
}

} // namespace

TEST_CASE("A backend without mistakes is not complained of, by a paranoid framework neither", "[vendor]")
{
	need_backend();
	for (auto [paranoid, how] : {std::pair{false, ""}, {false, "copy=1"}, {false, "sink=1"}, {true, ""},
		     {true, "copy=1"}, {true, "sink=1"}}) {
		Paranoia knob(paranoid);
		REQUIRE(knob);
		Sayings log;
		Backend backend("none", backend_name, how);

		INFO("paranoid " << paranoid << ", " << how);
		REQUIRE(backend.refused() == 0);
		{
			Tracer tracer(full_trace());
			auto counted = trace(tracer);

			CHECK(counted["contract_violations"] == 0);
			CHECK(counted["partials"] == 0);
			CHECK(tracer.aux.head() == 3 * 64);
		}
		backend.unload();
		CHECK(log.count("auxpmu_mistakes") == 0);
		INFO(log.all());
		CHECK(backend.nothing_held());
	}
}

namespace
{

/* A number that the backend reports: its "events", "buffers", "added"; how often it was "armed" and "invalidated". */
int has(const char *what)
{
	return std::stoi(
		read_small_file(std::format("/sys/module/{}/parameters/{}", backend_name, what)).value_or("-1"));
}

} // namespace

TEST_CASE("What a backend is asked to do it is asked to undo, and what is stepped over it fills itself", "[vendor]")
{
	need_backend();
	for (bool paranoid : {false, true}) {
		Paranoia knob(paranoid);
		REQUIRE(knob);
		Backend backend("none", backend_name, "align=256");

		INFO("paranoid " << paranoid);
		REQUIRE(backend.refused() == 0);
		{
			Tracer tracer(full_trace());
			CHECK(has("events") == 1);
			CHECK(has("buffers") == 1);
			CHECK(has("added") == 0);
			tracer.enable();
			CHECK(has("added") == 1);
			tracer.disable();
			CHECK(has("added") == 0);
			auto counted = trace(tracer);

			/* 64 bytes each, at 0, 256, 512, 768. */
			CHECK(tracer.aux.head() == 768 + 64);
			CHECK(counted["padded"] == 3 * 192);
			for (unsigned at = 64; at < 768; at += 256)
				for (std::byte one : tracer.aux.view(at, at + 192).first)
					REQUIRE(one == std::byte{0xee});
			CHECK(counted["contract_violations"] == 0);
		}
		wait_until("the buffer to be freed", [] { return has("buffers") == 0; });
		CHECK(has("events") == 0);
	}
}

namespace
{

/* Suspends or resumes the unit of CPU 0, as the backend does when someone else needs it. */
void suspend_unit(bool on)
{
	write_small_file(std::format("/sys/module/{}/parameters/suspended", backend_name), on ? "Y" : "N").value();
}

} // namespace

TEST_CASE("A unit that is suspended is not armed before it is resumed, and then for an event that is still there",
	"[vendor]")
{
	need_backend();
	Backend backend("none");
	REQUIRE(backend.refused() == 0);
	Tracer tracer(full_trace());

	tracer.enable();
	suspend_unit(true);
	suspend_unit(false);
	tracer.disable();
	/* The unit was armed twice and wrote a record each time; the missing trace in between is reported. */
	CHECK(tracer.aux.head() == 2 * 64);
	tracer.drain();
	CHECK(tracer.tally.partial == 1);

	/* The event is disabled while the unit is suspended: resuming has no effect. */
	tracer.enable();
	suspend_unit(true);
	tracer.disable();
	suspend_unit(false);
	CHECK(tracer.aux.head() == 3 * 64);

	/* It also has no effect on the next session, which was never suspended and traces. */
	tracer.enable();
	suspend_unit(false);
	tracer.disable();
	CHECK(tracer.aux.head() == 4 * 64);
	CHECK(has("armed") == 4);
	tracer.drain();
	check_books(statistics(), tracer);
}

TEST_CASE("A unit that is suspended while it is paused is not armed by what resumes its event", "[vendor]")
{
	need_backend();
	Backend backend("none");
	REQUIRE(backend.refused() == 0);
	if (!can("pause"))
		SKIP("this kernel cannot pause AUX events");
	Setup setup = full_trace();
	/*
	 * Not an event of this thread: one that is scheduled out with it meanwhile is no longer suspended when it comes back.
	 */
	setup.target = Target::on_cpu(0);
	auto attr = make_attr(setup);
	set_aux_action(attr, AuxAction::start_paused);
	auto event = Event::open(attr, setup.target).value();
	auto resuming = at_syscall("getpgid");
	set_aux_action(resuming, AuxAction::resume);
	auto resume = Event::open(resuming, setup.target, event.fd()).value();
	auto data = DataRing::map(event, setup.data_bytes).value();
	auto aux = AuxRing::map(data, event, setup.aux_bytes, setup.mode, true).value();

	event.enable().value();
	suspend_unit(true);
	::syscall(SYS_getpgid, 0);
	CHECK(has("armed") == 0);
	suspend_unit(false);
	CHECK(has("armed") == 1);
	event.disable().value();
	CHECK(aux.head() == 64);
}

TEST_CASE("What a unit was told is invalidated before the first event after its CPU was off", "[vendor]")
{
	need_backend();
	Cpu1 other;
	Backend backend("none");
	REQUIRE(backend.refused() == 0);
	Setup setup = full_trace();
	const auto trace_on = [&](int cpu) {
		setup.target = Target::on_cpu(cpu);
		Tracer tracer(setup);
		tracer.enable();
		tracer.disable();
		CHECK(tracer.aux.head() == 64);
	};

	trace_on(1);
	CHECK(has("invalidated") == 0);
	other.offline();
	other.online();
	CHECK(has("invalidated") == 0);
	trace_on(0);
	CHECK(has("invalidated") == 0);
	for (int round = 0; round < 2; round++) {
		trace_on(1);
		CHECK(has("invalidated") == 1);
	}
}

TEST_CASE("A unit has as many filters as it says, and of the kinds that it says", "[vendor]")
{
	need_backend();
	for (unsigned number = 1; number <= 8; number++)
		for (unsigned kinds = 0; kinds < 4; kinds++) {
			const bool stop = kinds & 1, points = kinds & 2;
			Backend backend("none", backend_name,
				std::format("filters={} filters_stop={:d} filters_points={:d}", number, stop, points));

			INFO(number << " filters, stop " << stop << ", points " << points);
			REQUIRE(backend.refused() == 0);
			auto event = Event::open(make_attr(full_trace()), Target::on_cpu(0)).value();
			std::string text;
			for (unsigned n = 0; n < number; n++)
				text += std::format("filter {:#x}/64,", 0xffffffff82000000 + 128 * n);
			CHECK(event.set_filter(text));
			const auto refuses = [&](const std::string &filter) {
				auto outcome = event.set_filter(filter);
				return !outcome && outcome.error().code == EOPNOTSUPP;
			};
			CHECK(refuses(text + "filter 0xffffffff83000000/64"));
			CHECK(refuses("start 0xffffffff82000000/64"));
			CHECK(refuses("stop 0xffffffff82000000/64") == !stop);
			for (const char *action : {"start", "stop"})
				CHECK(refuses(std::format("{} 0xffffffff82000000", action)) == !points);
		}
}

TEST_CASE("A descriptor that cannot be is refused when it registers, and the log says why", "[vendor]")
{
	constexpr Mistake mistakes[] = {
		{"version", "PMU auxpmu_mistakes refused: it was built against another version of auxpmu.h"},
		{"no-ops", "PMU auxpmu_mistakes refused: it has no ops"},
		{"no-arm", "PMU auxpmu_mistakes refused: event_init, arm, disarm or position is missing"},
		{"filters", "PMU auxpmu_mistakes refused: it has more than 8 address filters"},
		{"limit", "PMU auxpmu_mistakes refused: a limit is not a power of two"},
		{"unit-huge", "PMU auxpmu_mistakes refused: unit_size is above 1 MiB"},
		{"yields", "PMU auxpmu_mistakes refused: yields is none of enum auxpmu_yields"},
		{"half-a-claim", "PMU auxpmu_mistakes refused: its claim has not all of begin, end, acquire"},
		{"groups", "PMU auxpmu_mistakes refused: it has more than 14 attribute groups"},
		{"group-twice", "PMU auxpmu_mistakes refused: two of its attribute groups have the same name"},
		{"caps-taken", "PMU auxpmu_mistakes refused: an attribute of its group caps is there already"},
		{"caps-visible", "PMU auxpmu_mistakes refused: its group caps has is_visible"},
		{"core-attr", "PMU auxpmu_mistakes refused: an attribute without a group has a name that the core"},
		{"unit-init-positive", "auxpmu_mistakes: unit_init() returned 5, which is no errno"},
	};

	need_backend();
	for (const auto &mistake : mistakes) {
		Sayings log;
		Backend backend(mistake.name);

		INFO(mistake.name);
		CHECK(backend.refused() == EINVAL);
		CHECK(log.count(mistake.says) == 1);
		INFO("the log says:" << log.all());
		CHECK(backend.nothing_held());
	}
}

TEST_CASE("A name that cannot be is refused when it registers, and the log says why", "[vendor]")
{
	const std::string longest(63, 'n'), longer = longest + "n";
	struct Name {
		std::string name;
		const char *says;
	};
	const Name names[] = {
		{"", "PMU  refused: it has no name"},
		{"none", "PMU (unnamed) refused: it has no name"},
		{"a blank", "other characters than letters, digits, _, - and ."},
		{"a\tb", "other characters than letters, digits, _, - and ."},
		{"a/b", "other characters than letters, digits, _, - and ."},
		{"a\xe4", "other characters than letters, digits, _, - and ."},
		{".", "does not begin with a letter or digit"},
		{"..", "does not begin with a letter or digit"},
		{"\xe4", "does not begin with a letter or digit"},
		{longer, "its name has more than 63 characters"},
	};

	need_backend();
	for (const auto &name : names) {
		Sayings log;
		Backend backend("none", name.name.c_str());

		INFO("'" << name.name << "'");
		CHECK(backend.refused() == EINVAL);
		CHECK(log.count(name.says) == 1);
		INFO("the log says:" << log.all());
		CHECK(backend.nothing_held());
	}
	for (const char *name : {longest.c_str(), "hisi_sccl1-2.0"})
		CHECK(Backend("none", name).refused() == 0);
}

TEST_CASE("Needs that cannot be served are refused when an event is opened, and the log says why", "[vendor]")
{
	constexpr Mistake mistakes[] = {
		{"output", "needs of the backend: output is none of enum auxpmu_output (output 7, pages 0)"},
		{"pages", "needs of the backend: pages is none of enum auxpmu_pages (output 1, pages -1)"},
		{"no-spans", "needs of the backend: output is AUXPMU_COPY, and the ops have no spans()"},
		{"copy-mapped", "needs of the backend: map is set, but a unit that copies never writes"},
		{"window-regions", "needs of the backend: regions takes AUXPMU_SCATTER"},
		{"start-align", "window rules of the backend: start_align is not a power of two from 1 to a page "
				"(start_align 48"},
		{"end-align", "window rules of the backend: end_align is not a power of two from 1 to a page"},
		{"unit", "window rules of the backend: atom is 0 ("},
		{"early", "window rules of the backend: early is not less than a page"},
		{"event-init-positive", "event_init() returned 5, which is no errno"},
	};

	need_backend();
	for (const auto &mistake : mistakes) {
		Sayings log;
		Backend backend(mistake.name);

		REQUIRE(backend.refused() == 0);
		/* The second refusal is logged as well as the first. */
		for (unsigned n = 1; n <= 2; n++) {
			auto event = Event::open(pmu().attr(), Target::on_cpu(0));

			INFO(mistake.name << ", time " << n);
			REQUIRE_FALSE(event);
			CHECK(event.error().code == EINVAL);
			CHECK(log.count(mistake.says) == n);
		}
		backend.unload();
		CHECK(backend.nothing_held());
	}
}

TEST_CASE("Needs of a shared sink, a barrier or a format that cannot be are refused, and the log says why", "[vendor]")
{
	constexpr Mistake mistakes[] = {
		{"format", "needs of the backend: format has other bits than PERF_AUX_FLAG_PMU_FORMAT_TYPE_MASK"},
		{"barrier", "needs of the backend: barrier takes AUXPMU_COPY or sink, put_barrier, whole "
			    "atoms, up to a page"},
		{"sink", "needs of the backend: sink is set, and the descriptor does not say no_nmi"},
		{"no-progress", "needs of the backend: the sink is polled, and the ops have no progress()"},
	};

	need_backend();
	for (const auto &mistake : mistakes) {
		INFO(mistake.name);
		Sayings log;
		Backend backend(mistake.name);

		REQUIRE(backend.refused() == 0);
		/* The kernel limits the rate of this message, whatever it says. */
		wait_until("the log to say why", [&] {
			auto event = Event::open(pmu().attr(), Target::on_cpu(0));

			return event || log.count(mistake.says) > 0;
		});
		CHECK(log.count(mistake.says) > 0);
		backend.unload();
		CHECK(backend.nothing_held());
	}
}

TEST_CASE("What a buffer cannot be is refused when it is mapped, and the log says why", "[vendor]")
{
	constexpr Mistake mistakes[] = {
		{"suit", "AUX buffer of 64 KiB refused: atom is 0"},
		{"spare", "AUX buffer of 64 KiB refused: the smallest chunk does not hold one window and the spare "
			  "bytes"},
		{"buffer-init-positive", "AUX buffer of 64 KiB refused by the backend: error 5"},
	};

	need_backend();
	for (const auto &mistake : mistakes) {
		Sayings log;
		Backend backend(mistake.name);

		REQUIRE(backend.refused() == 0);
		{
			Setup setup = full_trace();
			auto event = Event::open(pmu().attr(), setup.target).value();
			auto data = DataRing::map(event, setup.data_bytes).value();

			INFO(mistake.name);
			CHECK_FALSE(AuxRing::map(data, event, setup.aux_bytes, setup.mode));
			CHECK(log.count(mistake.says) == 1);
			CHECK(has("buffers") == 0);
		}
		backend.unload();
		CHECK(backend.nothing_held());
	}
}

TEST_CASE("A unit that cannot be armed is told of once, by PARTIAL and in the log", "[vendor]")
{
	need_backend();
	for (const auto &[name, says] : {Mistake{"arm-fails", "arm() on CPU 0 returned -5; tracing has ended"},
		     Mistake{"arm-positive", "arm() on CPU 0 returned 5; tracing has ended"}}) {
		Sayings log;
		Backend backend(name);

		REQUIRE(backend.refused() == 0);
		{
			Tracer tracer(full_trace());
			auto counted = trace(tracer);

			CHECK(counted["arm_failures"] >= 3);
			CHECK(counted["contract_violations"] == 0);
			CHECK(counted["partials"] == 1);
			CHECK(tracer.aux.head() == 0);
		}
		backend.unload();
		INFO(name);
		CHECK(log.count(says) == 1);
		INFO("the log says:" << log.all());
		CHECK(backend.nothing_held());
	}
}

namespace
{

/*
 * Checks a mistake made while tracing: it is logged, counted and flagged; the accounts are right, no more than most is handed
 * over, and the module can be unloaded.
 */
void check_at_work(const Mistake &mistake, std::uint64_t overruns, std::uint64_t most)
{
	Sayings log;
	Backend backend(mistake.name);

	INFO(mistake.name);
	REQUIRE(backend.refused() == 0);
	{
		Tracer tracer(full_trace());
		auto counted = trace(tracer);

		INFO(counted.text());
		CHECK(counted["contract_violations"] > 0);
		CHECK(counted["overruns"] == overruns);
		CHECK(counted["committed"] <= most);
		CHECK(counted["partials"] > 0);
		/* The mistake is no reason to stop. */
		CHECK(counted["sessions"] == 3);
	}
	backend.unload();
	CHECK(log.count(mistake.says) > 0);
	INFO("the log says:" << log.all());
	CHECK(backend.nothing_held());
}

} // namespace

TEST_CASE("A position that cannot be is taken for nothing, counted and told", "[vendor]")
{
	need_backend();
	for (const Mistake &mistake :
		{Mistake{"negative", "position() on CPU 0 said -64 bytes, 0 lost, which cannot be"},
			Mistake{"negative-lost", "position() on CPU 0 said 64 bytes, -64 lost, which cannot be"},
			Mistake{"negative-copy", "position() on CPU 0 said -64 bytes, 0 lost, which cannot be"}})
		check_at_work(mistake, 3, 0);
	check_at_work({"sink-beyond", "position() on CPU 0 said 1088 bytes, 0 lost, which cannot be"}, 3, 0);
	check_at_work({"beyond", "position() on CPU 0 said"}, 3, 192 * KiB);
}

TEST_CASE("Spans that are not what the position says are cut, counted and told, and never read beyond", "[vendor]")
{
	need_backend();
	for (const Mistake &mistake :
		{Mistake{"spans-long", "spans() on CPU 0 named 1088 bytes where position() said 64"},
			Mistake{"spans-short", "spans() on CPU 0 named 32 bytes where position() said 64"},
			Mistake{"spans-three", "spans() on CPU 0 named 3 pieces"},
			Mistake{"spans-none", "spans() on CPU 0 named 0 bytes where position() said 64"},
			Mistake{"spans-null", "spans() on CPU 0 named 0 bytes where position() said 64"},
			Mistake{"spans-negative",
				"spans() on CPU 0 named 1152921504606846976 bytes where position() said 64"}})
		check_at_work(mistake, 0, 3 * 64);
}

TEST_CASE("What only a paranoid framework sees is counted and told, and flagged where trace is in doubt", "[vendor]")
{
	need_backend();
	Paranoia knob(true);
	REQUIRE(knob);
	struct Seen {
		const char *name;
		const char *says;
		bool partial;
	};
	constexpr Seen mistakes[] = {
		{"moves", "disarm() on CPU 0 let the unit go on: it was at 64 bytes, and at 128 a moment later", true},
		{"behind", "arm() on CPU 0 let the unit write behind its window: byte 0 behind window.to", true},
		{"unit-none", "disarm() on CPU 0 saw that unit->private was left: byte 0 of 0 was written", false},
		{"unit-before", "disarm() on CPU 0 saw that unit->private was left: byte -1 of 64 was written", false},
		{"unit-behind", "disarm() on CPU 0 saw that unit->private was left: byte 64 of 64 was written", false},
		{"no-interrupt", "arm() on CPU 0 was followed by no interrupt in 3 windows", true},
		{"irqs", "arm() on CPU 0 changed whether IRQs are off from 1 to 0", false},
		{"preempt", "arm() on CPU 0 changed preempt_count() from 0x", false},
		{"span-address", "spans() on CPU 0 named memory that is not there, in piece 0 of 64 bytes", true},
		{"irqs-on", "auxpmu_interrupt() on CPU 0 called with IRQs on", false},
		{"irqs-off", "event_init() on CPU 0 changed whether IRQs are off from 0 to 1", false},
		{"sink-moves", "sink.stop() on CPU 0 let the unit go on: it was at 64 bytes, and at 128 a moment later",
			true},
		{"sink-address", "sink.spans() on CPU 0 named memory that is not there, in piece 0 of 64 bytes", true},
		{"sink-irqs", "sink.stop() on CPU 0 changed whether IRQs are off from 1 to 0", false},
		{"sink-preempt", "sink.start() on CPU 0 changed preempt_count() from 0x", false},
	};

	/*
	 * If a mistake enables IRQs, lockdep itself complains and then checks nothing else any more; disabled IRQs it does not
	 * notice.
	 */
	const bool lockdep = ::access("/proc/lockdep_stats", F_OK) == 0;
	for (const auto &mistake : mistakes) {
		const std::string_view name = mistake.name;
		if (lockdep && (name == "irqs" || name == "irqs-off" || name == "sink-irqs"))
			continue;
		Sayings log;
		Backend backend(mistake.name);

		INFO(mistake.name);
		/* A kernel without preemption need not count it (6.1 on arm64), and then this is no mistake. */
		if (name.ends_with("preempt") && backend.refused() == EOPNOTSUPP)
			continue;
		REQUIRE(backend.refused() == 0);
		{
			Tracer tracer(full_trace());
			auto counted = trace(tracer);

			INFO(counted.text());
			CHECK(counted["contract_violations"] > 0);
			CHECK((counted["partials"] > 0) == mistake.partial);
			CHECK(counted["overruns"] == 0);
		}
		backend.unload();
		CHECK(log.count(mistake.says) > 0);
		INFO("the log says:" << log.all());
		CHECK(backend.nothing_held());
	}
}
