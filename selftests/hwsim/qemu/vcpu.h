/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Vcpu: one processor with its trace unit, counters, APIC, truth log. Lives in its vCPU's thread: MSRs of another processor are
 * reached by asking that processor, so nothing here needs a lock.
 */
#ifndef HWSIM_QEMU_VCPU_H
#define HWSIM_QEMU_VCPU_H

#include <array>
#include <atomic>
#include <chrono>
#include <memory>
#include <random>
#include <string>

#include "../base/flow.h"
#include "../base/truth.h"
#include "../x86/bts.h"
#include "../x86/classify.h"
#include "../x86/clock.h"
#include "../x86/control.h"
#include "../x86/cpuid.h"
#include "../x86/duty.h"
#include "../x86/lbr.h"
#include "../x86/local_apic.h"
#include "../x86/operand.h"
#include "../x86/perfmon.h"
#include "../x86/pt_unit.h"
#include "../x86/vmx.h"
#include "registers.h"
#include "unwind.h"

namespace hwsim::qemu
{

/* What inline code of translated blocks reads and writes; an entry of the scoreboard. */
struct Hot {
	/*
	 * For the kernel and for programs; a block calls us when the word of its level is "limit" or more. Levels that are
	 * watched are there always. Where instructions are counted, each block adds its own, times "instruction", and 1 if it
	 * ends in a branch; it calls us when so much has come together that somebody has to look.
	 */
	std::uint64_t gate[2];
	/* The block that runs (or ran last), with "finished" set once its last instruction has begun; or 0. */
	std::uint64_t position;

	static constexpr std::uint64_t finished = 1;
	const BasicBlock *block() const { return reinterpret_cast<const BasicBlock *>(position & ~finished); }
	static constexpr unsigned instruction_shift = 24;
	static constexpr std::uint64_t instruction = std::uint64_t{1} << instruction_shift;
	static constexpr std::uint64_t limit = std::uint64_t{1} << 62;
	/* Branches start here, because some are taken back, and have room for those of so many instructions. */
	static constexpr std::uint64_t no_branches = instruction / 2, most_instructions = instruction / 4;
};

/*
 * What translated blocks do for us beside the instructions that we carry out. Blocks belong to all vCPUs, so they do what any of them
 * needs; while nobody traces and nobody counts they are as QEMU makes them.
 */
enum Instrumentation : unsigned { no_instrumentation = 0, flow_instrumentation = 1, count_instrumentation = 2 };

/* The machine that all vCPUs belong to. */
struct Machine {
	const x86::Cores *cores = nullptr;
	x86::Hardware hardware;
	x86::Control *control = nullptr;
	x86::Clock *clock = nullptr;
	qemu_plugin_scoreboard *score = nullptr;
	unsigned seed = 1;
	bool blocks = false; /* a log of the blocks of programs, beside the truth */
	std::string truth;   /* prefixes of files; none if empty */
	std::string raw;
	std::uint64_t limit = std::uint64_t{16} << 30; /* bytes of a file of truth or blocks */
	/* What blocks do now; and a call to have them made anew, as all vCPUs need them then. */
	std::atomic<unsigned> instrumentation{no_instrumentation};
	void (*translate_anew)() = nullptr;
	/* Blocks do more than this vCPU needs: perhaps more than any has needed for long. Since when, or 0: */
	std::atomic<std::uint64_t> enough_since{0};
	void (*consider_less)(std::uint64_t tsc) = nullptr;
};

/* An instruction that we carry out, in a block. */
struct Site {
	const BasicBlock *block = nullptr;
	std::uint32_t index = 0;
	std::uint32_t offset = 0;
	std::uint32_t size = 0;
	x86::Instruction instruction;
};

class Vcpu final : FlowListener, x86::pt::Processor, x86::EventSource
{
public:
	Vcpu(unsigned index, Machine &machine);
	/* In the vCPU's init callback; a sentence if it cannot work. */
	const char *init();

	/* Privilege level and execution mode of what is about to run, for the translator. */
	Place state();

	/* A block begins: one that counts, one that does not. */
	void enter(const BasicBlock &block);
	void follow(const BasicBlock &block);
	/* A block of a program begins: for a log that neither the tracker nor the trace unit's filters have to do with. */
	void log_block(const BasicBlock &block)
	{
		if (pt.is_on(block.level))
			blocks.write(registers[Reg::rip], block.length);
	}
	void discontinuity(std::uint64_t from, std::uint64_t to);
	/* All blocks are about to be freed, and the scoreboard may have moved. */
	void keep_block();
	/* What this vCPU needs of translated blocks; asked by any thread. */
	unsigned needs() const { return needed.load(); }
	/* All vCPUs are stopped, and blocks do other things from here on. */
	void instrumentation_changed();

