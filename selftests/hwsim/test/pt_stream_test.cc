// SPDX-License-Identifier: GPL-2.0-or-later
#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <random>
#include <utility>

#include "stream_script.h"

using namespace hwsim::x86;
using namespace hwsim::x86::pt;

namespace
{

struct Fixture {
	ManualClock clock;
	PacketStream stream{*find_profile("skylake"), clock};

	std::vector<pt_packet> packets()
	{
		stream.stop();
		const auto read = read_packets(stream.pending());
		stream.taken();
		return read;
	}
	std::vector<pt_packet_type> types()
	{
		std::vector<pt_packet_type> list;
		for (const pt_packet &packet : packets())
			list.push_back(packet.type);
		return list;
	}
};

using Types = std::vector<pt_packet_type>;

} // namespace

TEST_CASE("random scripts are read back by libipt as they were said")
{
	std::mt19937_64 random(7);
	for (int i = 0; i < 2000; i++) {
		std::vector<std::uint8_t> bytes(random() % 600);
		for (std::uint8_t &byte : bytes)
			byte = static_cast<std::uint8_t>(random());
		StreamScript script(bytes);
		script.run();
		REQUIRE_NOTHROW(script.verify());
	}
}

TEST_CASE("PSB+ tells all that was switched on")
{
	Fixture f;
	f.stream.start(ctl::tsc_en | ctl::mtc_en, 0);
	f.stream.sync({.packets_enabled = true, .with_cr3 = true, .ip = 0x401000, .cr3 = 0x5000, .mode = mode_64});
	CHECK(f.types() == Types{ppt_psb, ppt_mode, ppt_mode, ppt_fup, ppt_pip, ppt_tsc, ppt_tma, ppt_cbr, ppt_psbend});
	f.stream.start(0, 0);
	f.stream.sync({});
	CHECK(f.types() == Types{ppt_psb, ppt_cbr, ppt_psbend});
}

TEST_CASE("PSB+ has the order of its processor")
{
	const auto of = [](const char *profile, std::uint64_t more, bool enabled) {
		ManualClock clock;
		PacketStream stream{*find_profile(profile), clock};
		stream.start(ctl::tsc_en | more, 0);
		stream.sync({.packets_enabled = enabled, .with_cr3 = true, .ip = 0x401000});
		std::string list;
		for (const pt_packet &packet : read_packets(stream.pending())) {
			const bool tsx = packet.type == ppt_mode && packet.payload.mode.leaf == pt_mol_tsx;
			list += packet.type == ppt_psb      ? "PSB"
				: packet.type == ppt_tsc    ? " TSC"
				: packet.type == ppt_tma    ? " TMA"
				: packet.type == ppt_cbr    ? " CBR"
				: packet.type == ppt_pip    ? " PIP"
				: tsx                       ? " MODE.TSX"
				: packet.type == ppt_mode   ? " MODE.Exec"
				: packet.type == ppt_fup    ? " FUP"
				: packet.type == ppt_psbend ? " PSBEND"
							    : " ?";
		}
		return list;
	};
	for (const char *profile : {"skylake", "icelake"}) {
		CHECK(of(profile, ctl::mtc_en, true) == "PSB MODE.TSX MODE.Exec FUP PIP TSC TMA CBR PSBEND");
		CHECK(of(profile, ctl::mtc_en, false) == "PSB PIP TSC TMA CBR PSBEND");
	}
	CHECK(of("broadwell", 0, true) == "PSB TSC CBR PIP MODE.TSX MODE.Exec FUP PSBEND");
	CHECK(of("broadwell", 0, false) == "PSB TSC CBR PIP PSBEND");
	for (const char *profile : {"goldmont", "alderlake-n"}) {
		CHECK(of(profile, ctl::mtc_en, true) == "PSB TSC TMA CBR PIP MODE.Exec FUP PSBEND");
		CHECK(of(profile, ctl::mtc_en, false) == "PSB TSC TMA CBR PIP PSBEND");
	}
}

