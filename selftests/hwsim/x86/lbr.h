/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Lbr: the last branch records of one processor: SDM volume 3, "Last Branch, Interrupt, and Exception Recording Overview" and "Last Branch
 * Records" (the architectural ones). Its registers select which branches get a record. IA32_DEBUGCTL switches recording, but not of
 * architectural records. No branch is ever mispredicted, and there are no transactions.
 */
#ifndef HWSIM_X86_LBR_H
#define HWSIM_X86_LBR_H

#include <array>
#include <cstdint>

#include "../base/flow.h"
#include "profile.h"

namespace hwsim::x86
{

class Lbr
{
public:
	Lbr(const Profile &of, bool there) : lbr(of.lbr), present(there) {}

	void reset();
	bool owns(std::uint32_t msr) const;
	std::uint64_t read(std::uint32_t msr) const;
	bool write_faults(std::uint32_t msr, std::uint64_t value) const;
	void write(std::uint32_t msr, std::uint64_t value);
	/* Will records be kept after this write? */
	bool switches_on(std::uint32_t msr, std::uint64_t value) const
	{
		return lbr.architectural() && msr == arch_ctl && (value & arch_enable);
	}
	/* LBR of IA32_DEBUGCTL, which does not switch architectural records. */
	void switch_by_debugctl(bool on)
	{
		if (!lbr.architectural())
			enabled = on;
	}
	bool is_on() const { return present && enabled; }
	/* A branch that was taken, an interrupt or an exception; "now" in ticks of the TSC. */
	void record(const Transfer &branch, std::uint64_t now);

	static constexpr std::uint32_t select = 0x1c8, tos = 0x1c9, arch_ctl = 0x14ce, arch_depth = 0x14cf;
	static constexpr std::uint64_t arch_enable = 1 << 0;

private:
	using Format = LbrCapabilities::Format;
	enum class Bank : std::uint8_t { from, to, info, none };
	struct Record {
		std::uint64_t from = 0, to = 0, info = 0;
	};
	struct Where {
		Bank bank = Bank::none;
		unsigned record = 0;
	};
	static constexpr unsigned most = 32;

	Where where(std::uint32_t msr) const;
	std::uint64_t info_bits() const;
	bool wanted(const Transfer &branch) const;
	bool stacks_calls() const;
	std::uint64_t info_of(Branch kind, std::uint64_t cycles) const;
	void forget_newest();

	const LbrCapabilities &lbr;
	const bool present;
	bool enabled = false;
	/* MSR_LBR_SELECT or IA32_LBR_CTL */
	std::uint64_t control = 0;
	unsigned depth = lbr.depth;
	/* The newest record. */
	unsigned top = 0;
	std::array<Record, most> records{};
	std::uint64_t recorded_at = 0;
};

} // namespace hwsim::x86

#endif
