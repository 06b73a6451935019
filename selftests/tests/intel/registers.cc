// SPDX-License-Identifier: GPL-2.0-only
/*
 * Registers lose their contents: by a suspend, to another owner of the trace units, or while their CPU is offline. What the
 * backends for Intel's trace units remember of them is wrong then; these tests check the registers themselves, the trace, and the
 * memory of another owner. Run with --pmu auxpmu_pt or auxpmu_bts on the virtual trace hardware; everywhere else skipped.
 */
#include <cstdio>
#include <format>
#include <sstream>
#include <string>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "intel/registers.h"
#include "shared/fixture.h"
#include "shared/hardware.h"
#include "shared/knob.h"

using namespace auxpmu;
using namespace auxpmu::test;

namespace
{

constexpr std::uint64_t page = 4096;

bool is_pt()
{
	return options().pmu == "auxpmu_pt";
}

/* Memory of another owner, whose table OUTPUT_BASE still points to: a driver that trusts that register writes here. */
class Others
{
public:
	Others()
		: memory(static_cast<std::uint64_t *>(::mmap(nullptr, 2 * page, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0)))
	{
		REQUIRE(memory != MAP_FAILED);
		REQUIRE(::mlock(memory, 2 * page) == 0);
		const std::uint64_t data = physical(memory + words);
		/* A ToPA table: each entry is the same region of 4 KiB; the last entry is END. */
		for (std::size_t n = 0; n + 1 < words; n++)
			memory[n] = data;
		memory[words - 1] = physical(memory) | 1;
	}
	~Others() { ::munmap(memory, 2 * page); }
	Others(const Others &) = delete;
	std::uint64_t table() const { return physical(memory); }
	std::string loss() const { return "other:" + std::to_string(table()); }
	bool written() const
	{
		for (std::size_t n = words; n < 2 * words; n++)
			if (memory[n])
				return true;
		return false;
	}

private:
	static constexpr std::size_t words = page / 8;

	static std::uint64_t physical(const std::uint64_t *at)
	{
		UniqueFd map(::open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC));
		std::uint64_t entry = 0;

		REQUIRE(::pread(map.get(), &entry, 8,
				static_cast<off_t>(reinterpret_cast<std::uintptr_t>(at) / page * 8)) == 8);
		REQUIRE(entry & (1ull << 63));
		return (entry & ((1ull << 55) - 1)) * page;
	}

	std::uint64_t *memory;
};

/* Suspends up to the last step, the platform's, and resumes (/sys/power/pm_test). Skips the test if the kernel cannot. */
class PractisedSuspend
{
public:
	PractisedSuspend()
	{
		if (!delay || !level)
			SKIP("this kernel cannot practise a suspend (CONFIG_PM_DEBUG, /sys/power/pm_test)");
	}
	void now() { write_small_file("/sys/power/state", "mem").value(); }

private:
	Knob delay{"/sys/module/suspend/parameters/pm_test_delay", "0"};
	Knob level{"/sys/power/pm_test", "core"};
};

/* This program, traced on one CPU; where there are address filters, only the code in its file, so that ADDR0 is set. */
class Recorded
{
public:
	explicit Recorded(int on, std::size_t bytes) : cpu(on), tracer(setup(on, bytes))
	{
		pin(cpu);
		if (!is_pt() || nr_filters() == 0)
			return;
		tracer.event.set_filter(this_code()).value();
		filtered = true;
	}

