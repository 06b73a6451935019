// SPDX-License-Identifier: GPL-2.0-only
/* The pages that buffers consist of, what a unit may demand of them, and what a refusal says. */
#include <bit>
#include <cstdlib>
#include <format>
#include <sstream>

#include "shared/fault.h"
#include "shared/fixture.h"

using namespace auxpmu;
using namespace auxpmu::test;

namespace
{

unsigned order_of(std::size_t bytes)
{
	return static_cast<unsigned>(std::countr_zero(bytes / page_size()));
}

/* Does the allocator have count free blocks of this order or a larger one, in one zone? */
bool memory_has(unsigned order, std::uint64_t count)
{
	std::istringstream info(read_small_file("/proc/buddyinfo").value_or(""));
	std::string line;

	while (std::getline(info, line)) {
		std::istringstream words(line.substr(std::min(line.find("zone"), line.size())));
		std::string zone, name;
		std::uint64_t free = 0, sum = 0;

		words >> zone >> name;
		for (unsigned k = 0; words >> free; k++)
			if (k >= order)
				sum += free << (k - order);
		if (sum >= count)
			return true;
	}
	return false;
}

BufferLine only_buffer()
{
	auto all = buffers();

	if (all.size() != 1)
		throw std::runtime_error(std::format("{} live buffers instead of one: who else traces?", all.size()));
	return all[0];
}

struct Case {
	AuxMode mode;
	std::size_t pages;
	std::size_t watermark; /* in pages */
	unsigned order;        /* order that the allocator gives when memory is not fragmented */
};

} // namespace

TEST_CASE("A unit that prefers large pages gets blocks of half the buffer, or all of it when it overwrites",
	"[synth][pages]")
{
	need_synthetic();
	for (const Case &one : {
		     Case{AuxMode::full_trace, 256, 0, 7},
		     Case{AuxMode::overwrite, 256, 0, 8},
		     Case{AuxMode::full_trace, 256, 1, 0},
		     Case{AuxMode::full_trace, 256, 16, 4},
		     Case{AuxMode::full_trace, 256, 256, 8},
		     Case{AuxMode::full_trace, 2, 0, 0},
		     Case{AuxMode::overwrite, 1, 0, 0},
	     }) {
		Setup setup;
		const std::size_t bytes = one.pages * page_size();

		setup.mode = one.mode;
		setup.aux_bytes = bytes;
		setup.watermark = static_cast<std::uint32_t>(one.watermark * page_size());
		if (!memory_has(one.order, 4 + (one.pages >> one.order)))
			SKIP("memory is too fragmented for blocks of order " << one.order);
		Tracer tracer(setup);
		auto buffer = only_buffer();
		INFO(describe(setup));
		CHECK(buffer.bytes == bytes);
		CHECK(buffer.overwrite == (one.mode == AuxMode::overwrite));
		CHECK(buffer.chunks == one.pages >> one.order);
		CHECK(buffer.orders == std::map<unsigned, std::uint64_t>{{one.order, buffer.chunks}});

		/* The unit writes the whole buffer. */
		tracer.enable();
		tracer.pump(2 * bytes, bytes / 4);
		tracer.finish();
	}
}

TEST_CASE("A unit without a wish uses single pages, whatever it was given", "[synth][pages]")
{
	need_synthetic();
	for (auto mode : {AuxMode::full_trace, AuxMode::overwrite}) {
		Setup setup;

		setup.mode = mode;
		setup.aux_bytes = 64 * page_size();
		setup.pages = AUXPMU_SYNTH_PAGES_ANY;
		INFO(describe(setup));
		Tracer tracer(setup);
		auto buffer = only_buffer();
		CHECK(buffer.chunks == 64);
		CHECK(buffer.orders == std::map<unsigned, std::uint64_t>{{0, 64}});
		tracer.enable();
		tracer.pump(4 * setup.aux_bytes, setup.aux_bytes / 8);
		tracer.finish();
	}
}

TEST_CASE("A window is of one buffer: the next one, of other blocks, begins with a window of its own", "[synth][pages]")
{
	need_synthetic();
	pin(0);
	for (auto mode : {AuxMode::full_trace, AuxMode::overwrite})
		for (bool all : {false, true})
			for (unsigned pages : {AUXPMU_SYNTH_PAGES_LARGE, AUXPMU_SYNTH_PAGES_ANY}) {
				Setup setup;

				setup.mode = mode;
				setup.output = AUXPMU_SYNTH_WINDOW;
				setup.aux_bytes = 256 * KiB;
				setup.pages = pages;
				INFO(describe(setup) << (all ? ", all of it" : ", its beginning"));
				Tracer tracer(setup);
				tracer.enable();
				/* A little trace leaves the rest of a large window unused, and there the next buffer begins. */
				tracer.pump(all ? 2 * setup.aux_bytes : 1 * KiB, 32 * KiB);
				tracer.finish();
			}
}

