/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Arm64Vcpu: one arm64 processor with its trace unit and trace buffer. It passes the flow that the tracker reconstructs on to the trace
 * unit (vcpu.cc), and carries out in QEMU's place the instructions that access the trace hardware (instructions.cc).
 *
 * The kernel runs at EL1, or at EL2 if there is one: as a host (HCR_EL2.E2H and TGE), where accesses to registers of EL1 reach those of
 * EL2. Programs run at EL0. What runs at EL1 of a processor with EL2, a guest, is not traced.
 */
#ifndef HWSIM_QEMU_ARM64_VCPU_H
#define HWSIM_QEMU_ARM64_VCPU_H

#include "../../arm64/a64_classify.h"
#include "../../arm64/system_access.h"
#include "../../arm64/trace_unit.h"
#include "../../arm64/trbe.h"
#include "../vcpu.h"
#include "machine.h"
#include "registers.h"

namespace hwsim::qemu
{

class Arm64Vcpu final : public TracedVcpu<Arm64Vcpu, arm64::TraceUnit>, arm64::TraceProcessor, arm64::TrbeProcessor
{
public:
	struct Instruction : arm64::Instruction {
		arm64::SystemAccess access;
	};
	/* The place of an instruction that the plugin carries out. */
	struct Site : qemu::Site {
		Instruction instruction;
	};
	static constexpr std::uint8_t program_level = 0;
	static constexpr std::uint8_t side_of(std::uint8_t level) { return level == program_level; }

	Arm64Vcpu(unsigned index, Arm64Machine &machine);

	const std::uint8_t kernel_level;

	const char *init() override;

	/* Exception level and execution state of the code about to run, for the translator. */
	Place state();
	std::uint32_t operand_size(std::uint64_t, std::uint32_t read) { return read; }

	void discontinuity(std::uint64_t from, std::uint64_t to) override;
	void idle() override;
	void resume() override {}

	/*
	 * Called before an instruction. If it has carried the instruction out, it does not return but continues at the next one. "caller"
	 * is the return address of the callback.
	 */
	void before(const Site &site, std::uintptr_t caller);
	/* To be called when the vCPU's first block is being translated. */
	void begin();
	bool has_begun() const { return begun; }
	/* Called after a memory access of kernel code, which may be to a memory-mapped register. */
	void access(qemu_plugin_meminfo_t info, std::uint64_t physical);

	void finish() override;
	std::string statistics() const override;

private:
	/* Called by TracedVcpu */
	friend TracedVcpu;
	std::uint64_t read_pc() { return registers[Reg::pc]; }
	arm64::TraceUnit &trace_unit() { return unit; }
	Witness<arm64::TraceUnit> &truth_witness() { return witness; }
	bool is_plain() const { return unit.is_plain(); }
	void pass(const BasicBlock &) {}
	void unwatch() {}
	bool watches(std::uint8_t level) const { return unit.watches(level); }
	/* There are no counters to settle. */
	void settle() {}

	/* The flow */
	void straight(const BasicBlock &block, std::uint64_t pc, std::uint64_t end) override;
	void transfer(const Transfer &transfer) override;
	void interrupt(const Place &from, const Place &to) override { witness.interrupt(from, to); }
	void address_space(std::uint64_t) override {}
	void barrier(std::uint64_t at, const Place &next) override { witness.barrier(at, next); }
	void arrive(const Place &here) override { witness.arrive(here); }

	/* Called by the trace unit and the trace buffer */
	std::uint32_t context_id() override { return static_cast<std::uint32_t>(registers[Reg::contextidr_el1]); }
	std::uint32_t virtual_context_id() override
	{
		return static_cast<std::uint32_t>(registers[Reg::contextidr_el2]);
	}
	arm64::etm::Exception exception_type(std::uint64_t handler) override;
	void trace_bytes(std::span<const std::uint8_t> bytes) override;
	void begins(std::uint64_t at) override { witness.filter_edge(0, at); }
	void lost() override;
	void resumed() override { witness.resumed(); }
	std::optional<std::uint64_t> translate(std::uint64_t address) override { return memory.translate(address); }
	void maintenance_interrupt(bool asserted) override;

	/* A register that the kernel's exception level has. */
	std::uint64_t of_kernel(Reg at_el1, Reg at_el2) const { return registers[kernel_level == 2 ? at_el2 : at_el1]; }
	std::uint64_t syndrome() const { return of_kernel(Reg::esr_el1, Reg::esr_el2); }

	/* Instructions */
	void system_access(const Site &site);
	bool has(std::uint16_t reg) const;
	std::optional<std::uint64_t> read_register(std::uint16_t reg);
	bool write_register(std::uint16_t reg, std::uint64_t value);
	void store(qemu_plugin_meminfo_t info, std::uint64_t physical);
	void store_to_page(std::uint64_t physical, std::uint64_t value, unsigned bytes);
	/* Before a write that may switch the trace unit on or off: look(); after it: follow_write(). */
	struct Before {
		bool enabled, at_target;
		std::uint64_t told;
	};
	Before look() const { return {unit.enabled(), unit.at_target(), unit.last_told()}; }
	void follow_write(const Before &was, std::uint8_t level);
	bool carry_out(const Site &site);
	void lose_context();
	void command(const Site &site);
	void synchronize_trace(std::uint8_t level);
	void set_interrupt(bool asserted);

	/* Applies settings, and derives the instrumentation needed from registers */
	void take_over();
	void review_needs() { set_needs(unit.is_switched_on() ? flow_instrumentation : no_instrumentation); }

	Arm64Machine &whole;
	arm64::Control &control;
	/* The machine's settings as this vCPU last adopted them. */
	unsigned version = control.version();
	arm64::Settings settings = control.settings();
	Arm64Registers registers;
	const arm64::TrbeErrata errata;
	arm64::Trbe trbe{memory, *this, settings.faults, errata};
	/* CNTVCT, the counter of the guest's timers. */
	struct VirtualCounter final : arm64::Clock {
		std::uint64_t period_ns = 1;
		std::uint64_t counter() override;
	} virtual_counter;
	/* This processor's nodes in the topology. */
	struct Parts {
		const arm64::Topology::Node *ete, *trbe, *etm;
		bool has_system_registers() const { return ete || (etm && !etm->memory); }
		bool has_page() const { return etm && etm->memory; }
	} parts;
	arm64::AtbPort port;
	arm64::TraceUnit unit;
	std::optional<arm64::EtmPage> page;
	Witness<arm64::TraceUnit> witness{unit, logs.truth};
	/* TRFCR_EL1 of a processor with EL2, which a host has as TRFCR_EL12: without guests it changes nothing. */
	std::uint64_t filter_control_of_guests = 0;
	/* Fault: the interrupt that is asserted waits until trace is lost. */
	bool late_interrupt = false;
	std::uint64_t writes = 0;  /* of the trace unit; counted while interrupts are to be spurious */
	bool synchronized = false; /* the last of our instructions was a TSB CSYNC */
	bool begun = false;
	std::uint64_t interrupted_at = 0; /* preferred return address of the exception being reported to the tracker */

	struct {
		std::uint64_t accesses = 0, refused = 0, discontinuities = 0, interrupts = 0, interrupts_lost = 0,
			      interrupts_late = 0, interrupts_spurious = 0, contexts_lost = 0;
	} counted;
};

} // namespace hwsim::qemu

#endif
