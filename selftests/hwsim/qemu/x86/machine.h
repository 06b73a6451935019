/* SPDX-License-Identifier: GPL-2.0-or-later */
/* X86Machine: what x86 vCPUs share: their profiles, the parts that are switched on, the clock, and the commands that they take. */
#ifndef HWSIM_QEMU_X86_MACHINE_H
#define HWSIM_QEMU_X86_MACHINE_H

#include <optional>

#include "../../x86/clock.h"
#include "../../x86/control.h"
#include "../../x86/cpuid.h"
#include "../machine.h"

namespace hwsim::qemu
{

class X86Machine final : public Machine
{
public:
	bool option(std::string_view name, std::string_view value) override;
	std::string_view option_names() const override { return "profile lip pt bts pmu"; }
	void begin(unsigned cpus) override;
	std::unique_ptr<Vcpu> make_vcpu(unsigned index) override;
	qemu_tb_trans_cb translator() const override;
	x86::Control &control() override { return commands; }
	std::uint64_t ticks_per_ns() const override { return cores.even.tsc_ticks_per_ns; }

	x86::Cores cores = x86::find_cores("skylake").value(); /* as changed by options */
	x86::Hardware hardware;
	/* From begin() on. */
	std::optional<x86::MonotonicClock> clock;

private:
	x86::Control commands;
	bool lip = false;
};

Machine *x86_machine();

} // namespace hwsim::qemu

#endif
