/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The classifier: tells whether an x86 instruction is a branch, where to, and whether the virtual hardware has to carry it out.
 * Its caller knows the length of the instruction, and it decodes nothing else; one decoder serves 16, 32 and 64-bit code,
 * because a byte 0x40-0x4f in front of more bytes can only be REX (SDM volume 2, 2.2.1).
 */
#ifndef HWSIM_X86_CLASSIFY_H
#define HWSIM_X86_CLASSIFY_H

#include <cstdint>
#include <span>

#include "../base/basic_block.h"

namespace hwsim::x86
{

/* Instructions that read or write what the virtual hardware owns. */
enum class Special : std::uint8_t { none, cpuid, rdmsr, wrmsr, rdtsc, rdtscp, rdpmc, ptwrite, lidt, mov_to_cr4, vmxon, vmxoff };

struct Instruction {
	Branch kind = Branch::none;
	Special special = Special::none;
	std::int64_t displacement = 0;
	bool wide = false;        /* PTWRITE: 64-bit operand */
	bool in_memory = false;   /* PTWRITE, VMXON: the operand is not a register */
	std::uint8_t operand = 0; /* number of the register that is the operand */
};

Instruction classify(std::span<const std::uint8_t> bytes);

} // namespace hwsim::x86

#endif
