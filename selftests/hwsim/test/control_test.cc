// SPDX-License-Identifier: GPL-2.0-or-later
#include <catch2/catch_test_macros.hpp>

#include "../x86/control.h"

using namespace hwsim::x86;

TEST_CASE("Commands change faults and the name of the logs, and are noticed", "[control]")
{
	Control control;
	const unsigned before = control.version();
	CHECK(control.command("fault late-pmi:0x100"));
	CHECK(control.version() != before);
	CHECK(control.settings().faults.late_pmi == 0x100);
	CHECK(control.command("fault late-pmi:0"));
	CHECK(control.settings().faults.late_pmi == 0);
	CHECK(control.command("log user-1"));
	CHECK(control.settings().log == "user-1");
	CHECK(control.command("log"));
	CHECK(control.settings().log.empty());
}

TEST_CASE("Rules are relaxed and put in force by name", "[control]")
{
	Control control;
	CHECK(control.settings().rules.late_end);
	CHECK(control.command("lenient late-end"));
	CHECK_FALSE(control.settings().rules.late_end);
	CHECK(control.settings().rules.cached_tables);
	CHECK(control.command("lenient all"));
	CHECK_FALSE(control.settings().rules.cached_tables);
	CHECK(control.command("strict cached-tables"));
	CHECK(control.settings().rules.cached_tables);
	CHECK_FALSE(control.command("lenient"));
	CHECK_FALSE(control.command("lenient no-such-rule"));
	CHECK(Rules::names().find("stale-registers") != std::string::npos);
}

TEST_CASE("Registers are lost at once or at a WRMSR, to what a reset or another owner leaves", "[control]")
{
	Control control;
	const unsigned before = control.version();
	CHECK(control.settings().losses == 0);
	CHECK(control.command("lose reset"));
	CHECK(control.version() != before);
	CHECK(control.settings().losses == 1);
	CHECK(control.settings().loss.to == Loss::To::reset);
	CHECK(control.settings().loss.at == 0);
	CHECK(control.command("lose other:0x1234000 at 0x1b"));
	CHECK(control.settings().losses == 2);
	CHECK(control.settings().loss.to == Loss::To::other);
	CHECK(control.settings().loss.base == 0x123'4000);
	CHECK(control.settings().loss.at == 0x1b);
	CHECK(control.command("lose nothing"));
	CHECK(control.settings().losses == 3);
	CHECK(control.settings().loss.to == Loss::To::nothing);
	/* The same command again is another loss. */
	CHECK(control.command("lose reset"));
	CHECK(control.command("lose reset"));
	CHECK(control.settings().losses == 5);
}

TEST_CASE("A reset is noticed")
{
	Control control;
	const unsigned before = control.version();
	control.reset();
	CHECK(control.version() != before);
	CHECK(control.settings().resets == 1);
}

TEST_CASE("What is no command changes nothing", "[control]")
{
	Control control;
	const unsigned before = control.version();
	for (const char *text : {"", "fault", "fault late-pmi", "fault nonsense:1", "log ../x", "stop", "log a b",
		     "lose", "lose all", "lose reset at", "lose reset at x", "lose reset at 0", "lose other",
		     "lose other:1", "lose other:0x10000000000"})
		CHECK_FALSE(control.command(text));
	CHECK(control.version() == before);
}