TEST_CASE("outcomes are told in the packets of their processor, and wait for no more than these take")
{
	/* The sizes of the TNT packets for so many outcomes, without the pending ones and with them. */
	struct {
		const char *profile;
		unsigned outcomes;
		std::vector<unsigned> told, stopped;
	} const all[] = {
		{"skylake", 5, {}, {5}},
		{"skylake", 14, {6, 6}, {6, 6, 2}},
		{"icelake", 7, {6}, {6, 1}},
		{"broadwell", 6, {}, {6}},
		{"broadwell", 7, {}, {7}},
		{"broadwell", 45, {44}, {44, 1}},
		{"goldmont", 42, {}, {6, 6, 6, 6, 6, 6, 6}},
		{"goldmont", 43, {}, {43}},
		{"alderlake-n", 48, {47}, {47, 1}},
	};
	for (const auto &c : all) {
		CAPTURE(c.profile, c.outcomes);
		ManualClock clock;
		PacketStream stream{*find_profile(c.profile), clock};
		stream.start(0, 0);
		const auto sizes = [&] {
			std::vector<unsigned> list;
			for (const pt_packet &packet : read_packets(stream.pending())) {
				list.push_back(packet.payload.tnt.bit_size);
				CHECK((packet.type == ppt_tnt_64) == (list.back() > short_tnt_bits));
			}
			return list;
		};
		for (unsigned n = 0; n < c.outcomes; n++)
			stream.conditional(n % 3);
		CHECK(sizes() == c.told);
		stream.stop();
		CHECK(sizes() == c.stopped);
	}
}

TEST_CASE("PADs are where silicon has them")
{
	/* The number of PADs before each packet, as in LLVM's traces of Broadwell and Skylake, and libxdc's of Kaby Lake. */
	const auto pads = [](const char *profile, std::uint64_t more, const auto &say) {
		ManualClock clock;
		PacketStream stream{*find_profile(profile), clock};
		stream.pad(true);
		stream.start(more, 0);
		say(stream);
		std::vector<unsigned> list;
		unsigned before = 0;
		for (const pt_packet &packet : read_packets(stream.pending()))
			if (packet.type == ppt_pad)
				before++;
			else
				list.push_back(std::exchange(before, 0));
		return list;
	};
	using Pads = std::vector<unsigned>;
	const auto begin = [](PacketStream &stream) {
		stream.sync({.packets_enabled = true, .ip = 0x401000});
		stream.enable(0x401000, mode_64);
		stream.fup(0x7fff'f7dd'0000);
		stream.disable();
	};
	/* PSB CBR MODE.TSX MODE.Exec FUP PSBEND TIP.PGE FUP TIP.PGD */
	CHECK(pads("broadwell", 0, begin) == Pads{0, 0, 0, 0, 0, 1, 6, 1, 1});
	const auto outcomes = [](PacketStream &stream) {
		stream.sync({});
		for (unsigned n = 0; n < 88; n++)
			stream.conditional(true);
		stream.tip(0x401000);
		stream.conditional(true);
		stream.sync({});
	};
	/* PSB CBR PSBEND TNT TNT TIP TNT PSB CBR PSBEND */
	CHECK(pads("broadwell", 0, outcomes) == Pads{0, 0, 4, 6, 0, 0, 1, 7, 0, 4});

	/* PSB MODE.TSX MODE.Exec FUP TSC CBR PSBEND, for a kernel also PIP; then TNTs. */
	const auto sync = [](bool kernel) {
		return [kernel](PacketStream &stream) {
			stream.sync({.packets_enabled = true, .with_cr3 = kernel, .ip = 0x401000});
			for (unsigned n = 0; n < 24; n++)
				stream.conditional(true);
		};
	};
	CHECK(pads("skylake", ctl::tsc_en, sync(false)) == Pads{0, 3, 0, 0, 8, 2, 0, 0, 0, 0, 0});
	CHECK(pads("skylake", ctl::tsc_en, sync(true)) == Pads{0, 3, 0, 0, 8, 8, 2, 0, 0, 0, 0, 0});
	/* After TIPs of 6, 4 and 2 bytes, after FUP and TIP.PGD, after wake-ups. */
	const auto branches = [](PacketStream &stream) {
		stream.tip(0x7fff'f7dd'0000);
		stream.tip(0x7fff'0000'1000);
		stream.tip(0x7fff'f7dd'0000);
		stream.tip(0x5555'0000'0000);
		stream.conditional(true);
		stream.tip(0x5555'0000'1000);
		stream.fup(0x5555'0000'1000);
		stream.disable();
		stream.wake(0);
		stream.wake(0);
	};
	CHECK(pads("skylake", ctl::tsc_en, branches) == Pads{7, 2, 3, 2, 2, 0, 3, 2, 5, 2, 2, 2});
	/* TIP has its word to itself: TNT begins the next, another TNT follows, and the next TIP's payload begins a word. */
	const auto full = [](PacketStream &stream) {
		stream.tip(0x7fff'f7dd'0000);
		for (unsigned n = 0; n < 2 * short_tnt_bits; n++)
			stream.conditional(true);
		stream.tip(0x5555'0000'0000);
	};
	CHECK(pads("skylake", 0, full) == Pads{7, 2, 0, 5});
}

