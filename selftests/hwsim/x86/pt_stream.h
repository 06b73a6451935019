/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * PacketStream: the packets of one trace in order, with everything a packet inherits from those before it: pending TNT bits, the
 * last IP, return addresses for RET compression, the last times, the bytes since the last PSB. Whether anything is traced at all
 * (PacketEn, filters) is decided by PtUnit, which calls this for each element of the trace.
 */
#ifndef HWSIM_X86_PT_STREAM_H
#define HWSIM_X86_PT_STREAM_H

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>

#include "clock.h"
#include "profile.h"
#include "pt_packet.h"

namespace hwsim::x86::pt
{

/* The state of the processor that PSB+ contains. */
struct SyncState {
	bool packets_enabled = false; /* PacketEn: PSB+ has MODE and FUP */
	bool with_cr3 = false;        /* ContextEn and OS */
	std::uint64_t ip = 0;
	std::uint64_t cr3 = 0;
	std::uint8_t mode = mode_64;
};

class PacketStream
{
public:
	PacketStream(const Profile &of, Clock &time) : profile(of), clock(time) {}

	/* With PADs from now on, or without: rule "padding". */
	void pad(bool with) { with_pads = with; }

	/* TraceEn was set with this value of RTIT_CTL; "psb_bytes" is PacketByteCnt. */
	void start(std::uint64_t ctl, std::uint32_t psb_bytes);
	/* Output has ended: outcomes that no packet has told yet are lost. True if there were any. */
	bool drop_outcomes()
	{
		const bool any = outcome_count;
		outcome_count = 0;
		outcomes = 0;
		return any;
	}
	/* TraceEn was cleared: pending outcomes are written. */
	void stop() { flush_tnt(); }

	[[gnu::always_inline]] void conditional(bool taken)
	{
		if (!with_tnt)
			return;
		outcomes = outcomes << 1 | (taken ? 1 : 0);
		if (++outcome_count == profile.pt_habits.most_outcomes)
			put_outcomes();
	}
	void tip(std::uint64_t ip) { put_ip(IpKind::tip, ip); }
	void fup(std::uint64_t ip) { put_ip(IpKind::fup, ip); }
	void call(std::uint64_t return_address)
	{
		returns[return_top++ % return_depth] = return_address;
		return_count = std::min(return_count + 1, return_depth);
	}
	/*
	 * A RET to the return address of the matching CALL is one TNT bit (SDM, "RET Compression"). A RET that is not compressed
	 * empties the stack, so that decoders that pop at every RET and decoders that pop at compressed ones only have the same
	 * stack.
	 */
	[[gnu::always_inline]] void ret(std::uint64_t target)
	{
		if (compress_ret && return_count && returns[(return_top - 1) % return_depth] == target) {
			return_top--;
			return_count--;
			conditional(true);
			return;
		}
		return_count = 0;
		tip(target);
	}
	/* The return address of the newest CALL on the stack, or 0. */
	std::uint64_t return_address() const { return return_count ? returns[(return_top - 1) % return_depth] : 0; }
	/* PacketEn was set; it was cleared, without and with an address. */
	void enable(std::uint64_t ip, std::uint8_t mode);
	void disable();
	void disable(std::uint64_t ip);
	/* MODE.Exec, but only if it differs from the last one. */
	void mode(std::uint8_t mode);
	void address_space(std::uint64_t cr3) { put(pip(cr3)); }
	void ptwrite(std::uint64_t payload, bool wide, bool fup_follows)
	{
		put(pt::ptwrite(payload, wide, fup_follows));
	}
	/*
	 * An interrupt or exception, with the faulting address if it is a page fault. The packets of the branch tell its address;
	 * IRET has a FUP of its own, which the IP bit of CFE announces.
	 */
	void interrupt_event(std::uint8_t vector, std::uint64_t cr2)
	{
		constexpr std::uint8_t page_fault = 14;
		if (vector == page_fault)
			put(event_data(cr2));
		put(control_flow_event(ControlFlowEvent::interrupt, vector, false));
	}
	void iret_event(std::uint64_t ip)
	{
		put(control_flow_event(ControlFlowEvent::iret, 0, true));
		fup(ip);
	}
	/* Is this what the last MODE.Exec told? */
	bool is_told(std::uint8_t mode) const { return told_mode == mode; }
	void trace_stop() { put(pt::trace_stop()); }
	/*
	 * The internal buffer overflows: packets are lost from here on, until the OVF packet that ends the overflow. CYC counts on
	 * meanwhile. Packets after the overflow are not compressed against those before it.
	 */
	void begin_overflow();
	void end_overflow();
	bool overflowing() const { return muted; }

