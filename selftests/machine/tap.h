/* SPDX-License-Identifier: GPL-2.0-only */
/* What a test program has printed: TAP. */
#ifndef AUXPMU_MACHINE_TAP_H
#define AUXPMU_MACHINE_TAP_H

#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace auxpmu::machine
{

struct Tap {
	unsigned passed = 0, skipped = 0;
	std::vector<std::string> failed; /* names */
	std::set<std::string> reasons;   /* for skipping */
	std::vector<std::string> said;   /* of what failed: its line, and the comments before it */

	static Tap parse(std::string_view text);
};

} // namespace auxpmu::machine

#endif /* AUXPMU_MACHINE_TAP_H */
