/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A trace unit in a machine of registers and a little memory; its trace as words. */
#ifndef HWSIM_TEST_PT_MACHINE_H
#define HWSIM_TEST_PT_MACHINE_H

#include <optional>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "../x86/pt_unit.h"
#include "ipt_reader.h"
#include "memory_fake.h"
#include "stream_script.h"
#include "two_byte_block.h"

using namespace hwsim;
using namespace hwsim::x86;
using namespace hwsim::x86::pt;

constexpr std::uint64_t table = 0x1000, data = 0x10000, data_size = 0x10000;
/* The address of the WRMSR that ends a trace. */
constexpr std::uint64_t off = 0xffff'ffff'8fff'fff0;
constexpr Place user(std::uint64_t pc)
{
	return {pc, 3, mode_64};
}
constexpr Place kernel(std::uint64_t pc)
{
	return {pc, 0, mode_64};
}

/* A trace as words: names, and addresses ("off": the WRMSR that ends it). Of PSB+ only "PSB", and "at:" for its FUP. */
inline std::string in_words(std::span<const std::uint8_t> trace)
{
	std::ostringstream text;
	IpReader ip;
	bool in_sync = false;
	for (const pt_packet &packet : read_packets(trace)) {
		const auto address = [&](const char *name) {
			if (packet.payload.ip.ipc == pt_ipc_suppressed) {
				text << name << " ";
				return;
			}
			text << name << ":";
			if (const std::uint64_t where = ip(packet.payload.ip); where == off)
				text << "off ";
			else
				text << std::hex << where << " ";
		};
		if (packet.type == ppt_psb)
			text << "PSB ", in_sync = true, ip.reset();
		else if (packet.type == ppt_psbend)
			in_sync = false;
		else if (packet.type == ppt_fup)
			address(in_sync ? "at" : "FUP");
		else if (in_sync)
			continue;
		else if (packet.type == ppt_tip)
			address("TIP");
		else if (packet.type == ppt_tip_pge)
			address("PGE");
		else if (packet.type == ppt_tip_pgd)
			address("PGD");
		else if (packet.type == ppt_tnt_8 || packet.type == ppt_tnt_64)
			for (unsigned bit = packet.payload.tnt.bit_size; bit--;)
				text << (packet.payload.tnt.payload >> bit & 1 ? "T " : "N ");
		else if (packet.type == ppt_mode)
			text << (packet.payload.mode.bits.exec.csl ? "64" : "32")
			     << (packet.payload.mode.bits.exec.iflag ? "i " : " ");
		else if (packet.type == ppt_cfe)
			text << (number(packet.payload.cfe.type) == pt_cfe_iret ? "IRET" : "INTR") << std::dec
			     << int{packet.payload.cfe.vector} << (packet.payload.cfe.ip ? "+" : "") << " ";
		else if (packet.type == ppt_evd)
			text << "CR2:" << std::hex << packet.payload.evd.payload << " ";
		else if (packet.type == ppt_pip)
			text << "PIP:" << std::hex << packet.payload.pip.cr3 << " ";
		else if (packet.type == ppt_stop)
			text << "STOP ";
		else if (packet.type == ppt_tsc)
			text << "TSC ";
		else if (packet.type == ppt_tma)
			text << "TMA ";
		else if (packet.type == ppt_mtc)
			text << "MTC ";
		else if (packet.type == ppt_cbr)
			text << "CBR ";
		else if (packet.type == ppt_ovf)
			text << "OVF ";
		else if (packet.type == ppt_ptw)
			text << "PTW:" << std::hex << packet.payload.ptw.payload << " ";
	}
	return text.str();
}

struct Machine final : Processor {
	explicit Machine(
		const Faults &faults = {}, const char *profile = "icelake", const Rules &rules = Rules::lenient())
		: unit(*find_profile(profile), clock, memory, *this, faults, rules)
	{
		memory.store(table, data | 4 << 6); /* 64 KiB */
		memory.store(table + 8, table | TopaEntry::end);
		write(msr::output_base, table);
	}
	std::uint64_t cr3() override { return root; }
	bool interrupts_enabled() override { return interruptible; }
	std::uint64_t cr2() override { return 0xdead'beef; }
	std::optional<std::uint8_t> vector_of(std::uint64_t handler) override
	{
		return handler == 0xffff'ffff'8100'0000 ? std::optional<std::uint8_t>(14) : std::nullopt;
	}
	bool is_iret(std::uint64_t at) override { return at == 0xffff'ffff'8100'0010; }
	void topa_interrupt() override { interrupts++; }
	void filter_edge(std::uint64_t from, std::uint64_t to) override { edges.push_back({from, to}); }
	void lost() override { losses++; }
	void resumed() override { resumptions++; }

	void write(std::uint32_t msr, std::uint64_t value) { unit.write(msr, value, off); }
	void start(std::uint64_t more) { write(msr::ctl, ctl::trace_en | ctl::topa | ctl::branch_en | more); }
	void branch(Branch kind, std::uint64_t from, Place to, bool taken = true, std::uint8_t level = 3)
	{
		unit.transfer({kind, taken, from, from + 2, level, to});
		unit.arrive(to);
	}
	/* Runs instructions of two bytes each, none of them a branch. */
	void run(Place from, unsigned instructions)
	{
		BasicBlock block = two_byte_block(from.pc, instructions, Branch::none);
		block.level = from.level;
		block.mode = from.mode;
		unit.straight(block, from.pc, from.pc + block.length);
	}
	/* Ends the trace, and returns it. */
	std::string said()
	{
		write(msr::ctl, 0);
		return in_words({memory.bytes.data() + data, unit.read(msr::output_mask_ptrs) >> 32});
	}

	FakeMemory memory{data + data_size};
	ManualClock clock;
	PtUnit unit;
	std::uint64_t root = 0x5000;
	bool interruptible = false;
	unsigned interrupts = 0, losses = 0, resumptions = 0;
	std::vector<std::pair<std::uint64_t, std::uint64_t>> edges;
};

#endif
