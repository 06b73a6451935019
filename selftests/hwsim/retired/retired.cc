// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A plugin of its own beside the virtual hardware, for measurements: see retired.h. A block counts as a whole when it begins, so
 * what an exception cuts short is counted too much.
 *
 *   -plugin retired.so[,profile=FILE]
 *
 * At the end FILE says of each profile where in the kernel its instructions were: "PROFILE ADDRESS INSTRUCTIONS" for each block.
 * by-function makes a table of it.
 */
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "../qemu/memory.h"
#include "guest.h"
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
	std::uint64_t profile;     /* as the guest named it */
	std::uint64_t current;     /* the same, or 0 outside of NMIs if only those are wanted */
};

/* A block of the kernel, as translated. */
struct Block {
	std::uint64_t address;
	std::uint64_t length;
};

/* Where instructions were, by profile and address. */
using Profiles = std::map<std::uint32_t, std::unordered_map<std::uint64_t, std::uint64_t>>;

qemu_plugin_scoreboard *score;
std::atomic<std::uint64_t> nmi_entry;
std::string target;
thread_local std::unique_ptr<RetiredGuest> guest;
thread_local CpuMemory memory;
thread_local Profiles *profiles;

/* Never destroyed: QEMU calls on_exit() after the destructors of a plugin. */
struct Profiling {
	std::string file;
	/* Guards the lists; a vCPU writes to profiles of its own. */
	std::mutex lock;
	std::vector<std::unique_ptr<Block>> blocks;
	std::vector<std::unique_ptr<Profiles>> profiles;
};
Profiling &profiling = *new Profiling;

Count &count(unsigned vcpu)
{
	return *static_cast<Count *>(qemu_plugin_scoreboard_find(score, vcpu));
}

void on_question(unsigned vcpu, void *)
{
	const RetiredGuest::Question question = guest->question();
	if (!question.meant)
		return;
	Count &all = count(vcpu);
	nmi_entry = question.nmi_entry;
	all.profile = question.profile;
	all.current = all.profile & Retired::only_nmis ? 0 : all.profile;
	std::uint8_t bytes[sizeof(Retired)];
	std::memcpy(bytes, &all.retired, sizeof bytes);
	memory.write_linear(question.to, bytes);
}

void on_discontinuity(unsigned vcpu, qemu_plugin_discon_type, std::uint64_t from, std::uint64_t to, void *)
{
	if (to != nmi_entry || from >> 63)
		return;
	Count &all = count(vcpu);
	all.interrupted = 1;
	all.began = all.retired.kernel;
	all.current = all.profile;
}

/* A block of a program, after an NMI. */
void on_return(unsigned vcpu, void *)
{
	Count &all = count(vcpu);
	all.retired.nmi[all.retired.nmis++ % Retired::kept] = all.retired.kernel - all.began;
	all.interrupted = 0;
	if (all.profile & Retired::only_nmis)
		all.current = 0;
}

void on_profiled(unsigned vcpu, void *data)
{
	const Block &block = *static_cast<const Block *>(data);
	(*profiles)[static_cast<std::uint32_t>(count(vcpu).current & ~Retired::only_nmis)][block.address] +=
		block.length;
}

void profile(qemu_plugin_tb *tb, std::size_t length)
{
	const std::scoped_lock locked(profiling.lock);
	profiling.blocks.push_back(std::make_unique<Block>(qemu_plugin_tb_vaddr(tb), length));
	qemu_plugin_register_vcpu_tb_exec_cond_cb(tb, on_profiled, CB_NO_REGS, COND_NE,
		{score, offsetof(Count, current)}, 0, profiling.blocks.back().get());
}

void on_translation(qemu_plugin_tb *tb, void *)
{
	const std::size_t length = qemu_plugin_tb_n_insns(tb);
	const bool kernel = guest->in_kernel();
	qemu_plugin_register_vcpu_tb_exec_inline_per_vcpu(
		tb, INLINE_ADD, {score, kernel ? offsetof(Retired, kernel) : offsetof(Retired, user)}, length);
	if (!kernel)
		qemu_plugin_register_vcpu_tb_exec_cond_cb(
			tb, on_return, CB_NO_REGS, COND_NE, {score, offsetof(Count, interrupted)}, 0, nullptr);
	if (kernel && !profiling.file.empty())
		profile(tb, length);
	for (std::size_t i = 0; i < length; i++) {
		std::uint8_t bytes[16] = {};
		qemu_plugin_insn *insn = qemu_plugin_tb_get_insn(tb, i);
		const std::span instruction(bytes, qemu_plugin_insn_data(insn, bytes, sizeof bytes));
		if (guest->asks(instruction))
			qemu_plugin_register_vcpu_insn_exec_cb(insn, on_question, CB_R_REGS, nullptr);
	}
}

void on_vcpu(unsigned, void *)
{
	guest = RetiredGuest::make(target);
	if (!guest)
		std::abort();
	const std::scoped_lock locked(profiling.lock);
	profiling.profiles.push_back(std::make_unique<Profiles>());
	profiles = profiling.profiles.back().get();
}

void on_exit(void *)
{
	std::FILE *file = std::fopen(profiling.file.c_str(), "w");
	if (!file) {
		std::perror(profiling.file.c_str());
		return;
	}
	for (const auto &of_vcpu : profiling.profiles)
		for (const auto &[number, addresses] : *of_vcpu)
			for (const auto &[address, instructions] : addresses)
				std::fprintf(file, "%u %016llx %llu\n", number,
					static_cast<unsigned long long>(address),
					static_cast<unsigned long long>(instructions));
	std::fclose(file);
}

} // namespace

EXPORT int qemu_plugin_version;
int qemu_plugin_version = qemu_api_version;

EXPORT int qemu_plugin_install(qemu_plugin_id_t id, const qemu_info_t *info, int argc, char **argv)
{
	if (info->version.cur != qemu_api_version) {
		std::fprintf(stderr, "retired: this QEMU has plugin interface %d, not %d\n", info->version.cur,
			qemu_api_version);
		return -1;
	}
	target = info->target_name;
	for (int i = 0; i < argc; i++) {
		const std::string option = argv[i];
		if (!option.starts_with("profile=")) {
			std::fprintf(stderr, "retired: %s is none of its options: profile=FILE\n", argv[i]);
			return -1;
		}
		profiling.file = option.substr(std::strlen("profile="));
	}
	score = qemu_plugin_scoreboard_new(sizeof(Count));
	qemu_plugin_register_vcpu_init_cb(id, on_vcpu, nullptr);
	qemu_plugin_register_vcpu_discon_cb(id, DISCON_INTERRUPT, on_discontinuity, nullptr);
	qemu_plugin_register_vcpu_tb_trans_cb(id, on_translation, nullptr);
	if (!profiling.file.empty())
		qemu_plugin_register_atexit_cb(id, on_exit, nullptr);
	return 0;
}
