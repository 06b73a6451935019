// SPDX-License-Identifier: GPL-2.0-only
/* What the verifier must accept, and that it rejects a trace in which any single byte is another one. */
#include <cstring>
#include <random>
#include <span>

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "../trace_verifier.h"
#include "trace_writer.h"

using namespace auxpmu;
using Catch::Matchers::ContainsSubstring;

namespace
{

TraceExpectation expect(const TraceWriter &writer)
{
	TraceExpectation expectation;

	expectation.record_size = writer.size;
	expectation.pattern = writer.pattern;
	expectation.seed = writer.seed;
	return expectation;
}

/* The newest bytes of a trace as they would lie in a ring of that many bytes. */
struct Ring {
	std::vector<std::byte> bytes;
	Snapshot shot;

	Ring(std::span<const std::byte> trace, std::size_t size) : bytes(size)
	{
		for (std::size_t i = 0; i < trace.size(); i++)
			bytes[i % size] = trace[i];
		shot.certain = true;
		shot.to = trace.size();
		shot.wrapped = trace.size() > size;
		shot.from = shot.wrapped ? trace.size() - size : 0;
		std::size_t offset = shot.from % size;
		std::size_t count = shot.to - shot.from;
		std::size_t before_end = std::min(count, size - offset);
		std::span<const std::byte> all(bytes);
		shot.spans = {all.subspan(offset, before_end), all.first(count - before_end)};
	}
};

} // namespace

TEST_CASE("crc32 is zlib's")
{
	const char *text = "123456789";

	CHECK(crc32(std::as_bytes(std::span(text, 9))) == 0xcbf43926);
	CHECK(crc32({}) == 0);
}

TEST_CASE("A right trace is accepted in pieces of any size")
{
	TraceWriter writer;

	writer.size = GENERATE(64u, 256u, 4096u);
	writer.pattern = static_cast<std::uint16_t>(GENERATE(0, 1, 2));
	writer.start();
	writer.data(5);
	writer.pad(64);
	writer.pad(640);
	writer.start();
	writer.data(3);
	for (std::size_t piece : {std::size_t{1}, std::size_t{7}, std::size_t{63}, std::size_t{64}, std::size_t{100},
		     std::size_t{5000}, writer.bytes.size()}) {
		TraceVerifier verifier(expect(writer));
		std::span<const std::byte> left(writer.bytes);

		while (!left.empty()) {
			auto part = left.first(std::min(piece, left.size()));

			REQUIRE(verifier.feed(part));
			left = left.subspan(part.size());
		}
		INFO(verifier.error());
		REQUIRE(verifier.complete());
		CHECK(verifier.totals().records == 10);
		CHECK(verifier.totals().starts == 2);
		CHECK(verifier.totals().pad_bytes == 704);
		CHECK(verifier.totals().record_bytes == 10 * writer.size);
		CHECK(verifier.totals().bytes == writer.bytes.size());
		CHECK(verifier.position() == writer.bytes.size());
		REQUIRE(verifier.streams().size() == 1);
		CHECK(verifier.streams()[0].next_seq == 10);
	}
}

TEST_CASE("Every single wrong byte is found")
{
	TraceWriter writer;

	writer.size = 128;
	writer.pattern = static_cast<std::uint16_t>(GENERATE(0, 1, 2));
	writer.start();
	writer.data(2);
	writer.pad(192);
	writer.data(1);
	for (std::size_t i = 0; i < writer.bytes.size(); i++) {
		auto bytes = writer.bytes;
		TraceVerifier verifier(expect(writer));

		bytes[i] ^= std::byte{0x10};
		INFO("byte " << i);
		bool accepted = verifier.feed(bytes) && verifier.complete();
		REQUIRE_FALSE(accepted);
		REQUIRE_THAT(verifier.error(), ContainsSubstring("at position 0x"));
	}
}

TEST_CASE("A trace that stops inside a record is not complete")
{
	TraceWriter writer;

	writer.start();
	TraceVerifier verifier(expect(writer));
	REQUIRE(verifier.feed(std::span(writer.bytes).first(200)));
	CHECK_FALSE(verifier.complete());
	CHECK_THAT(verifier.error(), ContainsSubstring("middle of a record"));
}

TEST_CASE("Missing records are an error, or counted where gaps are allowed")
{
	TraceWriter writer;

	writer.start();
	writer.seq += 4;
	writer.data(2);

	TraceVerifier strict(expect(writer));
	CHECK_FALSE(strict.feed(writer.bytes));
	CHECK_THAT(strict.error(), ContainsSubstring("4 records (1024 bytes) are missing"));

	auto expectation = expect(writer);
	expectation.gaps_allowed = true;
	TraceVerifier counting(expectation);
	CHECK(counting.feed(writer.bytes));
	CHECK(counting.totals().lost == 4);
	CHECK(counting.totals().lost_bytes == 1024);
}

