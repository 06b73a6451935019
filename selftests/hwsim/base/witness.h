/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Witness: stands between flow tracker and trace unit, passes on what the program does, and writes the truth log. The log has:
 *
 *   - a record for each taken branch and each interrupt, while the unit tells branches (TruthWriter, Step);
 *   - a record from 0 where the unit begins to tell branches; and where it ends, one to 0, or to where the program went if the trace says that;
 *   - an edge of an address range within straight code, from the last instruction before it;
 *   - a mark where trace was lost, and another where the trace resumes with branches told.
 *
 * The trace unit is asked before and after each step whether it tells branches, so the log does not prove that the unit is on when it has to
 * be. Branches that were not taken are not in the log: if one is missing in the trace, the decoder goes astray, which shows.
 *
 * TraceUnit is a FlowListener with tells_branches(), left_for() and plain_transfer(); a template, because it is called for each block that is
 * traced.
 */
#ifndef HWSIM_BASE_WITNESS_H
#define HWSIM_BASE_WITNESS_H

#include <cstdint>

#include "flow.h"
#include "truth.h"

namespace hwsim
{

template <class TraceUnit>
class Witness
{
public:
	Witness(TraceUnit &of, TruthWriter &to) : unit(of), log(to) {}

	/* A branch within a level, while nothing can change what is traced. Always inline, like its caller FlowTracker::step(). */
	[[gnu::always_inline]] void plain_transfer(const Transfer &transfer)
	{
		unit.plain_transfer(transfer);
		if (transfer.taken)
			log.write(transfer.from, transfer.to.pc);
	}
	void transfer(const Transfer &transfer)
	{
		const bool was = unit.tells_branches();
		unit.transfer(transfer);
		/* A branch that was not taken is logged only if the trace ends with it. */
		if (was && (transfer.taken || !unit.tells_branches()))
			log.write(transfer.from, unit.tells_branches() ? transfer.to.pc : unit.left_for());
	}
	void interrupt(const Place &from, const Place &to)
	{
		const bool was = unit.tells_branches();
		unit.interrupt(from, to);
		if (was)
			log.write(from.pc, unit.tells_branches() ? to.pc : unit.left_for());
	}
	void address_space(std::uint64_t from)
	{
		const bool was = unit.tells_branches();
		unit.address_space(from);
		if (was && !unit.tells_branches())
			log.write(from, 0);
	}
	/* The trace tells that the barrier has run, so a trace that ends with it ends at its address. */
	void barrier(std::uint64_t at, const Place &next)
	{
		const bool was = unit.tells_branches();
		unit.barrier(at, next);
		if (was && !unit.tells_branches())
			log.write(at, 0);
	}
	void arrive(const Place &here)
	{
		const bool was = unit.tells_branches();
		unit.arrive(here);
		/* If the trace ends here instead, the trace unit has told the edge by filter_edge(), or lost what follows. */
		if (!was && unit.tells_branches())
			log.write(0, here.pc);
	}

	/*
	 * The instruction at "from" is about to switch the unit off. This record has to precede the mark of a loss, in case there is no room
	 * for pending trace.
	 */
	void switch_off(std::uint64_t from)
	{
		if (unit.tells_branches())
			log.write(from, 0);
	}

	/*
	 * The unit has been switched off. The trace ends with the last element that it told: a branch or exception, whose target is then not in
	 * the trace; or, at "told", a branch not taken or a barrier.
	 */
	void ended(bool at_target, std::uint64_t told)
	{
		if (at_target)
			log.open_end();
		else
			log.write(told, 0);
	}

	/* Called by the unit. */
	void filter_edge(std::uint64_t from, std::uint64_t to) { log.write(from, to); }
	void lost() { log.write(loss, 0); }
	void resumed() { log.write(loss, resumption); }

private:
	TraceUnit &unit;
	TruthWriter &log;
};

} // namespace hwsim

#endif
