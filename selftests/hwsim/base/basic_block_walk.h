/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * BasicBlockWalk: checks that the instructions that a decoder found are those of the basic blocks that the machine executed. The log of blocks
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
	/* A record has the address of a block in "from" and its length in "to". */
	explicit BasicBlockWalk(std::span<const Step> executed) : blocks(executed) {}

	/*
	 * The next instruction of the trace. It has to go on in the current block or begin the next one; false from the first one on that does
	 * neither. A fault may leave a block before its end: then the next block of the log begins where it was left, and ends where the left
	 * block would have ended. But a loop that begins inside the block that leads to it looks the same, so only the end of the block shows
	 * which of the two it was.
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
			/* Go on at the next block that begins here, as a decoder does at its next PSB. */
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
	 * The trace ends, for now, before the instruction at "ip": it faults, or there is an interrupt. If the trace resumes at another
	 * address, the program has run on another processor in between.
	 */
	void leave(std::uint64_t ip) { left_at = ip; }
	/* Number of blocks at the end of the log that the trace did not reach. */
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
	/* Skip the log's records of the same block begun again after a fault. */
	void drop_restarts(std::uint64_t ip)
	{
		while (at < blocks.size() && ip != blocks[at].from && blocks[at].from >= start &&
			ends(blocks[at]) == end)
			at++;
	}

	/*
	 * The trace resumes at "ip" instead of where it was left. The current block ends there, and so do its parts that were begun again after
	 * a fault; a block that begins there was logged, but none of its instructions ran. A system call that the kernel restarts after a
	 * signal begins a block at "ip": that one is not part of the current block.
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
