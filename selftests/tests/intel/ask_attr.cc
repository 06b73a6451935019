// SPDX-License-Identifier: GPL-2.0-only
/*
 * Who may trace, what they may trace, and everything else that an attr can request, compared between ours and the in-tree PMU.
 * Run with --pmu auxpmu_pt or auxpmu_bts beside the in-tree PMU; everywhere else all of it is skipped.
 */
#include <array>
#include <cerrno>
#include <cstring>
#include <format>
#include <functional>
#include <string>
#include <vector>

#include <sys/utsname.h>
#include <unistd.h>

#include "intel/ask.h"
#include "shared/fixture.h"
#include "shared/hardware.h"
#include "shared/knob.h"

using namespace auxpmu;
using namespace auxpmu::test;
using namespace auxpmu::test::asking;

namespace
{

/* The exclude bits of privilege levels in every combination; and each of the other ones with these. */
std::vector<Ask> every_exclusion()
{
	std::vector<Ask> asks;

	for (unsigned levels = 0; levels < 8; levels++) {
		asks.push_back(ask_exclude(levels));
		for (std::size_t n = 3; n < exclude_names.size(); n++)
			if (levels < 4)
				asks.push_back(ask_exclude(levels | 1U << n));
	}
	return asks;
}

bool on_6_1()
{
	utsname kernel{};

	::uname(&kernel);
	return std::string(kernel.release).starts_with("6.1.");
}

} // namespace

TEST_CASE("Every combination of exclude_ flags has the kernel's own driver's bits in the control register",
	"[hardware][ask]")
{
	need_in_tree();
	compare_controls(every_exclusion());
}

TEST_CASE("Who may trace what is what the kernel's own driver says, at each perf_event_paranoid", "[hardware][ask]")
{
	need_in_tree();
	need_root();
	std::vector<Ask> asks;
	for (unsigned flags = 0; flags < 4; flags++)
		for (Target target : {Target::task(), Target::on_cpu(0), Target::task_on_cpu(0, 0), Target::task(1)}) {
			Ask ask = ask_exclude(flags);
			ask.target = target;
			ask.what += std::format(", pid {}, CPU {}", target.pid, target.cpu);
			asks.push_back(ask);
		}
	for (int paranoid : {-1, 0, 1, 2}) {
		Paranoid level(paranoid);
		REQUIRE(level);
		INFO("perf_event_paranoid " << paranoid);
		compare_answers_to_nobody(asks, [&](const Ask &ask, int ours, int) {
			/* 6.1 does not let modules find out what users may see: BTS then requires CAP_PERFMON. */
			return intree() == "intel_bts" && on_6_1() && paranoid < 2 && ask.attr.exclude_kernel &&
			       ours == EACCES;
		});
	}
}

