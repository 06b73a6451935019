/* SPDX-License-Identifier: GPL-2.0-only */
/* What the user has chosen of the check. */
#ifndef AUXPMU_MACHINE_CHOICE_H
#define AUXPMU_MACHINE_CHOICE_H

#include <string>
#include <vector>

namespace auxpmu::machine
{

struct Choice {
	std::vector<std::string> only;    /* patterns (fnmatch) of steps; empty: all */
	std::vector<std::string> folders; /* of the programs */
	unsigned rounds = 5;
	unsigned programs = 40; /* random ones */
	bool write_registers = false;
	std::string scratch; /* folder for what is thrown away */
};

} // namespace auxpmu::machine

#endif /* AUXPMU_MACHINE_CHOICE_H */
