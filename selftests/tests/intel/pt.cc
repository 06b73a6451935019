// SPDX-License-Identifier: GPL-2.0-only
/*
 * The Intel PT backend: what is particular to its output. Run with --pmu auxpmu_pt; everywhere else all of it is skipped, except
 * [rules], which any driver of these units has to pass, including the in-tree one.
 */
#include <algorithm>
#include <cstdio>
#include <format>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <fcntl.h>
#include <linux/kvm.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "../../hwsim/x86/accesses.h"
#include "intel/registers.h"
#include "shared/fault.h"
#include "shared/fixture.h"
#include "shared/hardware.h"
#include "shared/knob.h"
#include "shared/memory_group.h"
#include "shared/sampler.h"

using namespace auxpmu;
using namespace auxpmu::test;
using hwsim::x86::Accesses;

namespace
{

/* The AUX records that a consumer gets who reads all trace as soon as it is handed over, and how many of them report a loss. */
struct Kept {
	std::uint64_t records = 0, lossy = 0;
};
Kept keep_up(const std::string &name, std::uint64_t bytes, std::uint32_t watermark, std::uint64_t records)
{
	perf_event_attr attr = Pmu::find(name).value().attr();
	Kept kept;

	attr.exclude_kernel = 1;
	attr.aux_watermark = watermark;
	Event event = Event::open(attr, Target::on_cpu(0)).value();
	DataRing data = DataRing::map(event, 64 * KiB).value();
	AuxRing aux = AuxRing::map(data, event, bytes, AuxMode::full_trace).value();
	event.enable().value();
	for (std::uint64_t turns = 0; kept.records < records; turns++) {
		bool off = false;

		/* So many turns produce many times the requested number of windows. */
		REQUIRE(turns < 1000 * records);

		/* Less than a page of trace. */
		churn(300);
		data.drain([&](const RecordView &view) {
			if (view.header.type != PERF_RECORD_AUX)
				return;
			const auto record = std::get<AuxRecord>(decode(view, attr));
			kept.records++;
			kept.lossy += record.truncated() || record.partial();
			off |= record.truncated();
		});
		aux.consume(aux.readable().size());
		if (off)
			event.restart().value();
	}
	return kept;
}

} // namespace

TEST_CASE("What is refused is said: which field, and what it may be", "[pt][ask]")
{
	need("auxpmu_pt");
	const bool ptwrite = pmu().cap("ptwrite") == "1", psb = pmu().cap("psb_cyc") == "1";
	const auto said = [](std::uint64_t config, std::uint64_t config1, const std::string &why) {
		auto attr = pmu().attr();
		KernelLog log;

		attr.config = config;
		attr.config1 = config1;
		INFO(why);
		auto event = Event::open(attr, Target::task());
		REQUIRE_FALSE(event);
		CHECK(event.error().code == EINVAL);
		CHECK(log.says("auxpmu_pt: event refused: " + why));
	};

	until_heard("auxpmu_pt: event refused: ");
	said(0x4, 0, "config has bits outside the fields in sysfs format/: 0x4");
	said(0, 1, "config1, config2, config3 or config4 is not 0");
	said(0x2000, 0, "branch takes pt; without both, branches are traced");
	said(0x20, 0, ptwrite ? "fup_on_ptw takes ptw" : "fup_on_ptw has to be 0, because caps/ptwrite is 0 here");
	if (!psb)
		said(0xf << 24, 0, "psb_period has to be 0, because caps/psb_cyc is 0 here");
	else if (!(std::stoul(*pmu().cap("psb_periods"), nullptr, 16) >> 15))
		said(0xf << 24, 0,
			std::format("psb_period is 15; it is 0 or a bit that is set in caps/psb_periods ({})",
				*pmu().cap("psb_periods")));
}

