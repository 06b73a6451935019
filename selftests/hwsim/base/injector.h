/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Injector: decides which trace and performance interrupts of a vCPU come late, twice, never or without a cause. Time is counted in
 * instructions that the vCPU has executed. The vCPU asks it at each interrupt, and whenever something may be due, and delivers the interrupts.
 */
#ifndef HWSIM_BASE_INJECTOR_H
#define HWSIM_BASE_INJECTOR_H

#include <algorithm>
#include <cstdint>
#include <random>
#include <utility>

namespace hwsim
{

/* Each is off if it is 0. */
struct InterruptFaults {
	std::uint64_t lost = 0;     /* one in so many interrupts is not delivered */
	std::uint64_t late = 0;     /* interrupts are delivered so many instructions later */
	std::uint64_t doubled = 0;  /* one in so many interrupts comes twice */
	std::uint64_t spurious = 0; /* an interrupt without a cause every so many instructions */
};

class Injector
{
public:
	explicit Injector(unsigned seed) : random(seed) {}
	void set_faults(const InterruptFaults &now, std::uint64_t instructions);

	/* An interrupt is requested. False if it is to be lost. */
	[[nodiscard]] bool ask()
	{
		asked++;
		return !faults.lost || asked % faults.lost;
	}
	/* By how many instructions the requested interrupt is late. Where interrupts skid, one may be late without a fault. */
	std::uint64_t delay(bool skids);
	/* With this delay there is nothing to plan: the interrupt is delivered now. */
	bool is_plain(std::uint64_t late) const { return !late && !faults.doubled; }
	/* Otherwise plan(): true if the interrupt is to be delivered now. Changes until_next(). */
	[[nodiscard]] bool plan(std::uint64_t late, std::uint64_t instructions);
	/*
	 * For a vCPU that has no total of instructions and only looks at each block: the interrupt comes when "late" instructions have passed,
	 * which pass() counts, or at once if blocks will not be looked at any more (cut_short()). Both return true if it is to be delivered
	 * now.
	 */
	void put_off(std::uint64_t late)
	{
		if (!to_pass)
			to_pass = late;
	}
	bool is_put_off() const { return to_pass; }
	[[nodiscard]] bool pass(std::uint64_t instructions)
	{
		to_pass -= std::min(to_pass, instructions);
		return !to_pass;
	}
	[[nodiscard]] bool cut_short() { return std::exchange(to_pass, 0); }

	/* What is due now, in this order. */
	struct Due {
		bool late = false, doubled = false, spurious = false;
	};
	[[nodiscard]] Due take_due(std::uint64_t instructions);
	/* Instructions until something is due, 1 at least, or "never". */
	std::uint64_t until_next(std::uint64_t instructions, std::uint64_t never) const;

private:
	InterruptFaults faults;
	std::minstd_rand random;
	std::uint64_t asked = 0;
	/* Totals of instructions at which something is due, or 0. */
	std::uint64_t late_at = 0, doubled_at = 0, spurious_at = 0;
	/* Instructions, or 0. */
	std::uint64_t to_pass = 0;
};

} // namespace hwsim

#endif
