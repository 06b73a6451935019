// SPDX-License-Identifier: GPL-2.0-or-later
#include <catch2/catch_test_macros.hpp>

#include <algorithm>

#include "../base/injector.h"

using namespace hwsim;

namespace
{

constexpr std::uint64_t never = 1 << 30;

Injector with(const InterruptFaults &faults, std::uint64_t instructions = 0)
{
	Injector injector(1);
	injector.set_faults(faults, instructions);
	return injector;
}

/* Requests an interrupt after this many instructions. Is it delivered at once? */
bool request(Injector &injector, std::uint64_t instructions)
{
	if (!injector.ask())
		return false;
	const std::uint64_t late = injector.delay(false);
	return injector.is_plain(late) || injector.plan(late, instructions);
}

bool nothing(const Injector::Due &due)
{
	return !due.late && !due.doubled && !due.spurious;
}

} // namespace

TEST_CASE("Without faults an interrupt comes at once, and nothing else", "[injector]")
{
	Injector injector = with({});
	for (unsigned i = 0; i < 10; i++)
		CHECK(request(injector, i));
	CHECK(injector.until_next(10, never) == never);
	CHECK(nothing(injector.take_due(never)));
}

TEST_CASE("Every so many interrupts one is lost", "[injector]")
{
	Injector injector = with({.lost = 3});
	for (unsigned i = 1; i <= 9; i++)
		CHECK(request(injector, i) == (i % 3 != 0));
	CHECK(nothing(injector.take_due(never)));
}

TEST_CASE("A late interrupt comes so many instructions later, once, and is not put off by the next", "[injector]")
{
	Injector injector = with({.late = 100});
	CHECK_FALSE(request(injector, 1000));
	CHECK_FALSE(request(injector, 1050));
	CHECK(injector.until_next(1050, never) == 50);
	CHECK(nothing(injector.take_due(1099)));
	CHECK(injector.until_next(1100, never) == 1);
	CHECK(injector.take_due(1100).late);
	CHECK(nothing(injector.take_due(never)));
	CHECK(injector.until_next(1100, never) == never);
}

TEST_CASE("Every so many interrupts one comes again, 200 instructions later", "[injector]")
{
	Injector injector = with({.doubled = 2});
	CHECK(request(injector, 1000));
	CHECK(injector.until_next(1000, never) == never);
	CHECK(request(injector, 2000));
	CHECK(injector.until_next(2000, never) == 200);
	const Injector::Due due = injector.take_due(2200);
	CHECK(due.doubled);
	CHECK_FALSE(due.late);
	CHECK(nothing(injector.take_due(never)));
}

TEST_CASE("One that is late and doubled comes again after that", "[injector]")
{
	Injector injector = with({.late = 100, .doubled = 1});
	CHECK_FALSE(request(injector, 0));
	CHECK(injector.take_due(100).late);
	CHECK(injector.until_next(100, never) == 200);
	CHECK(injector.take_due(300).doubled);
}

TEST_CASE("Interrupts without a cause come every so many instructions from when that is asked for", "[injector]")
{
	Injector injector = with({.spurious = 500}, 1000);
	CHECK(injector.until_next(1000, never) == 500);
	CHECK(nothing(injector.take_due(1499)));
	CHECK(injector.take_due(1510).spurious);
	CHECK(injector.until_next(1510, never) == 500);
	/* Setting the same period again does not postpone it; another period does. */
	injector.set_faults({.late = 7, .spurious = 500}, 1600);
	CHECK(injector.until_next(1600, never) == 410);
	injector.set_faults({.spurious = 600}, 1700);
	CHECK(injector.until_next(1700, never) == 600);
	injector.set_faults({}, 1800);
	CHECK(injector.until_next(1800, never) == never);
	CHECK(nothing(injector.take_due(never)));
}

TEST_CASE("Where interrupts skid they are late by less than 128 instructions, now more and now less", "[injector]")
{
	Injector injector = with({});
	std::uint64_t least = never, most = 0;
	for (unsigned i = 0; i < 1000; i++) {
		const std::uint64_t late = injector.delay(true);
		least = std::min(least, late);
		most = std::max(most, late);
	}
	CHECK(least == 0);
	CHECK(most == 127);
	CHECK(injector.delay(false) == 0);
	CHECK(with({.late = 1000}).delay(true) == 1000);
}

TEST_CASE("What was put off comes when so many instructions have passed, once, and is not put off by the next",
	"[injector]")
{
	Injector injector = with({});
	CHECK_FALSE(injector.is_put_off());
	injector.put_off(10);
	CHECK(injector.is_put_off());
	CHECK_FALSE(injector.pass(4));
	injector.put_off(100);
	CHECK_FALSE(injector.pass(5));
	CHECK(injector.pass(4));
	CHECK_FALSE(injector.is_put_off());
	CHECK_FALSE(injector.cut_short());
}

TEST_CASE("What was put off comes at once where nobody tells of instructions any more", "[injector]")
{
	Injector injector = with({});
	CHECK_FALSE(injector.cut_short());
	injector.put_off(10);
	CHECK_FALSE(injector.pass(9));
	CHECK(injector.cut_short());
	CHECK_FALSE(injector.is_put_off());
	CHECK_FALSE(injector.cut_short());
}
