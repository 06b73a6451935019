// SPDX-License-Identifier: GPL-2.0-only
/*
 * After a refusal, by any instance and at any step, nothing stays held: no reference on a module, no buffer, no claim on trace
 * units, no hold on the in-tree PMU, no user of the unit (which could then not be removed).
 */
#include <array>
#include <cerrno>
#include <format>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "contract/foreign.h"
#include "shared/fault.h"
#include "shared/fixture.h"
#include "shared/hardware.h"
#include "shared/knob.h"
#include "synth/modelled_unit.h"

using namespace auxpmu;
using namespace auxpmu::test;

namespace
{

/* --- what may be held ------------------------------------------------------------------------- */

std::string users_of(const std::string &module)
{
	return read_small_file("/sys/module/" + module + "/refcnt").value_or("none");
}

/* Users of the framework and of the driver whose PMU is under test. */
std::string module_users()
{
	return std::format("{}, {}", users_of("auxpmu"), users_of(options().pmu));
}

/* Is the in-tree PMU for the units free, so that an event can be opened on each of its CPUs? */
bool intree_is_free()
{
	auto theirs = Pmu::find(intree());

	if (intree().empty() || !theirs)
		return true;
	for (int cpu = 0; cpu < cpus(); cpu++)
		if (!Event::open(theirs->attr(), Target::on_cpu(cpu)))
			return false;
	return true;
}

/* --- ways of being refused -------------------------------------------------------------------- */

/* Returns 0 or the errno of the refusal; whatever it opens and maps on the way is gone when it returns. */
struct Way {
	std::string what;
	int expected;
	std::function<int()> go;
	bool by_fault = false;
};

int code_of(const auto &result)
{
	return result ? 0 : result.error().code;
}

perf_event_attr usual()
{
	Setup setup;

	setup.exclude_kernel = true;
	return make_attr(setup);
}

int open_event(const perf_event_attr &attr, Target target = Target::on_cpu(0), int group = -1)
{
	return code_of(Event::open(attr, target, group));
}

/* Opens an event with an attr as modified by the change. */
Way opening(std::string what, int expected, const std::function<void(perf_event_attr &)> &change,
	Target target = Target::on_cpu(0))
{
	perf_event_attr attr = usual();

	change(attr);
	return {std::move(what), expected, [attr, target] {
			return open_event(attr, target);
		}};
}

/* Likewise by user nobody, at perf_event_paranoid 2. */
Way opening_as_nobody(std::string what, Target target)
{
	return {std::move(what), EACCES, [target] {
			Paranoid two(2);
			SharedNumbers said(1);
			static_cast<void>(succeeded(spawn([&] {
				if (become_nobody())
					said[0] = static_cast<std::uint64_t>(open_event(usual(), target));
				return true;
			})));
			return static_cast<int>(said[0].load());
		}};
}

Way mapping(std::string what, int expected, const perf_event_attr &attr, std::size_t bytes,
	AuxMode mode = AuxMode::full_trace, const char *fault = nullptr)
{
	return {std::move(what), expected,
		[=] {
			std::unique_ptr<Fault> asked;
			if (fault)
				asked = std::make_unique<Fault>(fault, 1000);
			auto event = Event::open(attr, Target::on_cpu(0)).value();
			auto data = DataRing::map(event, 16 * KiB).value();
			return code_of(AuxRing::map(data, event, bytes, mode));
		},
		fault != nullptr};
}

/* The event cannot be scheduled in, or its unit cannot be armed; ENABLE itself does not report that. */
Way enabling(const char *fault)
{
	return {std::format("enabled with the fault {}", fault), 0,
		[=] {
			Fault asked(fault, 1000);
			auto event = Event::open(usual(), Target::on_cpu(0)).value();
			auto data = DataRing::map(event, 16 * KiB).value();
			auto aux = AuxRing::map(data, event, 64 * KiB, AuxMode::full_trace).value();
			event.enable().value();
			const std::uint64_t head = aux.head();
			event.disable().value();
			return head ? -1 : 0;
		},
		true};
}

/* Opens a member in the group of an event that also traces. */
int tracing_member(const std::function<void(perf_event_attr &)> &change)
{
	auto leader = Event::open(usual(), Target::on_cpu(0)).value();
	auto member = usual();
	change(member);
	return open_event(member, Target::on_cpu(0), leader.fd());
}

/* Refusals by the core or the framework, for any PMU. */
std::vector<Way> ways_of_any()
{
	std::vector<Way> ways = {
		opening("a branch stack", EOPNOTSUPP,
			[](auto &attr) {
				attr.sample_type |= PERF_SAMPLE_BRANCH_STACK;
				attr.branch_sample_type = PERF_SAMPLE_BRANCH_ANY | PERF_SAMPLE_BRANCH_USER;
			}),
		opening(
			"inherited, on any CPU", EINVAL, [](auto &attr) { attr.inherit = 1; }, Target::task()),
		opening("bit 63 of config", EINVAL, [](auto &attr) { attr.config |= std::uint64_t{1} << 63; }),
		opening("bit 63 of config1", EINVAL, [](auto &attr) { attr.config1 |= std::uint64_t{1} << 63; }),
		opening(
			"a CPU that is not there", EINVAL, [](auto &) {}, Target::on_cpu(4000)),
		opening(
			"a thread that is not there", ESRCH, [](auto &) {}, Target::task(0x3fffff)),
		opening("a longer attr", E2BIG, [](auto &attr) { attr.size = 4096; }),
		opening_as_nobody("a CPU, by nobody", Target::on_cpu(0)),
		opening_as_nobody("somebody else's thread, by nobody", Target::task(1)),
		{"a second event on a CPU", EBUSY,
			[] {
				auto first = Event::open(usual(), Target::on_cpu(0)).value();
				return open_event(usual());
			}},
		{"of a thread beside one of a CPU", EBUSY,
			[] {
				auto first = Event::open(usual(), Target::on_cpu(0)).value();
				return open_event(usual(), Target::task());
			}},
		{"in a group of another CPU", EINVAL,
			[] {
				auto leader = Event::open(dummy_attr(), Target::on_cpu(cpus() - 1)).value();
				return open_event(usual(), Target::task(), leader.fd());
			}},
		{"a member that samples the trace of the leader, and traces itself", EINVAL,
			[] {
				return tracing_member([](auto &member) {
					member.sample_type = PERF_SAMPLE_AUX;
					member.aux_sample_size = 4096;
				});
			}},
		{"a member that pauses the leader, and traces itself", EINVAL,
			[] {
				return tracing_member([](auto &member) { set_aux_action(member, AuxAction::pause); });
			}},
		{"a member that resumes the leader, and traces itself", EINVAL,
			[] {
				return tracing_member([](auto &member) { set_aux_action(member, AuxAction::resume); });
			}},
		{"into the ring of another CPU", EINVAL,
			[] {
				auto lender = Event::open(dummy_attr(), Target::task()).value();
				auto ring = DataRing::map(lender, 16 * KiB).value();
				auto event = Event::open(usual(), Target::on_cpu(0)).value();
				return code_of(event.set_output(lender));
			}},
		{"a filter that is none", EINVAL,
			[] {
				auto event = Event::open(usual(), Target::on_cpu(0)).value();
				return code_of(event.set_filter("nonsense"));
			}},
		mapping("an area of three pages", EINVAL, usual(), 3 * page_size()),
		mapping("no memory for the buffer's description", ENOMEM, usual(), 64 * KiB, AuxMode::full_trace,
			"setup"),
		mapping("the same, overwriting", ENOMEM, usual(), 64 * KiB, AuxMode::overwrite, "setup"),
		enabling("add"),
		enabling("arm"),
	};
	return ways;
}

/* --- claims ------------------------------------------------------------------------------------- */

constexpr off_t debugctl = 0x1d9, rtit_ctl = 0x570, rtit_status = 0x571, ds_area = 0x600;

/* A register of the last CPU as another tool has left it, during the lifetime of this object. */
class Meddling
{
public:
	Meddling(off_t msr, std::uint64_t value)
		: file(::open(std::format("/dev/cpu/{}/msr", cpus() - 1).c_str(), O_RDWR | O_CLOEXEC)), number(msr)
	{
		if (!file || ::pread(file.get(), &before, sizeof(before), number) != sizeof(before))
			SKIP("registers cannot be read: modprobe msr");
		REQUIRE(::pwrite(file.get(), &value, sizeof(value), number) == sizeof(value));
	}
	~Meddling() { static_cast<void>(!::pwrite(file.get(), &before, sizeof(before), number)); }
	Meddling(const Meddling &) = delete;

private:
	UniqueFd file;
	off_t number;
	std::uint64_t before = 0;
};

/* Refusals by the claim: it fails on one CPU when other CPUs are already claimed and the in-tree PMU is held. */
std::vector<Way> ways_of_claims()
{
	std::vector<Way> ways;

	/* Also with the kernel in the trace: a backend may have prepared something for that before it was refused. */
	for (Target target : {Target::task(), Target::on_cpu(0), Target::on_cpu(cpus() - 1)})
		for (bool kernel : {false, true})
			ways.push_back({std::format("beside the kernel's own, pid {}, CPU {}, {} the kernel",
						target.pid, target.cpu, kernel ? "with" : "without"),
				EBUSY, [target, kernel] {
					auto attr = Pmu::find(intree()).value().attr();
					auto event = Event::open(attr, target).value();
					auto asked = usual();
					asked.exclude_kernel = !kernel;
					return open_event(asked);
				}});
	if (intree() == "intel_pt") {
		ways.push_back({"TraceEn is set", EBUSY, [] {
					/*
					 * Set IA32_RTIT_STATUS.Stopped so that nothing is written; use ToPA and BranchEn, which
					 * every processor accepts.
					 */
					Meddling stopped(rtit_status, 0x20), on(rtit_ctl, 0x2101);
					return open_event(usual());
				}});
	} else {
		ways.push_back({"TR is set", EBUSY, [] {
					Meddling on(debugctl, 0x40);
					return open_event(usual());
				}});
		ways.push_back({"IA32_DS_AREA is somebody's", EBUSY, [] {
					Meddling area(ds_area, 0x1000);
					return open_event(usual());
				}});
		ways.push_back(opening_as_nobody("an own thread, by nobody", Target::task()));
	}
	return ways;
}

/* Where users could pass our buffers to another PMU, a user who may otherwise open the unit is refused. */
Way beside_a_foreign_one()
{
	Way way = opening_as_nobody("beside a foreign, by nobody", Target::task());

	way.go = [go = way.go] {
		Unprivileged everybody;
		Foreign foreign;
		return everybody ? go() : -1;
	};
	return way;
}

/* --- the check ---------------------------------------------------------------------------------- */

/* Tries each way, and lets look() check more of the unit than users can see. */
void go(const std::vector<Way> &ways, const std::function<void()> &look = [] {})
{
	const auto before = module_users();

	REQUIRE(buffers().empty());
	REQUIRE_FALSE(ways.empty());
	for (const Way &way : ways) {
		if (way.by_fault && !Fault::allowed())
			continue;
		INFO(way.what);
		CHECK(way.go() == way.expected);
		wait_until("the users of the modules to be those of before", [&] { return module_users() == before; });
		CHECK(buffers().empty());
		if (!intree().empty()) {
			wait_until_free();
			CHECK(intree_is_free());
		}
		look();
	}
	/* A correct request is granted. */
	Setup setup;
	setup.exclude_kernel = true;
	Tracer tracer(setup);
	tracer.enable();
	tracer.disable();
}

void need_root()
{
	if (::geteuid())
		SKIP("it takes root to become somebody else");
}

} // namespace

