// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A plugin for guests whose processors are emulated and outnumber the host's: a vCPU that executes PAUSE waits for another one (an IPI,
 * a lock), and lets that one run. Without, a quarter of what two guests take on two processors is spent on waiting. Only when things
 * happen changes by it, nothing that a guest could see otherwise.
 *
 *   -plugin yield.so
 */
#include <cstdio>

#include <sched.h>

#include "../hwsim/qemu/api.h"

#define EXPORT extern "C" __attribute__((visibility("default")))

namespace
{

void on_pause(unsigned, void *)
{
	sched_yield();
}

/* F3 90, with nothing in front that compilers would put there. */
bool is_pause(const qemu_plugin_insn *instruction)
{
	std::uint8_t bytes[2];
	return qemu_plugin_insn_size(instruction) == sizeof bytes &&
	       qemu_plugin_insn_data(instruction, bytes, sizeof bytes) == sizeof bytes && bytes[0] == 0xf3 &&
	       bytes[1] == 0x90;
}

void on_translation(qemu_plugin_tb *tb, void *)
{
	for (std::size_t i = 0; i < qemu_plugin_tb_n_insns(tb); i++)
		if (qemu_plugin_insn *one = qemu_plugin_tb_get_insn(tb, i); is_pause(one))
			qemu_plugin_register_vcpu_insn_exec_cb(one, on_pause, CB_NO_REGS, nullptr);
}

} // namespace

EXPORT int qemu_plugin_version;
int qemu_plugin_version = qemu_api_version;

EXPORT int qemu_plugin_install(qemu_plugin_id_t id, const qemu_info_t *info, int, char **)
{
	if (info->version.cur != qemu_api_version) {
		std::fprintf(stderr, "yield: this QEMU has plugin interface %d, not %d\n", info->version.cur,
			qemu_api_version);
		return -1;
	}
	qemu_plugin_register_vcpu_tb_trans_cb(id, on_translation, nullptr);
	return 0;
}
