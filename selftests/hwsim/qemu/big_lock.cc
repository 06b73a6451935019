// SPDX-License-Identifier: GPL-2.0-or-later
#include "big_lock.h"

#include <dlfcn.h>

namespace hwsim::qemu
{
namespace
{

bool (*is_held)();

} // namespace

bool BigLock::find()
{
	is_held = reinterpret_cast<decltype(is_held)>(dlsym(RTLD_DEFAULT, "bql_locked"));
	return is_held;
}

bool BigLock::is_free_of()
{
	return !is_held();
}

} // namespace hwsim::qemu