	/* The first instruction of the machine, if it is: the other processors learn it when they next look. */
	void at_reset_vector();
	/* Sleeps in HLT, where no cycles pass. */
	void idle() { pass_time(); }
	void resume()
	{
		cycles_at = machine.clock->tsc();
		totals[0].wakeups++;
	}

	/* The whole length of PTWRITE with a memory operand, of which QEMU has read as much as it takes not to know it. */
	std::uint32_t operand_size(std::uint64_t address, std::uint32_t read);
	/* Before an instruction. Those that were carried out do not return but go on behind it. */
	void note_pc() { block_pc = registers[Reg::rip]; }
	/* "caller": the return address of the callback. */
	void before(const Site &site, std::uintptr_t caller);
	/* After a CPUID that QEMU has answered. */
	void after_cpuid();

	void finish();
	std::string statistics() const;

private:
	Place place(std::uint64_t pc, std::uint64_t cs);
	/* The top of the stack when a handler is about to run, and which of its words is an address; or nothing. */
	using Frame = std::array<std::uint64_t, 4>;
	Frame frame();
	static std::optional<unsigned> find_return(const Frame &frame, std::uint64_t address);
	Place interrupted(const Frame &words, std::uint64_t from, const BasicBlock *block);
	Cause cause(const Frame &words, std::uint64_t from);
	void put_return(std::uint64_t from, std::uint64_t to);
	void reach(const BasicBlock &block, std::uint64_t pc, std::uint64_t at) override { pt.reach(block, pc, at); }
	void straight(const BasicBlock &block, std::uint64_t pc, std::uint64_t end) override;
	void transfer(const Transfer &transfer) override;
	void interrupt(const Place &from, const Place &to) override;
	void address_space(std::uint64_t from) override;
	void arrive(const Place &here) override;

	std::uint64_t cr3() override { return registers[Reg::cr3]; }
	std::uint64_t cr2() override { return registers[Reg::cr2]; }
	bool interrupts_enabled() override { return registers[Reg::eflags] >> 9 & 1; }
	std::optional<std::uint8_t> vector_of(std::uint64_t handler) override;
	bool is_iret(std::uint64_t at) override;
	void topa_interrupt() override;
	void trace_bytes(std::span<const std::uint8_t> bytes) override;
	void filter_edge(std::uint64_t from, std::uint64_t to) override { truth.write(from, to); }
	void lost() override { truth.write(loss, 0); }
	void resumed() override { truth.write(loss, resumption); }
	void stopped() override { note_duty(); }

	void find_hot() { hot = static_cast<Hot *>(qemu_plugin_scoreboard_find(machine.score, index)); }
	static unsigned side(std::uint8_t level) { return level == 0 ? 0 : 1; }
	bool stores(std::uint8_t level) const { return bts.watches(level) || lbr.is_on(); }
	bool watches(std::uint8_t level) const { return pt.watches(level) || stores(level); }
	void watch(std::uint8_t level);
	void set_gate(unsigned side, bool watched);
	bool counts() const { return machine.instrumentation.load(std::memory_order_relaxed) & count_instrumentation; }
	unsigned needs_now() const;
	unsigned tracing_needs() const;
	void require(unsigned instrumentation, const Site &site);
	void review_needs();
	void store_branch(const Transfer &branch);
	void store_in_area(const Transfer &branch);
	void debugctl_changed();
	std::uint64_t skid();
	void performance_interrupt();
	void deliver() { (apic.performance_interrupt() ? counted.pmi : counted.pmi_masked)++; }
	/* Counting */
	std::uint64_t total(x86::Event event, bool kernel) override;
	void uncount(const BasicBlock &block, std::size_t from);
	void uncount_fault(Cause cause, std::uint64_t from);
	void collect();
	void pass_time();
	void rearm();
	void inject();
	std::uint64_t until_injection() const;
	void settle();

