// SPDX-License-Identifier: GPL-2.0-only
/*
 * The BTS backend: who may use it, in what state it leaves the DS area, and where records lie. Run with --pmu auxpmu_bts; with
 * any other PMU all of it is skipped.
 */
#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <span>
#include <string>
#include <vector>

#include <elf.h>
#include <fcntl.h>
#include <unistd.h>

#include "shared/fault.h"
#include "shared/fixture.h"
#include "shared/hardware.h"
#include "shared/knob.h"
#include "shared/tracepoint.h"

using namespace auxpmu;
using namespace auxpmu::test;

namespace
{

constexpr std::size_t record = 24;

/* Kernel memory by its address, from /proc/kcore. */
class KernelMemory
{
public:
	KernelMemory() : file(::open("/proc/kcore", O_RDONLY | O_CLOEXEC))
	{
		Elf64_Ehdr header;

		if (!file || ::pread(file.get(), &header, sizeof(header), 0) != sizeof(header))
			SKIP("/proc/kcore cannot be read");
		parts.resize(header.e_phnum);
		const auto bytes = static_cast<ssize_t>(parts.size() * sizeof(Elf64_Phdr));
		REQUIRE(::pread(file.get(), parts.data(), static_cast<std::size_t>(bytes),
				static_cast<off_t>(header.e_phoff)) == bytes);
	}
	template <class T>
	T read(std::uint64_t address) const
	{
		T value;

		for (const Elf64_Phdr &part : parts)
			if (part.p_type == PT_LOAD && address >= part.p_vaddr &&
				address + sizeof(T) <= part.p_vaddr + part.p_memsz) {
				const auto at = static_cast<off_t>(part.p_offset + (address - part.p_vaddr));
				REQUIRE(::pread(file.get(), &value, sizeof(T), at) == sizeof(T));
				return value;
			}
		FAIL("the kernel has nothing at " << std::hex << address);
		return {};
	}

private:
	UniqueFd file;
	std::vector<Elf64_Phdr> parts;
};

/* BTS base, index, absolute maximum and interrupt threshold in the DS area of a CPU. */
using Fields = std::array<std::uint64_t, 4>;

Fields fields(int cpu)
{
	static const std::uint64_t offsets = symbol("__per_cpu_offset"), area = symbol("cpu_debug_store");
	KernelMemory memory;

	return memory.read<Fields>(area + memory.read<std::uint64_t>(offsets + 8 * static_cast<unsigned>(cpu)));
}

/* A bit of IA32_DEBUGCTL that nothing else uses here: FREEZE_WHILE_SMM. */
constexpr std::uint64_t others = 1 << 14;

/* TR and BTS. */
constexpr std::uint64_t switches = 0xc0;

void set_debugctl(int cpu, std::uint64_t value)
{
	UniqueFd file(::open(("/dev/cpu/" + std::to_string(cpu) + "/msr").c_str(), O_WRONLY | O_CLOEXEC));

	if (!file || ::pwrite(file.get(), &value, sizeof(value), 0x1d9) != sizeof(value))
		SKIP("registers cannot be written");
}

std::uint64_t debugctl(int cpu)
{
	UniqueFd file(::open(("/dev/cpu/" + std::to_string(cpu) + "/msr").c_str(), O_RDONLY | O_CLOEXEC));
	std::uint64_t value = 0;

	if (!file || ::pread(file.get(), &value, sizeof(value), 0x1d9) != sizeof(value))
		SKIP("registers cannot be read: modprobe msr");
	return value;
}

/* A cycle counter, because of which the kernel keeps its DS areas. */
Event counter()
{
	perf_event_attr attr{};

	attr.size = sizeof(attr);
	attr.type = PERF_TYPE_HARDWARE;
	attr.config = PERF_COUNT_HW_CPU_CYCLES;
	attr.disabled = 1;
	return Event::open(attr, Target::task()).value();
}

/* Counts whole records and zeros in the bytes of an area, from its beginning on. */
struct Counts {
	std::uint64_t records = 0;
	std::uint64_t zeros = 0; /* bytes */
	std::uint64_t odd = 0;   /* bytes that are neither */
};

void count(Counts &counts, std::span<const std::byte> bytes, std::uint64_t offset, std::uint64_t size)
{
	for (std::size_t at = 0; at < bytes.size();) {
		const bool whole = offset % record == 0 && offset + record <= size;
		const std::size_t length =
			whole ? record : std::min<std::size_t>(record - offset % record, size - offset);
		REQUIRE(at + length <= bytes.size());
		std::array<std::uint64_t, 3> words{};
		std::memcpy(words.data(), &bytes[at], length);
		const bool none = !words[0] && !words[1] && !words[2];
		counts.records += whole && !none;
		counts.zeros += none ? length : 0;
		counts.odd += !whole && !none ? length : 0;
		at += length;
		offset = (offset + length) % size;
	}
}

bool may_open(bool exclude_kernel)
{
	Setup setup = on_cpu(0, 16 * KiB);

	setup.target = Target::task();
	setup.exclude_kernel = exclude_kernel;
	auto event = Event::open(make_attr(setup), setup.target);
	if (event)
		return true;
	if (event.error().code != EACCES)
		std::printf("# errno %d\n", event.error().code);
	return event.error().code != EACCES;
}

} // namespace

