/* SPDX-License-Identifier: GPL-2.0-only */
/* Frames of CoreSight's formatter (IHI 0029, "Formatter"): 16 bytes, of which the last has a bit of each pair of the others. */
#ifndef AUXPMU_MACHINE_FRAMES_H
#define AUXPMU_MACHINE_FRAMES_H

#include <cstddef>
#include <span>
#include <vector>

namespace auxpmu::machine
{

/* The trace of all trace IDs, without that of nobody (0) and of what is no trace (0x70 and above). */
std::vector<std::byte> unframed(std::span<const std::byte> frames);

} // namespace auxpmu::machine

#endif /* AUXPMU_MACHINE_FRAMES_H */
