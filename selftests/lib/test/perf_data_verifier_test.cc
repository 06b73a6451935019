// SPDX-License-Identifier: GPL-2.0-only
/* perf.data files made in memory: which recordings the verifier must accept as complete, and that it accepts no others. */
#include <cstdint>
#include <set>
#include <string>

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "perf_data_writer.h"
#include "perfdata/perf_data_verifier.h"

using namespace auxpmu;
using Catch::Matchers::ContainsSubstring;

TEST_CASE("A full trace in several payloads is accepted and counted, from a file and from a pipe")
{
	Full full;
	PerfDataFacts facts;

	full.file.pipe = GENERATE(false, true);
	CHECK(wrong_with({full.bytes()}, &facts) == "");
	CHECK(facts.bytes == 3072);
	CHECK(facts.payloads == 2);
	CHECK(facts.rings == 1);
	CHECK(facts.records == 12);
	CHECK(facts.starts == 1);
	CHECK(facts.streams == 1);
	CHECK(facts.aux_records == 2);
	CHECK(facts.aux_bytes == 3072);
	CHECK(facts.cpus == std::set<std::uint32_t>{0});
}

TEST_CASE("Every wrong byte of a payload is found")
{
	Full full;
	Bytes right = full.bytes();
	std::size_t at = right.size() - 32 - 8 - 32 - 2048;

	for (std::size_t i = 0; i < 2048; i += 13) {
		Bytes bytes = right;

		bytes[at + i] ^= std::byte{4};
		INFO("byte " << i);
		REQUIRE(wrong_with({bytes}) != "");
	}
}

TEST_CASE("A record dropped between payloads, in one, or at either end is found")
{
	Full full;

	SECTION("between")
	{
		full.file.aux(0, 3072);
		full.file.auxtrace(0, part(full.trace, 0, 1024));
		full.file.auxtrace(1280, part(full.trace, 1280, 1792));
		CHECK_THAT(wrong_with({full.file.file()}), ContainsSubstring("goes on at 0x500"));
	}
	SECTION("within, and the sizes agree")
	{
		Bytes shorter(full.trace.bytes);
		shorter.erase(shorter.begin() + 512, shorter.begin() + 768);
		full.file.aux(0, shorter.size());
		full.file.auxtrace(0, shorter);
		CHECK_THAT(wrong_with({full.file.file()}), ContainsSubstring("1 records (256 bytes) are missing"));
	}
	SECTION("at the end")
	{
		full.file.aux(0, 3072);
		full.file.auxtrace(0, part(full.trace, 0, 2816));
		CHECK_THAT(wrong_with({full.file.file()}), ContainsSubstring("announced was 0x0 to 0xc00"));
	}
	SECTION("at the beginning")
	{
		full.file.aux(256, 2816);
		full.file.auxtrace(256, part(full.trace, 256, 2816));
		CHECK_THAT(wrong_with({full.file.file()}), ContainsSubstring("not at 0"));
		CHECK(wrong_with({full.file.file()}, nullptr, true) == "");
	}
	SECTION("inside of the last record")
	{
		full.file.aux(0, 3000);
		full.file.auxtrace(0, part(full.trace, 0, 3000));
		CHECK_THAT(wrong_with({full.file.file()}), ContainsSubstring("middle of a record"));
	}
	SECTION("all of it")
	{
		full.file.aux(0, 3072);
		CHECK_THAT(wrong_with({full.file.file()}), ContainsSubstring("announced, and there is none"));
	}
}

TEST_CASE("AUX records have to follow one another and be there")
{
	Full full;

	SECTION("a gap")
	{
		full.file.aux(0, 1024);
		full.file.aux(1280, 1792);
	}
	SECTION("none") {}
	SECTION("more than there is")
	full.file.aux(0, 4096);
	SECTION("for an unknown event")
	full.file.aux(0, 3072, 0, 9);
	full.file.auxtrace(0, full.trace.bytes);
	CHECK(wrong_with({full.file.file()}) != "");
}

TEST_CASE("A record that perf wrote twice is one record, and one that came later is another")
{
	const std::uint64_t again = GENERATE(0, 101, 102);
	Full full;
	PerfDataFacts facts;

	full.file.time = 100;
	full.file.aux(0, 1024);
	full.file.time = 101;
	full.file.aux(1024, 2048);
	if (again) {
		full.file.time = again;
		full.file.aux(1024, 2048);
	}
	full.file.auxtrace(0, full.trace.bytes);
	CHECK((wrong_with({full.file.file()}, &facts) == "") == (again != 102));
	CHECK(facts.repeated == (again == 101 ? 1 : 0));
}

TEST_CASE("Lost trace is right only where an AUX record says so")
{
	Full full;
	PerfDataFacts facts;
	std::uint64_t flags = GENERATE(std::uint64_t{0}, std::uint64_t{PERF_AUX_FLAG_TRUNCATED},
		std::uint64_t{PERF_AUX_FLAG_PARTIAL}, std::uint64_t{PERF_AUX_FLAG_COLLISION});
	bool said = flags & (PERF_AUX_FLAG_TRUNCATED | PERF_AUX_FLAG_PARTIAL);

	full.trace.seq += 3;
	full.trace.data(2);
	full.file.aux(0, 3072, flags);
	full.file.aux(3072, 512);
	full.file.auxtrace(0, full.trace.bytes);
	CHECK(wrong_with({full.file.file()}, &facts).empty() == said);
	if (said)
		CHECK(facts.lost == 3 * 256);
}

