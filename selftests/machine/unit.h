/* SPDX-License-Identifier: GPL-2.0-only */
/* The trace units that a machine may have, with their drivers: ours, and the kernel's own. */
#ifndef AUXPMU_MACHINE_UNIT_H
#define AUXPMU_MACHINE_UNIT_H

#include <cstdint>
#include <string>
#include <vector>

#include "command.h"
#include "step.h"

namespace auxpmu::machine
{

struct Unit {
	std::string driver; /* our module, and its PMU */
	std::string theirs; /* the PMU of the kernel's own driver, which may be there besides */
	std::string filter; /* Catch2's, of the tests that are about this unit alone; empty if there are none */
	std::vector<std::uint32_t> registers; /* MSRs that it leaves as they were */
	bool holds_back;                      /* some trace stays in the unit for a while */
	std::string absence; /* words of the driver by which it says that the machine has no such unit */
};

/* All that this project has a driver for on such a processor. */
const std::vector<Unit> &possible_units();

/* Our modules, of which one driver at a time is loaded, as tests expect it: units may exclude each other. */
class Modules
{
public:
	/* The framework, told to watch its backends, and this driver; others of ours go. Not applicable if there is no such unit. */
	StepResult load(const Unit &unit);
	/* All of ours; waits for the trace units to be given back. Empty, or why not. */
	std::string unload();
	/* The kernel's own drivers of these units, as far as they are modules, until they trace. Empty, or why not. */
	std::string load_theirs(const Unit &unit);
	void unload_theirs();
	/* The driver that is loaded, or "". */
	const std::string &driver() const noexcept { return name; }

private:
	std::string name;
};

/* Waits until the driver has given the trace units back, a moment after its last event. False if that takes longer than a minute. */
bool until_free(const std::string &pmu);

} // namespace auxpmu::machine

#endif /* AUXPMU_MACHINE_UNIT_H */