TEST_CASE("Whoever gives back room for a region end gets trace, and nobody waits for it in vain", "[pt][regions]")
{
	need("auxpmu_pt");
	pin(0);
	/* Regions are a 16th of the buffer. */
	constexpr std::uint64_t size = 256 * KiB, granule = size / 16;
	constexpr std::uint64_t page = 4 * KiB;
	Tracer tracer(on_cpu(0, size));

	tracer.enable();
	for (int lap = 0; lap < 3; lap++)
		for (std::uint64_t room : {page, granule - 1, granule, granule + page, 2 * granule}) {
			INFO("room " << room << ", lap " << lap);
			/* Fill the buffer, as far as regions allow. */
			fill(tracer, 2 * size);
			REQUIRE(tracer.off());
			const std::uint64_t head = tracer.aux.head();
			CHECK(head - tracer.aux.tail() > size - granule);
			/* The unit stopped at a region end; from there it gets whole regions only. */
			CHECK(head % granule == 0);
			tracer.aux.consume(room - (size - (head - tracer.aux.tail())));
			tracer.event.restart().value();
			fill(tracer, 2 * size);
			CHECK(tracer.aux.head() - head == room / granule * granule);
			/* From the middle of a region it gets to the end of that region. */
			tracer.aux.consume(tracer.aux.head() - tracer.aux.tail());
			tracer.event.restart().value();
			churn(200);
			tracer.disable();
			const std::uint64_t middle = tracer.aux.head();
			tracer.enable();
			if (middle % granule)
				fill(tracer, page);
			CHECK(tracer.aux.head() > middle);
		}
}

TEST_CASE("What the unit reports as lost is flagged and counted", "[pt][regions]")
{
	need("auxpmu_pt");
	pin(0);
	Setup setup = on_cpu(0, 64 * KiB);
	const std::string stopped = attribute("errors/stopped");
	Tracer tracer(setup);
	const std::uint64_t gaps = statistics()["gaps"];

	/* The consumer does not read: the unit reaches the end of its window. */
	tracer.enable();
	fill(tracer, 2 * setup.aux_bytes);
	REQUIRE(tracer.off());
	tracer.drain();
	CHECK(tracer.tally.truncated == 1);
	const std::uint64_t more = std::stoull(attribute("errors/stopped")) - std::stoull(stopped);
	CHECK(statistics()["gaps"] - gaps == more);
	CHECK(tracer.tally.partial == more);
}

TEST_CASE("Whether an overwriting buffer was ever filled is known at each of its stops", "[pt][regions]")
{
	need("auxpmu_pt");
	pin(0);
	Setup setup = on_cpu(0, 64 * KiB);
	setup.mode = AuxMode::overwrite;
	/* Where tables hold only one region, an overwrite-mode buffer must be a single block. */
	for (bool pages : {false, true}) {
		if (pages && each_region_interrupts())
			break;
		/* Steps of less than a region, of several regions, and of nearly a lap. */
		for (std::uint64_t step : {1 * KiB, 16 * KiB, 48 * KiB}) {
			INFO("steps of " << step << " bytes, " << (pages ? "single pages" : "chunks"));
			Fault orders("orders", pages ? 1000 : 0);
			Tracer tracer(setup);
			const auto wraps = statistics()["wraps"];
			std::uint64_t head = 0, position = 0;
			unsigned calls = 200;

			if (pages)
				REQUIRE(buffers().front().chunks > 1);
			/* Each step makes less than a lap, so offsets alone tell the position; the head must agree. */
			do {
				tracer.enable();
				REQUIRE((registers_of(0)[rtit_ctl] & topa_bit) != 0);
				churn(calls);
				tracer.disable();
				const std::uint64_t now = tracer.aux.head();
				position += (now - position) % setup.aux_bytes;
				REQUIRE(now > head);
				CHECK(now == position);
				/* How many bytes a call takes depends on the processor: the first step measures it. */
				if (!head)
					calls = static_cast<unsigned>(std::max<std::uint64_t>(calls * step / now, 1));
				head = now;
			} while (position < 2 * setup.aux_bytes);
			CHECK(statistics()["wraps"] - wraps == position / setup.aux_bytes);
		}
	}
}

