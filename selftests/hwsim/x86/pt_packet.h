/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Packets of Intel PT as bytes: SDM volume 3, "Intel Processor Trace", Packet Definitions. No state: what a packet depends on
 * (the last IP, the time of the last CYC) is an argument, and kept by PacketStream.
 */
#ifndef HWSIM_X86_PT_PACKET_H
#define HWSIM_X86_PT_PACKET_H

#include <cstdint>

#include "../base/packet.h"

namespace hwsim::x86::pt
{

using Packet = PacketOf<16>;

/* The TIP family differs in the low five bits of the first byte only. */
enum class IpKind : std::uint8_t { tip_pgd = 0x01, tip = 0x0d, tip_pge = 0x11, fup = 0x1d };

/* How an IP is written: the IPBytes field (SDM, table "FUP/TIP IP Reconstruction"). */
enum class IpBytes : std::uint8_t {
	none = 0,
	update16 = 1,
	update32 = 2,
	sign48 = 3,
	update48 = 4,
	full = 6,
};

/* Bits of MODE.Exec. */
constexpr std::uint8_t mode_16 = 0, mode_64 = 1, mode_32 = 2, mode_if = 4;

/* Types of CFE packets that this machine needs; the SDM has more. */
enum class ControlFlowEvent : std::uint8_t { interrupt = 1, iret = 2 };

constexpr unsigned short_tnt_bits = 6;
constexpr unsigned long_tnt_bits = 47;

/*
 * PADs that silicon writes in front of a packet that could begin at byte "at", counted in words of 8. Skylake: a payload of 5 bytes or more
 * begins a word, and has the rest of the word in which it ends to itself; PSB, CBR, MODE and TSC always begin at the same byte of a word; other
 * packets follow at once, unless they would cross the end of a word.
 */
struct Padding {
	unsigned pads = 0;
	bool alone = false; /* the next packet begins another word */
};
Padding padding(const Packet &packet, unsigned at);
/* Broadwell: each packet begins a word, but for the MODEs of PSB+, which share that of CBR. */
unsigned padding_to_a_word(const Packet &packet, unsigned at);

/* The form in which silicon writes an IP for a decoder whose last IP is "last". Never update48, though that may be shorter. */
IpBytes compress(std::uint64_t ip, std::uint64_t last);
/* Likewise without compression: 48 bits with a sign if "last" has the same upper 16 bits, else all 64. */
IpBytes uncompressed(std::uint64_t ip, std::uint64_t last);
/* The form that does not depend on a last IP. */
IpBytes whole(std::uint64_t ip);

Packet ip(IpKind kind, IpBytes form, std::uint64_t ip);
/* "outcomes" holds the oldest branch in the highest of its "count" bits; 1 is taken. */
Packet tnt(std::uint64_t outcomes, unsigned count);
/* Of up to short_tnt_bits: the only byte of that packet. */
constexpr std::uint8_t short_tnt(std::uint64_t outcomes, unsigned count)
{
	return static_cast<std::uint8_t>((outcomes | std::uint64_t{1} << count) << 1);
}
Packet psb();
Packet psbend();
Packet mode_exec(std::uint8_t mode);
/* No transaction, and none was aborted. */
Packet mode_tsx();
Packet pip(std::uint64_t cr3);
Packet tsc(std::uint64_t tsc);
/* "ctc" is the always running timer, "fast" the ticks of the TSC since it last moved. */
Packet tma(std::uint16_t ctc, std::uint16_t fast);
Packet mtc(std::uint8_t ctc);
Packet cbr(std::uint8_t ratio);
Packet cyc(std::uint64_t cycles);
Packet ptwrite(std::uint64_t payload, bool wide, bool fup_follows);
Packet control_flow_event(ControlFlowEvent type, std::uint8_t vector, bool fup_follows);
/* The address of a page fault. */
Packet event_data(std::uint64_t cr2);
Packet overflow();
Packet trace_stop();

} // namespace hwsim::x86::pt

#endif
