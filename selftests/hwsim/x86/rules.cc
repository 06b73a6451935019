// SPDX-License-Identifier: GPL-2.0-or-later
#include "rules.h"

namespace hwsim::x86
{
namespace
{

struct Name {
	std::string_view name;
	bool Rules::*field;
};

constexpr Name all[] = {
	{"cached-tables", &Rules::cached_tables},
	{"stale-registers", &Rules::stale_registers},
	{"late-end", &Rules::late_end},
	{"aligned-tables", &Rules::aligned_tables},
	{"late-flush", &Rules::late_flush},
	{"early-maximum", &Rules::early_maximum},
	{"late-interrupts", &Rules::late_interrupts},
	{"padding", &Rules::padding},
	{"internal-overflow", &Rules::internal_overflow},
};

} // namespace

bool Rules::set(std::string_view name, bool strict)
{
	bool known = false;
	for (const Name &one : all)
		if (name == one.name || name == "all") {
			this->*one.field = strict;
			known = true;
		}
	return known;
}

Rules Rules::lenient()
{
	Rules rules;
	rules.set("all", false);
	return rules;
}

std::string Rules::names()
{
	std::string names = "all";
	for (const Name &one : all)
		names += " " + std::string(one.name);
	return names;
}

} // namespace hwsim::x86