TEST_CASE("The head moves on by what was traced, around the end of the last of several tables, too", "[pt][regions]")
{
	need("auxpmu_pt");
	if (each_region_interrupts())
		SKIP("the tables of this unit hold one region");
	pin(0);
	/* The buffer has 512 regions; the last table of a lap holds two of them. */
	constexpr std::uint64_t last_table = 2 * 4 * KiB;
	constexpr unsigned some = 400;
	Setup setup = on_cpu(0, 2 * MiB);
	setup.mode = AuxMode::overwrite;
	Fault orders("orders", 1000);
	Tracer tracer(setup);
	const auto step = [&](std::uint64_t calls) {
		const std::uint64_t before = tracer.aux.head();

		tracer.enable();
		churn(static_cast<unsigned>(calls));
		tracer.disable();
		return tracer.aux.head() - before;
	};

	REQUIRE(buffers().front().chunks == 512);
	const auto wraps = statistics()["wraps"];
	const std::uint64_t each = step(some);
	REQUIRE(each > 0);
	/* The tables of the first lap, then those of all other laps. */
	for (std::uint64_t lap = 1; lap <= 2; lap++) {
		const std::uint64_t end = lap * setup.aux_bytes;

		while (end - tracer.aux.head() > 8 * last_table)
			CHECK(step((end - tracer.aux.head() - 4 * last_table) * some / each / 2 + some) < end);
		REQUIRE(tracer.aux.head() < end);
		while (tracer.aux.head() < end + last_table) {
			INFO("lap " << lap << ", head " << tracer.aux.head());
			const std::uint64_t more = step(some);
			/* A step must fit into the last table, so that one of them begins there. */
			CHECK(more > 0);
			CHECK(more < last_table);
		}
		CHECK(statistics()["wraps"] - wraps == lap);
	}
}

TEST_CASE("Tables are on the account of whoever maps an area, for as long as it is mapped", "[pt][tables]")
{
	need("auxpmu_pt");
	if (each_region_interrupts())
		SKIP("the tables of this unit hold one region");
	if (::geteuid())
		SKIP("not root");
	pin(0);
	MemoryGroup group;
	Setup setup = on_cpu(0, 128 * MiB);
	setup.mode = AuxMode::overwrite;
	setup.data_bytes = 4 * KiB;
	/* One for each 510 pages, for the first lap and for others. Programs' page tables count, too, but equally for blocks. */
	const std::uint64_t tables = 2 * ((setup.aux_bytes / page_size() + 509) / 510) * page_size();
	const auto charged = [&](bool single) {
		Fault orders("orders", single ? 1000 : 0);
		Tracer tracer(setup);

		return group.charged();
	};
	const std::uint64_t of_blocks = charged(false);
	/* The kernel charges pages in batches. */
	CHECK(charged(true) >= of_blocks + tables / 2);

	/* This size takes four tables. */
	setup.aux_bytes = 2 * MiB;
	static_cast<void>(charged(true));
	const std::uint64_t before = group.charged();
	for (int round = 0; round < 100; round++)
		static_cast<void>(charged(true));
	CAPTURE(before);
	wait_until("what was charged to be given back", [&] { return group.charged() < before + 512 * KiB; });
}

