// SPDX-License-Identifier: GPL-2.0-only
/* Generator, text and shrinker, of which none knows a kernel. */
#include <algorithm>
#include <set>

#include <catch2/catch_test_macros.hpp>

#include "../program.h"
#include "../shrink.h"

using namespace auxpmu::fuzz;

namespace
{

Operation marked(std::uint64_t number)
{
	return {Kind::period, 0, true, {number % nr_events, number}};
}

/* Three operations whose numbers are these are in it, in this order. */
bool has_core(const Program &program, const std::uint64_t (&core)[3])
{
	unsigned found = 0;

	for (const auto &operation : program.operations)
		if (found < 3 && operation.kind == Kind::period && operation[1] == core[found])
			found++;
	return found == 3;
}

} // namespace

TEST_CASE("The same seed makes the same program, another one another")
{
	std::set<std::string> different;

	for (std::uint64_t seed = 0; seed < 200; seed++) {
		const auto program = generate(seed, 150);

		CHECK(program == generate(seed, 150));
		CHECK(program.operations.size() == 150);
		different.insert(to_text(program));
	}
	CHECK(different.size() == 200);
}

TEST_CASE("A program's text is the program")
{
	for (std::uint64_t seed = 0; seed < 500; seed++) {
		const auto program = generate(seed, 200);
		const auto text = to_text(program);
		auto again = parse(text);

		REQUIRE(again);
		CHECK(*again == program);
		CHECK(to_text(*again) == text);
	}
}

TEST_CASE("Every number an argument can have comes back from the text")
{
	for (unsigned kind = 0; kind < nr_kinds; kind++) {
		const auto &arguments = grammar(static_cast<Kind>(kind)).arguments;

		for (std::uint64_t value : {0ull, 1ull, 2ull, 7ull, 100ull, 4095ull, 4096ull, ~0ull}) {
			Program program{true, -1, {{static_cast<Kind>(kind), 3, false, {}}}};

			program.operations[0].arguments.assign(arguments.size(), value);
			auto again = parse(to_text(program));
			INFO(to_text(program));
			REQUIRE(again);
			CHECK(*again == program);
		}
	}
}

TEST_CASE("What is no program is refused, and the line is named")
{
	for (const char *text : {"", "open event=1\n", "program of somebody paranoid 1\n",
		     "program of root paranoid 1\n0 fly\n", "program of root paranoid 1\n4 id\n",
		     "program of root paranoid 1\n0 id event\n", "program of root paranoid 1\n0 id event=x\n",
		     "program of root paranoid 1\n0 id slot=1\n", "program of root paranoid 1\n0 open type=1\n"}) {
		INFO(text);
		CHECK_FALSE(parse(text));
	}
	const auto wrong = parse("program of root paranoid 1\n# said\n0 id event=1\n0 fly\n");
	REQUIRE_FALSE(wrong);
	CHECK(wrong.error().text == "line 4: not an operation: 0 fly");
}

TEST_CASE("Programs have operations of every kind, root's own only in root's, and name slots that are there")
{
	std::set<Kind> used[2];

	for (std::uint64_t seed = 0; seed < 300; seed++) {
		const auto program = generate(seed, 200);

		for (const auto &operation : program.operations) {
			used[program.root].insert(operation.kind);
			REQUIRE(operation.actor < nr_actors);
			REQUIRE(operation.arguments.size() == grammar(operation.kind).arguments.size());
			if (!program.root)
				CHECK_FALSE(grammar(operation.kind).root);
			if (operation.kind == Kind::open)
				CHECK(operation[arg::event] < nr_events);
			if (operation.kind == Kind::map_aux) {
				CHECK(operation[0] < nr_mappings);
				CHECK(operation[1] < nr_events);
			}
			/* Who is the first does not go. */
			if (operation.kind == Kind::exec || operation.kind == Kind::leave)
				CHECK(operation.actor > 0);
		}
	}
	CHECK(used[1].size() == nr_kinds);
	for (unsigned kind = 0; kind < nr_kinds; kind++)
		CHECK(used[0].contains(static_cast<Kind>(kind)) != grammar(static_cast<Kind>(kind)).root);
}

TEST_CASE("The shrinker finds three operations among two hundred, wherever they are")
{
	constexpr std::uint64_t cores[][3] = {{0, 1, 2}, {0, 100, 199}, {197, 198, 199}, {13, 14, 160}, {99, 100, 101}};

	for (const auto &core : cores) {
		Program program;

		for (std::uint64_t n = 0; n < 200; n++)
			program.operations.push_back(marked(n));
		unsigned asked = 0;
		const auto shrunk = shrink(program, [&](const Program &candidate) {
			asked++;
			return has_core(candidate, core);
		});
		CHECK(shrunk.whole);
		CHECK(shrunk.program.operations == std::vector{marked(core[0]), marked(core[1]), marked(core[2])});
		CHECK(shrunk.tries == asked);
		CHECK(asked < 150);
	}
}

TEST_CASE("The shrinker leaves what only fails as a whole, and stops when its tries have run out")
{
	const auto program = generate(1, 40);
	const auto whole = shrink(program, [](const Program &candidate) { return candidate.operations.size() == 40; });

	CHECK(whole.program == program);
	CHECK(whole.whole);
	/* Half, then nothing, then a half of what is left. */
	const auto short_of =
		shrink(program, [](const Program &candidate) { return candidate.operations.size() >= 10; }, 3);
	CHECK(short_of.tries == 3);
	CHECK_FALSE(short_of.whole);
	CHECK(short_of.program.operations.size() == 10);
}

TEST_CASE("The shrinker comes back to what can go only when something in front of it has gone")
{
	Program program;

	for (std::uint64_t n = 0; n < 4; n++)
		program.operations.push_back(marked(n));
	const auto has = [](const Program &candidate, std::uint64_t n) {
		return std::find(candidate.operations.begin(), candidate.operations.end(), marked(n)) !=
		       candidate.operations.end();
	};
	/* 3 only after 2, 2 only after 0. */
	const auto shrunk = shrink(program, [&](const Program &candidate) {
		return has(candidate, 1) && (has(candidate, 3) || !has(candidate, 2)) &&
		       (has(candidate, 2) || !has(candidate, 0));
	});
	CHECK(shrunk.program.operations == std::vector{marked(1)});
}
