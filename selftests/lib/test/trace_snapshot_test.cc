// SPDX-License-Identifier: GPL-2.0-only
/*
 * What the verifier must accept of a buffer that was overwritten, and of one that was never full; it must reject everything
 * else.
 */
#include <algorithm>
#include <span>
#include <string>
#include <vector>

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "synth/trace_verifier.h"
#include "trace_proof.h"
#include "trace_writer.h"

using namespace auxpmu;
using Catch::Matchers::ContainsSubstring;

namespace
{

/* The newest bytes of a trace as they would lie in a ring of the given size. */
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

/* The error of the verifier for a snapshot; empty if it accepts the snapshot. */
std::string wrong_with(const Snapshot &shot, const TraceExpectation &expectation)
{
	TraceVerifier verifier(expectation);

	const bool right = verifier.snapshot(shot);

	CHECK(right == verifier.error().empty());
	return verifier.error();
}

/* The error without the position that it begins with. */
std::string behind_position(const std::string &error)
{
	return error.substr(error.empty() ? 0 : error.find(": "));
}

/* A snapshot whose position in the trace is not known, as those of other PMUs and those in samples. */
Snapshot uncertain(std::span<const std::byte> bytes)
{
	return {.spans = {bytes, {}}};
}

} // namespace

TEST_CASE("A ring is verified from the oldest whole record to the newest, however often it wrapped")
{
	TraceWriter writer;

	writer.size = GENERATE(64u, 512u, 4096u);
	writer.start();
	writer.data(GENERATE(0u, 3u, 7u, 8u, 20u, 200u));
	bool padded = GENERATE(false, true);
	auto expectation = expect(writer);
	expectation.padding = std::max(writer.size, 320u);
	if (padded) {
		writer.pad(expectation.padding);
		writer.data(5);
	}
	Ring ring(writer.bytes, 8192);
	TraceVerifier verifier(expectation);
	bool accepted = verifier.snapshot(ring.shot);
	INFO(verifier.error());
	REQUIRE(accepted);
	CHECK(verifier.streams()[0].next_seq == writer.seq);
	CHECK(verifier.totals().skipped < expectation.padding);
	CHECK(verifier.position() == writer.bytes.size());
}

