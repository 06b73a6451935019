// SPDX-License-Identifier: GPL-2.0-only
/* The recorder on rings in memory, which the test writes as the kernel would: no kernel needed. */
#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <utility>
#include <vector>

#include <catch2/catch_test_macros.hpp>

#include "kit/recorder.h"

using namespace auxpmu;

namespace
{

std::byte *map_anonymous(std::size_t bytes)
{
	void *at = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	REQUIRE(at != MAP_FAILED);
	return static_cast<std::byte *>(at);
}

/*
 * A data ring and an AUX area, with the trace unit and the kernel that write them. Bytes count up, so that their order shows.
 */
class Fake
{
public:
	explicit Fake(AuxMode mode = AuxMode::full_trace)
		: ring_at(map_anonymous(page_size() + ring_bytes)), area_at(map_anonymous(area_bytes)),
		  recorder(make(mode))
	{
	}

	/* Writes this many bytes of trace, as far as there is room if the area is not overwritten. */
	void write(std::uint64_t bytes)
	{
		auto &user = page();

		for (; bytes && (overwrites || user.aux_head - user.aux_tail < area_bytes); bytes--) {
			area_at[user.aux_head % area_bytes] = byte_at(user.aux_head);
			user.aux_head++;
		}
	}
	/* Writes a record without a sample id. */
	void put(std::uint32_t type, const std::vector<std::uint64_t> &body)
	{
		const perf_event_header header{type, 0, static_cast<std::uint16_t>(sizeof(header) + 8 * body.size())};

		copy(&header, sizeof(header));
		copy(body.data(), 8 * body.size());
	}
	void put_aux(std::uint64_t flags = 0) { put(PERF_RECORD_AUX, {0, 64, flags}); }

	perf_event_mmap_page &page() { return *reinterpret_cast<perf_event_mmap_page *>(ring_at); }
	static std::byte byte_at(std::uint64_t position)
	{
		return static_cast<std::byte>(position * 7 + position / 256);
	}

	/* Takes everything available, as a consumer would, and keeps it. */
	void drain()
	{
		recorder.drain([this](const Spans &spans) { keep(spans); },
			[this](const RecordView &view) { types.push_back(view.header.type); });
	}
	void keep(const Spans &spans)
	{
		CHECK(recorder.aux().tail() == trace.size());
		for (auto part : {spans.first, spans.second})
			trace.insert(trace.end(), part.begin(), part.end());
	}
	bool is_trace_right() const
	{
		for (std::size_t i = 0; i < trace.size(); i++)
			if (trace[i] != byte_at(i))
				return false;
		return true;
	}

	static constexpr std::size_t ring_bytes = 4096, area_bytes = 8192;

private:
	Recorder make(AuxMode mode)
	{
		DataRing ring = DataRing::over(Mapping(ring_at, page_size() + ring_bytes));
		AuxRing area = AuxRing::over(ring, Mapping(area_at, area_bytes), mode, true);

		overwrites = mode == AuxMode::overwrite;
		return {Event(), std::move(ring), std::move(area)};
	}
	void copy(const void *from, std::size_t bytes)
	{
		for (std::size_t i = 0; i < bytes; i++)
			ring_at[page_size() + page().data_head++ % ring_bytes] =
				static_cast<const std::byte *>(from)[i];
	}

	/* Of the recorder, which unmaps them. */
	std::byte *ring_at, *area_at;
	bool overwrites = false;

public:
	Recorder recorder;
	std::vector<std::byte> trace;
	std::vector<std::uint32_t> types;
};

} // namespace

TEST_CASE("A recorder hands out all trace and all records, once, in order, and gives their room back")
{
	Fake fake;
	std::uint64_t written = 0;

	for (unsigned i = 0; i < 500; i++) {
		const std::uint64_t piece = i * 37 % 3000;

		fake.write(piece);
		written += piece;
		for (unsigned n = 0; n < i % 4; n++)
			fake.put_aux();
		fake.put(PERF_RECORD_LOST, {1, 2});
		fake.drain();
		REQUIRE(fake.page().aux_tail == written);
		REQUIRE(fake.page().data_tail == fake.page().data_head);
	}
	CHECK(fake.trace.size() == written);
	CHECK(fake.is_trace_right());
	CHECK(fake.types.size() == 500 + 750);
	CHECK(std::count(fake.types.begin(), fake.types.end(), PERF_RECORD_LOST) == 500);
	CHECK_FALSE(fake.recorder.is_full());
}

