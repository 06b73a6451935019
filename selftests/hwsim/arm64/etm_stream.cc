// SPDX-License-Identifier: GPL-2.0-or-later
#include "etm_stream.h"

#include <algorithm>

namespace hwsim::arm64::etm
{

void PacketStream::start(const StreamConfig &with)
{
	config = with;
	on = muted = synchronized = false;
	used = 0;
	forget();
	cycles_passed = 0;
	cycles_known = false;
}

/* Discards pending elements, and the state that a Trace Info packet resets in a decoder. */
void PacketStream::forget()
{
	atoms = 0;
	atom_count = 0;
	drop_target();
	history = {};
	told.reset();
	return_count = 0;
	last_time = 0;
}

/*
 * IHI0064, "Trace On element": precedes each contiguous stretch of trace; a decoder clears its return stack there. Silicon repeats the
 * context after each of them even if it is unchanged (arm64/transitions).
 */
void PacketStream::enable(const Address &at, const Context &in)
{
	on = true;
	if (muted)
		return;
	if (!synchronized)
		put_sync();
	put(trace_on());
	return_count = 0;
	cycles_known = false;
	told.reset();
	put_place(at, in);
}

/* The target of a branch that leaves the traced code gets no packet, because the instruction there is not traced. */
void PacketStream::disable()
{
	on = false;
	drop_target();
	settle();
}

/* IHI0064, "Cycle counting": the count is unknown at the first element of a stretch, and when it exceeds the counter's maximum. */
void PacketStream::count_cycles()
{
	if (cycles_known && cycles_passed < *config.cycle_threshold)
		return;
	settle();
	if (cycles_known && cycles_passed <= config.most_cycles)
		put(cycle_count(cycles_passed - *config.cycle_threshold));
	else
		put(cycle_count_unknown());
	cycles_passed = 0;
	cycles_known = true;
}

/*
 * IHI0064, "Exception Return element": ETE has no such packet, because a decoder recognizes the instruction. Silicon puts the packet after
 * the address (arm64/transitions).
 */
void PacketStream::exception_return(const Address &to, const Context &in)
{
	if (muted)
		return;
	add_atom(true);
	lead_to(to, in);
	if (!config.ete) {
		settle();
		put(etm::exception_return());
	}
	element_done();
}

/*
 * If no instruction was executed since the last branch, its target is also the preferred return address, and one Address packet serves for
 * both. This is not done with the return stack: a decoder may take the missing target for a return stack match (OpenCSD does).
 */
void PacketStream::exception(Exception type, const Address &return_address)
{
	const bool at_target = target == return_address && !target_context && !config.return_stack;
	if (at_target)
		drop_target();
	settle();
	put(etm::exception(type, at_target));
	put_address(return_address);
	element_done();
}

void PacketStream::context(const Context &in)
{
	if (told == in)
		return;
	settle();
	put(etm::context(in, config.vmid_bytes));
	told = in;
}

void PacketStream::timestamp(std::uint64_t time)
{
	settle();
	if (config.timestamp_markers)
		put(timestamp_marker());
	std::optional<std::uint32_t> since;
	if (config.cycle_threshold)
		since = cycles_known ? std::min(cycles_passed, config.most_cycles) : 0;
	put(etm::timestamp(time, last_time, since));
	last_time = time;
}

void PacketStream::cycles(std::uint32_t count)
{
	const std::uint64_t passed = std::uint64_t{cycles_passed} + count;
	cycles_passed = static_cast<std::uint32_t>(std::min(passed, std::uint64_t{config.most_cycles} + 1));
}

void PacketStream::event(std::uint8_t events)
{
	settle();
	put(etm::event(events));
}

void PacketStream::instrumentation(std::uint8_t level, std::uint64_t value)
{
	settle();
	put(etm::instrumentation(level, value));
}

/* IHI0064, "Trace synchronization": Alignment Synchronization, Trace Info, then address and context. */
void PacketStream::sync(const Address &since, const Context &in)
{
	if (muted)
		return;
	settle();
	put_sync();
	put_place(since, in);
}

void PacketStream::put_sync()
{
	since_sync = 0;
	forget();
	put(a_sync());
	put(trace_info({config.cycle_threshold, false}));
	synchronized = true;
}

/* IHI0064, "Overflow packet": pending elements are lost. */
void PacketStream::begin_overflow()
{
	atoms = 0;
	atom_count = 0;
	drop_target();
	muted = true;
}

void PacketStream::end_overflow()
{
	muted = false;
	synchronized = false;
	put(overflow());
}

void PacketStream::end_overflow(const Address &at, const Context &in)
{
	end_overflow();
	enable(at, in);
}

/* Turns all pending elements into packets: atoms, then the target of the last one. */
void PacketStream::settle()
{
	flush_atoms();
	if (!target)
		return;
	if (target_context)
		put_place(*target, *target_context);
	else
		put_address(*target);
	drop_target();
}

void PacketStream::flush_atoms()
{
	while (atom_count) {
		const AtomPacket next = atom(atoms, atom_count);
		queue[used++] = next.header;
		since_sync++;
		atoms >>= next.atoms;
		atom_count -= next.atoms;
	}
}

void PacketStream::put_address(const Address &to)
{
	put(address(compress(to, history), to));
	history.add(to);
}

/* Puts an address, together with the context unless it is unchanged. */
void PacketStream::put_place(const Address &to, const Context &in)
{
	if (told == in) {
		put_address(to);
		return;
	}
	put(address_with_context(compress_long(to, history), to, in, config.vmid_bytes));
	history.add(to);
	told = in;
}

void PacketStream::put(const Packet &packet)
{
	if (muted)
		return;
	/* Copies all of Packet::bytes, not only the valid ones: a copy of constant size takes only a few instructions. */
	std::ranges::copy(packet.bytes, queue.begin() + static_cast<std::ptrdiff_t>(used));
	used += packet.size;
	since_sync += packet.size;
}

} // namespace hwsim::arm64::etm
