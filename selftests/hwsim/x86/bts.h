/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Bts: the branch trace store of one logical processor, and its registers: SDM volume 3, "Branch Trace Store (BTS)" and "Debug Store
 * (DS) Area". Records go to the DS area by linear address, as on hardware, so the area has to be mapped wherever branches are
 * recorded. Two of the registers are there without the store: IA32_DEBUGCTL, which also says whether counters freeze and last branch
 * records are kept, and IA32_MISC_ENABLE, which says what there is.
 */
#ifndef HWSIM_X86_BTS_H
#define HWSIM_X86_BTS_H

#include <cstdint>

#include "../base/memory.h"
#include "loss.h"
#include "rules.h"

namespace hwsim::x86
{

class Bts
{
public:
	struct Counts {
		std::uint64_t records = 0;
		std::uint64_t dropped = 0;  /* the buffer was full */
		std::uint64_t unmapped = 0; /* the DS area or the buffer was not there */
		std::uint64_t interrupts = 0;
	};

	/* The parts that this processor has. */
	struct Parts {
		bool store = true;
		bool counters = true;
		bool freezes = true; /* counters and LBRs, on a performance interrupt */
		/* LBR of IA32_DEBUGCTL switches last branch records; otherwise it stays clear. */
		bool records = true;
	};

	Bts(GuestMemory &to, const Parts &parts, const Rules &in_force = {}) : memory(to), has(parts), rules(in_force)
	{
	}
	void set_rules(const Rules &now) { rules = now; }

	void reset() { control = area = 0; }
	/*
	 * The registers are lost. Another owner leaves its options in IA32_DEBUGCTL, with TR and BTS clear, but not its DS area: that
	 * is the kernel's.
	 */
	void lose(const Loss &loss);
	bool owns(std::uint32_t msr) const;
	std::uint64_t read(std::uint32_t msr) const;
	void write(std::uint32_t msr, std::uint64_t value);
	bool write_faults(std::uint32_t msr, std::uint64_t value) const;

	bool switches_on(std::uint32_t msr, std::uint64_t value) const
	{
		return msr == debugctl && ((value & (tr | bts)) == (tr | bts) || (has.records && (value & lbr)));
	}
	/* Does this value of IA32_DEBUGCTL have LBR or TR set? */
	static bool tells_branches(std::uint64_t value) { return value & (lbr | tr); }
	/* Is this privilege level to be recorded? */
	bool watches(std::uint8_t level) const
	{
		return (control & (tr | bts)) == (tr | bts) && !(control & (level == 0 ? off_os : off_user));
	}
	bool freezes_counters() const { return control & freeze_counters; }
	bool freezes_records() const { return control & freeze_lbr; }
	bool keeps_records() const { return control & lbr; }
	/* A performance interrupt does this up to version 3, which has no LBR_Frz in the status. */
	void switch_records_off() { control &= ~lbr; }
	/*
	 * A taken branch, interrupt or exception of a watched level. True if the performance interrupt is to be raised: it
	 * comes without a bit in IA32_PERF_GLOBAL_STATUS, drivers look at the index.
	 */
	[[nodiscard]] bool record(std::uint64_t from, std::uint64_t to);

	const Counts &statistics() const { return counts; }

	static constexpr std::uint32_t misc_enable = 0x1a0, debugctl = 0x1d9, ds_area = 0x600;
	/* Bits of IA32_DEBUGCTL */
	static constexpr std::uint64_t lbr = 1 << 0, btf = 1 << 1, tr = 1 << 6, bts = 1 << 7, btint = 1 << 8,
				       off_os = 1 << 9, off_user = 1 << 10, freeze_lbr = 1 << 11,
				       freeze_counters = 1 << 12, freeze_in_smm = 1 << 14;

private:
	/* The first fields of the DS area, 64 bits each. */
	struct Area {
		std::uint64_t base;
		std::uint64_t index;
		std::uint64_t maximum;
		std::uint64_t threshold;
	};
	struct Record {
		std::uint64_t from;
		std::uint64_t to;
		std::uint64_t flags;
	};

	bool has_room(const Area &now) const;
	std::uint64_t bits() const;

	GuestMemory &memory;
	const Parts has;
	Rules rules;
	std::uint64_t control = 0;
	std::uint64_t area = 0;
	Counts counts;
};

} // namespace hwsim::x86

#endif
