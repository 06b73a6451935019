// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A plugin for guests whose emulated processors outnumber the host's: a vCPU that executes PAUSE (x86), YIELD or WFE (Arm) waits
 * for another vCPU (an IPI, a lock), and yields the host's processor. Without this, two guests on two processors spend a quarter
 * of their time waiting. The guest sees no difference except in timing.
 *
 *   -plugin yield.so
 */
#include <cstdio>
#include <cstring>

#include <sched.h>

#include "../hwsim/qemu/api.h"

#define EXPORT extern "C" __attribute__((visibility("default")))

namespace
{

/* The encodings of the instructions, without further prefixes, which compilers do not emit. */
struct Waiting {
	const char *target;
	std::size_t size;
	std::uint8_t bytes[4];
};
constexpr Waiting waiting[] = {
	{"x86_64", 2, {0xf3, 0x90}},
	{"aarch64", 4, {0x3f, 0x20, 0x03, 0xd5}},
	{"aarch64", 4, {0x5f, 0x20, 0x03, 0xd5}},
};
const char *target = "";

void on_waiting(unsigned, void *)
{
	sched_yield();
}

bool waits(const qemu_plugin_insn *instruction)
{
	std::uint8_t bytes[sizeof waiting[0].bytes];
	const std::size_t size = qemu_plugin_insn_size(instruction);

	if (size > sizeof bytes || qemu_plugin_insn_data(instruction, bytes, size) != size)
		return false;
	for (const Waiting &one : waiting)
		if (size == one.size && !std::memcmp(bytes, one.bytes, size) && !std::strcmp(target, one.target))
			return true;
	return false;
}

void on_translation(qemu_plugin_tb *tb, void *)
{
	for (std::size_t i = 0; i < qemu_plugin_tb_n_insns(tb); i++)
		if (qemu_plugin_insn *one = qemu_plugin_tb_get_insn(tb, i); waits(one))
			qemu_plugin_register_vcpu_insn_exec_cb(one, on_waiting, CB_NO_REGS, nullptr);
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
	for (const Waiting &one : waiting)
		if (!std::strcmp(info->target_name, one.target))
			target = one.target;
	qemu_plugin_register_vcpu_tb_trans_cb(id, on_translation, nullptr);
	return 0;
}
