/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Witness: stands between flow tracker and trace unit, passes on what the program does, and writes the truth log beside. What the log says:
 *
 *   - a record for each branch that was taken, and for each interrupt, while branches are told (TruthWriter, Step);
 *   - where that begins, a record from 0; where it ends, one to 0, or to where the program went, if the trace says that;
 *   - an edge of an address range within straight code, from the last instruction before it;
 *   - a mark where trace was lost, and another where it begins anew while branches are told.
 *
 * Whether branches are told is the trace unit's to say, before and behind each step: so the log does not prove that the unit is on when it has
 * to be. That an outcome "not taken" is in the trace is proven by the decoder, which would go astray.
 *
 * TraceUnit is a FlowListener with tells_branches(), left_for() and plain_transfer(); a template, because it is called for each block that is traced.
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

	/* A branch within a level, while nothing can change what is traced. Inline as FlowTracker::step(), which calls it, is. */
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
		/* An outcome may be the last thing that is told. */
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
	/* The trace tells that it has run: where it ends with it, that is from where. */
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
		/* Where it ends here the trace unit has told the edge, or lost what follows. */
		if (!was && unit.tells_branches())
			log.write(0, here.pc);
	}

	/* The instruction at "from" is about to switch the unit off: in front of the mark of a loss, should there be no room for what is pending. */
	void switch_off(std::uint64_t from)
	{
		if (unit.tells_branches())
			log.write(from, 0);
	}

	/*
	 * It has been switched off. The trace ends with the last thing that was told: a branch or exception, which has led somewhere that is not
	 * in the trace then, or what led nowhere else, a branch that was not taken or a barrier.
	 */
	void ended(bool at_target, std::uint64_t told)
	{
		if (at_target)
			log.open_end();
		else
			log.write(told, 0);
	}

	/* What the unit says by itself. */
	void filter_edge(std::uint64_t from, std::uint64_t to) { log.write(from, to); }
	void lost() { log.write(loss, 0); }
	void resumed() { log.write(loss, resumption); }

private:
	TraceUnit &unit;
	TruthWriter &log;
};

} // namespace hwsim

#endif
