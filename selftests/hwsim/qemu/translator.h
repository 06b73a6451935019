/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Translator: looks at every block once, when QEMU translates it, and registers the callbacks of the vCPU that the block needs.
 *
 * Processor is a TracedVcpu, and Architecture derives from this: it says what an instruction is (classify(), is_ours(), is_amended(),
 * is_longer()), which bits of an address count, and may look at blocks by itself. These are templates, so that the callbacks and what they
 * call for each traced block are one piece of code.
 */
#ifndef HWSIM_QEMU_TRANSLATOR_H
#define HWSIM_QEMU_TRANSLATOR_H

#include <algorithm>
#include <cstddef>
#include <memory>
#include <mutex>
#include <vector>

#include "machine.h"
#include "vcpu.h"

namespace hwsim::qemu
{

template <class Processor, class Architecture>
class Translator
{
public:
	static void on_translation(qemu_plugin_tb *tb, void *)
	{
		if (!this_vcpu)
			return;
		Architecture::look_at(tb);
		const unsigned instrumentation = machine->instrumentation;
		const std::vector<Decoded> &list = decode(tb);
		const bool any_ours = std::ranges::any_of(
			list, [](const Decoded &one) { return Architecture::is_ours(one.instruction); });
		if (list.empty() || (!instrumentation && !any_ours))
			return;
		auto made = std::make_unique<Made>();
		describe(made->block, qemu_plugin_tb_vaddr(tb), list, its_vcpu().state());
		if (machine->logs.blocks && made->block.side && (instrumentation & flow_instrumentation))
			qemu_plugin_register_vcpu_tb_exec_cb(tb, on_program_block, CB_R_REGS, &made->block);
		hook_instructions(tb, *made, list);
		if (instrumentation)
			instrument(tb, made->block, list.back().handle, instrumentation);
		const std::lock_guard guard(machine->lock);
		machine->translations.push_back(std::move(made));
	}

protected:
	static Processor &processor(unsigned vcpu) { return static_cast<Processor &>(*vcpu_list[vcpu]); }

private:
	using Site = typename Processor::Site;
	using Instruction = typename Processor::Instruction;

	struct Made final : Translation {
		BasicBlock block;
		std::vector<std::unique_ptr<Site>> sites;
	};
	struct Decoded {
		qemu_plugin_insn *handle;
		std::uint32_t offset;
		std::uint32_t size;
		Instruction instruction;
	};

	/* The vCPU of this thread, which translates. */
	static Processor &its_vcpu() { return static_cast<Processor &>(*this_vcpu); }

	/* Valid until this vCPU translates the next block. Most blocks are decoded in vain, and that must not cost an allocation for each. */
	static const std::vector<Decoded> &decode(const qemu_plugin_tb *tb)
	{
		thread_local std::vector<Decoded> list;
		std::uint32_t offset = 0;
		list.clear();
		for (std::size_t i = 0; i < qemu_plugin_tb_n_insns(tb); i++) {
			std::uint8_t bytes[16];
			qemu_plugin_insn *handle = qemu_plugin_tb_get_insn(tb, i);
			const auto size =
				static_cast<std::uint32_t>(qemu_plugin_insn_data(handle, bytes, sizeof bytes));
			list.push_back({handle, offset, size, Architecture::classify({bytes, size})});
			if (Architecture::is_longer(list.back().instruction))
				list.back().size = its_vcpu().operand_size(qemu_plugin_tb_vaddr(tb) + offset, size);
			offset += list.back().size;
		}
		return list;
	}

	static void describe(
		BasicBlock &block, std::uint64_t address, const std::vector<Decoded> &list, const Place &state)
	{
		const Decoded &last = list.back();
		block.address = address;
		block.length = last.offset + last.size;
		block.last = last.offset;
		block.kind = last.instruction.kind;
		block.displacement = last.instruction.displacement;
		block.level = state.level;
		block.side = Processor::side_of(state.level);
		block.mode = state.mode;
		block.address_mask = Architecture::address_mask(state);
		for (const Decoded &one : list)
			block.sizes.push_back(static_cast<std::uint8_t>(one.size));
	}