TEST_CASE("A snapshot that ends inside a record is no snapshot")
{
	TraceWriter writer;

	writer.start();
	writer.data(1);
	Ring ring(std::span(writer.bytes).first(300), 4096);
	TraceVerifier verifier(expect(writer));
	CHECK_FALSE(verifier.snapshot(ring.shot));
	CHECK_THAT(verifier.error(), ContainsSubstring("middle of a record, after 44 bytes"));
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

TEST_CASE("A snapshot has all records from its oldest to its newest")
{
	TraceWriter writer;
	auto expectation = expect(writer);

	writer.size = 256;
	writer.start();
	writer.data(9);
	writer.start();
	writer.data(29);
	auto shot_of = [&](auto &&change) {
		TraceWriter other = writer;

		change(other);
		Ring ring(other.bytes, 4096);
		auto certain = behind_position(wrong_with(ring.shot, expectation));
		auto rest = std::span(other.bytes).last(4096);
		CHECK(behind_position(wrong_with(uncertain(rest), expectation)) == certain);
		return certain;
	};
	CHECK(shot_of([](TraceWriter &) {}) == "");
	/* 16 of the 40 records are in the snapshot: remove any one of the inner ones, and any two. */
	for (std::ptrdiff_t index = 26; index < 39; index++)
		for (std::ptrdiff_t count : {1, 2}) {
			INFO(count << " missing at " << index);
			CHECK_THAT(shot_of([&](TraceWriter &other) {
				drop(other, index, std::min<std::ptrdiff_t>(count, 39 - index));
			}),
				ContainsSubstring("are missing"));
		}
	/* The newest record appears twice, or in place of the one before. */
	CHECK_THAT(shot_of([](TraceWriter &other) {
		other.bytes.insert(other.bytes.end(), other.bytes.end() - 256, other.bytes.end());
	}),
		ContainsSubstring("seq goes back"));
	/* Half of the snapshot is zero. */
	CHECK(shot_of([](TraceWriter &other) {
		std::fill(other.bytes.end() - 4096, other.bytes.end() - 2048, std::byte{0});
	}) != "");
	CHECK(shot_of([](TraceWriter &other) {
		std::fill(other.bytes.end() - 4096, other.bytes.end() - 3840, std::byte{0});
	}) != "");
	/* The snapshot is not at the position that it states. */
	Ring ring(writer.bytes, 4096);
	ring.shot.from -= 64;
	CHECK_THAT(wrong_with(ring.shot, expectation), ContainsSubstring("4096 bytes from there"));
	ring.shot.to -= 64;
	CHECK_THAT(wrong_with(ring.shot, expectation), ContainsSubstring("no multiple of its size"));
}

TEST_CASE("A buffer that was not filled begins with a START, and nothing in front of it")
{
	TraceWriter writer;
	auto expectation = expect(writer);

	writer.start();
	writer.data(5);
	SECTION("so it does")
	CHECK(wrong_with(Ring(writer.bytes, 4096).shot, expectation) == "");
	SECTION("its first record is missing")
	{
		drop(writer, 0);
		CHECK_THAT(wrong_with(Ring(writer.bytes, 4096).shot, expectation), ContainsSubstring("is no START"));
	}
	SECTION("its first record is zeros")
	{
		std::fill_n(writer.bytes.begin(), 256, std::byte{0});
		CHECK_THAT(wrong_with(Ring(writer.bytes, 4096).shot, expectation), ContainsSubstring("is no START"));
	}
	SECTION("zeros are in front of its first record")
	{
		writer.bytes.insert(writer.bytes.begin(), 1024, std::byte{0});
		CHECK_THAT(wrong_with(Ring(writer.bytes, 4096).shot, expectation), ContainsSubstring("not filled"));
	}
	SECTION("all of it is zeros")
	{
		std::ranges::fill(writer.bytes, std::byte{0});
		CHECK_THAT(wrong_with(Ring(writer.bytes, 4096).shot, expectation), ContainsSubstring("no record"));
	}
	SECTION("where it is not known how much was filled, zeros are")
	{
		writer.bytes.insert(writer.bytes.begin(), 4096 - writer.bytes.size(), std::byte{0});
		CHECK(wrong_with(uncertain(writer.bytes), expectation) == "");
		drop(writer, 10);
		writer.bytes.insert(writer.bytes.begin(), 256, std::byte{0});
		CHECK_THAT(wrong_with(uncertain(writer.bytes), expectation), ContainsSubstring("bytes of zeros"));
	}
}

TEST_CASE("In front of the oldest whole record is the end of the one before it, or of padding")
{
	TraceWriter writer;
	auto expectation = expect(writer);
	const auto rest_of = [&](std::size_t bytes) {
		return uncertain(std::span<const std::byte>(writer.bytes).last(bytes));
	};

	writer.size = GENERATE(256u, 4096u);
	writer.pattern = static_cast<std::uint16_t>(GENERATE(0, 1, 2));
	expectation.record_size = writer.size;
	expectation.pattern = writer.pattern;
	writer.start();
	writer.data(4);
	const std::size_t two = 2 * writer.size;
	for (std::size_t cut : {64u, 128u, 192u}) {
		CHECK(wrong_with(rest_of(two + cut), expectation) == "");
		const auto one = writer.bytes.size() - two - GENERATE_COPY(8u, 40u, 64u);
		writer.bytes[one] ^= std::byte{1};
		CHECK_THAT(wrong_with(rest_of(two + cut), expectation), ContainsSubstring("is not the end of"));
		writer.bytes[one] ^= std::byte{1};
	}
	SECTION("more than that")
	{
		/* The header of the oldest record is corrupted. */
		writer.bytes[writer.bytes.size() - 2 * two] ^= std::byte{1};
		CHECK_THAT(wrong_with(rest_of(2 * two), expectation), ContainsSubstring("bytes further on"));
	}
	SECTION("padding")
	{
		expectation.padding = 2 * two;
		writer.pad(2 * writer.size);
		writer.data(1);
		CHECK(wrong_with(rest_of(3 * writer.size - 64), expectation) == "");
		CHECK(wrong_with(rest_of(3 * writer.size), expectation) == "");
		expectation.padding = 0;
		CHECK_THAT(wrong_with(rest_of(3 * writer.size - 64), expectation), ContainsSubstring("bytes of zeros"));
	}
}