TEST_CASE("A window of virtual memory ends with the area, whatever its pages", "[synth][pages]")
{
	need_synthetic();
	pin(0);
	const std::uint64_t pages = 64, laps = 4;
	for (auto mode : {AuxMode::full_trace, AuxMode::overwrite})
		for (bool through_map : {false, true}) {
			Setup setup;
			Fault single("orders", 1000);

			setup.mode = mode;
			setup.output = through_map ? AUXPMU_SYNTH_VIRTUAL : AUXPMU_SYNTH_WINDOW;
			setup.aux_bytes = pages * page_size();
			setup.pages = AUXPMU_SYNTH_PAGES_WHOLE;
			if (!through_map)
				setup.pages = AUXPMU_SYNTH_PAGES_LARGE;
			INFO(describe(setup));
			Tracer tracer(setup);
			CHECK(only_buffer().chunks == (through_map ? 1 : pages));
			const auto before = statistics();
			tracer.enable();
			tracer.pump(laps * setup.aux_bytes, setup.aux_bytes / 2);
			const std::uint64_t interrupts = statistics().since(before)["interrupts"];
			tracer.finish();
			/* One for each page that was filled; else one for each half lap, which is the watermark, and each end. */
			if (through_map)
				CHECK(interrupts <= 4 * laps);
			else
				CHECK(interrupts >= (laps - 1) * pages);
		}
}

TEST_CASE("A unit that demands contiguous memory is granted it, or mmap fails and the log names size and order",
	"[synth][pages]")
{
	struct Demand {
		unsigned pages;
		AuxMode mode;
		std::size_t bytes;
		std::size_t watermark;
		bool granted;
	};

	need_synthetic();
	/* The allocator has blocks of up to 1024 pages of 4 KiB, or 2048 of 16 KiB. */
	for (const Demand &one : {
		     Demand{AUXPMU_SYNTH_PAGES_HALF, AuxMode::full_trace, 512 * KiB, 0, true},
		     Demand{AUXPMU_SYNTH_PAGES_HALF, AuxMode::overwrite, 512 * KiB, 0, true},
		     Demand{AUXPMU_SYNTH_PAGES_WHOLE, AuxMode::overwrite, 512 * KiB, 0, true},
		     Demand{AUXPMU_SYNTH_PAGES_WHOLE, AuxMode::full_trace, 512 * KiB, 512 * KiB, true},
		     Demand{AUXPMU_SYNTH_PAGES_WHOLE, AuxMode::full_trace, 512 * KiB, 0, false},
		     Demand{AUXPMU_SYNTH_PAGES_HALF, AuxMode::full_trace, 512 * KiB, page_size(), false},
		     Demand{AUXPMU_SYNTH_PAGES_WHOLE, AuxMode::overwrite, 4096 * page_size(), 0, false},
	     }) {
		for (unsigned output : {AUXPMU_SYNTH_SCATTER, AUXPMU_SYNTH_WINDOW}) {
			Setup setup;
			KernelLog log;

			setup.output = output;
			setup.mode = one.mode;
			setup.aux_bytes = one.bytes;
			setup.watermark = static_cast<std::uint32_t>(one.watermark);
			setup.pages = one.pages;
			INFO(describe(setup));
			if (one.granted) {
				if (!memory_has(order_of(one.bytes), 4))
					SKIP("memory is too fragmented for one block of " << one.bytes << " bytes");
				Tracer tracer(setup);
				CHECK(only_buffer().chunks <= (one.pages == AUXPMU_SYNTH_PAGES_WHOLE ? 1 : 2));
				tracer.enable();
				tracer.pump(3 * one.bytes, one.bytes / 4);
				tracer.finish();
				continue;
			}
			auto event = Event::open(make_attr(setup), setup.target).value();
			auto data = DataRing::map(event, setup.data_bytes).value();
			auto aux = AuxRing::map(data, event, setup.aux_bytes, setup.mode);
			REQUIRE_FALSE(aux);
			CHECK(aux.error().code == ENOMEM);
			CHECK(buffers().empty());

			std::size_t block = one.pages == AUXPMU_SYNTH_PAGES_WHOLE ? one.bytes : one.bytes / 2;
			std::string size = std::format("{} KiB", one.bytes / KiB);
			std::string order = std::format("order {}", order_of(block));
			bool found = false;
			for (const auto &line : log.lines())
				found |= line.find(options().pmu) != std::string::npos &&
					 line.find(size) != std::string::npos && line.find(order) != std::string::npos;
			/* The log is rate limited, so the second of two identical messages may be missing. */
			if (output == AUXPMU_SYNTH_SCATTER)
				CHECK(found);
		}
	}
}
