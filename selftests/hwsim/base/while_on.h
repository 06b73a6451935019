/* SPDX-License-Identifier: GPL-2.0-or-later */
/* WhileOn: instructions that pass while something is on. */
#ifndef HWSIM_BASE_WHILE_ON_H
#define HWSIM_BASE_WHILE_ON_H

#include <cstdint>

namespace hwsim
{

class WhileOn
{
public:
	/* Switched on or off when so many instructions have passed. */
	void set(bool now_on, std::uint64_t instructions)
	{
		passed = until(instructions);
		since = instructions;
		on = now_on;
	}
	bool is_on() const { return on; }
	std::uint64_t until(std::uint64_t instructions) const { return passed + (on ? instructions - since : 0); }

private:
	std::uint64_t passed = 0, since = 0;
	bool on = false;
};

} // namespace hwsim

#endif