TEST_CASE("Who may not see the kernel gets EACCES, also without the kernel, and nothing is claimed for it",
	"[bts][claim]")
{
	need("auxpmu_bts");
	if (::geteuid())
		SKIP("not root");
	wait_until_free();
	Paranoid knob(2);
	REQUIRE(knob);
	/* Earlier tests cause the same message often. */
	until_heard("auxpmu_bts: event refused: records hold");
	KernelLog log;
	CHECK(succeeded(spawn([] { return become_nobody() && !may_open(true) && !may_open(false); })));
	CHECK(log.says(
		"auxpmu_bts: event refused: records hold addresses of the kernel, with exclude_kernel, too; it takes "
		"CAP_PERFMON, or "));
	CHECK(attribute("claim") == "free");
	/* Privileged users may open it. */
	CHECK(may_open(true));
	wait_until_free();
}

TEST_CASE("There is nothing to configure", "[bts]")
{
	need("auxpmu_bts");
	perf_event_attr attr = make_attr(on_cpu(0, 16 * KiB));
	attr.config = 1;
	until_heard("auxpmu_bts: event refused: config");
	KernelLog log;
	auto event = Event::open(attr, Target::task());
	REQUIRE_FALSE(event);
	CHECK(event.error().code == EINVAL);
	CHECK(log.says(
		"auxpmu_bts: event refused: config, config1, config2, config3 or config4 is not 0; there is nothing to "
		"configure"));
}

TEST_CASE("The fields of the DS area are ours only while an event is on the CPU, and DEBUGCTL keeps its other bits",
	"[bts][claim]")
{
	need_in_tree();
	need("auxpmu_bts");
	if (::geteuid())
		SKIP("not root");
	wait_until_free();
	Event keeps = counter();
	const Fields before = fields(0);
	const std::uint64_t original = debugctl(0), registered = original ^ others;
	REQUIRE(before[0] != 0);
	set_debugctl(0, registered);
	for (AuxMode mode : {AuxMode::full_trace, AuxMode::overwrite}) {
		/* The code that reads the fields is traced, too. */
		Setup setup = on_cpu(0, 4 * MiB);
		setup.mode = mode;
		pin(0);
		Tracer tracer(setup);
		CHECK(fields(0) == before);
		tracer.enable();
		churn(10);
		const Fields during = fields(0);
		const std::uint64_t now = debugctl(0);
		tracer.disable();
		CHECK(during[0] != before[0]);
		CHECK((now & ~registered & switches) == switches);
		CHECK(((now ^ registered) & ~std::uint64_t{0x7c0}) == 0);
		CHECK(fields(0) == before);
		CHECK(debugctl(0) == registered);
	}
	wait_until_free();
	CHECK(fields(0) == before);
	CHECK(debugctl(0) == registered);
	set_debugctl(0, original);
}

