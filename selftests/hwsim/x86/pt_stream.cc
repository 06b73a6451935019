// SPDX-License-Identifier: GPL-2.0-or-later
#include "pt_stream.h"

#include <algorithm>

#include "pt_bits.h"

namespace hwsim::x86::pt
{

void PacketStream::start(std::uint64_t ctl, std::uint32_t psb_bytes)
{
	with_tsc = ctl & ctl::tsc_en;
	with_mtc = ctl & ctl::mtc_en;
	with_cyc = ctl & ctl::cyc_en;
	with_tnt = !(ctl & ctl::dis_tnt);
	compress_ret = with_tnt && !(ctl & ctl::dis_retc);
	mtc_shift = ctl::mtc_freq.of(ctl);
	const unsigned threshold = ctl::cyc_thresh.of(ctl);
	cyc_threshold = threshold ? std::uint64_t{1} << (threshold - 1) : 0;
	psb_period = 2048u << ctl::psb_freq.of(ctl);
	since_psb = psb_bytes;
	place = 0;
	word_taken = false;

	muted = false;
	outcome_count = 0;
	outcomes = 0;
	return_count = 0;
	told_mode = -1;
	/* The last IP stays: without a PSB a decoder goes on with the one it has. */
	last_cyc = moment = clock.tsc();
	last_mtc = with_mtc ? art(last_cyc) >> mtc_shift : 0;
	/* If PacketByteCnt is 0 a PSB comes now, and PSB+ contains them. */
	if (psb_bytes)
		put_time_and_ratio();
}

/* A decoder that begins at a PSB, or was lost, knows neither a last IP nor a return address. */
void PacketStream::reset_compression()
{
	last_ip = 0;
	ip_lost = false;
	return_count = 0;
}

unsigned PacketStream::pads_before(const Packet &packet)
{
	if (!with_pads)
		return 0;
	if (profile.pt_habits.a_word_each)
		return padding_to_a_word(packet, place);
	const unsigned rest = word_taken ? -place % 8 : 0;
	const Padding here = padding(packet, place + rest);
	word_taken = here.alone;
	return rest + here.pads;
}

void PacketStream::put_raw(const Packet &packet)
{
	if (muted)
		return;
	const unsigned pads = pads_before(packet), size = pads + packet.size;
	if (used + size > capacity)
		return; /* the owner empties the queue long before it is full */
	const auto at = queue.begin() + static_cast<std::ptrdiff_t>(used);
	std::fill_n(at, pads, std::uint8_t{0});
	std::ranges::copy(packet.data(), at + pads);
	used += size;
	place += size;
	since_psb += size;
}

void PacketStream::put(const Packet &packet)
{
	flush_tnt();
	put_cyc();
	put_raw(packet);
}

/* CYC goes in front of the packet whose time it tells. Our core clock is the TSC: a machine at its nominal frequency. */
void PacketStream::put_cyc()
{
	if (!with_cyc || muted)
		return;
	if (moment - last_cyc < std::max<std::uint64_t>(cyc_threshold, 1))
		return;
	put_raw(cyc(moment - last_cyc));
	last_cyc = moment;
}

IpBytes PacketStream::form_of(IpKind kind, std::uint64_t address) const
{
	const bool compressed = kind != IpKind::fup && profile.pt_habits.compresses_ips;
	return compressed ? compress(address, last_ip) : uncompressed(address, last_ip);
}

void PacketStream::put_ip(IpKind kind, std::uint64_t address)
{
	put(ip(kind, ip_lost ? whole(address) : form_of(kind, address), address));
	last_ip = address;
	ip_lost = false;
}

/* Outcomes go into one long packet of eight bytes, or into short ones of a byte for six outcomes each. */
void PacketStream::flush_tnt()
{
	if (!outcome_count)
		return;
	put_cyc();
	if (outcome_count >= profile.pt_habits.long_tnt_from)
		put_raw(tnt(outcomes, outcome_count));
	else
		for (unsigned left = outcome_count; left;) {
			const unsigned count = std::min(left, short_tnt_bits);
			left -= count;
			put_raw(tnt(outcomes >> left & ((1u << count) - 1), count));
		}
	outcomes = 0;
	outcome_count = 0;
}

void PacketStream::enable(std::uint64_t ip, std::uint8_t mode_now)
{
	mode(mode_now);
	put_ip(IpKind::tip_pge, ip);
}

void PacketStream::disable()
{
	put(ip(IpKind::tip_pgd, IpBytes::none, 0));
	return_count = 0;
}

void PacketStream::disable(std::uint64_t address)
{
	put_ip(IpKind::tip_pgd, address);
	return_count = 0;
}

void PacketStream::mode(std::uint8_t mode_now)
{
	if (told_mode == mode_now || muted)
		return;
	put(mode_exec(mode_now));
	told_mode = mode_now;
}

/* Pending outcomes are lost, too. */
void PacketStream::begin_overflow()
{
	outcome_count = 0;
	outcomes = 0;
	muted = true;
}

/*
 * SDM, "Internal Buffer Overflow": nothing is compressed against lost packets. The SDM does not say whether the last IP survives, and
 * decoders differ (libipt begins with zero, perf goes on), so the next IP is whole.
 */
void PacketStream::end_overflow()
{
	outcome_count = 0;
	outcomes = 0;
	muted = false;
	ip_lost = true;
	return_count = 0;
	put(pt::overflow());
	put_time_lost();
}

/* SDM, "Overflow Impact on Timing Packets": MTCs are lost. If a decoder cannot tell how many, the whole time is told again. */
void PacketStream::put_time_lost()
{
	if (!with_mtc)
		return;
	const std::uint64_t now = clock.tsc(), count = art(now) >> mtc_shift;
	if (count - last_mtc > most_ticks) {
		moment = now;
		put_time();
	}
	last_mtc = count;
}

void PacketStream::put_time()
{
	if (!with_tsc)
		return;
	put_raw(tsc(moment));
	if (!with_mtc)
		return;
	const std::uint64_t ticks = art(moment);
	put_raw(tma(static_cast<std::uint16_t>(ticks), static_cast<std::uint16_t>(moment - tsc_of(ticks))));
	last_mtc = ticks >> mtc_shift;
}

void PacketStream::put_time_and_ratio()
{
	put_time();
	put_raw(cbr(profile.bus_ratio));
}

void PacketStream::put_state(const SyncState &state)
{
	const bool root_last = profile.pt_habits.state_before_time;
	if (state.with_cr3 && !root_last)
		put_raw(pip(state.cr3));
	told_mode = -1;
	if (state.packets_enabled) {
		if (profile.pt_habits.tells_tsx)
			put_raw(mode_tsx());
		put_raw(mode_exec(state.mode));
		told_mode = state.mode;
		put_raw(ip(IpKind::fup, form_of(IpKind::fup, state.ip), state.ip));
		last_ip = state.ip;
	}
	if (state.with_cr3 && root_last)
		put_raw(pip(state.cr3));
}

/* PSB+ (SDM, "Packet Stream Boundary (PSB) Packet"): all that a decoder needs to begin here, in the order of this processor. */
void PacketStream::sync(const SyncState &state)
{
	if (muted)
		return;
	if (!with_cyc)
		moment = clock.tsc();
	flush_tnt();
	put_cyc();
	since_psb = 0;
	reset_compression();
	put_raw(psb());
	if (!profile.pt_habits.state_before_time)
		put_time_and_ratio();
	put_state(state);
	if (profile.pt_habits.state_before_time)
		put_time_and_ratio();
	put_raw(psbend());
}

/* SDM, "Timestamp Counter (TSC) Packet": sent after anything that stops clocks. CBR, because the ratio may have changed. */
void PacketStream::wake(std::uint64_t slept)
{
	moment = clock.tsc();
	last_cyc = std::min(last_cyc + slept, moment);
	if (muted)
		return;
	flush_tnt();
	put_cyc();
	put_time_and_ratio();
}

/*
 * An MTC carries eight bits of time. If so much time has passed unseen that they are ambiguous, the whole time is told again, as on
 * hardware after a sleep state. In a shorter gap there is an MTC for each tick, whether packets are enabled or not (SDM, "Mini Time
 * Counter (MTC) Packet"), as long as there is room. A CYC in front of an MTC counts to the tick of that MTC, not to the moment of this
 * call.
 */
void PacketStream::tick()
{
	if (!with_mtc && !with_cyc)
		return;
	const std::uint64_t now = clock.tsc(), count = with_mtc ? art(now) >> mtc_shift : last_mtc;
	if (muted) {
		moment = now;
		return;
	}
	/* Half of the queue is kept for other packets. */
	const std::uint64_t most = used < capacity / 2 ? most_ticks : 1;
	if (count - last_mtc > most && with_tsc) {
		moment = now;
		flush_tnt();
		put_cyc();
		put_time_and_ratio();
	} else {
		last_mtc = std::max(last_mtc, count - std::min(count, most));
		while (last_mtc < count) {
			last_mtc++;
			moment = std::max(moment, tsc_of(last_mtc << mtc_shift));
			put(mtc(static_cast<std::uint8_t>(last_mtc)));
		}
	}
	moment = now;
}

} // namespace hwsim::x86::pt
