/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What each part of the program "pmu" tries the architectural performance monitoring by: what CPUID says of it, its registers, and a stretch of
 * instructions to be counted.
 */
#ifndef HWSIM_GUEST_PMU_H
#define HWSIM_GUEST_PMU_H

#include <array>
#include <cstdint>

#include "../expect.h"
#include "../msr.h"

constexpr std::uint32_t pmc = 0xc1, event_select = 0x186, debugctl = 0x1d9, fixed_ctr = 0x309, capabilities = 0x345,
			fixed_ctrl = 0x38d, status = 0x38e, control = 0x38f, status_reset = 0x390, status_set = 0x391,
			in_use = 0x392, full_pmc = 0x4c1;
/* IA32_PERFEVTSELx */
constexpr std::uint64_t user = 1 << 16, os = 1 << 17, edge = 1 << 18, interrupt = 1 << 20, any = 1 << 21,
			enable = 1 << 22, invert = 1 << 23, mask_1 = 1 << 24, mask_2 = 2 << 24, mask_255 = 0xff << 24;
constexpr std::uint64_t instructions = 0xc0, branches = 0xc4, cycles = 0x3c;
constexpr std::uint64_t frozen = std::uint64_t{1} << 59, freeze_on_interrupt = 1 << 12;
/* Addresses that counters have, whether they are there or not. */
constexpr unsigned most_general = 8, most_fixed = 16;

constexpr std::uint64_t one_at(unsigned position)
{
	return std::uint64_t{1} << position;
}

struct Cpuid {
	std::uint32_t a, b, c, d;
};

inline Cpuid cpuid(std::uint32_t leaf)
{
	Cpuid is{leaf, 0, 0, 0};
	asm volatile("cpuid" : "+a"(is.a), "=b"(is.b), "+c"(is.c), "=d"(is.d));
	return is;
}

/* What CPUID says of it. */
struct Pmu {
	Cpuid features = cpuid(1), pmu = cpuid(0xa);
	unsigned version = pmu.a & 0xff, general = pmu.a >> 8 & 0xff, width = pmu.a >> 16 & 0xff;
	unsigned fixed = pmu.d & 0x1f, fixed_width = pmu.d >> 5 & 0xff;
	bool any_thread = version >= 3 && !(pmu.d >> 15 & 1);
	bool store = features.d >> 21 & 1, store_by_level = features.c >> 4 & 1, tells_more = features.c >> 15 & 1;
	bool trace = cpuid(7).b >> 25 & 1;
	/* LBR of IA32_DEBUGCTL stays clear: SDM volume 3, "Last Branch Records". */
	bool architectural_lbr = cpuid(7).d >> 19 & 1;
	/* IA32_PERF_CAPABILITIES */
	bool full_width = false, freezes_in_smm = false;

	std::uint64_t counters() const { return (one_at(general) - 1) | (one_at(fixed) - 1) << 32; }
};
extern Pmu machine;
extern Registers registers;

/* Nothing counts, nothing has overflowed. */
void clear();

/* Turns of the loop in run(). */
constexpr unsigned few = 1000, many = 2000;
/*
 * A loop of two instructions, one of them a branch, between two writes of IA32_PERF_GLOBAL_CTRL. What else of the program is counted
 * is the same each time, whatever processors say of SYSCALL.
 */
void run(unsigned times, std::uint64_t counters);

struct Counted {
	std::array<std::uint64_t, most_general> general;
	std::array<std::uint64_t, most_fixed> fixed;
};
/* What run() has counted, from zero. */
Counted count(unsigned times, std::uint64_t counters = machine.counters());

/* Which registers there are; which of their bits are taken; what of the status can be set, and what is in use. */
void try_presence();
void try_reserved_bits();
void try_status();
/* Signals of this thread are taken for faults of RDPMC. */
void catch_faults();
void try_rdpmc();
/* What is counted. */
void try_events();
void try_cycles();
void try_wakeups();
/* What is behind the end of a counter. */
void try_overflows();

#endif