	/*
	 * To be called before each group of packets that belong together. Cycles count up to here, and MTCs that are due go in front
	 * of the group: on hardware time passes between packets, but no MTC comes late, after a CYC that counts past it.
	 */
	void begin()
	{
		if (with_cyc)
			tick();
	}
	void sync(const SyncState &state);
	bool sync_due() const { return since_psb >= psb_period; }
	/*
	 * Writes the MTC packets that are due, or the whole time after a long gap. To be called now and then when there are no other
	 * packets.
	 */
	void tick();
	/* The processor wakes up after so many ticks of the TSC, in which no cycles passed. */
	void wake(std::uint64_t slept);

	/* Bytes not yet taken. */
	std::span<const std::uint8_t> pending() const { return {queue.data(), used}; }
	void taken() { used = 0; }
	std::uint32_t bytes_since_psb() const { return since_psb; }

private:
	/* Has room beyond the owner's threshold for all that one call may write: PSB+, and MTCs with their CYCs. */
	static constexpr std::size_t capacity = 8192;
	/* Up to so many ticks after the last MTC, the eight bits of time in the next one are not ambiguous. */
	static constexpr std::uint64_t most_ticks = 0xff;

	void put(const Packet &packet);
	void put_raw(const Packet &packet);
	unsigned pads_before(const Packet &packet);
	void put_ip(IpKind kind, std::uint64_t ip);
	IpBytes form_of(IpKind kind, std::uint64_t ip) const;
	void put_cyc();
	void put_state(const SyncState &state);
	void put_time();
	void put_time_and_ratio();
	void put_time_lost();
	void flush_tnt();
	/* As many as a packet takes: of most traces most packets are short TNTs. A byte needs no PAD, unless the word is another packet's alone. */
	void put_outcomes()
	{
		if (outcome_count != short_tnt_bits || with_cyc || muted || word_taken || used == capacity)
			return flush_tnt();
		queue[used++] = short_tnt(outcomes, short_tnt_bits);
		place++;
		since_psb++;
		outcomes = 0;
		outcome_count = 0;
	}
	void reset_compression();
	/* The always running timer (ART) at this time. */
	std::uint64_t art(std::uint64_t tsc) const { return tsc * profile.tsc_denominator / profile.tsc_numerator; }
	/* The first tick of the TSC at which the ART has this value. */
	std::uint64_t tsc_of(std::uint64_t ticks) const
	{
		return (ticks * profile.tsc_numerator + profile.tsc_denominator - 1) / profile.tsc_denominator;
	}

	const Profile &profile;
	Clock &clock;

	/* From RTIT_CTL */
	bool with_tsc = false, with_mtc = false, with_cyc = false, with_tnt = true, compress_ret = true;
	unsigned mtc_shift = 0;
	std::uint64_t cyc_threshold = 0;
	std::uint32_t psb_period = 0;

	bool muted = false;
	std::uint64_t outcomes = 0;
	unsigned outcome_count = 0;
	std::uint64_t last_ip = 0;
	bool ip_lost = false;       /* the next IP is not compressed */
	std::uint64_t moment = 0;   /* TSC of what is told now */
	std::uint64_t last_cyc = 0; /* TSC at the last CYC */
	std::uint64_t last_mtc = 0; /* ART >> mtc_shift */
	int told_mode = -1;
	std::uint32_t since_psb = 0;
	bool with_pads = false;
	unsigned place = 0;      /* bytes since TraceEn was set, for PADs up to words of 8 */
	bool word_taken = false; /* the next packet begins another word */

	static constexpr std::size_t return_depth = 64;
	std::array<std::uint64_t, return_depth> returns{};
	std::size_t return_top = 0, return_count = 0;

	std::array<std::uint8_t, capacity> queue{};
	std::size_t used = 0;
};

} // namespace hwsim::x86::pt

#endif