TEST_CASE("Where the area was full a recorder makes all of its room before it is to go on")
{
	Fake fake;
	bool more = true;

	fake.write(1000);
	fake.put_aux();
	fake.put_aux(PERF_AUX_FLAG_TRUNCATED);
	fake.recorder.drain([&](const Spans &spans) { fake.keep(spans); },
		[&](const RecordView &) {
			/* The unit continues until no room is left, which is what the record reports. */
			if (std::exchange(more, false))
				fake.write(2 * Fake::area_bytes);
		});
	CHECK(fake.recorder.is_full());
	CHECK(fake.page().aux_tail == fake.page().aux_head);
	CHECK(fake.trace.size() == 1000 + Fake::area_bytes);
	CHECK(fake.is_trace_right());
	/* There is no event to restart, so the recorder still reports full. */
	CHECK_FALSE(fake.recorder.restart());
	CHECK(fake.recorder.is_full());
}

TEST_CASE("Other flags than TRUNCATED, and other records, do not make an area full")
{
	Fake fake;

	for (std::uint64_t flags = 0; flags < 16; flags++)
		if (!(flags & PERF_AUX_FLAG_TRUNCATED))
			fake.put_aux(flags);
	fake.put(PERF_RECORD_ITRACE_START, {~0ull});
	fake.put(PERF_RECORD_LOST, {~0ull, ~0ull});
	fake.put(PERF_RECORD_SAMPLE, {~0ull, ~0ull, ~0ull});
	fake.drain();
	CHECK(fake.types.size() == 8 + 3);
	CHECK_FALSE(fake.recorder.is_full());
}

TEST_CASE("What a recorder's caller did not take comes again")
{
	Fake fake;
	const auto refuse = [](const auto &) {
		throw std::runtime_error("no");
	};

	fake.write(100);
	fake.put_aux();
	fake.put(PERF_RECORD_LOST, {1, 2});
	CHECK_THROWS(fake.recorder.drain_trace(refuse));
	CHECK(fake.page().aux_tail == 0);
	CHECK_THROWS(fake.recorder.drain_records(refuse));
	CHECK(fake.page().data_tail == 0);
	fake.drain();
	CHECK(fake.trace.size() == 100);
	CHECK(fake.types == std::vector<std::uint32_t>{PERF_RECORD_AUX, PERF_RECORD_LOST});
}

TEST_CASE("A recorder of an overwritten area takes records only, and leaves the area to snapshots")
{
	Fake fake(AuxMode::overwrite);

	fake.write(3 * Fake::area_bytes + 5);
	fake.put_aux(PERF_AUX_FLAG_OVERWRITE);
	fake.drain();
	CHECK(fake.trace.empty());
	CHECK(fake.page().aux_tail == 0);
	CHECK(fake.types.size() == 1);
	const Snapshot shot = fake.recorder.aux().snapshot();
	CHECK(shot.wrapped);
	CHECK(shot.from == 2 * Fake::area_bytes + 5);
	CHECK(shot.spans.first.front() == Fake::byte_at(shot.from));
}

TEST_CASE("A recorder without an event says so, and does not wait for ever")
{
	Fake fake;

	CHECK(fake.recorder.wait(0).value() == Recorder::Wake::nothing);
	CHECK_FALSE(fake.recorder.start());
	CHECK_FALSE(fake.recorder.finish([](const Spans &) {}, [](const RecordView &) {}));
	perf_event_attr attr{};
	attr.size = sizeof(attr);
	attr.type = 0x7fffffff;
	auto none = Recorder::open({.attr = attr, .data_bytes = 4096, .aux_bytes = 4096});
	REQUIRE_FALSE(none);
	CHECK(none.error().code != 0);
	CHECK_FALSE(none.error().text.empty());
}
