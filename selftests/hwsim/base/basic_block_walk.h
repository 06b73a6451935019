/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * BasicBlockWalk: are the instructions that a decoder found those of the basic blocks that the machine has executed? The log of blocks
 * comes from the emulator itself, one record as each begins; neither flow tracker nor trace unit has a part in it.
 */
#ifndef HWSIM_BASE_BASIC_BLOCK_WALK_H
#define HWSIM_BASE_BASIC_BLOCK_WALK_H

#include <cstdint>
#include <optional>
#include <span>

#include "truth.h"

namespace hwsim
{

class BasicBlockWalk
{
public:
	/* A record is where a block began and its length. */
	explicit BasicBlockWalk(std::span<const Step> executed) : blocks(executed) {}

	/*
	 * The next instruction of the trace. False if the machine has not executed it at this place: it neither goes on in the
	 * present block nor begins the next one. A block may be left before its end, by a fault, if the next begins where it was
	 * left. One that ends where the present one does need not be that: a loop may begin inside of the block that leads to it,
	 * so which it was is seen at the end of the block only.
	 */
	bool step(std::uint64_t ip, std::uint8_t size)
	{
		instructions++;
		if (left_at && ip != *left_at)
			abandon(ip);
		left_at.reset();
		const bool inside = ip == next && next != end;
		if (!inside)
			drop_restarts(ip);
		const bool begins = at < blocks.size() && ip == blocks[at].from && (inside || next == end);
		if (begins && !(inside && ends(blocks[at]) == end)) {
			begin();
		} else if (!inside) {
			if (!differences++)
				first = ip;
			/* To be found again, as a decoder is at its next PSB. */
			while (at < blocks.size() && ip != blocks[at].from)
				at++;
			if (at < blocks.size()) {
				begin();
			} else {
				start = ip;
				end = ip + size;
			}
		}
		next = ip + size;
		return !differences;
	}
	/*
	 * The trace ends, for now, in front of the instruction at this place: a fault of it, or an interrupt. Where it goes on elsewhere
	 * the program has gone on on another processor.
	 */
	void leave(std::uint64_t ip) { left_at = ip; }
	/* Blocks of which the trace has nothing, at the end. */
	std::size_t left() const
	{
		BasicBlockWalk rest = *this;
		if (left_at)
			rest.abandon(0);
		rest.drop_restarts(0);
		return blocks.size() - rest.at;
	}

	std::uint64_t instructions = 0, differences = 0, first = 0;

private:
	static std::uint64_t ends(const Step &block) { return block.from + block.to; }
	void begin()
	{
		start = blocks[at].from;
		end = ends(blocks[at]);
		at++;
	}
	/* What went on behind a fault in the block that has just ended. */
	void drop_restarts(std::uint64_t ip)
	{
		while (at < blocks.size() && ip != blocks[at].from && blocks[at].from >= start &&
			ends(blocks[at]) == end)
			at++;
	}

	/*
	 * The trace goes on at "ip" instead. A block that was left ends there, what was begun anew of it, too; and one that begins there has, but
	 * nothing of it was done. A system call that is begun anew, for a signal, is a block of its own, and not what is left of the one before.
	 */
	void abandon(std::uint64_t ip)
	{
		while (at < blocks.size() && blocks[at].from != ip && blocks[at].from >= start &&
			blocks[at].from < *left_at && ends(blocks[at]) == end)
			at++;
		while (at < blocks.size() && blocks[at].from == *left_at)
			at++;
		end = next;
	}

	std::span<const Step> blocks;
	std::optional<std::uint64_t> left_at;
	std::size_t at = 0;
	std::uint64_t next = 0, start = 0, end = 0;
};

} // namespace hwsim

#endif