TEST_CASE("Records delivered twice or out of order are an error even where gaps are allowed")
{
	TraceWriter writer;
	auto expectation = expect(writer);

	expectation.gaps_allowed = true;
	writer.start();
	writer.data(3);
	writer.seq = GENERATE(2, 3);
	writer.data(1);
	TraceVerifier verifier(expectation);
	CHECK_FALSE(verifier.feed(writer.bytes));
	CHECK_THAT(verifier.error(), ContainsSubstring("seq goes back"));
}

TEST_CASE("Time must not go back on one CPU, and may differ between two")
{
	TraceWriter writer;

	writer.start();
	writer.cpu = 1;
	writer.time = 10;
	writer.data(1);
	TraceVerifier verifier(expect(writer));
	REQUIRE(verifier.feed(writer.bytes));
	writer.bytes.clear();
	writer.time = 9;
	writer.data(1);
	CHECK_FALSE(verifier.feed(writer.bytes));
	CHECK_THAT(verifier.error(), ContainsSubstring("time goes back on CPU 1"));
}

TEST_CASE("What was not asked for is an error")
{
	TraceWriter writer;
	auto expectation = expect(writer);

	SECTION("another seed")
	expectation.seed = 8;
	SECTION("another pattern")
	expectation.pattern = AUXPMU_SYNTH_RANDOM;
	SECTION("another record size")
	expectation.record_size = 64;
	SECTION("another CPU")
	expectation.cpu = 3;
	SECTION("no START at the beginning")
	{
		writer.data(1);
	}
	if (writer.bytes.empty())
		writer.start();
	TraceVerifier verifier(expectation);
	CHECK_FALSE(verifier.feed(writer.bytes));
}

TEST_CASE("Streams are followed apart, with their parents")
{
	TraceWriter one, two;

	two.stream = 2;
	two.parent = 1;
	one.start();
	two.time = one.time;
	two.start();
	one.bytes.insert(one.bytes.end(), two.bytes.begin(), two.bytes.end());
	one.time = two.time;
	one.data(1);
	TraceVerifier verifier(expect(one));
	REQUIRE(verifier.feed(one.bytes));
	REQUIRE(verifier.streams().size() == 2);
	REQUIRE(verifier.find(2));
	CHECK(verifier.find(2)->parent == 1);
	CHECK(verifier.find(1)->records == 2);
	CHECK(verifier.find(3) == nullptr);
}

TEST_CASE("Zeros lead from an odd position to the padding record")
{
	TraceWriter writer;

	writer.bytes.resize(24); /* as if the trace began at position 40 */
	writer.pad(128);
	writer.start();
	TraceVerifier verifier(expect(writer));
	verifier.begin_at(40);
	REQUIRE(verifier.feed(writer.bytes));
	CHECK(verifier.complete());
	CHECK(verifier.totals().pad_bytes == 152);
}

TEST_CASE("A ring is verified from the oldest whole record to the newest, however often it wrapped")
{
	TraceWriter writer;

	writer.size = GENERATE(64u, 512u, 4096u);
	writer.start();
	writer.data(GENERATE(0u, 3u, 7u, 8u, 20u, 200u));
	bool padded = GENERATE(false, true);
	if (padded) {
		writer.pad(320);
		writer.data(5);
	}
	Ring ring(writer.bytes, 8192);
	TraceVerifier verifier(expect(writer));
	bool accepted = verifier.snapshot(ring.shot);
	INFO(verifier.error());
	REQUIRE(accepted);
	CHECK(verifier.streams()[0].next_seq == writer.seq);
	CHECK(verifier.totals().skipped < std::max(writer.size, 320u));
}

TEST_CASE("A ring in which any byte of a whole record is wrong is rejected")
{
	TraceWriter writer;

	writer.size = 256;
	writer.start();
	writer.data(40);
	Ring ring(writer.bytes, 4096);
	for (std::size_t i = 0; i < 4096; i++) {
		ring.bytes[i] ^= std::byte{1};
		TraceVerifier verifier(expect(writer));
		INFO("byte " << i);
		REQUIRE_FALSE(verifier.snapshot(ring.shot));
		ring.bytes[i] ^= std::byte{1};
	}
}

TEST_CASE("A ring that was not filled may hold nothing unknown")
{
	TraceWriter writer;

	writer.start();
	Ring ring(writer.bytes, 4096);
	ring.shot.to = 4096;
	ring.shot.spans = {std::span<const std::byte>(ring.bytes), {}};
	TraceVerifier verifier(expect(writer));
	CHECK_FALSE(verifier.snapshot(ring.shot));
}
