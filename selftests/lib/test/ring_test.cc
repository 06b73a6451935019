// SPDX-License-Identifier: GPL-2.0-only
/* Records, format fields and statistics, parsed from memory: no kernel needed. */
#include <cstring>
#include <vector>

#include <catch2/catch_test_macros.hpp>

#include "kit/aux_ring.h"
#include "kit/data_ring.h"
#include "kit/pmu.h"
#include "kit/record.h"
#include "kit/statistics.h"

using namespace auxpmu;

namespace
{

struct Body {
	std::vector<std::byte> bytes;

	template <class T>
	Body &add(T value)
	{
		auto from = reinterpret_cast<const std::byte *>(&value);

		bytes.insert(bytes.end(), from, from + sizeof(value));
		return *this;
	}
	RecordView view(std::uint32_t type) const
	{
		RecordView view{};

		view.header.type = type;
		view.header.size = static_cast<std::uint16_t>(sizeof(view.header) + bytes.size());
		view.body = bytes;
		return view;
	}
};

} // namespace

TEST_CASE("What a ring holds is told in one or two pieces, oldest byte first")
{
	std::vector<std::byte> ring(64);

	for (std::size_t i = 0; i < ring.size(); i++)
		ring[i] = static_cast<std::byte>(i);
	for (std::uint64_t from = 0; from < 300; from++)
		for (std::uint64_t count = 0; count <= 64; count++) {
			Spans spans = ring_view(ring, from, from + count);
			bool same = spans.size() == count && (spans.second.empty() || !spans.first.empty());
			std::uint64_t at = from;

			for (auto piece : {spans.first, spans.second})
				for (std::byte byte : piece)
					same &= byte == static_cast<std::byte>(at++ % 64);
			if (!same)
				FAIL("from " << from << ", " << count << " bytes");
		}
	/* A view is never larger than the ring. */
	CHECK(ring_view(ring, 100, 1000).size() == 64);
}

TEST_CASE("A snapshot is what an overwriting buffer holds, and one since another what is new of it")
{
	std::vector<std::byte> ring(64);
	auto check = [&](const Snapshot &shot, std::uint64_t from, std::uint64_t to, bool wrapped,
			     std::uint64_t missed) {
		CAPTURE(from, to);
		CHECK(shot.from == from);
		CHECK(shot.to == to);
		CHECK(shot.wrapped == wrapped);
		CHECK(shot.missed == missed);
		CHECK(shot.spans.size() == to - from);
		CHECK((to == from || shot.spans.first.data() == ring.data() + from % 64));
	};

	check(ring_snapshot(ring, 0, true), 0, 0, false, 0);
	check(ring_snapshot(ring, 40, true), 0, 40, false, 0);
	check(ring_snapshot(ring, 64, true), 0, 64, false, 0);
	check(ring_snapshot(ring, 65, true), 1, 65, true, 0);
	check(ring_snapshot(ring, 1000, true), 936, 1000, true, 0);
	CHECK(ring_snapshot(ring, 1000, true).certain);
	/* If aux_head is an offset, the snapshot is the whole ring, and nothing is certain. */
	Snapshot offset = ring_snapshot(ring, 24, false);
	CHECK_FALSE(offset.certain);
	CHECK_FALSE(offset.wrapped);
	CHECK(offset.spans.size() == 64);
	CHECK(offset.spans.first.data() == ring.data() + 24);
	CHECK(offset.to - offset.from == 64);

	Snapshot earlier = ring_snapshot(ring, 40, true);
	check(ring_snapshot_since(ring, 40, true, earlier), 40, 40, false, 0);
	check(ring_snapshot_since(ring, 60, true, earlier), 40, 60, false, 0);
	check(ring_snapshot_since(ring, 104, true, earlier), 40, 104, true, 0);
	check(ring_snapshot_since(ring, 105, true, earlier), 41, 105, true, 1);
	check(ring_snapshot_since(ring, 500, true, earlier), 436, 500, true, 396);
}

TEST_CASE("PERF_RECORD_AUX is decoded with the sample id behind it")
{
	perf_event_attr attr{};
	Body body;

	attr.sample_id_all = 1;
	attr.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU;
	body.add<std::uint64_t>(0x1000).add<std::uint64_t>(64).add<std::uint64_t>(PERF_AUX_FLAG_TRUNCATED);
	body.add<std::uint32_t>(11)
		.add<std::uint32_t>(12)
		.add<std::uint64_t>(99)
		.add<std::uint32_t>(3)
		.add<std::uint32_t>(0);
	Record record = decode(body.view(PERF_RECORD_AUX), attr);
	auto *aux = std::get_if<AuxRecord>(&record);
	REQUIRE(aux);
	CHECK(aux->offset == 0x1000);
	CHECK(aux->size == 64);
	CHECK(aux->truncated());
	CHECK_FALSE(aux->overwrite());
	CHECK(aux->id.pid == 11);
	CHECK(aux->id.tid == 12);
	CHECK(aux->id.time == 99);
	CHECK(aux->id.cpu == 3);
}

