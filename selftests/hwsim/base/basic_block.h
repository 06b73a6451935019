/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * BasicBlock, "block" for short: what is known of a translated basic block before it runs, which is where its instructions are and
 * how it can end. An architecture's classifier makes it once, at translation; the flow tracker reads it at every execution; it is
 * never changed in between.
 */
#ifndef HWSIM_BASE_BASIC_BLOCK_H
#define HWSIM_BASE_BASIC_BLOCK_H

#include <cstdint>
#include <vector>

namespace hwsim
{

/* How the last instruction of a block passes on control, in words of no single architecture: "far" is SYSCALL, IRET, ERET, ... */
enum class Branch : std::uint8_t {
	none,          /* falls through, or the block is left by an exception */
	conditional,   /* to the displacement, or through */
	jump,          /* to the displacement */
	call,          /* to the displacement; the next address is a return address */
	indirect_jump, /* anywhere */
	indirect_call,
	ret,
	far,                /* may change privilege and execution mode */
	software_interrupt, /* INT n: an exception to the machine, a far transfer to the program */
	address_space,      /* no branch: the root of the page tables changes */
	barrier,            /* no branch: writes to system registers take effect (ISB) */
};

/* Does this kind end in something other than the next instruction? */
constexpr bool is_branch(Branch kind)
{
	return kind != Branch::none && kind != Branch::address_space && kind != Branch::barrier;
}

struct BasicBlock {
	/* The address at translation. In another mapping of the same code only its page offset is right. */
	std::uint64_t address = 0;
	std::uint32_t length = 0;                       /* bytes */
	std::uint32_t last = 0;                         /* offset of the last instruction */
	std::int64_t displacement = 0;                  /* of a direct branch, from the end of the block */
	std::uint64_t address_mask = ~std::uint64_t{0}; /* of branch targets in this execution mode */
	Branch kind = Branch::none;
	std::uint8_t level = 0;          /* privilege level, as the architecture numbers them */
	std::uint8_t side = 0;           /* 0 for a level of the kernel, 1 for one of programs */
	std::uint8_t mode = 0;           /* execution mode, as the packets of the architecture code it */
	std::vector<std::uint8_t> sizes; /* of the instructions, bytes */
};

} // namespace hwsim

#endif
