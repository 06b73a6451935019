/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * X86Vcpu: one x86 processor with its trace unit, branch trace store, branch records, counters and APIC: passes on to them what the flow
 * tracker finds out (vcpu.cc), and carries out in QEMU's place the instructions that access them (instructions.cc, msr.cc).
 */
#ifndef HWSIM_QEMU_X86_VCPU_H
#define HWSIM_QEMU_X86_VCPU_H

#include <optional>
#include <utility>

#include "../../base/while_on.h"
#include "../../x86/bts.h"
#include "../../x86/classify.h"
#include "../../x86/idt.h"
#include "../../x86/lbr.h"
#include "../../x86/local_apic.h"
#include "../../x86/operand.h"
#include "../../x86/perfmon.h"
#include "../../x86/pt_unit.h"
#include "../../x86/stack_frame.h"
#include "../../x86/vmx.h"
#include "../vcpu.h"
#include "machine.h"
#include "registers.h"

namespace hwsim::qemu
{

class X86Vcpu final : public TracedVcpu<X86Vcpu, x86::pt::PtUnit>, x86::pt::Processor, x86::EventSource
{
public:
	using Instruction = x86::Instruction;
	/* An instruction that we carry out. */
	struct Site : qemu::Site {
		Instruction instruction;
	};
	static constexpr std::uint8_t kernel_level = 0, program_level = 3;
	static constexpr std::uint8_t side_of(std::uint8_t level) { return level != kernel_level; }

	X86Vcpu(unsigned index, X86Machine &machine);
	const char *init() override;

	/* Privilege level and execution mode of what is about to run, for the translator. */
	Place state();
	/* The whole length of PTWRITE or VMXON with a memory operand: QEMU does not know them, and has read only a part. */
	std::uint32_t operand_size(std::uint64_t address, std::uint32_t read);

	void discontinuity(std::uint64_t from, std::uint64_t to) override;
	/*
	 * The instruction at the reset vector runs. If this is a reset, the other processors learn of it when they next look at the settings.
	 */
	void at_reset_vector();
	void idle() override;
	void resume() override;

	/*
	 * Called before an instruction. Does not return if it has carried the instruction out, but continues behind it. "caller": the return
	 * address of the callback.
	 */
	void before(const Site &site, std::uintptr_t caller);
	/* After a CPUID that QEMU has answered. */
	void after_cpuid();

	void finish() override;
	std::string statistics() const override;

private:
	/* For blocks that are traced */
	friend TracedVcpu;
	std::uint64_t read_pc() { return registers[Reg::rip]; }
	x86::pt::PtUnit &trace_unit() { return pt; }
	Witness<x86::pt::PtUnit> &truth_witness() { return witness; }
	bool is_plain() const { return pt.is_plain() && !looks_at_all; }
	void pass(const BasicBlock &block)
	{
		if (injector.is_put_off() && injector.pass(block.sizes.size()))
			come_late();
	}
	void unwatch()
	{
		if (injector.is_put_off() && injector.cut_short())
			come_late();
	}
	bool stores(std::uint8_t level) const { return bts.watches(level) || lbr.is_on(); }
	bool watches(std::uint8_t level) const { return pt.watches(level) || stores(level); }
	void settle();

	/* The flow */
	void reach(const BasicBlock &block, std::uint64_t pc, std::uint64_t at) override { pt.reach(block, pc, at); }
	void straight(const BasicBlock &block, std::uint64_t pc, std::uint64_t end) override;
	void transfer(const Transfer &transfer) override;
	void interrupt(const Place &from, const Place &to) override;
	void address_space(std::uint64_t from) override { witness.address_space(from); }
	void arrive(const Place &here) override { witness.arrive(here); }
	void store_branch(const Transfer &branch);
	void store_in_area(const Transfer &branch);

	/* Where it is */
	Place place(std::uint64_t pc, std::uint64_t cs);
	x86::StackFrame frame() { return {memory, registers[Reg::rsp]}; }
	Place interrupted(const x86::StackFrame &frame, std::uint64_t from, const BasicBlock *block);
	std::uint64_t put_right(std::uint64_t from);

	/* Called by the trace unit and the counters */
	std::uint64_t cr3() override { return registers[Reg::cr3]; }
	std::uint64_t cr2() override { return registers[Reg::cr2]; }
	bool interrupts_enabled() override { return registers[Reg::eflags] >> 9 & 1; }
	std::optional<std::uint8_t> vector_of(std::uint64_t handler) override { return idt.vector_of(handler); }
	bool is_iret(std::uint64_t at) override;
	void topa_interrupt() override;
	void trace_bytes(std::span<const std::uint8_t> bytes) override;
	void filter_edge(std::uint64_t from, std::uint64_t to) override { witness.filter_edge(from, to); }
	void lost() override { witness.lost(); }
	void resumed() override { witness.resumed(); }
	void stopped() override { note_duty(); }
	std::uint64_t total(x86::Event event, bool kernel) override;

