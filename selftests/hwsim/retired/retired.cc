// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A plugin of its own beside the virtual hardware, for measurements: see retired.h. A block counts as a whole when it begins, so
 * what an exception cuts short is counted too much.
 *
 *   -plugin retired.so
 */
#include <atomic>
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

/* Of one vCPU. */
struct Count {
	Retired retired;
	std::uint64_t interrupted; /* in an NMI */
	std::uint64_t began;       /* with so many */
};

qemu_plugin_scoreboard *score;
std::atomic<std::uint64_t> nmi_entry;
thread_local CpuRegisters registers;
thread_local CpuMemory memory;

Count &count(unsigned vcpu)
{
	return *static_cast<Count *>(qemu_plugin_scoreboard_find(score, vcpu));
}

void on_cpuid(unsigned vcpu, void *)
{
	if (static_cast<std::uint32_t>(registers[Reg::rax]) != Retired::cpuid_leaf)
		return;
	nmi_entry = registers[Reg::rdx];
	std::uint8_t bytes[sizeof(Retired)];
	std::memcpy(bytes, &count(vcpu).retired, sizeof bytes);
	memory.write_linear(registers[Reg::rcx], bytes);
}

void on_discontinuity(unsigned vcpu, qemu_plugin_discon_type, std::uint64_t from, std::uint64_t to, void *)
{
	if (to != nmi_entry || from >> 63)
		return;
	count(vcpu).interrupted = 1;
	count(vcpu).began = count(vcpu).retired.kernel;
}

/* A block of a program, after an NMI. */
void on_return(unsigned vcpu, void *)
{
	Count &all = count(vcpu);
	all.retired.nmi[all.retired.nmis++ % Retired::kept] = all.retired.kernel - all.began;
	all.interrupted = 0;
}

void on_translation(qemu_plugin_tb *tb, void *)
{
	const std::size_t length = qemu_plugin_tb_n_insns(tb);
	const bool kernel = registers.privilege() == 0;
	qemu_plugin_register_vcpu_tb_exec_inline_per_vcpu(
		tb, INLINE_ADD, {score, kernel ? offsetof(Retired, kernel) : offsetof(Retired, user)}, length);
	if (!kernel)
		qemu_plugin_register_vcpu_tb_exec_cond_cb(
			tb, on_return, CB_NO_REGS, COND_NE, {score, offsetof(Count, interrupted)}, 0, nullptr);
	for (std::size_t i = 0; i < length; i++) {
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
	score = qemu_plugin_scoreboard_new(sizeof(Count));
	qemu_plugin_register_vcpu_init_cb(id, on_vcpu, nullptr);
	qemu_plugin_register_vcpu_discon_cb(id, DISCON_INTERRUPT, on_discontinuity, nullptr);
	qemu_plugin_register_vcpu_tb_trans_cb(id, on_translation, nullptr);
	return 0;
}