TEST_CASE("What is missing is missing where an AUX record says so, not elsewhere")
{
	Full full;
	const std::uint64_t partial = PERF_AUX_FLAG_PARTIAL;

	/* 12 records, 3 missing ones, 2 more */
	full.trace.seq += 3;
	full.trace.data(2);
	bool right = GENERATE(false, true);
	full.file.aux(0, 1024, right ? 0 : partial);
	full.file.aux(1024, 2048, right ? partial : 0);
	full.file.aux(3072, 512);
	full.file.auxtrace(0, full.trace.bytes);
	if (right)
		CHECK(wrong_with({full.file.file()}) == "");
	else
		CHECK_THAT(wrong_with({full.file.file()}), ContainsSubstring("no AUX record there says so"));
}

TEST_CASE("What AUX records say has to be known, and something")
{
	Full full;
	const char *wrong = nullptr;

	SECTION("a flag that nobody knows")
	{
		full.file.aux(0, 3072, 0x10);
		wrong = "flags 0x10";
	}
	SECTION("another PMU's format")
	{
		full.file.aux(0, 3072, 0x100);
		wrong = "flags 0x100";
	}
	SECTION("nothing")
	{
		full.file.aux(0, 0);
		full.file.aux(0, 3072);
		wrong = "of no trace";
	}
	SECTION("nothing, overwriting")
	{
		full.file.aux(0, 0, PERF_AUX_FLAG_OVERWRITE);
		wrong = "of no trace";
	}
	SECTION("that the buffer was full")
	{
		full.file.aux(0, 3072);
		full.file.aux(3072, 0, PERF_AUX_FLAG_TRUNCATED);
	}
	SECTION("that an area was overwritten, and was not")
	{
		full.file.aux(0, 1024);
		full.file.aux(1024, 2048, PERF_AUX_FLAG_OVERWRITE);
		wrong = "both overwritten and not";
	}
	full.file.auxtrace(0, full.trace.bytes);
	if (wrong)
		CHECK_THAT(wrong_with({full.file.file()}), ContainsSubstring(wrong));
	else
		CHECK(wrong_with({full.file.file()}) == "");
}

TEST_CASE("Where a data ring lost records it is not known what they said, and of the other areas it is")
{
	Full full;
	Bytes body;
	PerfDataFacts facts;
	const std::uint64_t ring = GENERATE(std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{9});

	for (std::uint64_t word : {trace_id + ring, std::uint64_t{4}, trace_id})
		put(body, word);
	full.file.record(PERF_RECORD_LOST, body);
	full.file.aux(1024, 1024);
	full.file.auxtrace(0, full.trace.bytes);
	const auto wrong = wrong_with({full.file.file()}, &facts);
	CHECK(facts.lost_records == 4);
	/* The lost records belong to an unknown event, so they may have been those of any ring. */
	CHECK(wrong.empty() == (ring != 1));
}

TEST_CASE("A sample of an event that is not in the file is an error")
{
	Full full;
	Bytes body;

	full.file.sample(part(full.trace, 0, 512));
	CHECK(wrong_with({full.file.file()}) == "");
	put<std::uint64_t>(body, 999);
	put<std::uint64_t>(body, 0);
	put<std::uint64_t>(body, 0);
	full.file.record(PERF_RECORD_SAMPLE, body);
	CHECK_THAT(wrong_with({full.file.file()}), ContainsSubstring("of an event that is not known"));
}

TEST_CASE("A snapshot or a sample with a record missing in its middle is an error")
{
	Full full;
	TraceWriter shorter = full.trace;

	shorter.bytes.clear();
	shorter.data(8);
	shorter.bytes.erase(shorter.bytes.begin() + 1024, shorter.bytes.begin() + 1280);
	shorter.data(9);
	SECTION("a snapshot")
	{
		full.file.aux(3072, 4096, PERF_AUX_FLAG_OVERWRITE);
		full.file.auxtrace(3072, part(shorter, 0, 4096));
	}
	SECTION("a sample")
	full.file.sample(part(shorter, 768, 512));
	CHECK_THAT(wrong_with({full.file.file()}), ContainsSubstring("1 records (256 bytes) are missing"));
}

TEST_CASE("Each AUX area is followed apart, and trace of another CPU does not belong into it")
{
	Full full;
	TraceWriter other;
	PerfDataFacts facts;

	other.stream = 2;
	other.cpu = GENERATE(1u, 0u);
	other.start();
	full.bytes();
	full.file.aux(0, 256, 0, 1);
	full.file.auxtrace(0, other.bytes, 1);
	bool right = wrong_with({full.file.file()}, &facts).empty();
	CHECK(right == (other.cpu == 1));
	if (right)
		CHECK(facts.rings == 2);
}

