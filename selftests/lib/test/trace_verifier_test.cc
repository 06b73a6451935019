// SPDX-License-Identifier: GPL-2.0-only
/* What the verifier must accept of a full trace, and that it rejects a trace in which any single byte differs. */
#include <span>

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "synth/trace_bytes.h"
#include "synth/trace_verifier.h"
#include "trace_proof.h"
#include "trace_writer.h"

using namespace auxpmu;
using Catch::Matchers::ContainsSubstring;

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
	writer.pad(4032);
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
		CHECK(verifier.totals().pad_bytes == 4096);
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
	writer.pad(256);
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

TEST_CASE("A trace that stops inside a record, or inside padding, is not complete")
{
	TraceWriter writer;
	std::size_t taken = 0;
	const char *wrong = nullptr;

	writer.start();
	SECTION("a record")
	{
		taken = 200;
		wrong = "middle of a record";
	}
	SECTION("padding")
	{
		writer.pad(256);
		taken = 500;
		wrong = "middle of padding, 12 bytes";
	}
	TraceVerifier verifier(expect(writer));
	REQUIRE(verifier.feed(std::span(writer.bytes).first(taken)));
	CHECK_FALSE(verifier.complete());
	CHECK_THAT(verifier.error(), ContainsSubstring(wrong));
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

TEST_CASE("Records missing in front of a stream's first are missing, unless it may begin anywhere")
{
	TraceWriter writer;
	auto expectation = expect(writer);

	writer.seq = 5;
	writer.start();
	TraceVerifier strict(expectation);
	CHECK_FALSE(strict.feed(writer.bytes));
	CHECK_THAT(strict.error(), ContainsSubstring("5 records (1280 bytes) are missing: seq 0"));

	expectation.any_first = true;
	TraceVerifier anywhere(expectation);
	CHECK(anywhere.feed(writer.bytes));
	CHECK(anywhere.totals().lost == 0);
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
	writer.start();
	TraceVerifier verifier(expect(writer));
	REQUIRE(verifier.feed(writer.bytes));
	CHECK(verifier.cpus() == std::vector<std::uint32_t>{0, 1});
	writer.bytes.clear();
	writer.time = 9;
	SECTION("of records")
	writer.data(1);
	SECTION("of padding")
	writer.pad(64);
	CHECK_FALSE(verifier.feed(writer.bytes));
	CHECK_THAT(verifier.error(), ContainsSubstring("time goes back on CPU 1"));
}

TEST_CASE("A trace whose first record has no time is wrong")
{
	TraceWriter writer;

	writer.time = 0;
	writer.start();
	TraceVerifier verifier(expect(writer));
	CHECK_FALSE(verifier.feed(writer.bytes));
	CHECK_THAT(verifier.error(), ContainsSubstring("from 0 to 0 ns"));
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
	one.start();
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
	writer.pad(192);
	writer.start();
	TraceVerifier verifier(expect(writer));
	verifier.begin_at(40);
	REQUIRE(verifier.feed(writer.bytes));
	CHECK(verifier.complete());
	CHECK(verifier.totals().pad_bytes == 216);
}

TEST_CASE("Every member of a header is looked at")
{
	TraceWriter writer;
	std::string text;

	writer.size = 128;
	writer.stream = 9;
	writer.parent = 4;
	writer.start();
	writer.data(1);
	writer.pad(128);
	writer.data(1);
	TraceExpectation any;
	auto changed = [&](std::size_t at, auto &&change, const TraceExpectation &expectation) {
		TraceWriter other = writer;

		other.change(at, change);
		return wrong_with(other, expectation);
	};
	REQUIRE(wrong_with(writer, any) == "");

	/* Changes of the second record, the padding, and the last record. */
	using Change = void (*)(auxpmu_record &);
	struct Wrong {
		std::size_t at;
		Change change;
		const char *text;
	};
	for (const Wrong &one : {
		     Wrong{128, [](auxpmu_record &r) { r.size = 96; }, "not a power of two"},
		     Wrong{128, [](auxpmu_record &r) { r.size = 32; }, "not a power of two"},
		     Wrong{128, [](auxpmu_record &r) { r.size = 8192; }, "not a power of two"},
		     Wrong{128, [](auxpmu_record &r) { r.size = 64; }, "differ from those of the stream's first"},
		     Wrong{128, [](auxpmu_record &r) { r.kind = 0; }, "kind is 0"},
		     Wrong{128, [](auxpmu_record &r) { r.kind = 4; }, "kind is 4"},
		     Wrong{128, [](auxpmu_record &r) { r.pattern = 3; }, "pattern 3"},
		     Wrong{128, [](auxpmu_record &r) { r.cpu = 1 << 20; }, "CPU 1048576"},
		     Wrong{128, [](auxpmu_record &r) { r.cpu = 1; }, "there is no START"},
		     Wrong{128, [](auxpmu_record &r) { r.stream = 0; }, "stream 0"},
		     Wrong{128, [](auxpmu_record &r) { r.parent = 5; }, "differ from those"},
		     Wrong{128, [](auxpmu_record &r) { r.parent = 9; }, "no older stream"},
		     Wrong{128, [](auxpmu_record &r) { r.parent = 12; }, "no older stream"},
		     Wrong{128, [](auxpmu_record &r) { r.time = 999; }, "time goes back"},
		     Wrong{128, [](auxpmu_record &r) { r.time = 0; }, "time goes back"},
		     Wrong{128, [](auxpmu_record &r) { r.ip = 0; }, "record n is of block n"},
		     Wrong{128, [](auxpmu_record &r) { r.ip = 17; }, "no block"},
		     Wrong{128, [](auxpmu_record &r) { r.ip = 4096 + 16; }, "no block"},
		     Wrong{128, [](auxpmu_record &r) { r.reserved = 1; }, "reserved"},
		     Wrong{256, [](auxpmu_record &r) { r.size = 0; }, "must be a multiple of 64"},
		     Wrong{256, [](auxpmu_record &r) { r.size = 96; }, "must be a multiple of 64"},
		     Wrong{256, [](auxpmu_record &r) { r.size = 64; }, "no record begins here"},
		     Wrong{256, [](auxpmu_record &r) { r.seq = 2; }, "seq 0"},
		     Wrong{256, [](auxpmu_record &r) { r.pattern = 1; }, "of padding is not zero"},
		     Wrong{256, [](auxpmu_record &r) { r.parent = 4; }, "of padding is not zero"},
		     Wrong{256, [](auxpmu_record &r) { r.seed = 7; }, "of padding is not zero"},
		     Wrong{256, [](auxpmu_record &r) { r.ip = 16; }, "of padding is not zero"},
		     Wrong{256, [](auxpmu_record &r) { r.reserved = 1; }, "reserved"},
		     Wrong{256, [](auxpmu_record &r) { r.stream = 0; }, "padding of stream 0"},
		     Wrong{256, [](auxpmu_record &r) { r.stream = 8; }, "of which there is no record"},
		     Wrong{256, [](auxpmu_record &r) { r.cpu = 1 << 20; }, "padding of stream 9 on CPU 1048576"},
		     Wrong{256, [](auxpmu_record &r) { r.time = 1000; }, "time goes back"},
		     Wrong{256, [](auxpmu_record &r) { r.time = 0; }, "time goes back"},
		     Wrong{256, [](auxpmu_record &r) { r.time = 2000; }, "time goes back"},
	     }) {
		INFO("at " << one.at << ": " << one.text);
		text = changed(one.at, one.change, any);
		CHECK_THAT(text, ContainsSubstring(one.text));
	}
	any.cpu = 0;
	text = changed(256, [](auxpmu_record &r) { r.cpu = 2; }, any);
	CHECK_THAT(text, ContainsSubstring("CPU is not 0, which was asked for, in padding"));
	text = changed(0, [](auxpmu_record &r) { r.ip = 16; }, any);
	CHECK_THAT(text, ContainsSubstring("begins with ip 0x10"));
}

TEST_CASE("A record lies at a multiple of its size, padding at one of 64")
{
	TraceWriter writer;
	auto expectation = expect(writer);

	SECTION("a record")
	{
		writer.start();
		writer.pad(320);
		writer.data(1);
		CHECK_THAT(wrong_with(writer, expectation), ContainsSubstring("no multiple of its size"));
	}
	SECTION("padding")
	{
		TraceVerifier verifier(expectation);
		writer.pad(64);
		verifier.begin_at(40);
		CHECK_FALSE(verifier.feed(writer.bytes));
		CHECK_THAT(verifier.error(), ContainsSubstring("no multiple of 64"));
	}
}

TEST_CASE("The trace goes over to another stream, or CPU, with a START only, unless that is what is lost")
{
	TraceWriter one, two;
	auto expectation = expect(one);

	two.stream = 2;
	one.start();
	two.time = 1100;
	two.start();
	one.append(two.bytes.data(), two.bytes.size());
	one.time = 1200;
	SECTION("back to a stream that was traced before")
	{
		one.data(1);
		CHECK_THAT(wrong_with(one, expectation), ContainsSubstring("there is no START"));
		expectation.gaps_allowed = true;
		CHECK_THAT(wrong_with(one, expectation), ContainsSubstring("there is no START"));
	}
	SECTION("to one of which more is lost")
	{
		one.seq++;
		one.data(1);
		expectation.gaps_allowed = true;
		TraceVerifier verifier(expectation);
		CHECK(verifier.feed(one.bytes));
		CHECK(verifier.totals().lost == 1);
	}
	SECTION("to one that is new, in the middle of a buffer")
	{
		one.stream = 3;
		one.seq = 12;
		one.data(1);
		expectation.any_first = true;
		CHECK_THAT(wrong_with(one, expectation), ContainsSubstring("there is no START"));
	}
	SECTION("to another CPU")
	{
		one.start();
		one.cpu = 1;
		one.data(1);
		CHECK_THAT(wrong_with(one, expectation), ContainsSubstring("there is no START"));
	}
}

TEST_CASE("More streams than there may be are an error")
{
	TraceWriter writer;
	auto expectation = expect(writer);

	expectation.streams = 2;
	for (writer.stream = 1; writer.stream <= 2; writer.stream++) {
		writer.seq = 0;
		writer.start();
	}
	CHECK(wrong_with(writer, expectation) == "");
	writer.seq = 0;
	writer.start();
	CHECK_THAT(wrong_with(writer, expectation), ContainsSubstring("more than 2 streams"));
}

TEST_CASE("A gap is right only where an AUX record says that trace is missing")
{
	TraceWriter writer;
	auto expectation = expect(writer);

	/* Records are missing behind position 1024, and again behind 2048. */
	writer.start();
	writer.data(3);
	writer.seq += 5;
	writer.data(4);
	writer.seq++;
	writer.data(1);
	expectation.gaps_allowed = true;
	TraceVerifier verifier(expectation);
	auto announce = [&](std::uint64_t offset, std::uint64_t size, bool missing) {
		verifier.announce(offset, size, missing);
	};
	bool right = true;

	SECTION("nobody says so")
	right = false;
	SECTION("one says so of one of them only")
	{
		announce(0, 1024, true);
		announce(1024, 768, true);
		announce(1792, 512, false);
		right = false;
	}
	SECTION("at the ends of what they tell of")
	{
		announce(0, 1024, true);
		announce(1024, 1024, true);
		announce(2048, 256, false);
	}
	SECTION("where it goes on")
	{
		announce(0, 1024, false);
		announce(1024, 512, true);
		announce(1536, 512, false);
		announce(2048, 0, true);
	}
	SECTION("one of everything")
	announce(0, 2304, true);
	REQUIRE(verifier.feed(writer.bytes));
	CHECK(verifier.totals().lost == 6);
	CHECK(verifier.totals().lost_bytes == 6 * 256);
	CHECK(verifier.streams()[0].lost == 6);
	CHECK(verifier.accounted() == right);
	if (!right)
		CHECK_THAT(verifier.error(), ContainsSubstring("no AUX record there says so"));
}

TEST_CASE("Of a filtered program each block follows where the one before leads")
{
	TraceWriter writer;
	auto expectation = expect(writer);
	Program program;

	program.fill(Block::left_out);
	for (auto block : {4, 5, 6, 9, 20, 21})
		program[static_cast<std::size_t>(block)] = Block::traced;
	program[30] = Block::stops;
	expectation.program = program;
	auto at = [&](std::initializer_list<unsigned> blocks) {
		for (auto block : blocks) {
			writer.block = block;
			writer.data(1);
		}
	};
	auto start_at = [&](unsigned block) {
		writer.block = block;
		writer.start();
	};
	const char *wrong = nullptr;

	start_at(0);
	at({4, 5, 6, 9});
	SECTION("to the stop, and on from anywhere")
	{
		at({20, 21});
		start_at(200);
		at({4, 5});
	}
	SECTION("to the next start, which takes any block")
	{
		start_at(12);
		at({20, 21});
		start_at(30);
		at({4});
	}
	SECTION("starts that follow one another")
	{
		start_at(10);
		start_at(11);
		start_at(12);
	}
	SECTION("a traced block skipped")
	{
		at({21});
		wrong = "0x140 is to be traced";
	}
	SECTION("a traced block skipped, up to a start")
	{
		start_at(21);
		wrong = "0x140 is to be traced";
	}
	SECTION("a block twice")
	{
		at({9});
		wrong = "0x140 is to be traced";
	}
	SECTION("what is left out")
	{
		at({11});
		wrong = "0xb0 is not to be traced";
	}
	SECTION("past what stops")
	{
		at({20, 21, 4});
		wrong = "0x1e0 stops the trace";
	}
	SECTION("what stops")
	{
		at({20, 21, 30});
		wrong = "0x1e0 is not to be traced";
	}
	SECTION("what is left out, behind a gap")
	{
		writer.seq += 2;
		at({11});
		expectation.gaps_allowed = true;
		wrong = "0xb0 is not to be traced";
	}
	SECTION("anything that is traced, behind a gap")
	{
		writer.seq += 2;
		at({6});
		expectation.gaps_allowed = true;
		TraceVerifier verifier(expectation);
		CHECK(verifier.feed(writer.bytes));
		return;
	}
	if (wrong)
		CHECK_THAT(wrong_with(writer, expectation), ContainsSubstring(wrong));
	else
		CHECK(wrong_with(writer, expectation) == "");
}

TEST_CASE("A filtered program's trace may be looked at from its middle on")
{
	TraceWriter writer;
	auto expectation = expect(writer);
	Program program;

	program.fill(Block::traced);
	expectation.program = program;
	expectation.any_first = true;
	writer.seq = 700;
	writer.block = 12;
	writer.data(3);
	CHECK(wrong_with(writer, expectation) == "");
}