	[[noreturn]] void leave_for(std::uint64_t pc);
	/* Ends the block behind an instruction that was carried out. */
	[[noreturn]] void skip(const Site &site)
	{
		uncount(*site.block, site.index + 1);
		jump_behind(site);
	}
	[[noreturn]] void jump_behind(const Site &site)
	{
		hot->position = 0;
		leave_for(block_pc + site.offset + site.size);
	}
	void cpuid(const Site &site);
	bool carry_out();
	void command(const Site &site);
	void tell_accesses(const Site &site);
	void tell_duty(const Site &site);
	void lidt(const Site &site);
	void take_over();
	void lose();
	bool open_logs();
	std::string log_path(const std::string &prefix, const char *kind) const;
	void note_duty();
	void rdmsr(const Site &site);
	void wrmsr(const Site &site);
	void rdtsc(const Site &site);
	void rdpmc(const Site &site);
	void ptwrite(const Site &site);
	/* May TraceEn not be set beside this value of IA32_DEBUGCTL? */
	bool excludes(std::uint64_t debugctl) const
	{
		return !profile.trace_beside_branches && x86::Bts::tells_branches(debugctl);
	}
	void write_pt(std::uint32_t msr, std::uint64_t value, std::uint64_t at);
	void mov_to_cr4(const Site &site);
	void vmxon(const Site &site);
	void vmxoff(const Site &site);
	void end(x86::Vmx::End how, const Site &site);
	std::optional<x86::MemoryOperand> operand_at(std::uint64_t pc);
	bool read_operand(const Site &site, std::span<std::uint8_t> to);
	void fault(Reg operand, std::uint64_t refused);
	void fault_msr();
	[[noreturn]] void refuse(const Site &site);
	void set_edx_eax(std::uint64_t value);

	const unsigned index;
	Machine &machine;
	const x86::Profile &profile = machine.cores->of(index);
	/* What the machine's control said last. */
	unsigned version = machine.control->version();
	x86::Settings settings = machine.control->settings();
	CpuRegisters registers;
	CpuMemory memory;
	x86::LocalApic apic{memory};
	x86::Perfmon perfmon{profile, *this, machine.hardware.pt};
	std::minstd_rand random{machine.seed * 64 + index};
	x86::pt::PtUnit pt{
		profile, *machine.clock, memory, *this, settings.faults, settings.rules, machine.seed * 64 + index};
	x86::Bts bts{memory,
		{.store = machine.hardware.bts,
			.counters = machine.hardware.pmu,
			.freezes = machine.hardware.pmu && profile.pmu.freezes(),
			.records = !profile.lbr.architectural()},
		settings.rules};
	x86::Lbr lbr{profile, machine.hardware.pmu};
	x86::Vmx vmx{profile};
	bool stores_branches = false; /* BTS or LBRs are on */
	FlowTracker tracker{*this};
	unsigned unseen = 0; /* arrivals that the trace unit was not told of */
	TruthWriter truth;
	TruthWriter bts_truth;
	TruthWriter blocks;
	std::unique_ptr<std::FILE, int (*)(std::FILE *)> raw{nullptr, std::fclose};
	/* When trace last went to memory; told at the end. */
	std::chrono::steady_clock::time_point newest_output;

	Hot *hot = nullptr; /* ours */
	/* By level, kernel first: the word of Hot when nothing has been counted since collect(), and the count that is due. */
	struct Gate {
		std::uint64_t base = 0, due = 0;
		bool watched = false;
	} gates[2];
	std::uint64_t allowance = 0; /* instructions of a level that may pass unseen */
	std::atomic<unsigned> needed{no_instrumentation};

	BasicBlock kept; /* the one it was in when all were freed */

	/* What has happened at the levels, kernel first; the gates hold what came later. */
	struct Totals {
		std::uint64_t instructions = 0, branches = 0, cycles = 0, wakeups = 0;
	} totals[2];
	/* User instructions that the counters saw while programs were traced, and while their branches were stored; the first before this log. */
	x86::WhileOn traced, stored;
	std::uint64_t traced_before = 0;
	std::uint64_t cycles_at = 0;       /* time up to which cycles are in the totals */
	std::uint64_t cycle_share[2] = {}; /* instructions when cycles were last divided up */

	bool to_lose = false; /* a loss that was announced has still to come */

	/* Faults: totals of instructions at which something is due. */
	std::uint64_t late_at = 0;
	std::uint64_t doubled_at = 0;
	std::uint64_t spurious_at = 0;

	std::uint64_t block_pc = 0;
	std::uintptr_t left_at = 0; /* where QEMU's code called us */
	std::uint64_t tsc_aux = 0;
	std::uint64_t idt = 0; /* linear address; the interface does not show it */
	std::uint32_t cpuid_leaf = 0, cpuid_subleaf = 0;
	/* A register that is not the guest's until a fault is delivered, and what it is to be then. */
	std::optional<std::pair<Reg, std::uint64_t>> faulting;
	bool announced = false;               /* an exception, until it is delivered */
	std::optional<std::uint64_t> refused; /* an RDPMC or VMXON, until its fault is delivered */

	struct {
		std::uint64_t pmi_asked = 0, pmi = 0, pmi_masked = 0, pmi_doubled = 0, taken_back = 0, faults = 0,
			      discontinuities = 0, strange_frames = 0, msr_reads = 0, msr_writes = 0;
	} counted;
};

} // namespace hwsim::qemu

#endif