TEST_CASE("What a filter stops is stopped until the next start, and nothing is lost by it", "[pt][filters]")
{
	need("auxpmu_pt");
	if (nr_filters() == 0)
		SKIP("this unit has no address filters");
	pin(0);
	/* A CPU event, because a thread's event restarts when scheduled in; a system call that nobody else makes. */
	Setup setup = on_cpu(0, 4 * MiB);
	setup.exclude_kernel = false;
	const std::string stopped = attribute("errors/stopped");
	const std::uint64_t gaps = statistics()["gaps"];
	Tracer tracer(setup);
	tracer.event.set_filter(std::format("stop {:#x}/16", symbol("__x64_sys_getppid"))).value();
	const auto traced = [&](bool stop) {
		const std::uint64_t before = tracer.aux.head();

		tracer.enable();
		churn(1000);
		if (stop)
			::getppid();
		churn(100'000);
		tracer.disable();
		return tracer.aux.head() - before;
	};

	for (int round = 0; round < 3; round++) {
		INFO("round " << round);
		const std::uint64_t until_stop = traced(true), all = traced(false);
		CAPTURE(until_stop, all);
		/* Only the trace before the stop; without a stop, as much as ever. */
		CHECK(until_stop > 500);
		CHECK(until_stop < all / 4);
		tracer.drain();
	}
	CHECK(tracer.tally.partial == 0);
	CHECK(tracer.tally.truncated == 0);
	CHECK(statistics()["gaps"] == gaps);
	CHECK(attribute("errors/stopped") == stopped);
}

TEST_CASE("What a filter has stopped is not begun anew by a sample of it", "[pt][filters]")
{
	need("auxpmu_pt");
	need_sampling();
	if (nr_filters() == 0)
		SKIP("this unit has no address filters");
	pin(0);
	Setup setup = on_cpu(0, 256 * KiB);
	setup.exclude_kernel = false;
	Tracer tracer(setup);
	tracer.event.set_filter(std::format("stop {:#x}/16", symbol("__x64_sys_getppid"))).value();
	const perf_event_attr attr = sampling_member("getpgid", 4096);
	Event member = Event::open(attr, setup.target, tracer.event.fd()).value();
	member.set_output(tracer.event).value();
	const auto sample = [&] {
		std::vector<std::byte> trace;

		sample_numbered(1);
		tracer.data.drain([&](const RecordView &view) {
			if (view.header.type != PERF_RECORD_SAMPLE)
				return;
			const auto taken = std::get<SampleRecord>(decode(view, attr));
			trace.assign(taken.aux.begin(), taken.aux.end());
		});
		REQUIRE(trace.size() == 4096);
		return trace;
	};

	for (int round = 0; round < 2; round++) {
		INFO("round " << round);
		tracer.enable();
		churn(200);
		const auto running = sample();
		churn(200);
		/* While the unit traces, each sample has newer trace than the one before. */
		const bool more_trace = sample() != running;
		CHECK(more_trace);
		::getppid();
		const auto stopped = sample();
		CHECK_FALSE(all_zero(stopped));
		for (int more = 0; more < 3; more++) {
			churn(200);
			const bool same = sample() == stopped;
			CHECK(same);
		}
		tracer.disable();
		tracer.drain();
	}
	CHECK(tracer.tally.partial == 0);
}

TEST_CASE("Who keeps up loses nothing, at any watermark that leaves two regions behind it", "[pt][regions]")
{
	need("auxpmu_pt");
	pin(0);
	for (std::uint64_t size : {16 * KiB, 64 * KiB, 256 * KiB}) {
		const std::uint64_t granule = std::max(4 * KiB, size / 16);
		/* 0 selects the kernel's default: half of the buffer. */
		for (std::uint64_t watermark : {std::uint64_t{0}, granule, size - 2 * granule}) {
			INFO("buffer of " << size << ", watermark " << watermark);
			CHECK(keep_up("auxpmu_pt", size, watermark, 40).lossy == 0);
		}
	}
}

TEST_CASE("Who keeps up loses nothing in ten thousand windows", "[pt][windows][.]")
{
	need("auxpmu_pt");
	pin(0);
	constexpr std::uint64_t windows = 10'000, theirs_are = 2000, size = 64 * KiB;
	/* One region, and the kernel's default. */
	for (std::uint32_t watermark : {4 * KiB, 0 * KiB}) {
		INFO("watermark " << watermark);
		wait_until_free();
		CHECK(keep_up("auxpmu_pt", size, watermark, windows).lossy == 0);
		wait_until_free();
		if (!Pmu::find("intel_pt"))
			continue;
		const Kept theirs = keep_up("intel_pt", size, watermark, theirs_are);
		std::printf("# watermark %u: of the kernel's own driver %llu of %llu windows lost trace\n", watermark,
			static_cast<unsigned long long>(theirs.lossy), static_cast<unsigned long long>(theirs.records));
	}
}

TEST_CASE("An NMI that is somebody else's reads one register, and leaves the unit on", "[pt][nmi]")
{
	need("auxpmu_pt");
	pin(0);
	if (!Accesses::so_far())
		SKIP("accesses of registers are counted by the virtual hardware only");
	NoThrottling everywhere;
	Tracer tracer(on_cpu(0, 16 * MiB));
	Event counter = sampler(20'000, false);
	/* Register accesses per NMI, over many NMIs. */
	const auto cost = [&](std::uint32_t *switches) {
		counter.enable().value();
		std::uint64_t nmis = interrupts("NMI"), turns = statistics()["interrupts"], came = 0;
		Accesses before = *Accesses::so_far(), made{};
		/* On a busy machine the same work takes fewer NMIs. */
		wait_until("NMIs, none of them the unit's", [&] {
			churn(200'000);
			made = *Accesses::so_far() - before;
			came = interrupts("NMI") - nmis;
			/* Where each region interrupts, the unit does at the end of a block of memory: count anew. */
			if (const std::uint64_t own = statistics()["interrupts"]; own != turns) {
				REQUIRE(each_region_interrupts());
				turns = own;
				nmis += came;
				before = *Accesses::so_far();
				return false;
			}
			return came > 50;
		});
		counter.disable().value();
		*switches = made.switches;
		return static_cast<double>(made.reads + made.writes) / static_cast<double>(came);
	};
	std::uint32_t without, with;
	const double alone = cost(&without);
	tracer.enable();
	churn(100);
	const double beside = cost(&with);
	tracer.disable();
	std::printf("# accesses of registers for an NMI: %.2f, beside a full trace %.2f\n", alone, beside);
	CHECK(without == 0);
	CHECK(with == 0);
	/* A timer tick may come in between. */
	CHECK(beside < alone + 1.1);
}

TEST_CASE("An interrupt that falls due while an NMI is handled is served all the same", "[pt][nmi]")
{
	need("auxpmu_pt");
	pin(0);
	/*
	 * The kernel is traced, so its NMI handlers write trace: now and then one fills the only region there is. The unit then
	 * stops, and nobody else would notice.
	 */
	NoThrottling everywhere;
	Setup setup = on_cpu(0, 4 * KiB);
	setup.exclude_kernel = false;
	Tracer tracer(setup);
	Event counter = sampler(5'000, true);

	tracer.enable();
	counter.enable().value();
	for (int round = 0; round < 300; round++) {
		INFO("round " << round);
		fill(tracer, 4 * KiB);
		tracer.drain();
		if (tracer.off())
			tracer.event.restart().value();
	}
	counter.disable().value();
	CHECK(tracer.tally.aux_bytes >= 300 * 4 * KiB);
}

TEST_CASE("An interrupt is one NMI, which the kernel knows and counts once", "[pt][nmi]")
{
	need("auxpmu_pt");
	pin(0);
	Setup setup = on_cpu(0, 256 * KiB);
	setup.watermark = 16 * KiB;
	/* The watchdog's interrupt may share an NMI with ours. */
	Knob watchdog("/proc/sys/kernel/nmi_watchdog", "0");
	Tracer tracer(setup);
	constexpr const char *nobodys = "NMI received for unknown reason";
	until_heard(nobodys);
	KernelLog log;
	/* Some kernels do not show the PMI line before their own handler has counted one. */
	Event counter = sampler(20'000, false);
	counter.enable().value();
	churn(10'000);
	counter.disable().value();
	const std::uint64_t turns = statistics()["interrupts"];
	const std::uint64_t nmis = interrupts("NMI"), counted = interrupts("PMI");

	tracer.enable();
	for (int round = 0; round < 40; round++) {
		fill(tracer, 16 * KiB);
		tracer.drain();
	}
	tracer.disable();
	const std::uint64_t came = interrupts("NMI") - nmis, known = interrupts("PMI") - counted;
	const std::uint64_t served = statistics()["interrupts"] - turns;
	CAPTURE(came, known, served);
	CHECK(served >= 40);
	CHECK(came >= 40);
	/* An interrupt that falls due while another is served has no NMI of its own; the kernel's handler counts it. */
	CHECK(known >= came);
	CHECK(known <= std::max(came, served));
	CHECK_FALSE(log.says(nobodys));
}

TEST_CASE("A trace that VMXON ends is told and counted, and goes on by itself where VMX operation ends", "[pt][vmx][.]")
{
	need("auxpmu_pt");
	pin(0);
	constexpr unsigned vmx_misc = 0x485;
	const bool ends = !(read_msr(0, vmx_misc).value() >> 14 & 1);
	const UniqueFd kvm(::open("/dev/kvm", O_RDWR | O_CLOEXEC));
	REQUIRE(kvm);
	for (const AuxMode mode : {AuxMode::full_trace, AuxMode::overwrite}) {
		INFO("overwriting: " << (mode == AuxMode::overwrite));
		Setup setup = on_cpu(0, 64 * KiB);
		setup.mode = mode;
		const std::string faults = attribute("errors/fault"), before = attribute("errors/vmx");
		Tracer tracer(setup);
		UniqueFd machine;
		/* Bytes of trace from an enable to a disable, with some work before something happens, and some after it. */
		const auto written = [&tracer](unsigned calls, const std::function<void()> &happens) {
			const std::uint64_t head = tracer.aux.head();
			tracer.enable();
			churn(calls);
			happens();
			churn(1000);
			tracer.disable();
			tracer.drain();
			return tracer.aux.head() - head;
		};
		const auto nothing = [] {
		};

		CHECK(written(1000, [&] { machine = UniqueFd(::ioctl(kvm.get(), KVM_CREATE_VM, 0)); }) > 1000);
		REQUIRE(machine);
		CHECK(tracer.tally.partial == ends);
		/* Enabled in VMX operation: no trace if that ends tracing; below, trace comes once VMX operation ends. */
		CHECK((written(0, nothing) == 0) == ends);
		CHECK(tracer.tally.partial == 2 * ends);
		/* The processor then refuses even the value that the register holds. */
		CHECK(write_msr(0, rtit_ctl, read_msr(0, rtit_ctl).value()) == !ends);
		CHECK(written(0, [&] { machine.reset(); }) > 1000);
		CHECK(tracer.tally.partial == 3 * ends);
		CHECK(written(0, nothing) > 1000);
		CHECK(tracer.tally.partial == 3 * ends);
		CHECK(std::stoull(attribute("errors/vmx")) - std::stoull(before) == 3 * ends);
		CHECK(attribute("errors/fault") == faults);
	}
}

/*
 * The [rules] tests exercise what the rules of the virtual hardware (hwsim/x86/rules.h) make difficult: markers that move, stops at
 * any offset, and interrupts that are due when the unit is switched off.
 */
TEST_CASE("Whoever keeps up with windows of one region loses nothing, whatever the driver", "[rules][.]")
{
	pin(0);
	/* More than two laps. */
	CHECK(keep_up(options().pmu, 64 * KiB, 4 * KiB, 40).lossy == 0);
}

TEST_CASE("Output may stop anywhere, where the area ends, too, and the head says how far it got", "[rules][.]")
{
	pin(0);
	constexpr std::uint64_t size = 16 * KiB, most = 4 * KiB;
	perf_event_attr attr = pmu().attr();

	attr.exclude_kernel = 1;
	/* An interrupt for each region, so that many are pending when the unit is switched off. */
	attr.aux_watermark = 4 * KiB;
	Event event = Event::open(attr, Target::on_cpu(0)).value();
	DataRing data = DataRing::map(event, 64 * KiB).value();
	AuxRing aux = AuxRing::map(data, event, size, AuxMode::full_trace, pmu().monotonic_aux_head()).value();
	std::uint64_t head = aux.head(), bytes = 0, lossy = 0, ends = 0;

	/* Near the end of the area, steps of only some 20 bytes: one lap in 20 stops exactly at the end. */
	while (ends < 3 && head < 4000 * size) {
		const std::uint64_t rest = size - head % size;

		event.enable().value();
		churn(rest > 3 * KiB ? 300 : 0);
		event.disable().value();
		data.drain([&](const RecordView &view) {
			if (view.header.type != PERF_RECORD_AUX)
				return;
			const auto record = std::get<AuxRecord>(decode(view, attr));
			bytes += record.size;
			lossy += record.truncated() || record.partial();
		});
		const std::uint64_t now = aux.head();
		CAPTURE(head, now, ends);
		REQUIRE(now > head);
		REQUIRE(now - head < most);
		REQUIRE(lossy == 0);
		head = now;
		ends += head % size == 0;
		aux.consume(aux.readable().size());
	}
	CHECK(ends == 3);
	CHECK(bytes == head);
	std::printf("# %llu laps\n", static_cast<unsigned long long>(head / size));
}