	/* Called while it is traced: the registers must be those of this event and of nobody else. */
	void check_registers(std::uint64_t lost_base) const
	{
		const Registers now = registers_of(cpu);

		INFO("registers of CPU " << cpu << ":" << text(now));
		if (!is_pt()) {
			/* TR, BTS, BTINT and BTS_OFF_OS are set, BTS_OFF_USR is clear. */
			CHECK((now[debugctl] & 0x7c0) == 0x3c0);
			CHECK(now[ds_area] != 0);
			return;
		}
		CHECK((now[rtit_ctl] & 1) == 1);
		CHECK(now[output_base] != lost_base);
		CHECK(now[output_base] != 0);
		/* Neither Error nor Stopped. */
		CHECK((now[rtit_status] & 0x30) == 0);
		CHECK(((now[rtit_ctl] >> 32) & 15) == (filtered ? 1 : 0));
		if (!filtered)
			return;
		const auto here = reinterpret_cast<std::uintptr_t>(&churn);
		CHECK(now[addr0_a] <= here);
		CHECK(now[addr0_b] >= here);
		CHECK(now[addr0_b] < 1ull << 47);
	}
	/* Traces more work; its first and last bytes must be in the AUX area. */
	void trace(unsigned calls)
	{
		const std::uint64_t before = tracer.aux.head();

		churn(calls);
		tracer.disable();
		const std::uint64_t after = tracer.aux.head();
		CHECK(after - before >= 1 * KiB);
		CHECK_FALSE(all_zero(before, std::min(before + 256, after)));
		CHECK_FALSE(all_zero(after - 256, after));
	}
	/* The trace must begin with a PSB, from which a decoder can start. */
	void check_psb() const
	{
		const auto bytes = tracer.aux.view(tracer.first_head, tracer.first_head + 16);

		if (is_pt())
			for (std::size_t n = 0; n < 16; n++)
				CHECK(std::to_integer<unsigned>(bytes.first[n]) == (n % 2 ? 0x82u : 0x02u));
	}

private:
	/*
	 * A filter for the mapping of churn(), without its ends: perf core takes a mapping that only adjoins the range for one that
	 * overlaps it.
	 */
	static std::string this_code()
	{
		std::istringstream maps(read_small_file("/proc/self/maps").value());
		const auto here = reinterpret_cast<std::uintptr_t>(&churn);

		for (std::string line; std::getline(maps, line);) {
			unsigned long from = 0, to = 0, offset = 0;
			char file[256] = {};
			if (std::sscanf(line.c_str(), "%lx-%lx %*s %lx %*s %*s %255s", &from, &to, &offset, file) ==
					4 &&
				from <= here && here < to)
				return "filter " + std::to_string(offset + 64) + "/" + std::to_string(to - from - 128) +
				       "@" + file;
		}
		return "";
	}
	static Setup setup(int on, std::size_t bytes)
	{
		Setup all = on_cpu(on, bytes);

		all.target = Target::task_on_cpu(0, on);
		return all;
	}
	bool all_zero(std::uint64_t from, std::uint64_t to) const
	{
		const auto bytes = tracer.aux.view(from, to);

		for (const auto &part : {bytes.first, bytes.second})
			for (const std::byte byte : part)
				if (byte != std::byte{})
					return false;
		return true;
	}

	int cpu;
	bool filtered = false;

public:
	Tracer tracer;
};

} // namespace

TEST_CASE("What another owner left in the registers is not believed, and put back", "[hardware][registers]")
{
	need_hardware();
	Others others;
	wait_until_free();
	/* Often enough for tables to get the same memory as before. */
	for (int round = 0; round < 8; round++) {
		INFO("round " << round);
		tell_hardware("lose " + others.loss());
		const Registers left[] = {registers_of(0), registers_of(cpus() - 1)};
		const int cpu = round % 2 ? cpus() - 1 : 0;
		{
			Recorded recorded(cpu, 1 * MiB);
			recorded.tracer.enable();
			churn(100);
			recorded.check_registers(others.table());
			recorded.trace(2000);
			recorded.check_psb();
			recorded.tracer.drain();
			CHECK(recorded.tracer.tally.partial == 0);
		}
		wait_until_free();
		CHECK_FALSE(others.written());
		for (int n = 0; n < 2; n++) {
			const Registers now = registers_of(n ? cpus() - 1 : 0);
			INFO("CPU " << (n ? cpus() - 1 : 0) << " was" << text(left[n]) << ", is" << text(now));
			CHECK(now == left[n]);
		}
	}
}

