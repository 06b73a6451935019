/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * BasicBlockWalk: checks that the instructions that a decoder found are those of the basic blocks that the machine executed. The log of blocks
 * comes from the emulator itself, one record as each begins; neither flow tracker nor trace unit has a part in it.
 */
#ifndef HWSIM_BASE_BASIC_BLOCK_WALK_H
#define HWSIM_BASE_BASIC_BLOCK_WALK_H

#include <algorithm>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "truth.h"

namespace hwsim
{

/*
 * A fault leaves a block before its end, or before its first instruction, and what comes next begins where it was left; an interrupt comes
 * between blocks, and the log does not show it. So log and trace can agree in several ways, of which more than one may last for a while:
 * threads may leave at the same instruction, and a loop may begin inside the block that leads to it. All of these are followed.
 */
class BasicBlockWalk
{
public:
	/* A record has the address of a block in "from" and its length in "to". */
	explicit BasicBlockWalk(std::span<const Step> executed) : blocks(executed) {}

	/*
	 * The next instruction of the trace. It has to go on in the current block or begin the next one; false from the first one on that does
	 * neither.
	 */
	bool step(std::uint64_t ip, std::uint8_t size)
	{
		instructions++;
		if (ways.size() != 1 || !goes_on(ways[0], ip) || begins(ways[0], ip)) {
			std::vector<Way> before = std::exchange(ways, {});
			take(before, ip);
			if (ways.empty()) {
				for (Way &way : before)
					way.at = behind_restarts(way, ip);
				take(before, ip);
			}
			if (ways.empty())
				differ(before.front().at, ip, size);
		}
		next = ip + size;
		return !differences;
	}
	/*
	 * The trace ends, for now, before the instruction at "ip": it faults, or there is an interrupt. The block that was to begin there may
	 * have been logged. The trace may resume at another address: another thread comes, or this one was elsewhere in between.
	 */
	void leave(std::uint64_t ip)
	{
		for (const Way &way : std::exchange(ways, {})) {
			for (const std::size_t at : {way.at, behind_restarts({way.at, way.start + 1, way.end})}) {
				add({at, next, next});
				if (at < blocks.size() && blocks[at].from == ip)
					add({at + 1, next, next});
			}
		}
	}
	/* Number of blocks at the end of the log that the trace did not reach. */
	std::size_t left() const
	{
		std::size_t least = blocks.size();
		for (const Way &way : ways)
			least = std::min(least, blocks.size() - behind_restarts(way));
		return least;
	}

	std::uint64_t instructions = 0, differences = 0, first = 0;

private:
	/* A way in which log and trace agree so far: the next record of the log, and the current block. */
	struct Way {
		std::size_t at;
		std::uint64_t start, end;
		bool operator==(const Way &) const = default;
	};

	static std::uint64_t ends(const Step &block) { return block.from + block.to; }
	bool goes_on(const Way &way, std::uint64_t ip) const { return ip == next && next != way.end; }
	/* Does the next block of the log begin here, and is not the rest of the current one, begun again after a fault? */
	bool begins(const Way &way, std::uint64_t ip) const
	{
		return way.at < blocks.size() && blocks[way.at].from == ip &&
		       (next == way.end || (ip == next && ends(blocks[way.at]) != way.end));
	}
	Way begun(std::size_t at) const { return {at + 1, blocks[at].from, ends(blocks[at])}; }
	void add(const Way &way)
	{
		if (std::ranges::find(ways, way) == ways.end())
			ways.push_back(way);
	}
	/* Adds the ways that go on with an instruction. */
	void take(std::span<const Way> before, std::uint64_t ip)
	{
		for (const Way &way : before) {
			if (goes_on(way, ip))
				add(way);
			if (begins(way, ip))
				add(begun(way.at));
		}
	}
	/*
	 * The log's next record behind those of the current block that was begun again after a fault that the trace does not show, or the first
	 * of these that begins here.
	 */
	std::size_t behind_restarts(const Way &way, std::uint64_t ip = 0) const
	{
		std::size_t at = way.at;
		while (at < blocks.size() && blocks[at].from != ip && blocks[at].from >= way.start &&
			ends(blocks[at]) == way.end)
			at++;
		return at;
	}
	/* Goes on at the next block that begins here, as a decoder does at its next PSB. */
	void differ(std::size_t at, std::uint64_t ip, std::uint8_t size)
	{
		if (!differences++)
			first = ip;
		while (at < blocks.size() && ip != blocks[at].from)
			at++;
		ways.push_back(at < blocks.size() ? begun(at) : Way{at, ip, ip + size});
	}

	std::span<const Step> blocks;
	std::vector<Way> ways = {{0, 0, 0}};
	std::uint64_t next = 0;
};

} // namespace hwsim

#endif
