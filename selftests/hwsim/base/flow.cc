// SPDX-License-Identifier: GPL-2.0-or-later
#include "flow.h"

namespace hwsim
{

void FlowTracker::leave(const Place &to, bool finished)
{
	expecting = false;
	const bool branches = is_branch(current->kind);
	if (branches && finished) {
		listener.straight(*current, start, end());
		branch(to);
		return;
	}
	/*
	 * The block was left before its last instruction (QEMU runs atomics again alone, REP goes on), or it does not end in a branch.
	 */
	if (to.pc == end() && !branches) {
		listener.straight(*current, start, end());
		if (current->kind == Branch::address_space)
			listener.address_space(last());
		else if (current->kind == Branch::barrier)
			listener.barrier(last(), to);
	} else if (inside(to.pc)) {
		counts.restarts++;
		listener.straight(*current, start, to.pc);
	} else {
		impossible(to.pc, finished);
	}
}

void FlowTracker::impossible(std::uint64_t to, bool finished)
{
	if (!counts.impossible++)
		counts.first = {start, to, current->kind, finished};
}

void FlowTracker::branch(const Place &to)
{
	Transfer transfer = {current->kind, true, last(), end(), current->level, to};
	switch (current->kind) {
	case Branch::conditional:
		transfer.taken = to.pc != end();
		if (transfer.taken && to.pc != target())
			impossible(to.pc, true);
		break;
	case Branch::jump:
	case Branch::call:
		if (to.pc != target())
			impossible(to.pc, true);
		break;
	default:
		break;
	}
	listener.transfer(transfer);
}

/*
 * The hard question is whether the branch at the end of the block was executed. If the branch faulted it was not. If an interrupt or a
 * trap came it was, even if the next instruction is the branch itself: RET may lead to itself, as in a recursion. A direct jump does
 * not fault; if it leads to itself, the fault is that of its target.
 */
void FlowTracker::discontinuity(const Place &from, const Place &to, bool finished, Cause cause)
{
	run++;
	if (current) {
		const bool branches = is_branch(current->kind);
		const bool direct = current->kind == Branch::conditional || current->kind == Branch::jump;
		const bool faulted = cause == Cause::fault && from.pc == last() && !(direct && target() == from.pc);
		if (current->kind == Branch::software_interrupt && (from.pc == last() || from.pc == end())) {
			listener.straight(*current, start, end());
			branch(to);
			expected = to.pc;
			expecting = true;
			current = nullptr;
			return;
		}
		if (branches && finished && !faulted)
			leave(from, true);
		else if (inside(from.pc))
			listener.straight(*current, start, from.pc);
		else
			leave(from, false);
	}
	listener.interrupt(from, to);
	expected = to.pc;
	expecting = true;
	current = nullptr;
}

void FlowTracker::keep_block()
{
	run++;
	if (!current || current == &kept)
		return;
	kept = *current;
	current = &kept;
}

} // namespace hwsim