TEST_CASE("Ranges that another owner has changed are in force for whoever asks for them, at first or later",
	"[pt][registers]")
{
	need("auxpmu_pt");
	if (nr_filters() < 2)
		SKIP("this unit has less than two address filters");
	constexpr std::uint64_t first = 0xffffffff81000000, second = 0xffffffff82000000, bytes = 0x1000;
	const std::string one = std::format("filter {:#x}/{:#x}", first, bytes);
	Others others;
	pin(0);
	/* In the second round, the driver has written all these values before. */
	for (int round = 0; round < 2; round++) {
		INFO("round " << round);
		wait_until_free();
		tell_hardware("lose " + others.loss());
		REQUIRE(registers_of(0)[addr1_a] != second);
		Setup setup = on_cpu(0, 64 * KiB);
		setup.exclude_kernel = false;
		Tracer tracer(setup);
		tracer.event.set_filter(one).value();
		tracer.enable();
		tracer.disable();
		tracer.event.set_filter(std::format("{},filter {:#x}/{:#x}", one, second, bytes)).value();
		tracer.enable();
		const Registers now = registers_of(0);
		INFO("registers:" << text(now));
		CHECK((now[rtit_ctl] & 1) == 1);
		CHECK((now[rtit_ctl] >> 32 & 0xff) == 0x11);
		CHECK(now[addr0_a] == first);
		CHECK(now[addr0_b] == first + bytes - 1);
		CHECK(now[addr1_a] == second);
		CHECK(now[addr1_b] == second + bytes - 1);
		tracer.disable();
	}
	wait_until_free();
}

TEST_CASE("A CPU that has lost its registers while it was off is traced anew", "[hardware][registers]")
{
	need_hardware();
	if (cpus() < 2)
		SKIP("there is only one CPU");
	Cpu1 cpu1;
	Others others;
	wait_until_free();
	{
		Recorded elsewhere(0, 1 * MiB); /* keeps the claim */
		/* The driver remembers the registers and the memory of CPU 1. */
		std::optional<Recorded> recorded(std::in_place, 1, 1 * MiB);
		recorded->tracer.enable();
		recorded->trace(2000);
		recorded.reset();
		pin(0);
		cpu1.offline();
		tell_hardware("lose " + others.loss());
		cpu1.online();
		const Registers left = registers_of(1);
		if (is_pt())
			CHECK(left[output_base] == others.table());
		recorded.emplace(1, 1 * MiB);
		recorded->tracer.enable();
		churn(100);
		recorded->check_registers(others.table());
		recorded->trace(2000);
		recorded->check_psb();
	}
	wait_until_free();
	CHECK_FALSE(others.written());
}

/*
 * The registers are lost while the unit is parked: when the kernel writes IA32_APIC_BASE (0x1b) on its way back, before drivers
 * switch the units on again.
 */
TEST_CASE("After a suspend that took the registers the unit goes on where it was, and the record says that something "
	  "is missing",
	"[hardware][suspend][.]")
{
	need_hardware();
	PractisedSuspend suspend;
	pin(0);
	Others others;
	/* Room for all trace. */
	Recorded recorded(0, 64 * MiB);
	Tracer &tracer = recorded.tracer;
	std::uint64_t suspends = 0;
	for (const std::string &loss : {others.loss(), std::string("reset")}) {
		INFO("lost: " << loss);
		tracer.enable();
		churn(100);
		tell_hardware("lose " + loss + " at 0x1b");
		suspend.now();
		suspends++;
		/* The loss has happened: no driver of ours would write CR3_MATCH or BTF. */
		const Registers now = registers_of(0);
		INFO("registers:" << text(now));
		constexpr std::uint64_t btf = 2;
		CHECK((is_pt() ? now[cr3_match] != 0 : (now[debugctl] & btf) != 0) == (loss != "reset"));
		recorded.check_registers(others.table());
		/* Much more trace than before. */
		recorded.trace(100'000);
		tracer.drain();
		CHECK(tracer.tally.partial == suspends);
		CHECK(tracer.tally.truncated == 0);
		CHECK_FALSE(others.written());
	}
	CHECK(tracer.tally.aux_bytes > 32 * KiB);
	/* An event that was disabled then must start without relying on anything in the registers. */
	tell_hardware("lose reset at 0x1b");
	suspend.now();
	tracer.enable();
	recorded.check_registers(others.table());
	recorded.trace(1000);
	CHECK_FALSE(others.written());
}

TEST_CASE("An event that went after a suspend is not resumed by the next", "[hardware][suspend][.]")
{
	need_hardware();
	PractisedSuspend suspend;
	pin(0);
	{
		/* An event of the CPU, because a thread's event is scheduled in again with the thread. */
		Tracer tracer(on_cpu(0, 1 * MiB));
		tracer.enable();
		churn(100);
		suspend.now();
		tracer.disable();
		tracer.drain();
		CHECK(tracer.tally.partial == 1);
	}
	const auto sessions = statistics()["sessions"];
	suspend.now();
	CHECK(statistics()["sessions"] == sessions);
}
