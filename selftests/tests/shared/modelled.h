// SPDX-License-Identifier: GPL-2.0-only
/* A modelled unit as the PMU under test. */
#ifndef AUXPMU_TESTS_MODELLED_H
#define AUXPMU_TESTS_MODELLED_H

#include <format>
#include <string>
#include <utility>
#include <vector>

#include "shared/fixture.h"
#include "synth/modelled_unit.h"

namespace auxpmu::test
{

using Attributes = std::vector<std::pair<const char *, std::string>>;

inline std::string describe(const Attributes &attributes)
{
	std::string text = "unit:";

	for (const auto &[name, value] : attributes)
		text += std::format(" {}={}", name, value);
	return text;
}

/* A live unit that is the PMU under test during the lifetime of this object. */
class UnitUnderTest
{
public:
	explicit UnitUnderTest(const Attributes &attributes, const char *name = "modelled")
		: before(options().pmu), unit(ModelledUnit::make(name).value())
	{
		for (const auto &[attribute, value] : attributes)
			unit.set(attribute, value).value();
		unit.live(true).value();
		select_pmu(unit.get("name"));
	}
	~UnitUnderTest() { select_pmu(before); }

private:
	std::string before;

public:
	ModelledUnit unit;
};

} // namespace auxpmu::test

#endif /* AUXPMU_TESTS_MODELLED_H */
