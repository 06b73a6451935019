/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Topology: which CoreSight components a machine has, and where the trace of each goes. It is read from a text from which the guest's
 * device tree is also generated (selftests/hwsim/device-tree).
 *
 * Each line describes a component: its kind, its name, and its properties. Blank lines are ignored, and so is the rest of a line from "#"
 * on.
 *
 *   ete NAME cpu=N              a trace unit with a trace buffer
 *   trbe NAME cpu=N             a trace buffer
 *   etm NAME cpu=N [memory]     a trace unit accessed by system registers, or memory-mapped
 *                               "skip-power-up" (memory-mapped): TRCPDCR.PU must not be set, as on processors whose watchdog it stops
 *                               "loses-context", for either: its processor is powered down when it is idle, and its registers with it
 *   funnel NAME
 *   replicator NAME
 *   etf NAME, etb NAME          a TMC with a RAM
 *   etr NAME [scatter-gather] [save-restore]
 *                               "interrupt", for any TMC: its FULL output is an interrupt
 *   catu NAME                   in front of an ETR
 *   processors [el2] [midr=N]   the processors have EL2, where the kernel runs as a host; they say of themselves MIDR_EL1, and have the errata
 *                               of that (TrbeErrata)
 *
 * "out=NAME[:PORT]" names the component that receives its trace; without a port, the first free input is used. A line with "each" stands
 * for one line per processor, in which "@" is replaced by the processor's number; "cpu=" is added where the kind requires it.
 * Memory-mapped components have one page each, in the order of their lines.
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
		unsigned port; /* input port of that node */
	};
	struct Node {
		std::string name;
		Kind kind;
		std::optional<unsigned> cpu;
		bool memory = false, skip_power_up = false, scatter_gather = false, save_restore = false;
		std::vector<Output> outputs;
		std::optional<unsigned> page; /* page number of its memory-mapped registers */
		std::optional<unsigned>
			interrupt; /* number of its interrupt, counted from 0 in the order of the lines */
	};

	/* Throws std::runtime_error with a message if the text is invalid. */
	static Topology read(std::string_view text, unsigned cpus);

	/* The component of this kind that belongs to this processor; null if there is none. */
	const Node *of_cpu(Kind kind, unsigned cpu) const;
	unsigned pages() const;

	std::vector<Node> nodes;
	bool el2 = false;                  /* the processors have EL2 */
	std::optional<std::uint32_t> midr; /* the processors' MIDR_EL1; if there is none, QEMU's */
};

} // namespace hwsim::arm64

#endif
