/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * TrbeErrata: what is wrong with the trace buffers of some processors, as far as the kernel works around it (arch/arm64/Kconfig and
 * kernel/cpu_errata.c, coresight-trbe.c; the numbers are Arm's). On silicon each happens now and then. Here it happens whenever it can, so
 * that a driver without the workaround fails.
 */
#ifndef HWSIM_ARM64_TRBE_ERRATA_H
#define HWSIM_ARM64_TRBE_ERRATA_H

#include <cstdint>

namespace hwsim::arm64
{

struct TrbeErrata {
	/* 2119858, 2139208: at its limit in fill mode the buffer goes on at its base, for up to three cache lines. */
	bool overwrites_base = false;
	/*
	 * 2224489, 2253138: there it also writes to the page behind the limit, up to one cache line; where it goes round, in the place of the
	 * base.
	 */
	bool writes_out_of_range = false;
	/*
	 * 2054223, 2067961: where trace is prohibited, a TSB CSYNC does nothing, unless another one came just before. The last bytes are lost
	 * when the buffer is disabled then.
	 */
	bool synchronizes_at_second = false;
	/* 2064142: once it is disabled, writes to its registers are ignored until a TSB CSYNC. */
	bool ignores_writes = false;
	/* 2038923: it is corrupted if trace becomes allowed or prohibited after a single ISB since it was enabled, other than by ERET. */
	bool wants_second_isb = false;
	/* 1902691: it corrupts trace. */
	bool corrupts = false;

	/* By MIDR_EL1. */
	static constexpr TrbeErrata of(std::uint32_t midr)
	{
		constexpr std::uint32_t model = 0xff0f'fff0, neoverse_n2 = 0x410f'd490, cortex_a710 = 0x410f'd470,
					cortex_x2 = 0x410f'd480, cortex_a510 = 0x410f'd460;
		const std::uint32_t revision =
			(midr >> 16 & 0xf0) | (midr & 0xf); /* variant and revision: 0x21 is r2p1 */
		TrbeErrata errata;
		switch (midr & model) {
		case neoverse_n2:
		case cortex_a710:
			errata.overwrites_base = errata.writes_out_of_range = errata.synchronizes_at_second = true;
			break;
		case cortex_x2:
			errata.overwrites_base = errata.writes_out_of_range = revision <= 0x20;
			break;
		case cortex_a510:
			errata.ignores_writes = errata.wants_second_isb = revision <= 0x02;
			errata.corrupts = revision <= 0x01;
			break;
		default:
			break;
		}
		return errata;
	}
};

} // namespace hwsim::arm64

#endif
