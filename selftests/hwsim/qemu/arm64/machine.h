/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Arm64Machine: the state that arm64 vCPUs share: the topology of the trace hardware, the components that belong to no single processor,
 * and the commands.
 */
#ifndef HWSIM_QEMU_ARM64_MACHINE_H
#define HWSIM_QEMU_ARM64_MACHINE_H

#include <optional>

#include "../../arm64/control.h"
#include "../../arm64/coresight.h"
#include "../../arm64/trbe_errata.h"
#include "../machine.h"
#include "register_window.h"
#include "shared_interrupts.h"

namespace hwsim::qemu
{

class Arm64Machine final : public Machine
{
public:
	bool option(std::string_view name, std::string_view value) override;
	std::string_view option_names() const override { return "profile registers everywhere"; }
	void begin(unsigned cpus) override;
	std::unique_ptr<Vcpu> make_vcpu(unsigned index) override;
	qemu_tb_trans_cb translator() const override;
	arm64::Control &control() override { return commands; }
	bool wants_discontinuities() const override { return instrumentation; }
	std::uint64_t ticks_per_ns() const override { return 1; }
	std::string statistics() const override;

	/* Valid once begin() has been called. */
	arm64::Coresight &coresight() { return *shared; }
	RegisterWindow &registers() { return *window; }
	/* Of all processors' trace buffers. */
	arm64::TrbeErrata errata() const { return arm64::TrbeErrata::of(shared->topology.midr.value_or(0)); }
	SharedInterrupts &interrupts() { return shared_interrupts; }
	/* May code at this address belong to a kernel driver that accesses memory-mapped registers? */
	bool may_be_driver(std::uint64_t address) const;
	/* A command has changed the faults of shared components. */
	void take_over(const arm64::Faults &faults);

private:
	arm64::Control commands;
	std::string profile; /* name of the topology file */
	std::uint64_t registers_at = 0;
	bool everywhere = false;
	CpuMemory memory; /* for shared components, under the lock of Coresight */
	SharedInterrupts shared_interrupts;
	std::optional<arm64::Coresight> shared;
	std::optional<RegisterWindow> window;
};

Machine *arm64_machine();

} // namespace hwsim::qemu

#endif
