/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Basic blocks for tests, with instructions of two bytes each. */
#ifndef HWSIM_TEST_TWO_BYTE_BLOCK_H
#define HWSIM_TEST_TWO_BYTE_BLOCK_H

#include <cstdint>

#include "../base/basic_block.h"

namespace hwsim
{

inline BasicBlock two_byte_block(
	std::uint64_t address, unsigned instructions, Branch kind, std::int64_t displacement = 0)
{
	BasicBlock made;
	made.address = address;
	made.length = 2 * instructions;
	made.last = made.length - 2;
	made.displacement = displacement;
	made.kind = kind;
	made.sizes.assign(instructions, 2);
	return made;
}

} // namespace hwsim

#endif