	/*
	 * In a block the program counter is right at the start only (blocks are position independent), so blocks with instructions which the
	 * plugin carries out note it there.
	 */
	static void hook_instructions(qemu_plugin_tb *tb, Made &made, const std::vector<Decoded> &list)
	{
		bool noted = false;
		for (std::size_t i = 0; i < list.size(); i++) {
			const Decoded &one = list[i];
			if (!Architecture::is_ours(one.instruction))
				continue;
			if (!noted)
				qemu_plugin_register_vcpu_tb_exec_cb(tb, on_note_pc, CB_R_REGS, nullptr);
			noted = true;
			auto &site = made.sites.emplace_back(std::make_unique<Site>());
			*site = {{&made.block, static_cast<std::uint32_t>(i), one.offset, one.size}, one.instruction};
			qemu_plugin_register_vcpu_insn_exec_cb(one.handle, on_instruction, CB_RW_REGS_PC, site.get());
			if (Architecture::is_amended(one.instruction) && i + 1 < list.size())
				qemu_plugin_register_vcpu_insn_exec_cb(
					list[i + 1].handle, on_amend, CB_RW_REGS, nullptr);
		}
	}

	/*
	 * In the order in which they run: the call first, because it reads what the block before has left in "position"; then the block's own
	 * marks. One conditional call serves tracing and counting.
	 */
	static void instrument(qemu_plugin_tb *tb, BasicBlock &block, qemu_plugin_insn *last, unsigned instrumentation)
	{
		const auto word = [](std::size_t offset) {
			return qemu_plugin_u64{machine->score, offset};
		};
		const auto gate = word(offsetof(InlineWords, gate) + block.side * sizeof(InlineWords::gate[0]));
		const auto position = word(offsetof(InlineWords, position));
		const auto address = reinterpret_cast<std::uint64_t>(&block);
		const bool count = instrumentation & count_instrumentation, marks_end = is_branch(block.kind);
		qemu_plugin_register_vcpu_tb_exec_cond_cb(tb, count ? on_block : on_uncounted_block, CB_R_REGS, COND_GE,
			gate, InlineWords::limit, &block);
		/* If a block is watched, the call notes that it began; a block that is only counted has to note it itself. */
		if (count && (!marks_end || block.last))
			qemu_plugin_register_vcpu_tb_exec_inline_per_vcpu(tb, INLINE_STORE, position, address);
		if (marks_end)
			qemu_plugin_register_vcpu_insn_exec_inline_per_vcpu(
				last, INLINE_STORE, position, address | InlineWords::finished);
		if (count)
			qemu_plugin_register_vcpu_tb_exec_inline_per_vcpu(
				tb, INLINE_ADD, gate, block.sizes.size() * InlineWords::instruction + marks_end);
	}

	/* While the guest runs */
	static void on_block(unsigned vcpu, void *data)
	{
		processor(vcpu).enter(*static_cast<const BasicBlock *>(data));
	}
	static void on_uncounted_block(unsigned vcpu, void *data)
	{
		processor(vcpu).follow(*static_cast<const BasicBlock *>(data));
	}
	static void on_program_block(unsigned vcpu, void *data)
	{
		processor(vcpu).log_block(*static_cast<const BasicBlock *>(data));
	}
	static void on_note_pc(unsigned vcpu, void *) { processor(vcpu).note_pc(); }
	static void on_instruction(unsigned vcpu, void *data)
	{
		processor(vcpu).before(*static_cast<const Site *>(data),
			reinterpret_cast<std::uintptr_t>(__builtin_return_address(0)));
	}
	static void on_amend(unsigned vcpu, void *) { Architecture::amend(processor(vcpu)); }
};

} // namespace hwsim::qemu

#endif
