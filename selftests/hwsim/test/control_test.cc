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
	for (const char *text : {"", "fault", "fault late-pmi", "fault nonsense:1", "log ../x", "stop", "log a b"})
		CHECK_FALSE(control.command(text));
	CHECK(control.version() == before);
}
