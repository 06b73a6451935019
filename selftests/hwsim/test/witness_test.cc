// SPDX-License-Identifier: GPL-2.0-or-later
/* What is in the truth log, with a trace unit that follows a script. */
#include <catch2/catch_test_macros.hpp>

#include <cstdio>
#include <filesystem>
#include <string>
#include <unistd.h>
#include <vector>

#include "../base/witness.h"

using namespace hwsim;

namespace
{

/* Are branches told before a step, and after it? */
struct ScriptedUnit {
	bool before = false, behind = false;
	std::uint64_t exit = 0;
	unsigned steps = 0;

	bool tells_branches() const { return steps ? behind : before; }
	std::uint64_t left_for() const { return exit; }
	void plain_transfer(const Transfer &) { step(); }
	void transfer(const Transfer &) { step(); }
	void interrupt(const Place &, const Place &) { step(); }
	void address_space(std::uint64_t) { step(); }
	void barrier(std::uint64_t, const Place &) { step(); }
	void arrive(const Place &) { step(); }
	void step() { steps++; }
};

/* What one step of a witness has written to the log. */
class Told
{
public:
	explicit Told(ScriptedUnit with) : unit(with) { REQUIRE(log.open(path)); }
	~Told() { std::remove(path.c_str()); }
	std::vector<Step> steps()
	{
		CHECK(unit.steps == 1);
		return written();
	}
	std::vector<Step> written()
	{
		log.flush();
		return read_truth(path);
	}

private:
	const std::string path = std::filesystem::temp_directory_path() / ("witness_test." + std::to_string(getpid()));
	ScriptedUnit unit;
	TruthWriter log;

public:
	Witness<ScriptedUnit> witness{unit, log};
};

using Steps = std::vector<Step>;
constexpr ScriptedUnit on = {true, true}, off = {false, false}, begins = {false, true}, ends = {true, false},
		       ends_for = {true, false, 0x3000};
constexpr Transfer taken = {Branch::jump, true, 0x1000, 0x1002, 3, {0x2000, 3, 1}},
		   through = {Branch::conditional, false, 0x1000, 0x1002, 3, {0x1002, 3, 1}};
constexpr Place program = {0x1000, 3, 1}, handler = {0x2000, 0, 1};

Steps transfer(const ScriptedUnit &unit, const Transfer &what)
{
	Told told(unit);
	told.witness.transfer(what);
	return told.steps();
}

Steps interrupt(const ScriptedUnit &unit)
{
	Told told(unit);
	told.witness.interrupt(program, handler);
	return told.steps();
}

Steps address_space(const ScriptedUnit &unit)
{
	Told told(unit);
	told.witness.address_space(0x1000);
	return told.steps();
}

Steps barrier(const ScriptedUnit &unit)
{
	Told told(unit);
	told.witness.barrier(0x1000, program);
	return told.steps();
}

Steps arrive(const ScriptedUnit &unit)
{
	Told told(unit);
	told.witness.arrive(program);
	return told.steps();
}

} // namespace

TEST_CASE("A branch that is taken is in the truth while branches are told", "[witness]")
{
	CHECK(transfer(on, taken) == Steps{{0x1000, 0x2000}});
	CHECK(transfer(on, through).empty());
	CHECK(transfer(off, taken).empty());
	CHECK(transfer(begins, taken).empty());
}

TEST_CASE("A branch that leaves what is traced leads to where the trace says, or to 0, taken or not", "[witness]")
{
	CHECK(transfer(ends, taken) == Steps{{0x1000, 0}});
	CHECK(transfer(ends_for, taken) == Steps{{0x1000, 0x3000}});
	CHECK(transfer(ends, through) == Steps{{0x1000, 0}});
	CHECK(transfer(ends_for, through) == Steps{{0x1000, 0x3000}});
}

TEST_CASE("Within a level only branches that are taken are in the truth", "[witness]")
{
	Told told(on);
	told.witness.plain_transfer(through);
	told.witness.plain_transfer(taken);
	CHECK(told.written() == Steps{{0x1000, 0x2000}});
}

TEST_CASE("An interrupt is in the truth, and ends it where its handler is not traced", "[witness]")
{
	CHECK(interrupt(on) == Steps{{0x1000, 0x2000}});
	CHECK(interrupt(ends) == Steps{{0x1000, 0}});
	CHECK(interrupt(ends_for) == Steps{{0x1000, 0x3000}});
	CHECK(interrupt(off).empty());
	CHECK(interrupt(begins).empty());
}

TEST_CASE("Another address space is in the truth where it ends the trace", "[witness]")
{
	CHECK(address_space(ends) == Steps{{0x1000, 0}});
	CHECK(address_space(on).empty());
	CHECK(address_space(off).empty());
	CHECK(address_space(begins).empty());
}

TEST_CASE("A barrier is in the truth where the trace ends with it", "[witness]")
{
	CHECK(barrier(ends) == Steps{{0x1000, 0}});
	CHECK(barrier(on).empty());
	CHECK(barrier(off).empty());
	CHECK(barrier(begins).empty());
}

TEST_CASE("A trace that is switched off ends with what it has told last", "[witness]")
{
	Told told(on);
	told.witness.transfer(taken);
	told.witness.ended(true, 0);
	CHECK(told.written() == Steps{{0x1000, 0}});
	told.witness.ended(false, 0x2004);
	CHECK(told.written() == Steps{{0x1000, 0}, {0x2004, 0}});
}

TEST_CASE("A trace begins where a block does", "[witness]")
{
	CHECK(arrive(begins) == Steps{{0, 0x1000}});
	CHECK(arrive(on).empty());
	CHECK(arrive(off).empty());
	/* The unit itself reports such an edge, or a loss. */
	CHECK(arrive(ends).empty());
}

TEST_CASE("Who switches the unit off ends what is told", "[witness]")
{
	for (const ScriptedUnit &unit : {on, off}) {
		Told told(unit);
		told.witness.switch_off(0x1000);
		CHECK(told.written() == (unit.before ? Steps{{0x1000, 0}} : Steps{}));
	}
}

TEST_CASE("What the unit says by itself is in the truth: edges of ranges, losses, and where they end", "[witness]")
{
	Told told(on);
	told.witness.filter_edge(0x1000, 0x1002);
	told.witness.filter_edge(0, 0x1004);
	told.witness.lost();
	told.witness.resumed();
	CHECK(told.written() == Steps{{0x1000, 0x1002}, {0, 0x1004}, {loss, 0}, {loss, resumption}});
}
