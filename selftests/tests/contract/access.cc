// SPDX-License-Identifier: GPL-2.0-only
/* The four ways to map the two areas, and the sizes that cannot be mapped. */
#include <cstring>
#include <format>

#include <catch2/generators/catch_generators.hpp>

#include "contract/yields.h"
#include "shared/fixture.h"

using namespace auxpmu;
using namespace auxpmu::test;

TEST_CASE("Data ring and AUX area can each be mapped read-only or writable, in all four combinations",
	"[contract][access]")
{
	auto data = GENERATE(DataAccess::read_write, DataAccess::read_only);
	auto mode = GENERATE(AuxMode::full_trace, AuxMode::overwrite);

	pin(0);
	for (unsigned output : every_output()) {
		Setup setup;

		setup.data_access = data;
		setup.mode = mode;
		setup.output = output;
		INFO(describe(setup) << ", data ring " << (data == DataAccess::read_only ? "read-only" : "writable"));
		auto tracer = open_or_skip(setup);
		for (int round = 0; round < 5; round++) {
			std::uint64_t before = tracer.tally.aux_bytes;

			tracer.enable();
			tracer.produce(20 * KiB);
			tracer.disable();
			tracer.drain();
			must_yield(tracer.tally.aux_bytes - before, "between a start and a stop on a busy CPU");
		}
		tracer.finish();
		CHECK(tracer.data.overwritten() == 0);
		CHECK_FALSE(tracer.data.corrupt());
		if (!synthetic())
			break;
	}
}

TEST_CASE("An AUX area of one page works", "[synth][access]")
{
	need_synthetic();
	for (unsigned output : every_output())
		for (auto mode : {AuxMode::full_trace, AuxMode::overwrite}) {
			Setup setup;

			setup.output = output;
			setup.mode = mode;
			setup.aux_bytes = page_size();
			INFO(describe(setup));
			Tracer tracer(setup);
			for (int round = 0; round < 8; round++) {
				tracer.enable();
				/* One page is one region, and scatter output stops at its end. */
				tracer.pump(1024, 1024);
				tracer.disable();
				tracer.drain();
			}
			tracer.finish();
		}
}

TEST_CASE("A buffer too small for one record cannot be mapped, and the log says why", "[synth][access]")
{
	need_synthetic();
	Setup setup;
	KernelLog log;

	setup.record = 4096;
	setup.aux_bytes = page_size();
	if (setup.aux_bytes > setup.record)
		SKIP("a page has room for more than one record, however large");
	setup.output = AUXPMU_SYNTH_WINDOW;
	auto event = Event::open(make_attr(setup), setup.target).value();
	auto data = DataRing::map(event, setup.data_bytes).value();
	auto aux = AuxRing::map(data, event, setup.aux_bytes, setup.mode);
	REQUIRE_FALSE(aux);
	CHECK(aux.error().code == ENOMEM);
	CHECK(aux.error().text.find("4096 bytes") != std::string::npos);
	CHECK(log.says(options().pmu));

	/* An area that is large enough can be mapped with the same event. */
	CHECK(AuxRing::map(data, event, 64 * KiB, setup.mode));
}

TEST_CASE("Sizes that are no power of two of pages, or do not match the user page, cannot be mapped",
	"[contract][access]")
{
	Setup setup;
	auto event = Event::open(make_attr(setup), setup.target);

	if (!event)
		SKIP("cannot be opened: " << event.error().text);
	auto data = DataRing::map(*event, setup.data_bytes).value();
	for (std::size_t bytes : {3 * page_size(), 5 * page_size()}) {
		auto aux = AuxRing::map(data, *event, bytes, AuxMode::full_trace);

		REQUIRE_FALSE(aux);
		CHECK(aux.error().code == EINVAL);
		CHECK(aux.error().text.find("power of two") != std::string::npos);
	}
	/* aux_size differs from the length of the mmap(). */
	const std::size_t offset = data.size() + page_size();
	data.page().aux_offset = offset;
	data.page().aux_size = 64 * KiB;
	void *address =
		::mmap(nullptr, 32 * KiB, PROT_READ | PROT_WRITE, MAP_SHARED, event->fd(), static_cast<off_t>(offset));
	CHECK(address == MAP_FAILED);
	/* The AUX area would overlap the data ring. */
	data.page().aux_offset = page_size();
	address = ::mmap(
		nullptr, 64 * KiB, PROT_READ | PROT_WRITE, MAP_SHARED, event->fd(), static_cast<off_t>(page_size()));
	CHECK(address == MAP_FAILED);
	/* The mapping is private. */
	data.page().aux_offset = offset;
	address =
		::mmap(nullptr, 64 * KiB, PROT_READ | PROT_WRITE, MAP_PRIVATE, event->fd(), static_cast<off_t>(offset));
	CHECK(address == MAP_FAILED);
}

TEST_CASE("An AUX area cannot be taken apart or moved, and survives the attempt", "[contract][access]")
{
	pin(0);
	for (auto mode : {AuxMode::full_trace, AuxMode::overwrite}) {
		Setup setup;

		setup.mode = mode;
		auto tracer = open_or_skip(setup);
		auto whole = tracer.aux.view(0, tracer.aux.size()).first;
		auto address = const_cast<std::byte *>(whole.data());
		tracer.enable();
		tracer.produce(4 * KiB);
		CHECK(::munmap(address, page_size()) == -1);
		CHECK(::munmap(address + page_size(), page_size()) == -1);
		CHECK(::mremap(address, whole.size(), 2 * whole.size(), MREMAP_MAYMOVE) == MAP_FAILED);
		CHECK(::mremap(address, whole.size(), whole.size() / 2, 0) == MAP_FAILED);
		tracer.produce(4 * KiB);
		tracer.finish();
	}
}
