/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Topology: which CoreSight components a machine has, and where the trace of each goes: read from a text of which the device tree of the guest
 * is made, too (selftests/hwsim/device-tree).
 *
 * A line is a component: its name, its kind, and words about it. Blank lines, and what follows "#" and a blank, are comments.
 *
 *   ete NAME cpu=N              a trace unit with a trace buffer
 *   trbe NAME cpu=N             such a buffer
 *   etm NAME cpu=N [memory]     a trace unit by system registers, or in memory
 *   funnel NAME
 *   replicator NAME
 *   etf NAME, etb NAME          a TMC with a RAM
 *   etr NAME [scatter-gather] [save-restore]
 *   catu NAME                   in front of an ETR
 *
 * "out=NAME[:PORT]" is where its trace goes; without a port to the next input that nothing leads to. A line with "each" is one for each
 * processor, with its number for each "@", and as its "cpu=" where there has to be one.
 * Components that are in memory follow each other there, a page for each, in the order of lines.
 */
#ifndef HWSIM_ARM64_TOPOLOGY_H
#define HWSIM_ARM64_TOPOLOGY_H

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace hwsim::arm64
{

struct Topology {
	enum class Kind : std::uint8_t { ete, trbe, etm, funnel, replicator, etf, etb, etr, catu };
	struct Output {
		std::size_t node;
		unsigned port; /* of that */
	};
	struct Node {
		std::string name;
		Kind kind;
		std::optional<unsigned> cpu;
		bool memory = false, scatter_gather = false, save_restore = false;
		std::vector<Output> outputs;
		std::optional<unsigned> page; /* of its registers */
	};

	/* Throws a sentence about what it does not understand. */
	static Topology read(std::string_view text, unsigned cpus);

	/* Of a processor; null if it has none. */
	const Node *of_cpu(Kind kind, unsigned cpu) const;
	unsigned pages() const;

	std::vector<Node> nodes;
};

} // namespace hwsim::arm64

#endif
