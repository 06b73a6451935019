// SPDX-License-Identifier: GPL-2.0-or-later
#include "control.h"

namespace hwsim::x86
{

bool Control::set(std::string_view verb, std::string_view object)
{
	if (verb == "fault")
		return now.faults.set(object);
	if (verb == "lenient" || verb == "strict")
		return now.rules.set(object, verb == "strict");
	return verb == "lose" && now.loss.set(object);
}

Settings Control::settings() const
{
	const std::lock_guard guard(lock);
	Settings all = now;
	static_cast<hwsim::Settings &>(all) = common;
	return all;
}

} // namespace hwsim::x86