namespace
{

/* Everything else that an attr can request, each alone: samples, other kinds of events, targets, additional records. */
std::vector<Ask> every_other_wish()
{
	std::vector<Ask> asks;
	const auto ask = [&](std::string what, const std::function<void(perf_event_attr &)> &change) {
		for (Target target : {Target::on_cpu(0), Target::task()}) {
			Ask one{what + (target.pid ? "" : ", of a thread"), plain(), target};
			change(one.attr);
			asks.push_back(one);
		}
	};

	ask("nothing", [](auto &) {});
	for (unsigned n = 0; n < 26; n++)
		ask(std::format("sample_type bit {}", n), [&](auto &attr) { attr.sample_type = bit(n); });
	for (unsigned n = 0; n < 6; n++)
		ask(std::format("read_format bit {}", n), [&](auto &attr) { attr.read_format = bit(n); });
	for (std::uint64_t period : {std::uint64_t{1}, std::uint64_t{100'000}, bit(63)})
		ask(std::format("a period of {}", period), [&](auto &attr) { attr.sample_period = period; });
	for (std::uint64_t frequency : {1, 1000, 1'000'000'000})
		ask(std::format("a frequency of {}", frequency), [&](auto &attr) {
			attr.freq = 1;
			attr.sample_freq = frequency;
		});
	for (unsigned precise : {1, 2, 3})
		ask(std::format("precise_ip {}", precise), [&](auto &attr) { attr.precise_ip = precise & 3; });
	for (unsigned n : {0, 3, 16})
		ask(std::format("branch stack, kind {}", n), [&](auto &attr) {
			attr.sample_type = PERF_SAMPLE_BRANCH_STACK;
			attr.branch_sample_type = bit(n);
		});
	ask("inherit", [](auto &attr) { attr.inherit = 1; });
	ask("inherit_stat", [](auto &attr) { attr.inherit = attr.inherit_stat = 1; });
	ask("inherit_thread", [](auto &attr) { attr.inherit = attr.inherit_thread = 1; });
	ask("pinned", [](auto &attr) { attr.pinned = 1; });
	ask("exclusive", [](auto &attr) { attr.exclusive = 1; });
	ask("enable_on_exec", [](auto &attr) { attr.enable_on_exec = 1; });
	ask("remove_on_exec", [](auto &attr) { attr.remove_on_exec = 1; });
	ask("sigtrap", [](auto &attr) { attr.sigtrap = attr.remove_on_exec = 1; });
	ask("tasks, mappings, names",
		[](auto &attr) { attr.task = attr.mmap = attr.mmap2 = attr.comm = attr.comm_exec = 1; });
	ask("context switches", [](auto &attr) { attr.context_switch = 1; });
	ask("namespaces", [](auto &attr) { attr.namespaces = 1; });
	ask("kernel symbols", [](auto &attr) { attr.ksymbol = attr.bpf_event = attr.text_poke = 1; });
	ask("build IDs", [](auto &attr) { attr.mmap2 = attr.build_id = 1; });
	ask("write_backward", [](auto &attr) { attr.write_backward = 1; });
	ask("a clock", [](auto &attr) {
		attr.use_clockid = 1;
		attr.clockid = 1;
	});
	ask("wake-ups", [](auto &attr) { attr.wakeup_events = 1; });
	ask("aux_watermark", [](auto &attr) { attr.aux_watermark = 4096; });
	ask("aux_output", [](auto &attr) { attr.aux_output = 1; });
	ask("aux_sample_size", [](auto &attr) {
		attr.sample_type = PERF_SAMPLE_AUX;
		attr.aux_sample_size = 4096;
	});
	for (unsigned n = 0; n < 4; n++)
		ask(std::format("aux_action bit {}", n), [&](auto &attr) { set_aux_action(attr, AuxAction{1U << n}); });
	ask("bits that nobody knows", [](auto &attr) { attr.__reserved_1 = 1; });
	ask("an older attr", [](auto &attr) { attr.size = PERF_ATTR_SIZE_VER0; });
	ask("a longer attr", [](auto &attr) { attr.size = 4096; });
	return asks;
}

/* Where ours is meant to answer differently from the in-tree PMU, and why. */
bool meant_otherwise(const Ask &ask, int ours, int theirs)
{
	/* Children could trace on several CPUs at once, into a ring that supports one writer. */
	if (ask.attr.inherit && ask.target.cpu == -1)
		return ours == EINVAL;
	/* A trace has no branch stack; the in-tree PMU accepts it, but no sample holds any. */
	if (ask.attr.sample_type & PERF_SAMPLE_BRANCH_STACK)
		return ours == EOPNOTSUPP && theirs == 0;
	/* The in-tree BTS PMU supports none of this. */
	if (intree() == "intel_bts" && theirs == EOPNOTSUPP)
		return ours == 0 && ask.what.starts_with("aux_action");
	return false;
}

} // namespace

TEST_CASE("Whatever else an attr has is taken or refused as by the kernel's own driver", "[hardware][ask]")
{
	need_in_tree();
	compare_answers(every_other_wish(), meant_otherwise);
}

TEST_CASE("Records of branches begin where they may: in the kernel alone, in programs alone, or in both", "[bts][ask]")
{
	need("auxpmu_bts");
	constexpr std::uint64_t kernel = bit(63);
	pin(0);
	for (unsigned excluded : {0U, 1U, 2U, 3U}) {
		Ask ask = ask_exclude(excluded);
		INFO(ask.what);
		/* Overwrite mode keeps the newest records, whatever else this CPU has to do. */
		Tracing tracing(pmu(), ask, AuxMode::overwrite);
		std::array<unsigned, 2> records{}; /* of programs, of the kernel */
		const auto look = [&] {
			tracing.event.enable().value();
			for (unsigned n = 0; n < 20; n++) {
				churn(20);
				::getppid();
			}
			tracing.event.disable().value();
			/* Records are 24 bytes, "from" first; zeros are padding, or bytes not yet written. */
			const auto bytes = tracing.aux.view(0, tracing.aux.size()).first;
			records = {};
			for (std::size_t at = 0; at + 24 <= bytes.size(); at += 24) {
				std::uint64_t from;
				std::memcpy(&from, &bytes[at], sizeof(from));
				records[from >= kernel] += from != 0;
			}
		};
		wait_until("records", [&] {
			look();
			return (excluded & 1 || records[0] > 400) && (excluded & 2 || records[1] > 100);
		});
		if (excluded & 1)
			CHECK(records[0] == 0);
		if (excluded & 2)
			CHECK(records[1] == 0);
	}
}
