// SPDX-License-Identifier: GPL-2.0-only
/*
 * Address filters, given to the PMU under test and to the in-tree one: both must leave the same values in the registers.
 * Run with --pmu auxpmu_pt beside the in-tree driver; everywhere else all of it is skipped.
 */
#include <cstdlib>
#include <cstring>
#include <format>
#include <string>
#include <vector>

#include <sys/mman.h>
#include <unistd.h>

#include "intel/ask.h"
#include "shared/fixture.h"
#include "shared/hardware.h"

using namespace auxpmu;
using namespace auxpmu::test;
using namespace auxpmu::test::asking;

namespace
{

/* The number of address ranges of the processor, which may be 0. */
unsigned ranges()
{
	return static_cast<unsigned>(std::stoul(
		read_small_file("/sys/bus/event_source/devices/" + intree() + "/nr_addr_filters").value_or("0")));
}

/* IA32_RTIT_CTL and the address ranges that its ADDRn_CFG fields put in force. */
std::string filters_in_force(const Registers &registers)
{
	const std::uint64_t ctl = registers[rtit_ctl];
	std::string all = std::format("CTL {:#x}", ctl);

	for (unsigned n = 0; n < 4; n++)
		if (ctl >> (32 + 4 * n) & 0xf)
			all += std::format(", {:#x} to {:#x}", registers[rtit_addr0_a + 2 * n],
				registers[rtit_addr0_a + 2 * n + 1]);
	return all;
}

/* The registers after each change of the filters while the event traces, or the errno if the change is refused. */
std::vector<std::string> after_each(const Pmu &whose, const std::vector<std::string> &changes, Ask ask, int cpu)
{
	Registers registers(cpu);
	std::vector<std::string> all;
	Tracing tracing(whose, ask);

	tracing.event.enable().value();
	all.push_back("at first: " + filters_in_force(registers));
	for (const auto &filters : changes) {
		const auto done = tracing.event.set_filter(filters);
		all.push_back(std::format("\"{}\": {}", filters,
			done ? filters_in_force(registers) : std::string(::strerrorname_np(done.error().code))));
	}
	tracing.event.disable().value();
	/* Now set while the event is disabled. */
	tracing.event.set_filter(changes.front()).value();
	tracing.event.enable().value();
	all.push_back("enabled: " + filters_in_force(registers));
	tracing.event.disable().value();
	tracing.event.set_filter("").value();
	tracing.event.enable().value();
	all.push_back("cleared, enabled: " + filters_in_force(registers));
	return all;
}

/* A file of one page that is mapped executable. */
class Code
{
public:
	Code() : file(::mkstemp(name.data()))
	{
		REQUIRE(file);
		REQUIRE(::ftruncate(file.get(), 4096) == 0);
		void *at = ::mmap(nullptr, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, file.get(), 0);
		REQUIRE(at != MAP_FAILED);
		mapping = Mapping(at, 4096);
	}
	~Code() { ::unlink(name.c_str()); }
	Code(const Code &) = delete;
	const std::string &path() const { return name; }

private:
	std::string name = "/tmp/auxpmu-ask-XXXXXX";
	UniqueFd file;
	Mapping mapping;
};

} // namespace

TEST_CASE("Address filters are in the registers as intel_pt has them, and none is when they are cleared", "[pt][ask]")
{
	need_in_tree();
	need("auxpmu_pt");
	if (!ranges()) {
		/* Without address ranges, no filter is accepted. */
		Tracing tracing(pmu(), ask_config(0));
		CHECK_FALSE(tracing.event.set_filter("filter 0xffffffff81000000/0x1000"));
		return;
	}
	const std::vector<std::string> of_kernel = {
		"filter 0xffffffff81000000/0x1000",
		"stop 0xffffffff81200000/0x10",
		"filter 0xffffffff81000000/0x1000,stop 0xffffffff81000800/1",
		"stop 0xffffffff81000800/1,filter 0xffffffff81000000/0x1000",
		"filter 0xffff800000000000/0x7fffffffffff",
		/* One starts at a non-canonical address, one ends at one. */
		"filter 0x800000000000/0xffff000000001000",
		"filter 0x7ffffffff000/0x2000",
		"filter 0xffffffff82000000/0x1000,filter 0xffffffff83000000/0x1000",
		"stop 0xffffffff81000123/3",
		"",
		"stop 0xffffffff82000000/0x1000,stop 0xffffffff83000000/0x1000",
		"filter 0xffffffff82000000/1,filter 0xffffffff83000000/1,filter 0xffffffff84000000/1",
		"filter 0xffffffff82000000/1,filter 0xffffffff83000000/1,filter 0xffffffff84000000/1,"
		"filter 0xffffffff85000000/1,filter 0xffffffff86000000/1",
		"start 0xffffffff81000000/0x1000",
		"start 0xffffffff81000000",
		"stop 0xffffffff81000000",
		"nonsense",
		"",
	};
	Code code;
	const std::vector<std::string> of_file = {
		std::format("filter 0x100/0x80@{}", code.path()),
		std::format("stop 0x0/0x1000@{}", code.path()),
		"",
		std::format("filter 0x10/1@{0},stop 0x20/1@{0}", code.path()),
		std::format("filter 0x10/1@{0},filter 0x20/1@{0},filter 0x30/1@{0},filter 0x40/1@{0},filter 0x50/1@{0}",
			code.path()),
		"filter 0xffffffff81000000/0x1000", /* a kernel address, but the kernel is excluded */
		"",
	};

	wait_until_free();
	pin(0);
	Ask kernel = ask_config(0), file = ask_exclude(2);
	kernel.target = Target::on_cpu(watched());
	file.target = Target::task();
	file.attr.mmap = 1;
	const auto wanted_of_kernel = after_each(theirs(), of_kernel, kernel, watched());
	const auto wanted_of_file = after_each(theirs(), of_file, file, 0);
	CHECK(after_each(pmu(), of_kernel, kernel, watched()) == wanted_of_kernel);
	CHECK(after_each(pmu(), of_file, file, 0) == wanted_of_file);
	/* An event with filters, and then one without, on the same CPU. */
	std::vector<std::uint64_t> controls;
	for (const char *filters : {"filter 0xffffffff81000000/0x1000,stop 0xffffffff81000800/1", ""}) {
		Tracing tracing(pmu(), kernel);
		if (*filters)
			tracing.event.set_filter(filters).value();
		tracing.event.enable().value();
		controls.push_back(Registers(watched())[rtit_ctl] >> 32);
	}
	CHECK(controls == std::vector<std::uint64_t>{0x21, 0});
}