	/* Settings, and what follows from them and from registers */
	bool open_logs();
	void take_over();
	void reset();
	void lose();
	void debugctl_changed();
	void note_duty();
	unsigned needs_now() const;
	unsigned tracing_needs() const;
	void review_needs() { set_needs(needs_now()); }

	/* Counters and their interrupts */
	void collect() { counter.collect(clock.tsc()); }
	void rearm();
	void performance_interrupt();
	void deliver() { (apic.performance_interrupt() ? counted.pmi : counted.pmi_masked)++; }
	void come_late();
	void inject();

	/* Instructions */
	void cpuid(const Site &site);
	bool carry_out();
	void command(const Site &site);
	void tell_accesses(const Site &site);
	void tell_duty(const Site &site);
	void lidt(const Site &site);
	void rdtsc(const Site &site);
	void rdpmc(const Site &site);
	void ptwrite(const Site &site);
	void mov_to_cr4(const Site &site);
	void vmxon(const Site &site);
	void vmxoff(const Site &site);
	void end(x86::Vmx::End how, const Site &site);
	bool read_operand(const Site &site, std::span<std::uint8_t> to);
	void set_edx_eax(std::uint64_t value);

	/* Model-specific registers: false if a write is refused */
	void rdmsr(const Site &site);
	void wrmsr(const Site &site);
	bool write_trace_msr(std::uint32_t msr, std::uint64_t value, const Site &site);
	bool write_counter_msr(std::uint32_t msr, std::uint64_t value, const Site &site);
	bool write_debug_msr(std::uint32_t msr, std::uint64_t value, const Site &site);
	bool write_record_msr(std::uint32_t msr, std::uint64_t value, const Site &site);
	bool write_vmx_msr(std::uint32_t msr, std::uint64_t value);
	void write_pt(std::uint32_t msr, std::uint64_t value, std::uint64_t at);
	/* Does this value of IA32_DEBUGCTL exclude TraceEn? */
	bool excludes(std::uint64_t debugctl) const
	{
		return !profile.trace_beside_branches && x86::Bts::tells_branches(debugctl);
	}

	/* Faults */
	void fault(Reg operand, std::uint64_t that_faults);
	void fault_msr();
	[[noreturn]] void refuse(const Site &site);

	const x86::Hardware &hardware;
	x86::Control &control;
	x86::Clock &clock;
	const x86::Profile &profile;
	/* The machine's settings, as this vCPU adopted them last. */
	unsigned version = control.version();
	x86::Settings settings = control.settings();
	X86Registers registers;
	x86::LocalApic apic{memory};
	x86::Perfmon perfmon{profile, *this, hardware.pt};
	Injector injector{machine.seed * 64 + index};
	x86::pt::PtUnit pt{profile, clock, memory, *this, settings.faults, settings.rules, machine.seed * 64 + index};
	Witness<x86::pt::PtUnit> witness{pt, logs.truth};
	x86::Bts bts{memory,
		{.store = hardware.bts,
			.counters = hardware.pmu,
			.freezes = hardware.pmu && profile.pmu.freezes(),
			.records = !profile.lbr.architectural()},
		settings.rules};
	TruthWriter bts_truth;
	x86::Lbr lbr{profile, hardware.pmu};
	x86::Vmx vmx{profile};
	x86::Idt idt{memory};         /* its address is known from LIDT: the interface does not show it */
	bool stores_branches = false; /* BTS or LBRs are on */
	bool looks_at_all = false;    /* or an interrupt was put off: FlowTracker::step() tells too little */
	bool to_lose = false;         /* an announced loss has still to come */
	std::uint64_t asleep_from = 0;
	std::optional<std::uint64_t> slept; /* ticks of the TSC, until the interrupt that ends the sleep is delivered */

	/*
	 * User instructions that were counted while programs were traced, and while their branches were stored; and the former up to where this
	 * log begins.
	 */
	WhileOn traced, stored;
	std::uint64_t traced_before = 0;

	std::uint64_t tsc_aux = 0;
	std::uint32_t cpuid_leaf = 0, cpuid_subleaf = 0;
	/* A register that has another value until a fault is delivered, and the guest's value, which it gets back then. */
	std::optional<std::pair<Reg, std::uint64_t>> faulting;
	bool announced = false;               /* an exception was announced, and is not delivered yet */
	std::optional<std::uint64_t> refused; /* address of an RDPMC or VMXON, until its fault is delivered */

	struct {
		std::uint64_t pmi = 0, pmi_masked = 0, pmi_doubled = 0, faults = 0, discontinuities = 0,
			      strange_frames = 0, msr_reads = 0, msr_writes = 0;
	} counted;
};

} // namespace hwsim::qemu

#endif
