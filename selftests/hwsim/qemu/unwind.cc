// SPDX-License-Identifier: GPL-2.0-or-later
#include "unwind.h"

#include <dlfcn.h>

namespace hwsim::qemu
{
namespace
{

constexpr const char *current_vcpu = "current_cpu";
/* A return address lies behind the call; QEMU's helpers subtract so much from it (GETPC_ADJ). */
constexpr std::uintptr_t into_the_call = 2;

bool (*restore_state)(void *vcpu, std::uintptr_t place);

/* current_cpu is thread-local. */
void *vcpu_of_this_thread()
{
	thread_local void *const *const at = static_cast<void **>(dlsym(RTLD_DEFAULT, current_vcpu));
	return *at;
}

} // namespace

bool Unwinder::find()
{
	restore_state = reinterpret_cast<decltype(restore_state)>(dlsym(RTLD_DEFAULT, "cpu_restore_state"));
	return restore_state && dlsym(RTLD_DEFAULT, current_vcpu);
}

void Unwinder::restore(std::uintptr_t caller)
{
	restore_state(vcpu_of_this_thread(), caller - into_the_call);
}

} // namespace hwsim::qemu
