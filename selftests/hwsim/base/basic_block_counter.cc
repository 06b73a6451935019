// SPDX-License-Identifier: GPL-2.0-or-later
#include "basic_block_counter.h"

namespace hwsim
{

void BasicBlockCounter::keep_block()
{
	const BasicBlock *running = block();
	if (!running || running == &kept)
		return;
	kept = *running;
	words->position = reinterpret_cast<std::uint64_t>(&kept) | (words->position & InlineWords::finished);
}

void BasicBlockCounter::set_gate(unsigned n, bool watched)
{
	Gate &gate = gates[n];
	const std::uint64_t base = InlineWords::limit + InlineWords::no_branches -
				   (watched ? 0 : allowance << InlineWords::instruction_shift);
	words->gate[n] += base - gate.base;
	gate = {base, (base >> InlineWords::instruction_shift) + allowance, watched};
}

void BasicBlockCounter::uncount(const BasicBlock &block, std::size_t from)
{
	const std::size_t size = block.sizes.size();
	if (from >= size)
		return;
	uncounted += size - from;
	words->gate[block.side] -= (size - from) * InlineWords::instruction + is_branch(block.kind);
}

/*
 * The address of the block is not known here, only its page offset. An interrupt comes between blocks, at the address to which the
 * last one led: either no instruction of that block is there, or its branch led back into it. In both cases all of it has run.
 */
void BasicBlockCounter::uncount_fault(Cause cause, std::uint64_t from)
{
	const BasicBlock *running = block();
	if (!running)
		return;
	const std::uint64_t offset = (from - running->address) & 0xfff;
	const bool at_last = offset == running->last;
	if (finished() && (!at_last || cause != Cause::fault))
		return;
	if (at_last && (running->kind == Branch::conditional || running->kind == Branch::jump ||
			       running->kind == Branch::software_interrupt))
		return;
	std::uint64_t at = 0;
	for (std::size_t i = 0; i < running->sizes.size(); at += running->sizes[i++])
		if (at == offset)
			return uncount(*running, i);
}

void BasicBlockCounter::collect(std::uint64_t now)
{
	for (const unsigned n : {0u, 1u}) {
		constexpr unsigned shift = InlineWords::instruction_shift;
		const std::uint64_t base = gates[n].base, word = words->gate[n];
		totals[n].instructions += (word >> shift) - (base >> shift);
		totals[n].branches += word % InlineWords::instruction - base % InlineWords::instruction;
		words->gate[n] = base;
	}
	pass_time(now);
}

/* The clock does not say at which level its cycles passed: they are shared out as instructions are. */
void BasicBlockCounter::pass_time(std::uint64_t now)
{
	const std::uint64_t passed = now - cycles_at;
	const std::uint64_t kernel = totals[0].instructions - cycle_share[0],
			    user = totals[1].instructions - cycle_share[1];
	cycles_at = now;
	cycle_share[0] = totals[0].instructions;
	cycle_share[1] = totals[1].instructions;
	const auto in_user = kernel + user ? static_cast<std::uint64_t>(
						     static_cast<unsigned __int128>(passed) * user / (kernel + user))
					   : 0;
	totals[0].cycles += passed - in_user;
	totals[1].cycles += in_user;
}

} // namespace hwsim
