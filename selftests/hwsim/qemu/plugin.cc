// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The plugin: what QEMU calls. Looks at every block once, when it is translated, and has its vCPU called where it matters.
 *
 *   -plugin hwsim.so[,profile=NAME][,pt=on|off][,bts=on|off][,pmu=on|off][,lip=on|off][,fault=NAME:NUMBER]...[,lenient=RULE]...
 *           [,seed=NUMBER][,truth=PREFIX][,blocks=on|off][,limit=GIB][,raw=PREFIX][,log=FILE]
 */
#include <algorithm>
#include <atomic>
#include <charconv>
#include <cstring>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "../x86/number.h"
#include "vcpu.h"

using namespace hwsim;
using namespace hwsim::qemu;

#define EXPORT extern "C" __attribute__((visibility("default")))

namespace
{

/* Everything made for one block, until QEMU throws its translations away. */
struct Translation {
	BasicBlock block;
	std::vector<std::unique_ptr<Site>> sites;
};

struct Plugin {
	x86::Control control;
	Machine machine;
	std::vector<std::unique_ptr<Vcpu>> vcpus;
	std::mutex lock; /* for what follows: vCPUs translate at the same time */
	std::vector<std::unique_ptr<Translation>> translations;
	std::string log;
	bool lip = false;
	x86::Cores cores = x86::find_cores("skylake").value(); /* with what options have changed */
	qemu_plugin_id_t id = 0;
};

/* Never destroyed: QEMU calls on_exit() when the destructors of plugins have run already. */
Plugin &plugin = *new Plugin;
thread_local Vcpu *self; /* the vCPU of this thread */

qemu_plugin_u64 hot_word(std::size_t offset)
{
	return {plugin.machine.score, offset};
}

// --- while the guest runs ----------------------------------------------------------------

void on_block(unsigned vcpu, void *data)
{
	plugin.vcpus[vcpu]->enter(*static_cast<const BasicBlock *>(data));
}

void on_uncounted_block(unsigned vcpu, void *data)
{
	plugin.vcpus[vcpu]->follow(*static_cast<const BasicBlock *>(data));
}

void on_program_block(unsigned vcpu, void *data)
{
	plugin.vcpus[vcpu]->log_block(*static_cast<const BasicBlock *>(data));
}

void on_reset_vector(unsigned vcpu, void *)
{
	plugin.vcpus[vcpu]->at_reset_vector();
}

void on_idle(unsigned vcpu, void *)
{
	if (auto &idle = plugin.vcpus[vcpu])
		idle->idle();
}

void on_resume(unsigned vcpu, void *)
{
	if (auto &awake = plugin.vcpus[vcpu])
		awake->resume();
}

void on_note_pc(unsigned vcpu, void *)
{
	plugin.vcpus[vcpu]->note_pc();
}

void on_instruction(unsigned vcpu, void *data)
{
	plugin.vcpus[vcpu]->before(
		*static_cast<const Site *>(data), reinterpret_cast<std::uintptr_t>(__builtin_return_address(0)));
}

void on_after_cpuid(unsigned vcpu, void *)
{
	plugin.vcpus[vcpu]->after_cpuid();
}

void on_discontinuity(unsigned vcpu, qemu_plugin_discon_type type, std::uint64_t from, std::uint64_t to, void *)
{
	if (type != DISCON_HOSTCALL)
		plugin.vcpus[vcpu]->discontinuity(from, to);
}

// --- translation ----------------------------------------------------------------------------

struct Decoded {
	qemu_plugin_insn *handle;
	std::uint32_t offset;
	std::uint32_t size;
	x86::Instruction instruction;
};

/* Valid until this vCPU translates the next block: most are looked at for nothing, and none is to cost an allocation for that. */
const std::vector<Decoded> &decode(const qemu_plugin_tb *tb)
{
	thread_local std::vector<Decoded> list;
	std::uint32_t offset = 0;
	list.clear();
	for (std::size_t i = 0; i < qemu_plugin_tb_n_insns(tb); i++) {
		std::uint8_t bytes[16];
		qemu_plugin_insn *handle = qemu_plugin_tb_get_insn(tb, i);
		const auto size = static_cast<std::uint32_t>(qemu_plugin_insn_data(handle, bytes, sizeof bytes));
		list.push_back({handle, offset, size, x86::classify({bytes, size})});
		if (list.back().instruction.in_memory)
			list.back().size = self->operand_size(qemu_plugin_tb_vaddr(tb) + offset, size);
		offset += list.back().size;
	}
	return list;
}

void describe(BasicBlock &block, std::uint64_t address, const std::vector<Decoded> &list, const Place &state)
{
	const Decoded &last = list.back();
	block.address = address;
	block.length = last.offset + last.size;
	block.last = last.offset;
	block.kind = last.instruction.kind;
	block.displacement = last.instruction.displacement;
	block.level = state.level;
	block.mode = state.mode;
	block.address_mask = state.mode == x86::pt::mode_64 ? ~std::uint64_t{0} : 0xffff'ffff;
	for (const Decoded &one : list)
		block.sizes.push_back(static_cast<std::uint8_t>(one.size));
}

/* Is it an instruction that this machine carries out instead of QEMU? */
bool ours(x86::Special special)
{
	return special != x86::Special::none;
}

/*
 * The program counter is right at the start of a block only (blocks are position independent), so blocks with instructions of
 * ours note it there.
 */
void hook_instructions(qemu_plugin_tb *tb, Translation &translation, const std::vector<Decoded> &list)
{
	bool noted = false;
	for (std::size_t i = 0; i < list.size(); i++) {
		const Decoded &one = list[i];
		if (!ours(one.instruction.special))
			continue;
		if (!noted)
			qemu_plugin_register_vcpu_tb_exec_cb(tb, on_note_pc, CB_R_REGS, nullptr);
		noted = true;
		auto &site = translation.sites.emplace_back(std::make_unique<Site>());
		*site = {&translation.block, static_cast<std::uint32_t>(i), one.offset, one.size, one.instruction};
		qemu_plugin_register_vcpu_insn_exec_cb(one.handle, on_instruction, CB_RW_REGS_PC, site.get());
		/* CPUID does not end a block, so there is an instruction to amend the answer at. */
		if (one.instruction.special == x86::Special::cpuid && i + 1 < list.size())
			qemu_plugin_register_vcpu_insn_exec_cb(list[i + 1].handle, on_after_cpuid, CB_RW_REGS, nullptr);
	}
}

/*
 * In the order they run in: calls first, because they read what the block before has left; then the block's own marks. One condition
 * serves all that may be wanted of the block.
 */
void instrument(qemu_plugin_tb *tb, BasicBlock &block, const Decoded &last, unsigned instrumentation)
{
	const auto gate = hot_word(offsetof(Hot, gate) + (block.level == 0 ? 0 : sizeof(Hot::gate[0])));
	const auto position = hot_word(offsetof(Hot, position));
	const auto address = reinterpret_cast<std::uint64_t>(&block);
	const bool count = instrumentation & count_instrumentation, marks_end = is_branch(block.kind);
	qemu_plugin_register_vcpu_tb_exec_cond_cb(
		tb, count ? on_block : on_uncounted_block, CB_R_REGS, COND_GE, gate, Hot::limit, &block);
	/* Where a block is watched the call notes that it began; what is counted has to be known without. */
	if (count && (!marks_end || block.last))
		qemu_plugin_register_vcpu_tb_exec_inline_per_vcpu(tb, INLINE_STORE, position, address);
	if (marks_end)
		qemu_plugin_register_vcpu_insn_exec_inline_per_vcpu(
			last.handle, INLINE_STORE, position, address | Hot::finished);
	if (count)
		qemu_plugin_register_vcpu_tb_exec_inline_per_vcpu(
			tb, INLINE_ADD, gate, block.sizes.size() * Hot::instruction + marks_end);
}

void on_translation(qemu_plugin_tb *tb, void *)
{
	if (!self)
		return;
	/* SDM volume 3, "First Instruction Executed". */
	constexpr std::uint64_t reset_vector = 0xffff'fff0;
	if (qemu_plugin_tb_vaddr(tb) == reset_vector)
		qemu_plugin_register_vcpu_tb_exec_cb(tb, on_reset_vector, CB_R_REGS, nullptr);
	const unsigned instrumentation = plugin.machine.instrumentation;
	const std::vector<Decoded> &list = decode(tb);
	const bool any_ours =
		std::ranges::any_of(list, [](const Decoded &one) { return ours(one.instruction.special); });
	if (list.empty() || (!instrumentation && !any_ours))
		return;
	auto translation = std::make_unique<Translation>();
	describe(translation->block, qemu_plugin_tb_vaddr(tb), list, self->state());
	if (plugin.machine.blocks && translation->block.level && (instrumentation & flow_instrumentation))
		qemu_plugin_register_vcpu_tb_exec_cb(tb, on_program_block, CB_R_REGS, &translation->block);
	hook_instructions(tb, *translation, list);
	if (instrumentation)
		instrument(tb, translation->block, list.back(), instrumentation);
	const std::lock_guard guard(plugin.lock);
	plugin.translations.push_back(std::move(translation));
}

/* All vCPUs are stopped. */
void on_flush(void *)
{
	const std::lock_guard guard(plugin.lock);
	for (auto &vcpu : plugin.vcpus)
		if (vcpu)
			vcpu->keep_block();
	plugin.translations.clear();
}

// --- begin and end ---------------------------------------------------------------------------

void say(const std::string &text)
{
	std::FILE *log = plugin.log.empty() ? nullptr : std::fopen(plugin.log.c_str(), "a");
	std::fputs(text.c_str(), log ? log : stderr);
	if (log)
		std::fclose(log);
}

[[noreturn]] void refuse(const std::string &why)
{
	std::fprintf(stderr, "hwsim: %s\n", why.c_str());
	std::exit(1);
}

void on_vcpu(unsigned index, void *)
{
	auto vcpu = std::make_unique<Vcpu>(index, plugin.machine);
	self = vcpu.get();
	{
		const std::lock_guard guard(plugin.lock);
		plugin.vcpus.at(index) = std::move(vcpu);
	}
	if (const char *why = self->init())
		refuse(why);
}

void on_exit(void *)
{
	for (auto &vcpu : plugin.vcpus) {
		if (!vcpu)
			continue;
		vcpu->finish();
		say(vcpu->statistics());
	}
}

void register_callbacks()
{
	const qemu_plugin_id_t id = plugin.id;
	qemu_plugin_register_vcpu_init_cb(id, on_vcpu, nullptr);
	qemu_plugin_register_vcpu_tb_trans_cb(id, on_translation, nullptr);
	qemu_plugin_register_vcpu_discon_cb(id, DISCON_ALL, on_discontinuity, nullptr);
	qemu_plugin_register_vcpu_idle_cb(id, on_idle, nullptr);
	qemu_plugin_register_vcpu_resume_cb(id, on_resume, nullptr);
	qemu_plugin_register_flush_cb(id, on_flush, nullptr);
	qemu_plugin_register_atexit_cb(id, on_exit, nullptr);
}

// --- what blocks have to do ------------------------------------------------------------------

unsigned needs_of_all()
{
	unsigned needs = no_instrumentation;
	for (const auto &vcpu : plugin.vcpus)
		if (vcpu)
			needs |= vcpu->needs();
	return needs;
}

/* All vCPUs are stopped, there are no translations, and QEMU has forgotten what we had registered. */
void on_anew(void *)
{
	const std::lock_guard guard(plugin.lock);
	plugin.machine.instrumentation = needs_of_all();
	plugin.machine.enough_since = 0;
	register_callbacks();
	for (auto &vcpu : plugin.vcpus)
		if (vcpu)
			vcpu->instrumentation_changed();
}

/* Where one is under way QEMU ignores another. */
void translate_anew()
{
	qemu_plugin_reset(plugin.id, on_anew, nullptr);
}

/* Not at once: drivers switch tracing off and on at every switch of tasks, and translations are dear. */
void consider_less(std::uint64_t tsc)
{
	constexpr std::uint64_t long_enough_ns = 3'000'000'000;
	Machine &machine = plugin.machine;
	{
		const std::lock_guard guard(plugin.lock);
		if (!(machine.instrumentation & ~needs_of_all()))
			return;
	}
	if (!machine.enough_since)
		machine.enough_since = tsc;
	else if (tsc > machine.enough_since + long_enough_ns * machine.cores->even.tsc_ticks_per_ns)
		translate_anew();
}

std::string profile_names()
{
	std::string names;
	for (const x86::Profile &profile : x86::profiles())
		names += " " + std::string(profile.name);
	return names;
}

bool on_or_off(std::string_view name, std::string_view value)
{
	if (value != "on" && value != "off")
		refuse(std::string(name) + " is on or off, not " + std::string(value));
	return value == "on";
}

std::uint64_t gibibytes(std::string_view name, std::string_view value)
{
	std::uint64_t number = 0;
	const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
	if (error != std::errc{} || end != value.data() + value.size() || !number || number >> 30)
		refuse(std::string(name) + " is a number of GiB, 1 or more, not " + std::string(value));
	return number << 30;
}

void option(std::string_view text)
{
	const auto equals = text.find('=');
	const std::string_view name = text.substr(0, equals);
	const std::string_view value = equals == text.npos ? "" : text.substr(equals + 1);
	Machine &machine = plugin.machine;
	if (name == "profile") {
		const auto cores = x86::find_cores(value);
		if (!cores)
			refuse("there is no profile " + std::string(value) + ", only" + profile_names() +
				", and two of them with + between, of which the first has the clock that the second "
				"wants");
		plugin.cores = *cores;
	} else if (name == "pt") {
		machine.hardware.pt = on_or_off(name, value);
	} else if (name == "pmu") {
		machine.hardware.pmu = on_or_off(name, value);
	} else if (name == "bts") {
		machine.hardware.bts = on_or_off(name, value);
	} else if (name == "lip") {
		plugin.lip = on_or_off(name, value);
	} else if (name == "blocks") {
		machine.blocks = on_or_off(name, value);
	} else if (name == "fault") {
		if (!machine.control->command("fault " + std::string(value)))
			refuse("no fault " + std::string(value) + ", only " + std::string(x86::Faults::names()));
	} else if (name == "lenient") {
		if (!machine.control->command("lenient " + std::string(value)))
			refuse("no rule " + std::string(value) + ", only " + x86::Rules::names());
	} else if (name == "seed") {
		const auto seed = x86::number(value);
		if (!seed || *seed > UINT32_MAX)
			refuse("seed is a number of 32 bits, not " + std::string(value));
		machine.seed = static_cast<unsigned>(*seed);
	} else if (name == "truth") {
		machine.truth = value;
	} else if (name == "limit") {
		machine.limit = gibibytes(name, value);
	} else if (name == "raw") {
		machine.raw = value;
	} else if (name == "log") {
		plugin.log = value;
	} else {
		refuse("unknown option " + std::string(text) +
			": profile lip pt bts pmu fault lenient seed truth blocks limit raw log");
	}
}

} // namespace

