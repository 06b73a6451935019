/* SPDX-License-Identifier: GPL-2.0-only */
/* The trace that the contract may demand of a unit: only what its caps/yields promises. */
#ifndef AUXPMU_TESTS_YIELDS_H
#define AUXPMU_TESTS_YIELDS_H

#include <cstdint>
#include <string>
#include <string_view>

#include "shared/fixture.h"

namespace auxpmu::test
{

/* The first word of caps/yields; a PMU without this file must do what most can. */
inline std::string yields()
{
	auto said = pmu().cap("yields").value_or("work");

	return said.substr(0, said.find(' '));
}

/*
 * Checks that this many bytes of trace are what the unit promised for a busy CPU. Fails once, and reports what was observed of
 * this unit.
 */
inline void must_yield(std::uint64_t bytes, std::string_view when)
{
	if (yields() == "nothing")
		return;
	INFO(options().pmu << ", whose caps/yields says " << yields() << ", wrote " << bytes << " bytes " << when);
	REQUIRE(bytes > 0);
}

} // namespace auxpmu::test

#endif /* AUXPMU_TESTS_YIELDS_H */
