/* SPDX-License-Identifier: GPL-2.0-only */
/* Fault injection, see docs/testing.md. */
#ifndef AUXPMU_TESTS_FAULT_H
#define AUXPMU_TESTS_FAULT_H

#include <cstdlib>
#include <format>
#include <string>

#include "shared/fixture.h"

namespace auxpmu::test
{

/* A fault of the PMU under test, which stays requested during the lifetime of this object. */
class Fault
{
public:
	Fault(const char *name, unsigned times)
		: path(std::format("{}/{}/faults/{}", AUXPMU_DEBUGFS, options().pmu, name))
	{
		if (!allowed())
			SKIP("no faults are asked for, see NO_FAULTS");
		set(times);
	}
	/* The write fails if the PMU is gone. */
	~Fault() { static_cast<void>(write_small_file(path, "0")); }

	/* Coverage runs set NO_FAULTS to find out what is reached without faults. */
	static bool allowed() { return !std::getenv("NO_FAULTS"); }
	void set(unsigned times) { write_small_file(path, std::to_string(times)).value(); }
	unsigned left() const { return static_cast<unsigned>(std::stoul(read_small_file(path).value_or("999"))); }

private:
	std::string path;
};

} // namespace auxpmu::test

#endif /* AUXPMU_TESTS_FAULT_H */
