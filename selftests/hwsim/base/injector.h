/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Injector: what becomes of a vCPU's trace and performance interrupts on their way: which come late, twice, never, or without a cause.
 * Time is told in instructions that the vCPU has executed. The vCPU asks it at each interrupt, and whenever something may be due, and delivers.
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
	std::uint64_t lost = 0;     /* every so many interrupts one is not delivered */
	std::uint64_t late = 0;     /* they are delivered so many instructions later */
	std::uint64_t doubled = 0;  /* every so many interrupts one comes twice */
	std::uint64_t spurious = 0; /* one without a cause every so many instructions */
};

class Injector
{
public:
	explicit Injector(unsigned seed) : random(seed) {}
	void set_faults(const InterruptFaults &now, std::uint64_t instructions);

	/* An interrupt is asked for. False if it is lost. */
	[[nodiscard]] bool ask()
	{
		asked++;
		return !faults.lost || asked % faults.lost;
	}
	/* By how many instructions the one that was asked for is late; where interrupts skid it may be by some without a fault. */
	std::uint64_t delay(bool skids);
	/* Nothing is to be planned for one that is late by so many. */
	bool is_plain(std::uint64_t late) const { return !late && !faults.doubled; }
	/* Else: true if it is to be delivered now; until_next() has changed. */
	[[nodiscard]] bool plan(std::uint64_t late, std::uint64_t instructions);
	/*
	 * Where the vCPU has no total of instructions and only looks at each block: the interrupt comes when so many have passed, of which
	 * pass() is told, or at once if nobody will look at blocks any more (cut_short()). True: it is to be delivered now.
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