TEST_CASE("What an NMI has switched off stays off when its buffer goes, whoever wrote DEBUGCTL meanwhile",
	"[bts][claim][pauses]")
{
	need("auxpmu_bts");
	if (!can("pause"))
		SKIP("this kernel cannot pause AUX events");
	pin(0);
	Tracer tracer(on_cpu(0, 1 * MiB));
	/* A counter overflow, which comes as an NMI, pauses the event; nothing resumes it. */
	perf_event_attr cycles{};
	cycles.size = sizeof(cycles);
	cycles.type = PERF_TYPE_HARDWARE;
	cycles.config = PERF_COUNT_HW_CPU_CYCLES;
	cycles.sample_period = 100000;
	set_aux_action(cycles, AuxAction::pause);
	auto pausing = Event::open(cycles, tracer.setup.target, tracer.event.fd()).value();
	const std::uint64_t original = debugctl(0);

	tracer.enable();
	wait_until("the pause", [&] {
		churn(1000);
		return !(debugctl(0) & switches);
	});
	REQUIRE_FALSE(tracer.off());
	/* Write DEBUGCTL as kernel code would that was changing another bit of it when the NMI came. */
	set_debugctl(0, original | switches);
	REQUIRE((debugctl(0) & switches) == switches);
	tracer.aux.unmap();
	CHECK((debugctl(0) & switches) == 0);
	tracer.disable();
	CHECK(debugctl(0) == original);
}

TEST_CASE("What an NMI has switched off is off when its event goes, whoever wrote DEBUGCTL meanwhile", "[bts][claim]")
{
	need("auxpmu_bts");
	pin(0);
	Setup setup = on_cpu(0, 256 * KiB);
	setup.watermark = 16 * KiB;
	Tracer tracer(setup);
	const std::uint64_t original = debugctl(0), failures = statistics()["arm_failures"];

	tracer.enable();
	/* The unit's interrupt comes as an NMI, and switches it off; the attempt to switch it on again fails. */
	Fault arm("arm", 1);
	wait_until("an interrupt", [&] {
		churn(1000);
		return statistics()["arm_failures"] > failures;
	});
	REQUIRE((debugctl(0) & switches) == 0);
	/* As in the test before this one. */
	set_debugctl(0, original | switches);
	REQUIRE((debugctl(0) & switches) == switches);
	tracer.disable();
	CHECK(debugctl(0) == original);
}

TEST_CASE("Whose interrupts were served records on when another's buffer goes", "[bts][claim]")
{
	need("auxpmu_bts");
	if (cpus() < 2)
		SKIP("there is only one CPU");
	pin(0);
	Setup setup = on_cpu(0, 1 * MiB);
	setup.watermark = 16 * KiB;
	Tracer tracer(setup);
	const std::uint64_t served = statistics()["interrupts"];

	tracer.enable();
	wait_until("an interrupt", [&] {
		churn(1000);
		tracer.drain();
		return statistics()["interrupts"] > served;
	});
	{
		Tracer other(on_cpu(1, 64 * KiB));
		other.remap();
	}
	CHECK((debugctl(0) & switches) == switches);
	const std::uint64_t before = tracer.aux.head();
	churn(1000);
	tracer.disable();
	CHECK(tracer.aux.head() - before > 1000 * record);
	tracer.drain();
	CHECK(tracer.tally.partial == 0);
	CHECK(tracer.tally.truncated == 0);
}

