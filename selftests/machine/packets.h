/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Packets of a trace of ETMv4 or ETE (IHI 0064, "Instruction trace packets"), without the program: where branches have led whose
 * target is told, and what is said of the trace itself. Of trace units that do not trace speculatively, without cycle counts.
 */
#ifndef AUXPMU_MACHINE_PACKETS_H
#define AUXPMU_MACHINE_PACKETS_H

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace auxpmu::machine
{

struct Packets {
	std::vector<std::uint64_t> targets; /* of branches */
	std::vector<std::uint64_t>
		places; /* where trace begins, or goes on behind a synchronization: a branch may have led there */
	std::optional<std::size_t> unknown{}; /* the byte with which no packet begins: nothing behind it was read */
};

/* From the first synchronization on. */
Packets read_packets(std::span<const std::byte> trace);

/* Overflow packets, each of which has a synchronization behind it. */
unsigned count_overflows(std::span<const std::byte> trace);

} // namespace auxpmu::machine

#endif /* AUXPMU_MACHINE_PACKETS_H */
