// SPDX-License-Identifier: GPL-2.0-or-later
#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <random>
#include <unistd.h>

#include "../base/compare.h"

using namespace hwsim;

namespace
{

std::vector<Step> program(std::size_t size, unsigned seed = 1)
{
	std::mt19937_64 random(seed);
	std::vector<Step> steps;
	for (std::size_t i = 0; i < size; i++)
		steps.push_back({0x400000 + random() % 64, 0x400000 + random() % 64});
	return steps;
}

/* The path of a temporary file. */
std::string scratch()
{
	return std::filesystem::temp_directory_path() / ("truth_test." + std::to_string(getpid()));
}

std::vector<Step> without(std::vector<Step> steps, std::size_t at, std::size_t size)
{
	const auto begin = steps.begin() + static_cast<std::ptrdiff_t>(at);
	steps.erase(begin, begin + static_cast<std::ptrdiff_t>(size));
	return steps;
}

} // namespace

TEST_CASE("equal logs have no differences")
{
	const auto truth = program(10'000);
	const Comparison result = compare(truth, truth);
	CHECK(result.differences.empty());
	CHECK(result.equal == truth.size());
}

TEST_CASE("each loss is one difference, and what follows is still judged")
{
	const auto truth = program(10'000);
	auto decoded = without(without(truth, 7000, 900), 1000, 1);
	const Comparison result = compare(truth, decoded);
	REQUIRE(result.differences.size() == 2);
	CHECK(result.differences[0].truth_at == 1000);
	CHECK(result.differences[0].truth_size == 1);
	CHECK(result.differences[1].truth_size == 900);
	CHECK(result.differences[1].decoded_size == 0);
	CHECK(result.equal == decoded.size());
}

TEST_CASE("a loss in a program that repeats itself is one difference")
{
	/* The same loop again and again, sometimes with another path through it. */
	std::vector<Step> truth;
	for (std::uint64_t i = 0; i < 3000; i++) {
		for (std::uint64_t step = 0; step < 20; step++)
			truth.push_back({0x1000 + step, 0x2000 + step});
		if (i * i % 7 == 1)
			truth.push_back({0x3000 + i % 5, 0x4000});
	}
	auto decoded = without(truth, 10'000, 333);
	decoded.insert(decoded.begin() + 10'000, {0, 0x5000});
	const Comparison result = compare(truth, decoded);
	REQUIRE(result.differences.size() == 1);
	CHECK(result.differences[0].truth_size - result.differences[0].decoded_size == 332);
}

TEST_CASE("where the truth says where the trace goes on, that is where, however alike the steps are")
{
	/* A loop in a loop: any number of rounds could be missing, and the gaps are closer together than an outer round is long. */
	std::vector<Step> truth;
	for (unsigned round = 0; round < 40'000; round++)
		truth.push_back(round % 100 == 99 ? Step{0x401020, 0x401000} : Step{0x401010, 0x401008});
	truth.push_back({0x401030, 0x402000});
	const std::size_t size = truth.size();
	std::vector<Step> decoded = without(without(truth, 1210, 330), 1000, 180);
	const auto mark = [&](std::size_t at, std::uint64_t to) {
		truth.insert(truth.begin() + static_cast<std::ptrdiff_t>(at), {loss, to});
	};
	mark(1540, resumption);
	mark(1215, 0); /* outcomes were pending */
	mark(1180, resumption);
	mark(1000, 0);
	Comparison result = compare(truth, decoded);
	CHECK(result.truth == size);
	CHECK(result.losses == 2);
	CHECK(result.equal == decoded.size());
	CHECK(result.missing == 180 + 330);
	CHECK(result.differences.empty());
	/* Steps that are missing after that are a difference. */
	decoded.erase(decoded.begin() + 20'000, decoded.begin() + 20'200);
	result = compare(truth, decoded);
	CHECK(result.differences.size() == 1);
	/* So is a gap whose beginning is not marked. */
	truth.erase(truth.begin() + 1000);
	decoded = without(without(truth, 1211, 332), 1000, 181);
	std::erase_if(decoded, [](const Step &step) { return step.from == loss; });
	CHECK_FALSE(compare(truth, decoded).differences.empty());
}

/* A recursive program repeats its steps everywhere; a decoder may go on for some steps after the beginning of the loss. */
TEST_CASE("where the truth says where the trace goes on, steps behind the beginning of the loss lead nobody astray")
{
	std::vector<Step> whole;
	const std::function<void(unsigned)> fibonacci = [&](unsigned n) {
		if (n < 2)
			return;
		for (const unsigned less : {1u, 2u}) {
			whole.push_back({0x401000 + less * 16, 0x400ff0});
			fibonacci(n - less);
			whole.push_back({0x401080, 0x401004 + less * 16});
		}
	};
	for (unsigned round = 0; round < 20; round++) {
		whole.push_back({0, 0x400ff0});
		fibonacci(12);
		whole.push_back({0x401090, 0x402000});
	}
	for (unsigned seed = 0; seed < 40; seed++) {
		std::minstd_rand random(seed + 1);
		std::vector<Step> truth, decoded;
		std::size_t at = 0, lost = 0, invented = 0;
		const auto copy = [&](std::size_t size) {
			for (size = std::min(size, whole.size() - at); size; size--, at++) {
				truth.push_back(whole[at]);
				decoded.push_back(whole[at]);
			}
		};
		while (whole.size() - at > 8000) {
			copy(3000 + random() % 4000);
			truth.push_back({loss, 0});
			const std::size_t behind = random() % 3, size = 3 + random() % 60;
			invented += behind;
			lost += size;
			for (std::size_t step = 0; step < size; step++, at++) {
				truth.push_back(whole[at]);
				if (step < behind)
					decoded.push_back(whole[at]);
			}
			truth.push_back({loss, resumption});
		}
		copy(whole.size());
		const Comparison result = compare(truth, decoded);
		CHECK(result.differences.empty());
		CHECK(result.missing <= lost);
		CHECK(result.equal >= whole.size() - lost);
		CHECK(result.equal + result.missing == whole.size());
	}
}

TEST_CASE("a marked loss is no difference, but only as much of it as the mark explains")
{
	auto truth = program(10'000);
	auto decoded = without(truth, 1000, 200);
	truth.insert(truth.begin() + 1150, {loss, 0});
	Comparison result = compare(truth, decoded);
	CHECK(result.differences.empty());
	CHECK(result.losses == 1);
	CHECK(result.missing == 200);
	CHECK(result.truth == 10'000);
	CHECK(result.equal == decoded.size());

	decoded = without(decoded, 5000, 1);
	CHECK(compare(truth, decoded).differences.size() == 1);
	/* At the cut, up to four wrong steps of the decoder are excused; more are a difference. */
	decoded.insert(decoded.begin() + 1000, 4, {0x1, 0x2});
	CHECK(compare(truth, decoded).differences.size() == 1);
	decoded.insert(decoded.begin() + 1000, {0x1, 0x2});
	CHECK(compare(truth, decoded).differences.size() == 2);
}

TEST_CASE("the end of a loss that began in no log of ours excuses nothing, and is no difference")
{
	const auto decoded = program(1000);
	for (const int at : {0, 50}) {
		auto truth = decoded;
		truth.insert(truth.begin() + at, {loss, resumption});
		CHECK(compare(truth, decoded).differences.empty());
		CHECK(compare(truth, decoded).equal == decoded.size());
		CHECK(compare(truth, without(decoded, 0, 100)).differences.size() == 1);
		CHECK(compare(truth, decoded, {.partial = true}).differences.empty());
	}
}

TEST_CASE("a mark is not far behind what was lost")
{
	for (const bool far : {false, true}) {
		auto truth = program(100'000);
		const auto decoded = without(truth, 10'000, 40'000);
		truth.insert(truth.begin() + (far ? 45'000 : 30'000), {loss, 0});
		CHECK(compare(truth, decoded).differences.size() == (far ? 1 : 0));
	}
}

TEST_CASE("a part of a few steps is found between its neighbours, in one piece")
{
	auto truth = program(100'000);
	/* The first step of the part is that of the truth, too. */
	truth[0] = truth[500];
	for (const std::size_t size : {2, 7}) {
		std::vector<Step> decoded(truth.begin() + 500, truth.begin() + 500 + static_cast<std::ptrdiff_t>(size));
		decoded.insert(decoded.end(), truth.begin() + 50'000, truth.begin() + 60'000);
		const Comparison result = compare(truth, decoded, {.partial = true});
		CHECK(result.differences.empty());
		CHECK(result.equal == decoded.size());
		CHECK(!compare(truth, decoded).differences.empty());
		decoded[size - 1].to++;
		CHECK(compare(truth, decoded, {.partial = true}).differences.size() == 1);
	}
	/* Behind the next part it is not. */
	std::vector<Step> decoded(truth.begin() + 70'000, truth.begin() + 70'005);
	decoded.insert(decoded.end(), truth.begin() + 50'000, truth.begin() + 60'000);
	CHECK(!compare(truth, decoded, {.partial = true}).differences.empty());
}

TEST_CASE("a place is found by what follows, ends of tracing included")
{
	auto truth = program(1000);
	truth[503] = {0x1234, 0};
	const Comparison result = compare(truth, without(truth, 480, 20));
	REQUIRE(result.differences.size() == 1);
	CHECK(result.differences[0].truth_at == 480);
	CHECK(result.differences[0].truth_size == 20);
	CHECK(result.differences[0].decoded_size == 0);
	CHECK(result.equal == 980);
}

TEST_CASE("the last steps are found again, however few")
{
	const auto truth = program(100);
	const Comparison result = compare(truth, without(truth, 90, 5));
	REQUIRE(result.differences.size() == 1);
	CHECK(result.differences[0].truth_size == 5);
	CHECK(result.equal == 95);
}

TEST_CASE("short parts before long ones are found, too")
{
	const auto truth = program(10'000);
	std::vector<Step> decoded(truth.begin(), truth.begin() + 1000);
	decoded.insert(decoded.end(), truth.begin() + 2000, truth.begin() + 2050);
	decoded.insert(decoded.end(), truth.begin() + 4000, truth.end());
	const Comparison result = compare(truth, decoded);
	REQUIRE(result.differences.size() == 2);
	CHECK(result.differences[0].truth_size == 1000);
	CHECK(result.differences[0].decoded_size == 0);
	CHECK(result.differences[1].truth_size == 1950);
	CHECK(result.differences[1].decoded_size == 0);
	CHECK(result.equal == decoded.size());
}

TEST_CASE("the right one of very many places that begin alike is found")
{
	/* The same 20 steps again and again; only the step after them differs. */
	std::vector<Step> truth(10, {0x5000, 0x6000});
	for (std::uint64_t i = 0; i < 3000; i++) {
		for (std::uint64_t step = 0; step < 20; step++)
			truth.push_back({0x1000 + step, 0x2000 + step});
		truth.push_back({0x3000, 0x4000 + i});
	}
	const Comparison result = compare(truth, without(truth, 5, 5 + 2500 * 21));
	REQUIRE(result.differences.size() == 1);
	CHECK(result.differences[0].truth_size == 5 + 2500 * 21);
	CHECK(result.differences[0].decoded_size == 0);
}

TEST_CASE("both go on where their branches lead to the same places, not where they only come from them")
{
	const auto steps = [](std::uint64_t from, std::uint64_t to, std::uint64_t size) {
		std::vector<Step> made;
		for (std::uint64_t i = 0; i < size; i++)
			made.push_back({from + i, to + i});
		return made;
	};
	const auto head = program(50), tail = program(20, 2);
	const auto gap = steps(0x1000, 0x1100, 10), run = steps(0x7000, 0x7100, 8), there = steps(0x8000, 0x9000, 20),
		   elsewhere = steps(0x8000, 0xa000, 20), lost = steps(0x2000, 0x2100, 5);
	std::vector<Step> truth, decoded;
	for (const auto *part : {&head, &gap, &run, &elsewhere, &gap, &run, &there, &lost, &tail})
		truth.insert(truth.end(), part->begin(), part->end());
	for (const auto *part : {&head, &run, &there, &tail})
		decoded.insert(decoded.end(), part->begin(), part->end());
	const Comparison result = compare(truth, decoded);
	REQUIRE(result.differences.size() == 2);
	CHECK(result.differences[0].truth_size == 2 * gap.size() + run.size() + elsewhere.size());
	CHECK(result.differences[1].truth_size == lost.size());
	CHECK(result.equal == decoded.size());
}

TEST_CASE("parts of the truth are found in it, in order, and nothing else")
{
	const auto truth = program(10'000);
	std::vector<Step> parts(truth.begin() + 500, truth.begin() + 900);
	parts.insert(parts.end(), truth.begin() + 4000, truth.begin() + 4100);
	const Comparison result = compare(truth, parts, {.partial = true});
	CHECK(result.differences.empty());
	CHECK(result.equal == 500);
	CHECK(result.missing == 9500);

	parts[450].to = 0xdead;
	CHECK(compare(truth, parts, {.partial = true}).differences.size() == 1);
	std::rotate(parts.begin(), parts.begin() + 400, parts.end());
	CHECK_FALSE(compare(truth, parts, {.partial = true}).differences.empty());

	/* Nor may a part be in the trace twice. */
	std::vector<Step> again(truth.begin(), truth.begin() + 500);
	again.insert(again.end(), truth.begin() + 490, truth.begin() + 1000);
	const Comparison twice = compare(truth, again, {.partial = true});
	REQUIRE(twice.differences.size() == 1);
	CHECK(twice.differences[0].decoded_size == 10);
}

/* A sample ends with the interrupt that takes it; the steps before that have often happened before. */
TEST_CASE("of a part that is found twice its last step says which it is")
{
	const auto part = program(3000);
	const Step interrupt = {0x400123, 0};
	auto truth = part;
	const auto between = program(5000, 2);
	truth.insert(truth.end(), between.begin(), between.end());
	truth.insert(truth.end(), part.begin(), part.end());
	truth.push_back(interrupt);
	auto decoded = part;
	decoded.push_back(interrupt);
	const Comparison result = compare(truth, decoded, {.partial = true});
	CHECK(result.differences.empty());
	CHECK(result.equal == decoded.size());
	CHECK(result.missing == 8000);

	decoded.back().from++;
	CHECK(compare(truth, decoded, {.partial = true}).differences.size() == 1);
}

TEST_CASE("a wrong step is found and shown")
{
	const auto truth = program(1000);
	auto decoded = truth;
	decoded[500].to = 0xdead;
	const Comparison result = compare(truth, decoded);
	REQUIRE(result.differences.size() == 1);
	CHECK(result.differences[0].truth_size == 1);
	CHECK(result.differences[0].decoded_size == 1);
	const std::string text = describe(result.differences[0], truth, decoded);
	CHECK(text.find("dead") != std::string::npos);
	CHECK(text.find("  * truth         500 ") != std::string::npos);
	CHECK(text.find("    decoded       499 ") != std::string::npos);
	CHECK(text.find("...") == std::string::npos);
	CHECK(describe({100, 50, 100, 0}, truth, decoded).find("    ...\n") != std::string::npos);
}

TEST_CASE("a missing tail is a difference, and so is an empty trace")
{
	const auto truth = program(100);
	CHECK(compare(truth, without(truth, 90, 10)).differences.size() == 1);
	CHECK(compare(truth, {}).differences.size() == 1);
	CHECK(compare({}, {}).differences.empty());
}

TEST_CASE("where tracing began and where it ended is compared, too")
{
	for (const Step step : {Step{0, 0x1000}, Step{0x1000, 0}}) {
		CHECK(compare(std::vector{step}, std::vector{step}).equal == 1);
		Step other = step;
		(other.from ? other.from : other.to) = 0x1234;
		CHECK(compare(std::vector{step}, std::vector{other}).differences.size() == 1);
	}
	/* A decoder that goes on after the end has invented the rest. */
	const std::vector<Step> off = {{0x1000, 0x2000}, {0x2004, 0}, {0, 0x2008}};
	CHECK(compare(off, std::vector<Step>{{0x1000, 0x2000}, {0x2008, 0x3000}, {0x3004, 0}, {0, 0x2008}})
			.differences.size() == 1);
}

TEST_CASE("an address with the mark of a dropped record is none, and without it is no mark")
{
	for (const std::uint64_t address : {0ull, 0x401000ull, 0x7fff'ffff'ffffull, 0xffff'8000'0000'0000ull, ~0ull}) {
		CHECK_FALSE(is_dropped(address));
		CHECK(is_dropped(address ^ dropped));
	}
}

TEST_CASE("the truth log is read as it was written")
{
	const std::string path = scratch();
	/* More than is read at once. */
	const auto steps = program(100'001);
	{
		TruthWriter writer;
		writer.write(1, 2); /* not open: dropped */
		REQUIRE(writer.open(path));
		for (const Step &step : steps)
			writer.write(step.from, step.to);
		/* Steps are written in batches, because a guest may never end. */
		CHECK(read_truth(path).size() > steps.size() / 2);
		writer.flush();
	}
	CHECK(read_truth(path) == steps);
	std::remove(path.c_str());
	CHECK_THROWS(read_truth(path));
}

TEST_CASE("a truth log ends at its limit, and what is behind it is counted, as is what the disk does not take")
{
	const std::string path = scratch();
	const auto steps = program(10'001);
	TruthWriter writer;
	auto write = [&](const std::string &to, std::uint64_t limit) {
		REQUIRE(writer.open(to, limit));
		for (const Step &step : steps)
			writer.write(step.from, step.to);
		writer.flush();
	};
	write(path, 5000 * sizeof(Step) + 1);
	const auto read = read_truth(path);
	CHECK((read.size() == 5000 && std::ranges::equal(read, std::span(steps).first(5000))));
	CHECK(writer.missing() == 5001);
	write(path, 10'001 * sizeof(Step));
	CHECK(read_truth(path) == steps);
	CHECK(writer.missing() == 5001);
	std::remove(path.c_str());
	write("/dev/full", UINT64_MAX);
	CHECK(writer.missing() == 5001 + 10'001);
}

namespace
{

/* The branches of a function that calls itself twice. */
void recursion(std::vector<Step> &steps, unsigned n)
{
	steps.push_back({0x1000, n < 2 ? 0x1010u : 0x1020u});
	if (n >= 2) {
		steps.push_back({0x1030, 0x1000});
		recursion(steps, n - 1);
		steps.push_back({0x1040, 0x1000});
		recursion(steps, n - 2);
	}
	steps.push_back({0x1050, n % 2 ? 0x1034u : 0x1044u});
}

} // namespace

TEST_CASE("a part of a recursion is found, though its beginning is everywhere")
{
	std::vector<Step> truth;
	recursion(truth, 24);
	const Rules rules = {.partial = true};
	for (const std::size_t at : {10'000u, 135'321u, 260'003u, 377'777u}) {
		const auto begin = truth.begin() + static_cast<std::ptrdiff_t>(at);
		const std::vector<Step> decoded(begin, begin + 3000);
		const Comparison result = compare(truth, decoded, rules);
		CHECK(result.differences.empty());
		CHECK(result.equal == 3000);
	}
}

TEST_CASE("short parts of a recursion, between long ones, are all found")
{
	std::vector<Step> truth;
	recursion(truth, 19);
	std::mt19937_64 random(1);
	for (int round = 0; round < 3; round++) {
		std::vector<Step> decoded;
		std::size_t at = 0;
		while (at < truth.size()) {
			const std::size_t size = random() % 2 ? 8 + random() % 10 : 500 + random() % 5000;
			const std::size_t end = std::min(truth.size(), at + size);
			decoded.insert(decoded.end(), truth.begin() + static_cast<std::ptrdiff_t>(at),
				truth.begin() + static_cast<std::ptrdiff_t>(end));
			at = end + 300 + random() % 6000;
		}
		CAPTURE(round);
		const Comparison result = compare(truth, decoded, {.partial = true});
		CHECK(result.differences.empty());
		CHECK(result.equal == decoded.size());
		CHECK(result.missing == truth.size() - decoded.size());
		/* A step that is not the program's is still found. */
		decoded[decoded.size() / 2].to += 2;
		CHECK(!compare(truth, decoded, {.partial = true}).differences.empty());
	}
}