TEST_CASE("The handler that comes first in every NMI goes with the event that records the kernel, whatever children "
	  "that had",
	"[bts][nmi]")
{
	need("auxpmu_bts");
	pin(0);
	/* Only NMIs that this test requests may come. */
	Knob watchdog("/proc/sys/kernel/nmi_watchdog", "0");
	Setup setup = on_cpu(0, 256 * KiB);
	setup.target = Target::task_on_cpu(0, 0);
	setup.inherit = true;
	/* This event keeps the claim, and so the other handler. */
	Setup other = setup;
	other.target = Target::task_on_cpu(0, cpus() - 1);
	Event keeps = Event::open(make_attr(other), other.target).value();
	perf_event_attr calls = at_tracepoint("nmi/nmi_handler");
	calls.sample_period = 0;
	/* The number of handlers that an NMI calls. */
	const auto handlers = [&] {
		Event counter = sampler(20'000, false), called = Event::open(calls, Target::on_cpu(0)).value();
		const std::uint64_t nmis = interrupts("NMI");
		std::uint64_t came = 0, number = 0;

		counter.enable().value();
		wait_until("NMIs", [&] {
			churn(10'000);
			return interrupts("NMI") - nmis > 20;
		});
		counter.disable().value();
		came = interrupts("NMI") - nmis;
		REQUIRE(::read(called.fd(), &number, sizeof(number)) == sizeof(number));
		CAPTURE(number, came);
		CHECK(number % came == 0);
		return number / came;
	};

	const std::uint64_t before = handlers();
	{
		setup.exclude_kernel = false;
		Tracer tracer(setup);
		tracer.enable();
		for (int n = 0; n < 3; n++)
			CHECK(succeeded(spawn([] {
				churn(100);
				return true;
			})));
		tracer.disable();
		CHECK(handlers() == before + 1);
	}
	CHECK(handlers() == before);
}

TEST_CASE("Behind an interrupt of the store's, an NMI that is somebody else's is not served", "[bts][nmi]")
{
	need("auxpmu_bts");
	pin(0);
	/* The kernel is traced, so that the NMI needs two handlers. */
	Setup setup = on_cpu(0, 1 * MiB);
	setup.watermark = 16 * KiB;
	setup.exclude_kernel = false;
	Tracer tracer(setup);
	Event other = sampler(20'000, false);

	for (int round = 0; round < 3; round++) {
		const std::uint64_t served = statistics()["interrupts"];
		tracer.drain();
		tracer.enable();
		wait_until("an interrupt", [&] {
			churn(1000);
			tracer.drain();
			/* The code that drains the buffer is traced, too, and may fill it. */
			if (tracer.off())
				tracer.event.restart().value();
			return statistics()["interrupts"] > served;
		});
		tracer.disable();
		/* While the event is off it has no interrupts of its own. */
		const auto before = statistics();
		other.enable().value();
		take_nmis();
		other.disable().value();
		const auto delta = statistics().since(before);
		CAPTURE(round, delta.text());
		CHECK(delta["interrupts"] == 0);
		CHECK(delta["spurious"] == 0);
	}
}

TEST_CASE("Records are whole, in one grid, and what is between them is zeros and counted as padding", "[bts][records]")
{
	need("auxpmu_bts");
	pin(0);
	for (bool single : {false, true})
		for (std::size_t bytes : {4 * KiB, 8 * KiB, 64 * KiB}) {
			INFO(bytes << " bytes, " << (single ? "single pages" : "blocks"));
			Fault orders("orders", single ? 1000 : 0);
			const auto before = statistics();
			Tracer tracer(on_cpu(0, bytes));
			const std::uint64_t start = tracer.aux.head();
			Counts counts;
			for (int lap = 0; lap < 40; lap++) {
				tracer.enable();
				churn(300);
				tracer.disable();
				const Spans spans = tracer.aux.readable();
				const std::uint64_t offset = tracer.aux.tail() % bytes;
				count(counts, spans.first, offset, bytes);
				count(counts, spans.second, 0, bytes);
				tracer.aux.consume(spans.size());
				tracer.drain();
			}
			const auto delta = statistics().since(before);
			INFO("statistics: " << delta.text());
			CHECK(tracer.aux.head() - start > 8 * bytes);
			CHECK(counts.odd == 0);
			CHECK(delta["gaps"] == 0);
			CHECK(counts.records * record == delta["produced"]);
			CHECK(counts.zeros == delta["padded"]);
		}
}

TEST_CASE("A flight recorder of one block takes no interrupts, and its head tells whether it has gone round",
	"[bts][records]")
{
	need("auxpmu_bts");
	pin(0);
	Setup setup = on_cpu(0, 64 * KiB);
	setup.mode = AuxMode::overwrite;
	const auto before = statistics();
	Tracer tracer(setup);
	if (buffers().size() != 1 || buffers().front().chunks != 1)
		SKIP("memory is too fragmented for one block");
	tracer.enable();
	churn(100);
	tracer.disable();
	const std::uint64_t some = tracer.aux.head();
	CHECK(some > 0);
	CHECK(some < setup.aux_bytes);
	/* Many laps in one session, and then a little more in another. */
	tracer.enable();
	churn(20'000);
	tracer.disable();
	const std::uint64_t more = tracer.aux.head();
	CHECK(more > setup.aux_bytes);
	CHECK(tracer.aux.snapshot().wrapped);
	tracer.enable();
	churn(100);
	tracer.disable();
	CHECK(tracer.aux.head() > more);
	CHECK(tracer.aux.head() < more + setup.aux_bytes);
	CHECK(statistics().since(before)["interrupts"] == 0);
	/* The whole area holds records, up to the newest. */
	Counts counts;
	const Snapshot all = tracer.aux.snapshot();
	count(counts, all.spans.first, all.from % setup.aux_bytes, setup.aux_bytes);
	count(counts, all.spans.second, 0, setup.aux_bytes);
	CHECK(counts.odd == 0);
	CHECK(counts.zeros < 2 * record);
}