TEST_CASE("Several files are one recording")
{
	Full first, second;

	first.file.aux(0, 1024);
	first.file.auxtrace(0, part(first.trace, 0, 1024));
	second.file.aux(1024, 2048);
	second.file.auxtrace(1024, part(first.trace, 1024, 2048));
	CHECK(wrong_with({first.file.file(), second.file.file()}) == "");
	CHECK(wrong_with({second.file.file(), first.file.file()}) != "");
	CHECK_THAT(wrong_with({second.file.file()}), ContainsSubstring("not at 0"));
}

TEST_CASE("Snapshots are whole, end where the kernel says, and get no older")
{
	Full full;
	constexpr std::uint64_t area = 4096, over = PERF_AUX_FLAG_OVERWRITE;
	PerfDataFacts facts;

	full.trace.data(30); /* 10752 bytes */
	full.file.aux(256, 4096, over);
	full.file.auxtrace(4096, part(full.trace, 100 * 64 - 4096, 4096)); /* up to 6400 */
	SECTION("that end elsewhere")
	{
		CHECK_THAT(wrong_with({full.file.file()}), ContainsSubstring("no AUX record announces"));
	}
	SECTION("in order")
	{
		full.file.aux(6400 % area, 4096, over);
		full.file.data.clear();
		full.file.index.clear();
		full.file.info();
		full.file.id_index();
		full.file.aux(6400 % area, 4096, over);
		full.file.auxtrace(6400 % area, part(full.trace, 6400 - 4096, 4096));
		full.file.aux(10752 % area, 4096, over);
		full.file.auxtrace(10752 % area + 64, part(full.trace, 10752 - 4032, 4032));
		CHECK(wrong_with({full.file.file()}, &facts) == "");
		CHECK(facts.overwrite == 2);
		CHECK(facts.records == 31); /* the oldest of the second one is cut */
		full.file.aux(6400 % area, 4096, over);
		full.file.auxtrace(6400 % area, part(full.trace, 6400 - 4096, 4096));
		CHECK_THAT(wrong_with({full.file.file()}), ContainsSubstring("ends before seq"));
	}
}

TEST_CASE("A sample is as long as asked, ends with a record, and has zeros in front of what there is")
{
	Full full;
	Bytes blank(512), front(256);
	PerfDataFacts facts;

	put(front, Bytes(full.trace.bytes.begin(), full.trace.bytes.begin() + 256));
	full.file.sample(blank);
	full.file.sample(front);
	full.file.sample(part(full.trace, 64, 512).first(512)); /* up to 576: inside of a record */
	SECTION("right")
	{
		full.file.data.clear();
		full.file.info();
		full.file.id_index();
		full.file.sample(blank);
		full.file.sample(front);
		full.file.sample(part(full.trace, 256, 512));
		CHECK(wrong_with({full.file.file()}, &facts) == "");
		CHECK(facts.aux_samples == 3);
		CHECK(facts.blank_samples == 1);
		CHECK(facts.records == 3);
		full.file.sample(front);
		CHECK_THAT(wrong_with({full.file.file()}), ContainsSubstring("ends before seq"));
	}
	SECTION("cut at its end")
	CHECK(wrong_with({full.file.file()}) != "");
	SECTION("too short")
	{
		full.file.data.clear();
		full.file.sample(part(full.trace, 0, 256));
		CHECK_THAT(wrong_with({full.file.file()}), ContainsSubstring("asked for were 512"));
	}
	SECTION("of another CPU")
	{
		full.file.data.clear();
		full.file.sample(part(full.trace, 0, 512), 1);
		CHECK_THAT(wrong_with({full.file.file()}), ContainsSubstring("CPU is not 1"));
	}
}

TEST_CASE("Of intel_bts less than a branch record may be cut from a payload, and no more")
{
	Full full;
	PerfDataFacts facts;

	full.file.auxtrace_type = GENERATE(2u, 1u);
	full.file.data.clear();
	full.file.info();
	full.file.id_index();
	full.trace.bytes.resize(1024 + 1024);
	full.file.aux(0, 1024);
	full.file.aux(1024, 1024);
	full.file.auxtrace(0, part(full.trace, 0, 1024 - 1024 % 24));
	SECTION("the remainder")
	{
		full.file.auxtrace(1024, part(full.trace, 1024, 1024 - 1024 % 24));
		CHECK(wrong_with({full.file.file()}, &facts).empty() == (full.file.auxtrace_type == 2));
		if (full.file.auxtrace_type == 2) {
			CHECK(facts.cut == 2 * (1024 % 24));
			CHECK(facts.records == 6);
		}
	}
	SECTION("a whole branch record more")
	{
		full.file.auxtrace(1024, part(full.trace, 1024, 1024 - 1024 % 24 - 24));
		CHECK(wrong_with({full.file.file()}) != "");
	}
}

TEST_CASE("Nothing is not verified")
{
	Full full;

	CHECK(wrong_with({full.file.file()}) == "there is no trace");
}