TEST_CASE("A sample's raw and AUX parts are found where they lie")
{
	perf_event_attr attr{};
	Body body;

	attr.sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_TIME | PERF_SAMPLE_RAW | PERF_SAMPLE_AUX;
	body.add<std::uint64_t>(5).add<std::uint64_t>(77);
	body.add<std::uint32_t>(4).add<std::uint32_t>(0xabcd);
	body.add<std::uint64_t>(16).add<std::uint64_t>(1).add<std::uint64_t>(2);
	Record record = decode(body.view(PERF_RECORD_SAMPLE), attr);
	auto *sample = std::get_if<SampleRecord>(&record);
	REQUIRE(sample);
	CHECK(sample->id.id == 5);
	CHECK(sample->id.time == 77);
	CHECK(sample->raw.size() == 4);
	CHECK(sample->aux.size() == 16);
	CHECK(sample->rest.empty());
}

TEST_CASE("A record too short for its type is no record of that type")
{
	perf_event_attr attr{};
	Body body;

	body.add<std::uint64_t>(1);
	for (std::uint32_t type : {PERF_RECORD_AUX, PERF_RECORD_LOST, PERF_RECORD_THROTTLE, PERF_RECORD_FORK})
		CHECK(std::holds_alternative<OtherRecord>(decode(body.view(type), attr)));
	body.bytes.resize(3);
	CHECK(std::holds_alternative<SampleRecord>(decode(body.view(PERF_RECORD_SAMPLE), attr)));
}

TEST_CASE("Format fields are parsed as sysfs shows them")
{
	auto field = FormatField::parse("config1:0-3,8,40-41");

	REQUIRE(field);
	CHECK(field->word == 1);
	CHECK(field->width() == 7);
	CHECK(field->limit() == 127);
	CHECK(field->place(0b1111111) == (0xfull | 1ull << 8 | 3ull << 40));
	CHECK(field->place(0b0010001) == (1ull | 1ull << 8));
	CHECK(FormatField::parse("config:0-63")->limit() == ~0ull);
	CHECK_FALSE(FormatField::parse("config:"));
	CHECK_FALSE(FormatField::parse("config:4-2"));
	CHECK_FALSE(FormatField::parse("config9:1"));
	CHECK_FALSE(FormatField::parse("confi:1"));
}

TEST_CASE("A PMU that is not there is named, and those that are")
{
	auto pmu = Pmu::find("no_such_pmu");

	REQUIRE_FALSE(pmu);
	CHECK(pmu.error().code == ENOENT);
	CHECK(pmu.error().text.find("\"no_such_pmu\"") != std::string::npos);
}

TEST_CASE("Statistics are read by name and CPU, and subtracted")
{
	auto before = Statistics::parse("counter total cpu0 cpu2\nproduced 10 4 6\nwraps 0 0 0\n").value();
	auto after = Statistics::parse("counter total cpu0 cpu2\nproduced 30 4 26\nwraps 1 1 0\n").value();
	auto delta = after.since(before);

	CHECK(delta["produced"] == 20);
	CHECK(delta.on_cpu("produced", 0) == 0);
	CHECK(delta.on_cpu("produced", 2) == 20);
	CHECK(delta.text() == "produced 20, wraps 1");
	CHECK_THROWS(delta["nothing"]);
	CHECK_FALSE(Statistics::parse("total counter\n"));
	CHECK_FALSE(Statistics::parse(""));
	CHECK_FALSE(Statistics::parse("counter total cpu0\nproduced 1\n"));
}

TEST_CASE("Buffers are read with their orders")
{
	auto lines = BufferLine::parse(
		"bytes=65536 mode=full chunks=3 orders=2:2,3:1\nbytes=4096 mode=overwrite chunks=1 orders=0:1\n");

	REQUIRE(lines);
	REQUIRE(lines->size() == 2);
	CHECK((*lines)[0].bytes == 65536);
	CHECK_FALSE((*lines)[0].overwrite);
	CHECK((*lines)[0].orders.at(2) == 2);
	CHECK((*lines)[0].orders.at(3) == 1);
	CHECK((*lines)[1].overwrite);
	CHECK_FALSE(BufferLine::parse("rubbish\n"));
}

TEST_CASE("Errors name what was asked and which limit stands against it")
{
	perf_event_attr attr{};

	attr.type = 99;
	attr.config = 0x10;
	CHECK(explain_open(EACCES, attr, Target::on_cpu(1)).find("perf_event_paranoid is") != std::string::npos);
	CHECK(explain_open(EBUSY, attr, Target::task()).find("exclusive") != std::string::npos);
	CHECK(explain_map_aux(EINVAL, 3 * 4096, true).find("power of two") != std::string::npos);
	CHECK(explain_map_aux(EPERM, 1 << 20, false).find("perf_event_mlock_kb") != std::string::npos);
	CHECK(explain_map_aux(ENOMEM, 1 << 20, false).find("MAX_ORDER") != std::string::npos);
	CHECK(explain_map_data(EINVAL, 4096 * 4).find("power of two") != std::string::npos);
}
