// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A plugin of its own beside the virtual hardware, for measurements: see retired.h. A block counts as a whole when it begins, so
 * what an exception cuts short is counted too much.
 *
 *   -plugin retired.so
 */
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "../qemu/registers.h"
#include "retired.h"

using namespace hwsim;
using namespace hwsim::qemu;

#define EXPORT extern "C" __attribute__((visibility("default")))

namespace
{

qemu_plugin_scoreboard *score;
thread_local CpuRegisters registers;
thread_local CpuMemory memory;

void on_cpuid(unsigned vcpu, void *)
{
	if (static_cast<std::uint32_t>(registers[Reg::rax]) != Retired::cpuid_leaf)
		return;
	const auto *counted = static_cast<const Retired *>(qemu_plugin_scoreboard_find(score, vcpu));
	std::uint8_t bytes[sizeof *counted];
	std::memcpy(bytes, counted, sizeof bytes);
	memory.write_linear(registers[Reg::rcx], bytes);
}

void on_translation(qemu_plugin_tb *tb, void *)
{
	const std::size_t count = qemu_plugin_tb_n_insns(tb);
	const bool kernel = registers.privilege() == 0;
	qemu_plugin_register_vcpu_tb_exec_inline_per_vcpu(
		tb, INLINE_ADD, {score, kernel ? offsetof(Retired, kernel) : offsetof(Retired, user)}, count);
	for (std::size_t i = 0; i < count; i++) {
		std::uint8_t bytes[2] = {};
		qemu_plugin_insn *insn = qemu_plugin_tb_get_insn(tb, i);
		qemu_plugin_insn_data(insn, bytes, sizeof bytes);
		if (bytes[0] == 0x0f && bytes[1] == 0xa2)
			qemu_plugin_register_vcpu_insn_exec_cb(insn, on_cpuid, CB_R_REGS, nullptr);
	}
}

void on_vcpu(unsigned, void *)
{
	if (!registers.find())
		std::abort();
}

} // namespace

EXPORT int qemu_plugin_version;
int qemu_plugin_version = qemu_api_version;

EXPORT int qemu_plugin_install(qemu_plugin_id_t id, const qemu_info_t *info, int, char **)
{
	if (info->version.cur != qemu_api_version) {
		std::fprintf(stderr, "retired: this QEMU has plugin interface %d, not %d\n", info->version.cur,
			qemu_api_version);
		return -1;
	}
	score = qemu_plugin_scoreboard_new(sizeof(Retired));
	qemu_plugin_register_vcpu_init_cb(id, on_vcpu, nullptr);
	qemu_plugin_register_vcpu_tb_trans_cb(id, on_translation, nullptr);
	return 0;
}
