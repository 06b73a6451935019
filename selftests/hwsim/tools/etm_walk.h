/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * EtmWalk: decodes a trace of an ETE or ETMv4, without frames, by OpenCSD, along code that is given. Reports the ranges of instructions and the
 * exceptions that OpenCSD finds as steps from one address to another.
 */
#ifndef HWSIM_TOOLS_ETM_WALK_H
#define HWSIM_TOOLS_ETM_WALK_H

#include <opencsd/c_api/opencsd_c_api.h>

#include <algorithm>
#include <cstdint>
#include <deque>
#include <elf.h>
#include <fstream>
#include <iterator>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

#include "etm_sessions.h"
#include "etm_unit.h"

namespace hwsim
{

class EtmListener
{
public:
	virtual void instruction(std::uint64_t at) = 0;
	/* A branch or exception; from 0 where the trace begins, to 0 where it ends. */
	virtual void step(std::uint64_t from, std::uint64_t to) = 0;
	/* An exception comes before the instruction at this address. */
	virtual void left(std::uint64_t at) = 0;
	virtual void error(const std::string &what) = 0;

protected:
	~EtmListener() = default;
};

class EtmWalk
{
public:
	/* The kernel runs at this exception level. */
	EtmWalk(EtmListener &to, const EtmUnit &of, ocsd_ex_level of_kernel = ocsd_EL1)
		: listener(to), unit(of), kernel_level(of_kernel)
	{
		[[maybe_unused]] static const auto silent = ocsd_def_errlog_init(OCSD_ERR_SEV_NONE, 0);
		tree.reset(ocsd_create_dcd_tree(OCSD_TRC_SRC_SINGLE, 0));
		if (!tree || make_decoder() != OCSD_OK)
			throw std::runtime_error("OpenCSD makes no decoder");
		ocsd_dt_set_gen_elem_outfn(tree.get(), hear, this);
	}
	/* Loads the code of a file where its ELF headers say; a segment at an address where there is one already is left out. */
	void load(const std::string &path)
	{
		std::ifstream file(path, std::ios::binary);
		const std::vector<char> bytes{std::istreambuf_iterator<char>(file), {}};
		Elf64_Ehdr header;
		if (bytes.size() < sizeof header)
			throw std::runtime_error("cannot read " + path);
		std::copy_n(bytes.data(), sizeof header, reinterpret_cast<char *>(&header));
		for (unsigned i = 0; i < header.e_phnum; i++) {
			Elf64_Phdr segment;
			const std::size_t at = header.e_phoff + i * sizeof segment;
			if (at + sizeof segment > bytes.size())
				throw std::runtime_error("no segments in " + path);
			std::copy_n(bytes.data() + at, sizeof segment, reinterpret_cast<char *>(&segment));
			if (segment.p_type != PT_LOAD || !(segment.p_flags & PF_X) || !segment.p_filesz ||
				segment.p_offset + segment.p_filesz > bytes.size() ||
				!loaded.insert(segment.p_vaddr).second)
				continue;
			const auto begin = bytes.begin() + static_cast<std::ptrdiff_t>(segment.p_offset);
			const auto &kept =
				code.emplace_back(begin, begin + static_cast<std::ptrdiff_t>(segment.p_filesz));
			ocsd_dt_add_buffer_mem_acc(tree.get(), segment.p_vaddr, OCSD_MEM_SPACE_ANY,
				reinterpret_cast<const std::uint8_t *>(kept.data()),
				static_cast<std::uint32_t>(kept.size()));
		}
	}
	/* Decodes a whole trace, session by session. After a bad packet it goes on where the trace synchronizes next. */
	void run(std::span<const std::uint8_t> trace)
	{
		for (std::size_t at = 0; at < trace.size();) {
			const std::size_t next = next_sync(trace, at + 1);
			if (begins_session(trace, at))
				forget();
			feed(trace.subspan(at, next - at), at);
			at = next;
		}
		ocsd_dt_process_data(tree.get(), OCSD_OP_EOT, 0, 0, nullptr, nullptr);
		end();
	}

private:
	/* Without frames any trace ID will do. */
	ocsd_err_t make_decoder()
	{
		constexpr std::uint8_t any_id = 0x10;
		const ocsd_ete_cfg ete = {unit.idr0, unit.idr1, unit.idr2, unit.idr8, unit.devarch, unit.configr,
			any_id, ARCH_AA64, profile_CortexA};
		const ocsd_etmv4_cfg etmv4 = {unit.idr0, unit.idr1, unit.idr2, unit.idr8, 0, 0, 0, 0, 0, unit.configr,
			any_id, ARCH_AA64, profile_CortexA};
		const void *config = unit.is_ete() ? static_cast<const void *>(&ete) : &etmv4;
		std::uint8_t id = 0;
		return ocsd_dt_create_decoder(tree.get(),
			unit.is_ete() ? OCSD_BUILTIN_DCD_ETE : OCSD_BUILTIN_DCD_ETMV4I, OCSD_CREATE_FLG_FULL_DECODER,
			config, &id);
	}
	/* What comes has nothing to do with what was. */
	void forget()
	{
		ocsd_dt_process_data(tree.get(), OCSD_OP_RESET, 0, 0, nullptr, nullptr);
		counts = 0;
		end();
	}
	/* Up to a bad packet; "index" is where the bytes are in the trace. */
	void feed(std::span<const std::uint8_t> bytes, std::size_t index)
	{
		std::size_t at = 0;
		while (at < bytes.size()) {
			std::uint32_t used = 0;
			const auto answer = ocsd_dt_process_data(tree.get(), OCSD_OP_DATA, index + at,
				static_cast<std::uint32_t>(bytes.size() - at), bytes.data() + at, &used);
			at += used;
			if (OCSD_DATA_RESP_IS_WAIT(answer)) {
				ocsd_dt_process_data(tree.get(), OCSD_OP_FLUSH, 0, 0, nullptr, nullptr);
			} else if (OCSD_DATA_RESP_IS_FATAL(answer) || !used) {
				listener.error("a bad packet near byte " + std::to_string(index + at));
				return forget();
			}
		}
	}
	static ocsd_datapath_resp_t hear(
		const void *to, ocsd_trc_index_t, std::uint8_t, const ocsd_generic_trace_elem *element)
	{
		static_cast<EtmWalk *>(const_cast<void *>(to))->hear(*element);
		return OCSD_RESP_CONT;
	}
	/* The step that is pending leads here. */
	void resolve(std::uint64_t to)
	{
		if (pending)
			listener.step(*pending, to);
		pending.reset();
		untaken.reset();
	}
	/* The trace ends: the last step leads to 0. If it has begun, and no instruction came, there is no step. */
	void end()
	{
		const std::uint64_t last = pending.value_or(untaken.value_or(0));
		if (last)
			listener.step(last, 0);
		pending.reset();
		untaken.reset();
	}
	/*
	 * The virtual processor executes an instruction in each cycle. The first count of a stretch is not checked, because its beginning is
	 * not in the trace.
	 */
	void count(std::uint64_t cycles)
	{
		if (counts++ && cycles != since_count)
			listener.error(std::to_string(cycles) + " cycles for " + std::to_string(since_count) +
				       " instructions");
		since_count = 0;
	}
	void hear(const ocsd_generic_trace_elem &element)
	{
		switch (element.elem_type) {
		case OCSD_GEN_TRC_ELEM_PE_CONTEXT:
			if (element.context.el_valid)
				level = element.context.exception_level;
			break;
		case OCSD_GEN_TRC_ELEM_INSTR_RANGE:
			/* Linux has its code in the upper half, and programs have the lower one. */
			if (level != (element.st_addr >> 63 ? kernel_level : ocsd_EL0))
				listener.error("the code at " + std::to_string(element.st_addr) + " is not of EL" +
					       std::to_string(level));
			since_count += element.num_instr_range;
			resolve(element.st_addr);
			for (std::uint64_t at = element.st_addr; at < element.en_addr; at += 4)
				listener.instruction(at);
			if (element.last_instr_exec &&
				(element.last_i_type == OCSD_INSTR_BR || element.last_i_type == OCSD_INSTR_BR_INDIRECT))
				pending = element.en_addr - element.last_instr_sz;
			else if (!element.last_instr_exec || element.last_i_type == OCSD_INSTR_ISB)
				untaken = element.en_addr - element.last_instr_sz;
			break;
		case OCSD_GEN_TRC_ELEM_EXCEPTION:
			resolve(element.en_addr);
			pending = element.en_addr;
			listener.left(element.en_addr);
			break;
		case OCSD_GEN_TRC_ELEM_CYCLE_COUNT:
			count(element.cycle_count);
			break;
		case OCSD_GEN_TRC_ELEM_TRACE_ON:
			counts = 0;
			end();
			pending = 0;
			break;
		case OCSD_GEN_TRC_ELEM_NO_SYNC:
			untaken.reset();
			[[fallthrough]];
		case OCSD_GEN_TRC_ELEM_EO_TRACE:
			counts = 0;
			end();
			break;
		case OCSD_GEN_TRC_ELEM_ADDR_NACC:
			listener.error("there is no code at " + std::to_string(element.st_addr));
			break;
		default:
			break;
		}
	}
	struct Destroy {
		void operator()(dcd_tree_handle_t handle) const { ocsd_destroy_dcd_tree(handle); }
	};

	EtmListener &listener;
	const EtmUnit unit;
	std::unique_ptr<std::remove_pointer_t<dcd_tree_handle_t>, Destroy> tree;
	std::deque<std::vector<char>> code;
	std::set<std::uint64_t> loaded;
	const ocsd_ex_level kernel_level;
	ocsd_ex_level level = ocsd_EL_unknown;
	std::size_t counts = 0; /* cycle counts in this stretch */
	std::uint64_t since_count = 0;
	std::optional<std::uint64_t>
		pending; /* where the last branch or exception was, or 0 where the trace has begun */
	std::optional<std::uint64_t> untaken; /* the last instruction, if it is a branch not taken, or a barrier */
};

} // namespace hwsim

#endif
