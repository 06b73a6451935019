/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Arm64Machine: what arm64 vCPUs share: the parts that are switched on, and the commands that they take. */
#ifndef HWSIM_QEMU_ARM64_MACHINE_H
#define HWSIM_QEMU_ARM64_MACHINE_H

#include "../../arm64/control.h"
#include "../../arm64/etm_registers.h"
#include "../machine.h"

namespace hwsim::qemu
{

class Arm64Machine final : public Machine
{
public:
	bool option(std::string_view name, std::string_view value) override;
	std::string_view option_names() const override { return "ete trbe"; }
	void begin() override;
	std::unique_ptr<Vcpu> make_vcpu(unsigned index) override;
	qemu_tb_trans_cb translator() const override;
	arm64::Control &control() override { return commands; }
	std::uint64_t ticks_per_ns() const override { return 1; }

	/* What the processors have. */
	bool ete = true, trbe = true;
	arm64::etm::Features features;

private:
	arm64::Control commands;
};

Machine *arm64_machine();

} // namespace hwsim::qemu

#endif