EXPORT int qemu_plugin_version;
int qemu_plugin_version = qemu_api_version;

EXPORT int qemu_plugin_install(qemu_plugin_id_t id, const qemu_info_t *info, int argc, char **argv)
{
	if (info->version.cur != qemu_api_version)
		refuse("this QEMU has plugin interface " + std::to_string(info->version.cur) + ", hwsim knows " +
			std::to_string(qemu_api_version) + " (QEMU 11) only");
	if (!info->system_emulation || std::string_view(info->target_name) != "x86_64")
		refuse("hwsim is for qemu-system-x86_64, this is " + std::string(info->target_name));
	if (!Unwinder::find())
		refuse("this QEMU does not export cpu_restore_state(), without which flags would be lost; build it "
		       "with --enable-modules");
	plugin.id = id;
	plugin.machine.control = &plugin.control;
	plugin.machine.cores = &plugin.cores;
	for (int i = 0; i < argc; i++)
		option(argv[i]);
	plugin.cores.even.pt.lip = plugin.cores.odd.pt.lip = plugin.lip;
	if (plugin.machine.blocks && plugin.machine.truth.empty())
		refuse("blocks=on goes with truth=");
	static x86::MonotonicClock clock(plugin.cores.even.tsc_ticks_per_ns);
	plugin.machine.clock = &clock;
	plugin.machine.score = qemu_plugin_scoreboard_new(sizeof(Hot));
	plugin.vcpus.resize(static_cast<std::size_t>(info->system.max_vcpus));

	plugin.machine.translate_anew = translate_anew;
	plugin.machine.consider_less = consider_less;
	register_callbacks();
	return 0;
}
