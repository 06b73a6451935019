// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The plugin: the functions that QEMU calls, except for each block (translator.h).
 *
 *   -plugin hwsim.so[,profile=NAME][,pt=on|off][,bts=on|off][,pmu=on|off][,lip=on|off][,fault=NAME:NUMBER]...[,lenient=RULE]...
 *           [,seed=NUMBER][,truth=PREFIX][,blocks=on|off][,limit=GIB][,raw=PREFIX][,log=FILE]
 */
#include <cstdio>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "../base/number.h"
#include "machine.h"
#include "options.h"
#include "unwind.h"
#include "vcpu.h"

#define EXPORT extern "C" __attribute__((visibility("default")))

namespace hwsim::qemu
{

constinit thread_local Vcpu *this_vcpu = nullptr;

namespace
{

std::string &log_file = *new std::string;

// --- while the guest runs ----------------------------------------------------------------

void on_idle(unsigned vcpu, void *)
{
	if (auto &idle = machine->vcpus[vcpu])
		idle->idle();
}

void on_resume(unsigned vcpu, void *)
{
	if (auto &awake = machine->vcpus[vcpu])
		awake->resume();
}

void on_discontinuity(unsigned vcpu, qemu_plugin_discon_type type, std::uint64_t from, std::uint64_t to, void *)
{
	if (type != DISCON_HOSTCALL)
		machine->vcpus[vcpu]->discontinuity(from, to);
}

/* All vCPUs are stopped. */
void on_flush(void *)
{
	const std::lock_guard guard(machine->lock);
	for (auto &vcpu : machine->vcpus)
		if (vcpu)
			vcpu->keep_block();
	machine->translations.clear();
}

// --- begin and end ---------------------------------------------------------------------------

void say(const std::string &text)
{
	std::FILE *log = log_file.empty() ? nullptr : std::fopen(log_file.c_str(), "a");
	std::fputs(text.c_str(), log ? log : stderr);
	if (log)
		std::fclose(log);
}

void on_vcpu(unsigned index, void *)
{
	auto vcpu = machine->make_vcpu(index);
	this_vcpu = vcpu.get();
	{
		const std::lock_guard guard(machine->lock);
		machine->vcpus.at(index) = std::move(vcpu);
	}
	if (const char *why = this_vcpu->init())
		refuse(why);
}

void on_exit(void *)
{
	for (auto &vcpu : machine->vcpus) {
		if (!vcpu)
			continue;
		vcpu->finish();
		say(vcpu->statistics());
	}
	say(machine->statistics());
}

/* "fault=" and "lenient=" are commands. */
bool is_command(std::string_view name, std::string_view value)
{
	return machine->control().command(std::string(name) + " " + std::string(value));
}

void option(std::string_view text)
{
	const auto equals = text.find('=');
	const std::string_view name = text.substr(0, equals);
	const std::string_view value = equals == text.npos ? "" : text.substr(equals + 1);
	if (machine->option(name, value))
		return;
	if (name == "blocks") {
		machine->logs.blocks = on_or_off(name, value);
	} else if (name == "fault") {
		if (!is_command(name, value))
			refuse("no fault " + std::string(value) + ", only " + machine->control().faults());
	} else if (name == "lenient") {
		if (!is_command(name, value))
			refuse("no rule " + std::string(value) + ", only " + machine->control().rules());
	} else if (name == "seed") {
		const auto seed = number(value);
		if (!seed || *seed > UINT32_MAX)
			refuse("seed is a number of 32 bits, not " + std::string(value));
		machine->seed = static_cast<unsigned>(*seed);
	} else if (name == "truth") {
		machine->logs.truth = value;
	} else if (name == "limit") {
		machine->logs.limit = gibibytes(name, value);
	} else if (name == "raw") {
		machine->logs.raw = value;
	} else if (name == "log") {
		log_file = value;
	} else {
		refuse("unknown option " + std::string(text) + ": " + std::string(machine->option_names()) +
			" fault lenient seed truth blocks limit raw log");
	}
}

} // namespace

void register_callbacks()
{
	const qemu_plugin_id_t id = machine->id;
	qemu_plugin_register_vcpu_init_cb(id, on_vcpu, nullptr);
	qemu_plugin_register_vcpu_tb_trans_cb(id, machine->translator(), nullptr);
	if (machine->wants_discontinuities())
		qemu_plugin_register_vcpu_discon_cb(id, DISCON_ALL, on_discontinuity, nullptr);
	qemu_plugin_register_vcpu_idle_cb(id, on_idle, nullptr);
	qemu_plugin_register_vcpu_resume_cb(id, on_resume, nullptr);
	qemu_plugin_register_flush_cb(id, on_flush, nullptr);
	qemu_plugin_register_atexit_cb(id, on_exit, nullptr);
}

} // namespace hwsim::qemu

using namespace hwsim::qemu;

EXPORT int qemu_plugin_version;
int qemu_plugin_version = qemu_api_version;

EXPORT int qemu_plugin_install(qemu_plugin_id_t id, const qemu_info_t *info, int argc, char **argv)
{
	if (info->version.cur != qemu_api_version)
		refuse("this QEMU has plugin interface " + std::to_string(info->version.cur) + ", hwsim knows " +
			std::to_string(qemu_api_version) + " (QEMU 11) only");
	machine = info->system_emulation ? find_machine(info->target_name) : nullptr;
	if (!machine)
		refuse("hwsim is for qemu-system-" + machine_targets(" and qemu-system-") + ", this is " +
			std::string(info->target_name));
	if (!Unwinder::find())
		refuse("this QEMU does not export cpu_restore_state(), without which flags would be lost; build it "
		       "with --enable-modules");
	machine->id = id;
	for (int i = 0; i < argc; i++)
		option(argv[i]);
	if (machine->logs.blocks && machine->logs.truth.empty())
		refuse("blocks=on goes with truth=");
	machine->begin(static_cast<unsigned>(info->system.max_vcpus));
	machine->score = qemu_plugin_scoreboard_new(sizeof(hwsim::InlineWords));
	machine->vcpus.resize(static_cast<std::size_t>(info->system.max_vcpus));
	vcpu_list = machine->vcpus.data();
	register_callbacks();
	return 0;
}
