// SPDX-License-Identifier: GPL-2.0-only
/*
 * perf.data files that are not such files, damaged, cut, or of another kind: each is refused by name, and nothing beyond is
 * read.
 */
#include <cstring>

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "perf_data_writer.h"
#include "perfdata/perf_data.h"

using namespace auxpmu;
using Catch::Matchers::ContainsSubstring;

TEST_CASE("A file that ends anywhere before its end is refused")
{
	Full full;
	Bytes right = full.bytes();

	for (std::size_t size = 0; size < right.size(); size += size < 600 ? 1 : 37) {
		INFO("size " << size);
		REQUIRE(wrong_with({Bytes(right.begin(), right.begin() + static_cast<std::ptrdiff_t>(size))}) != "");
	}
}

TEST_CASE("No damage to a file makes the reader read beyond it")
{
	Full full;
	Bytes right = full.bytes();

	/*
	 * Set each byte that is not trace to 0xff. Whether the file is then accepted does not matter; ASan must not complain.
	 */
	for (std::size_t i = 8; i < right.size(); i++) {
		Bytes bytes = right;

		bytes[i] = std::byte{0xff};
		(void)wrong_with({bytes});
		bytes[i] = std::byte{0};
		(void)wrong_with({bytes});
	}
	SUCCEED();
}

TEST_CASE("What is no perf.data, or not finished, or compressed is named")
{
	Full full;
	Bytes bytes = full.bytes();

	SECTION("magic")
	{
		bytes[7] = std::byte{'3'};
		CHECK_THAT(wrong_with({bytes}), ContainsSubstring("PERFILE2"));
	}
	SECTION("no data")
	{
		std::memset(&bytes[48], 0, 8);
		CHECK_THAT(wrong_with({bytes}), ContainsSubstring("did not finish"));
	}
	SECTION("compressed")
	{
		full.file.record(81, Bytes(8));
		CHECK_THAT(wrong_with({full.file.file()}), ContainsSubstring("without -z"));
	}
}

TEST_CASE("The index names every AUXTRACE record, and what it names besides is counted")
{
	Full full;
	PerfDataFacts facts;

	full.bytes();
	full.file.index.push_back(8);
	CHECK(wrong_with({full.file.file()}, &facts) == "");
	CHECK(facts.stale_index == 1);
	full.file.index.resize(1);
	CHECK_THAT(wrong_with({full.file.file()}), ContainsSubstring("leaves out"));
}

TEST_CASE("A file that cannot be read is named")
{
	auto none = PerfData::open("/nonexistent/perf.data");

	REQUIRE_FALSE(none);
	CHECK_THAT(none.error().text, ContainsSubstring("/nonexistent/perf.data"));
	CHECK_FALSE(PerfData::open("/"));
}
