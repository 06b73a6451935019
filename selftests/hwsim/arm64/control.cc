// SPDX-License-Identifier: GPL-2.0-or-later
#include "control.h"

namespace hwsim::arm64
{

bool Control::set(std::string_view verb, std::string_view object)
{
	return verb == "fault" && now.faults.set(object);
}

Settings Control::settings() const
{
	const std::lock_guard guard(lock);
	Settings all = now;
	static_cast<hwsim::Settings &>(all) = common;
	return all;
}

} // namespace hwsim::arm64
