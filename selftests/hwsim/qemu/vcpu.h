/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Vcpu: one processor with its trace unit, counters, APIC, truth log. Lives in its vCPU's thread: MSRs of another processor are
 * reached by asking that processor, so nothing here needs a lock.
 */
#ifndef HWSIM_QEMU_VCPU_H
#define HWSIM_QEMU_VCPU_H

#include <memory>
#include <string>

#include "../base/flow.h"
#include "../base/truth.h"
#include "../x86/bts.h"
#include "../x86/classify.h"
#include "../x86/clock.h"
#include "../x86/cpuid.h"
#include "../x86/local_apic.h"
#include "../x86/perfmon.h"
#include "../x86/pt_unit.h"
#include "registers.h"

namespace hwsim::qemu
{

/* What inline code of translated blocks reads and writes; an entry of the scoreboard. */
struct Hot {
	std::uint64_t watch_user; /* blocks of this level are to call us */
	std::uint64_t watch_kernel;
	std::uint64_t finished; /* the last instruction of the running block has begun */
};

/* The machine that all vCPUs belong to. */
struct Machine {
	const x86::Profile *profile = nullptr;
	x86::Hardware hardware;
	x86::Clock *clock = nullptr;
	qemu_plugin_scoreboard *score = nullptr;
	std::string truth; /* prefixes of files; none if empty */
	std::string raw;
};

/* An instruction that we carry out, in a block. */
struct Site {
	std::uint32_t offset = 0;
	std::uint32_t size = 0;
	x86::Instruction instruction;
};

class Vcpu final : FlowListener, x86::pt::Processor
{
public:
	Vcpu(unsigned index, const Machine &machine);
	/* In the vCPU's init callback; a sentence if it cannot work. */
	const char *init();

	/* Privilege level and execution mode of what is about to run, for the translator. */
	Place state();

	void enter(const Block &block);
	void discontinuity(std::uint64_t from, std::uint64_t to);
	void keep_block() { tracker.keep_block(); }

	/* Before an instruction. Those that were carried out do not return but go on behind it. */
	void note_pc() { block_pc = registers[Reg::rip]; }
	void before(const Site &site);
	/* After a CPUID that QEMU has answered. */
	void after_cpuid();

	void finish();
	std::string statistics() const;

private:
	void straight(const Block &block, std::uint64_t pc, std::uint64_t end) override;
	void transfer(const Transfer &transfer) override;
	void interrupt(std::uint64_t from, std::uint8_t level, const Place &to) override;
	void address_space(std::uint64_t pc) override;
	void arrive(const Place &here) override;

	std::uint64_t cr3() override { return registers[Reg::cr3]; }
	void topa_interrupt() override;
	void trace_bytes(std::span<const std::uint8_t> bytes) override;

	Hot &hot() const { return *static_cast<Hot *>(qemu_plugin_scoreboard_find(machine.score, index)); }
	bool watches(std::uint8_t level) const { return pt.watches(level) || bts.watches(level); }
	void watch(std::uint8_t level);
	void store_branch(std::uint64_t from, std::uint8_t level, std::uint64_t to);
	void performance_interrupt() { (apic.performance_interrupt() ? counts.pmi : counts.pmi_masked)++; }
	[[noreturn]] void skip(const Site &site) { qemu_plugin_set_pc(block_pc + site.offset + site.size); }
	void cpuid(const Site &site);
	void rdmsr(const Site &site);
	void wrmsr(const Site &site);
	void rdtsc(const Site &site);
	void ptwrite(const Site &site);
	void fault();
	void set_edx_eax(std::uint64_t value);

	const unsigned index;
	const Machine &machine;
	CpuRegisters registers;
	CpuMemory memory;
	x86::LocalApic apic{memory};
	x86::Perfmon perfmon{*machine.profile};
	x86::pt::PtUnit pt{*machine.profile, *machine.clock, memory, *this};
	x86::Bts bts{memory};
	FlowTracker tracker{*this};
	TruthWriter truth;
	TruthWriter bts_truth;
	std::unique_ptr<std::FILE, int (*)(std::FILE *)> raw{nullptr, std::fclose};

	std::uint64_t block_pc = 0;
	std::uint64_t tsc_aux = 0;
	std::uint32_t cpuid_leaf = 0, cpuid_subleaf = 0;
	bool faulting = false; /* RCX is not the guest's until the fault is delivered */
	std::uint64_t faulting_rcx = 0;

	struct {
		std::uint64_t pmi = 0, pmi_masked = 0, faults = 0, discontinuities = 0;
	} counts;
};

} // namespace hwsim::qemu

#endif