TEST_CASE("an IP is compressed unless it is of a FUP, or of the first processors")
{
	const auto forms = [](const char *profile) {
		ManualClock clock;
		PacketStream stream{*find_profile(profile), clock};
		stream.start(0, 0);
		stream.sync({.packets_enabled = true, .ip = 0x401000});
		stream.tip(0x401000);
		stream.enable(0x10401000, mode_64);
		stream.fup(0x10401000);
		stream.tip(0xffff'ffff'8100'0000);
		stream.fup(0xffff'ffff'8100'0000);
		stream.disable(0x7fff'f7dd'0000);
		std::vector<pt_ip_compression> list;
		for (const pt_packet &packet : read_packets(stream.pending()))
			if (packet.type == ppt_fup || packet.type == ppt_tip || packet.type == ppt_tip_pge ||
				packet.type == ppt_tip_pgd)
				list.push_back(packet.payload.ip.ipc);
		return list;
	};
	using Forms = std::vector<pt_ip_compression>;
	CHECK(forms("skylake") == Forms{pt_ipc_sext_48, pt_ipc_update_16, pt_ipc_update_32, pt_ipc_sext_48, pt_ipc_full,
					  pt_ipc_sext_48, pt_ipc_full});
	CHECK(forms("broadwell") == Forms{pt_ipc_sext_48, pt_ipc_sext_48, pt_ipc_sext_48, pt_ipc_sext_48, pt_ipc_full,
					    pt_ipc_sext_48, pt_ipc_full});
}

TEST_CASE("a PSB is due after as many bytes as PSBFreq says")
{
	Fixture f;
	f.stream.start(std::uint64_t{1} << ctl::psb_freq.shift, 0);
	CHECK_FALSE(f.stream.sync_due());
	std::size_t bytes = 0;
	while (!f.stream.sync_due()) {
		f.stream.tip(bytes * 0x1'0000'0000);
		bytes += f.stream.pending().size();
		f.stream.taken();
	}
	CHECK(bytes >= 4096);
	CHECK(bytes < 4096 + 10);
	f.stream.sync({});
	f.packets();
	unsigned outcomes = 0;
	for (; !f.stream.sync_due(); outcomes++) {
		f.stream.conditional(outcomes % 2);
		f.stream.taken();
	}
	CHECK(outcomes > short_tnt_bits * (4096 - 64));
	CHECK(outcomes <= short_tnt_bits * 4096);
}

TEST_CASE("a RET to where its CALL came from is one bit, until a PSB")
{
	Fixture f;
	f.stream.start(0, 0);
	f.stream.call(0x1000);
	f.stream.call(0x2000);
	f.stream.ret(0x2000);
	f.stream.sync({});
	f.stream.ret(0x1000);
	CHECK(f.types() == Types{ppt_tnt_8, ppt_psb, ppt_cbr, ppt_psbend, ppt_tip});
	f.stream.start(ctl::dis_retc, 0);
	f.stream.call(0x1000);
	f.stream.ret(0x1000);
	CHECK(f.types() == Types{ppt_tip});
}

TEST_CASE("MTC counts the always running timer, and TMA ties it to the TSC")
{
	Fixture f;
	f.clock.now = 1'000'000;
	f.stream.start(ctl::tsc_en | ctl::mtc_en | std::uint64_t{3} << ctl::mtc_freq.shift, 0);
	f.stream.sync({});
	const auto sync = f.packets();
	REQUIRE(sync[2].type == ppt_tma); /* without PacketEn no MODE, FUP */
	/* 2 ticks of the ART are 250 of the TSC: tick 8000 is at 1'000'000 */
	CHECK(sync[2].payload.tma.ctc == 8000);
	CHECK(sync[2].payload.tma.fc == 0);
	f.stream.tick();
	CHECK(f.types().empty());
	f.clock.now += 1000; /* 8 ticks of ART: one period */
	f.stream.tick();
	const auto mtc = f.packets();
	REQUIRE(mtc.size() == 1);
	CHECK(mtc[0].payload.mtc.ctc == ((8008 >> 3) & 0xff));
	f.clock.now += 1000 * 256;
	f.stream.tick();
	CHECK(f.types() == Types{ppt_tsc, ppt_tma, ppt_cbr});
}

TEST_CASE("each tick has its MTC, with the cycles until there, as long as they are not ambiguous")
{
	for (const bool cycles : {false, true})
		for (const bool time : {false, true}) {
			Fixture f;
			f.stream.start((time ? ctl::tsc_en : 0) | (cycles ? ctl::cyc_en : 0) | ctl::mtc_en |
					       std::uint64_t{3} << ctl::mtc_freq.shift,
				0);
			f.stream.sync({});
			f.packets();
			for (unsigned ticks : {1u, 2u, 255u}) {
				const std::uint64_t before = f.clock.now / 1000;
				f.clock.now += 1000 * ticks;
				f.stream.tick();
				const auto packets = f.packets();
				REQUIRE(packets.size() == ticks * (cycles ? 2 : 1));
				for (unsigned n = 0; n < packets.size(); n++)
					if (cycles && n % 2 == 0)
						CHECK(packets[n].payload.cyc.value == 1000);
					else
						CHECK(packets[n].payload.mtc.ctc ==
							(before + 1 + n / (cycles ? 2 : 1)) % 256);
			}
			f.clock.now += 1000 * 256;
			f.stream.tick();
			const Types all = f.types();
			if (time)
				CHECK(all.back() == ppt_cbr);
			else
				CHECK(std::ranges::count(all, ppt_mtc) == 255);
		}
}

TEST_CASE("MTCs leave room for what has to be told, whoever is late to take it")
{
	for (const std::uint64_t more : {std::uint64_t{0}, std::uint64_t{ctl::tsc_en}}) {
		Fixture f;
		f.stream.start(ctl::cyc_en | ctl::mtc_en | more, 0);
		for (unsigned n = 1; n <= 40; n++) {
			f.clock.now += 255 * 125; /* 255 ticks of the ART */
			f.stream.begin();
			f.stream.tip(n);
		}
		CHECK(f.stream.pending().size() < 7000);
		std::uint64_t tips = 0;
		for (const pt_packet &packet : f.packets())
			tips += packet.type == ppt_tip;
		CHECK(tips == 40);
	}
}

TEST_CASE("a wake-up tells the time and the ratio")
{
	const struct {
		std::uint64_t ctl;
		Types types;
	} all[] = {
		{0, {ppt_cbr}},
		{ctl::mtc_en, {ppt_cbr}},
		{ctl::tsc_en, {ppt_tsc, ppt_cbr}},
		{ctl::tsc_en | ctl::mtc_en, {ppt_tsc, ppt_tma, ppt_cbr}},
	};
	for (const auto &c : all) {
		Fixture f;
		f.stream.start(c.ctl, 0);
		f.clock.now += 100;
		f.stream.wake(100);
		CHECK(f.types() == c.types);
		f.stream.conditional(true);
		f.stream.wake(0);
		CHECK(f.types().front() == ppt_tnt_8);
		f.stream.begin_overflow();
		f.stream.wake(0);
		CHECK(f.types().empty());
	}
}

TEST_CASE("no cycles pass asleep")
{
	Fixture f;
	f.stream.start(ctl::cyc_en, 0);
	f.clock.now += 7;
	f.clock.now += 1000;
	f.stream.wake(1000);
	f.clock.now += 5;
	f.stream.begin();
	f.stream.tip(0x1000);
	const auto packets = f.packets();
	REQUIRE(packets.size() == 4);
	CHECK(packets[0].payload.cyc.value == 7);
	CHECK(packets[1].type == ppt_cbr);
	CHECK(packets[2].payload.cyc.value == 5);
}

TEST_CASE("a stream that goes on without a PSB tells the time and the ratio anew")
{
	Fixture f;
	f.stream.start(ctl::tsc_en | ctl::mtc_en, 1000);
	CHECK(f.types() == Types{ppt_tsc, ppt_tma, ppt_cbr});
	f.stream.start(ctl::tsc_en | ctl::mtc_en, 0);
	CHECK(f.types().empty());
}

TEST_CASE("cycles go in front of packets, and sum up to the time that passed")
{
	Fixture f;
	f.stream.start(ctl::cyc_en, 0);
	std::uint64_t sum = 0;
	for (unsigned i = 1; i < 200; i++) {
		f.clock.now += i * 37;
		f.stream.begin();
		f.stream.tip(i * 0x1000);
		const auto packets = f.packets();
		REQUIRE(packets.size() == 2);
		sum += packets[0].payload.cyc.value;
	}
	CHECK(sum == f.clock.now);
	f.clock.now += 37;
	for (unsigned n = 0; n < short_tnt_bits; n++) {
		f.stream.begin();
		f.stream.conditional(true);
	}
	CHECK(f.types() == Types{ppt_cyc, ppt_tnt_8});
}

TEST_CASE("an MTC is of its tick, and cycles around it sum up to the time of every packet")
{
	Fixture f;
	f.clock.now = 1'000'000;
	f.stream.start(ctl::tsc_en | ctl::cyc_en | ctl::mtc_en | std::uint64_t{3} << ctl::mtc_freq.shift, 0);
	f.stream.sync({});
	f.packets();
	/* As a decoder does it: it adds up cycles, which must agree with each MTC. */
	std::uint64_t decoded = f.clock.now, ticks = 0;
	for (unsigned i = 1; i < 500; i++) {
		f.clock.now += i * 7 % 1500;
		f.stream.begin();
		f.stream.tip(i * 0x1000);
		for (const auto &packet : f.packets()) {
			if (packet.type == ppt_cyc)
				decoded += packet.payload.cyc.value;
			if (packet.type != ppt_mtc)
				continue;
			ticks++;
			/* 8 ticks of the ART are 1000 of the TSC. */
			REQUIRE(decoded % 1000 == 0);
			REQUIRE(packet.payload.mtc.ctc == (decoded / 1000 & 0xff));
		}
		REQUIRE(decoded == f.clock.now);
	}
	CHECK(ticks > 200);
}

TEST_CASE("below the threshold there is no cycle packet")
{
	Fixture f;
	f.stream.start(ctl::cyc_en | std::uint64_t{5} << ctl::cyc_thresh.shift, 0); /* 16 cycles */
	f.clock.now = 15;
	f.stream.begin();
	f.stream.tip(0x1000);
	CHECK(f.types() == Types{ppt_tip});
	f.clock.now = 16;
	f.stream.begin();
	f.stream.tip(0x2000);
	CHECK(f.types() == Types{ppt_cyc, ppt_tip});
}

TEST_CASE("with TNT disabled only targets are told")
{
	Fixture f;
	f.stream.start(ctl::dis_tnt, 0);
	f.stream.conditional(true);
	f.stream.call(0x1000);
	f.stream.ret(0x1000);
	CHECK(f.types() == Types{ppt_tip});
}

TEST_CASE("an overflow drops what was pending, what comes while it lasts, and the last IP")
{
	Fixture f;
	f.stream.start(0, 0);
	f.stream.tip(0x7fff'0000'0000);
	f.stream.conditional(true);
	f.stream.begin_overflow();
	f.stream.tip(0x7fff'0000'0020);
	for (unsigned n = 0; n < 2 * short_tnt_bits; n++)
		f.stream.conditional(true);
	f.stream.end_overflow();
	f.stream.fup(0x7fff'0000'0010);
	const auto packets = f.packets();
	REQUIRE(packets.size() == 3);
	CHECK(packets[1].type == ppt_ovf);
	CHECK(packets[2].payload.ip.ipc == pt_ipc_sext_48);
}
