/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * BlockWalk: are the instructions that a decoder found those of the blocks that the machine has executed? The log of blocks comes from
 * the emulator itself, one record as each begins; neither flow tracker nor trace unit has a part in it.
 */
#ifndef HWSIM_BASE_BLOCK_WALK_H
#define HWSIM_BASE_BLOCK_WALK_H

#include <cstdint>
#include <span>

#include "truth.h"

namespace hwsim
{

class BlockWalk
{
public:
	/* A record is where a block began and its length. */
	explicit BlockWalk(std::span<const Step> executed) : blocks(executed) {}

	/*
	 * The next instruction of the trace. False if the machine has not executed it at this place: it neither goes on in the
	 * present block nor begins the next one. A block may be left before its end (by a fault) if the next begins where it was
	 * left.
	 */
	bool step(std::uint64_t ip, std::uint8_t size)
	{
		instructions++;
		if (at < blocks.size() && ip == blocks[at].from && (next == end || next == ip || !next)) {
			end = ip + blocks[at].to;
			at++;
		} else if (ip != next || next == end) {
			if (!differences++)
				first = ip;
			/* To be found again, as a decoder is at its next PSB. */
			while (at < blocks.size() && ip != blocks[at].from)
				at++;
			end = at < blocks.size() ? ip + blocks[at++].to : ip + size;
		}
		next = ip + size;
		return !differences;
	}
	/* Blocks of which the trace has nothing, at the end. */
	std::size_t left() const { return blocks.size() - at; }

	std::uint64_t instructions = 0, differences = 0, first = 0;

private:
	std::span<const Step> blocks;
	std::size_t at = 0;
	std::uint64_t next = 0, end = 0;
};

} // namespace hwsim

#endif