TEST_CASE("After a refusal nothing of the trace units, of the kernel's own PMU and of the modules is held",
	"[hardware][refusals]")
{
	need_in_tree();
	need_root();
	auto ways = ways_of_any();
	for (Way &way : ways_of_claims())
		ways.push_back(std::move(way));
	/* With one output region per ToPA table, several blocks cannot be used in overwrite mode. */
	if (intree() == "intel_pt" && pmu().cap("topa_multiple_entries") == "0")
		ways.push_back(mapping(
			"several blocks to overwrite", ENOMEM, usual(), 64 * KiB, AuxMode::overwrite, "orders"));
	wait_until_free();
	go(ways);
	wait_until_free();
}

TEST_CASE("After a refusal nothing of a modelled unit is held: it can be taken away", "[synth][refusals]")
{
	need_root();
	need_configfs();
	Foreign::need();
	auto made = ModelledUnit::make("refusing");
	if (!made)
		SKIP("no unit can be modelled: " << made.error().text);
	ModelledUnit unit = std::move(*made);
	const std::string tested = options().pmu;
	/* Whatever happens, the other tests get the PMU that they have to test. */
	struct Back {
		const std::string &pmu;
		~Back() { select_pmu(pmu); }
	} back{tested};
	const std::vector<std::vector<std::pair<const char *, std::string>>> units = {
		{},
		{{"overwrite", "0"}, {"filters", "1"}},
		{{"min_buffer", "65536"}, {"max_buffer", "131072"}},
		{{"min_chunk", std::to_string(2 * page_size())}},
		{{"output", "window"}, {"record", "4096"}},
		{{"output", "copy"}, {"record", "128"}},
		{{"output", "virtual"}, {"record", "64"}},
	};
	for (const auto &attributes : units) {
		std::string all;
		for (const auto &[attribute, value] : attributes) {
			unit.set(attribute, value).value();
			all += std::format(" {}={}", attribute, value);
		}
		INFO("a unit with" << all);
		unit.live(true).value();
		select_pmu("refusing");
		std::vector<Way> ways;
		const auto value = [&](const char *field, std::uint64_t number) {
			ways.push_back(opening(std::format("{} {}", field, number), EINVAL,
				[&](auto &attr) { pmu().set(attr, field, number).value(); }));
		};
		if (attributes.empty()) {
			ways = ways_of_any();
			value("record", 7);
			value("pattern", 3);
			value("rate", 4095);
			ways.push_back(opening("manual and a rate", EINVAL, [](auto &attr) {
				pmu().set(attr, "manual", 1).value();
				pmu().set(attr, "rate", 1).value();
			}));
			auto whole = usual();
			pmu().set(whole, "pages", AUXPMU_SYNTH_PAGES_WHOLE).value();
			ways.push_back(mapping("one block that is not to be had", ENOMEM, whole, 64 * KiB,
				AuxMode::full_trace, "orders"));
			pmu().set(whole, "pages", AUXPMU_SYNTH_PAGES_HALF).value();
			ways.push_back(mapping("two blocks that are not to be had", ENOMEM, whole, 64 * KiB,
				AuxMode::overwrite, "orders"));
		} else if (attributes.front().first == std::string("overwrite")) {
			ways.push_back(
				mapping("overwriting, which it cannot", ENOMEM, usual(), 64 * KiB, AuxMode::overwrite));
			ways.push_back({"more filters than it has", EOPNOTSUPP, [] {
						auto attr = usual();
						attr.exclude_kernel = 0;
						auto event = Event::open(attr, Target::on_cpu(0)).value();
						return code_of(event.set_filter("filter 0xffffffff81000000/1,"
										"filter 0xffffffff82000000/1"));
					}});
		} else if (attributes.front().first == std::string("min_buffer")) {
			ways.push_back(mapping("an area that is too small", ENOMEM, usual(), 32 * KiB));
			ways.push_back(mapping("an area that is too large", ENOMEM, usual(), 256 * KiB));
		} else if (attributes.front().first == std::string("min_chunk")) {
			ways.push_back(mapping(
				"an area of small blocks", ENOMEM, usual(), 64 * KiB, AuxMode::full_trace, "orders"));
		} else {
			value("output", attributes.front().second == "copy" ? 1 : 2);
			value("record", 3);
		}
		if (attributes.size() == 2 && attributes.back().second == std::to_string(page_size()))
			ways.push_back(mapping("an area of one record", ENOMEM, usual(), page_size()));
		if (attributes.empty())
			ways.push_back(beside_a_foreign_one());
		/* A leftover user would keep the unit alive. */
		go(ways, [&] {
			unit.live(false).value();
			CHECK_FALSE(Pmu::find("refusing"));
			unit.live(true).value();
			select_pmu("refusing");
		});
		select_pmu(tested);
		unit.live(false).value();
		for (const auto &[attribute, unused] : attributes) {
			const std::string name = attribute;
			unit.set(attribute, name == "overwrite" ? "1" : name == "output" ? "any" : "0").value();
		}
	}
	unit.remove().value();
}
