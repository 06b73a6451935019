// SPDX-License-Identifier: GPL-2.0-or-later
/* Every packet, read back by libipt. */
#include <catch2/catch_test_macros.hpp>

#include <random>

#include "../x86/pt_packet.h"
#include "ipt_reader.h"

using namespace hwsim::x86::pt;

namespace
{

pt_packet read(const Packet &packet)
{
	const auto packets = read_packets(packet.data());
	REQUIRE(packets.size() == 1);
	CHECK(packets[0].size == packet.size);
	return packets[0];
}

} // namespace

TEST_CASE("packets without payload are what libipt takes them for")
{
	CHECK(read(psb()).type == ppt_psb);
	CHECK(read(psbend()).type == ppt_psbend);
	CHECK(read(overflow()).type == ppt_ovf);
	CHECK(read(trace_stop()).type == ppt_stop);
}

TEST_CASE("TNT carries its outcomes, the oldest first")
{
	std::mt19937_64 random(1);
	for (unsigned count = 1; count <= long_tnt_bits; count++) {
		const std::uint64_t outcomes = random() & ((std::uint64_t{1} << count) - 1);
		const pt_packet packet = read(tnt(outcomes, count));
		CHECK(packet.type == (count <= short_tnt_bits ? ppt_tnt_8 : ppt_tnt_64));
		CHECK(packet.payload.tnt.bit_size == count);
		CHECK(packet.payload.tnt.payload == outcomes);
	}
}

TEST_CASE("an IP survives compression, and takes the form that silicon has for it")
{
	struct Case {
		std::uint64_t last, ip;
		pt_ip_compression form;
	};
	const Case cases[] = {
		{0, 0x1234, pt_ipc_update_16},
		{0, 0x401234, pt_ipc_update_32},
		{0x7fff'ff40'1234, 0x7fff'ff40'5678, pt_ipc_update_16},
		{0x7fff'ff40'1234, 0x7fff'0000'0000, pt_ipc_update_32},
		{0x7fff'ff40'1234, 0x5555'0000'0000, pt_ipc_sext_48},
		{0xffff'ffff'8100'0000, 0xffff'8880'0000'0000, pt_ipc_sext_48},
		{0x7fff'ff40'1234, 0xffff'ffff'8100'0000, pt_ipc_full},
		{0, 0xffff'ffff'8100'0000, pt_ipc_full},
		{0, 0x8000'0000'0000'0000, pt_ipc_full},
		{0xff11'0000'0000'0000, 0xff11'8000'0000'0000, pt_ipc_full},
	};
	const IpKind kinds[] = {IpKind::tip, IpKind::tip_pge, IpKind::tip_pgd, IpKind::fup};
	const pt_packet_type types[] = {ppt_tip, ppt_tip_pge, ppt_tip_pgd, ppt_fup};
	for (const Case &c : cases) {
		for (int k = 0; k < 4; k++) {
			const pt_packet packet = read(ip(kinds[k], compress(c.ip, c.last), c.ip));
			CHECK(packet.type == types[k]);
			CHECK(packet.payload.ip.ipc == c.form);
			IpReader reader;
			reader({pt_ipc_full, c.last});
			CHECK(reader(packet.payload.ip) == c.ip);
			const pt_packet longer = read(ip(kinds[k], uncompressed(c.ip, c.last), c.ip));
			CHECK(longer.payload.ip.ipc == (c.form == pt_ipc_full ? pt_ipc_full : pt_ipc_sext_48));
			reader({pt_ipc_full, c.last});
			CHECK(reader(longer.payload.ip) == c.ip);
		}
	}
	CHECK(read(ip(IpKind::tip_pgd, IpBytes::none, 0)).size == 1);
}

TEST_CASE("an IP may have 48 bits and the rest of the last one, too")
{
	const pt_packet packet = read(ip(IpKind::tip, IpBytes::update48, 0xff11'8000'0000'0000));
	CHECK(packet.size == 7);
	CHECK(packet.payload.ip.ipc == pt_ipc_update_48);
	IpReader reader;
	reader({pt_ipc_full, 0xff11'0000'0000'1234});
	CHECK(reader(packet.payload.ip) == 0xff11'8000'0000'0000);
}

TEST_CASE("PIP and MODE.Exec carry the state")
{
	CHECK(read(pip(0x1234'5678'9000)).payload.pip.cr3 == 0x1234'5678'9000);
	CHECK_FALSE(read(pip(0x1000)).payload.pip.nr);
	const auto bits = [](std::uint8_t mode) {
		return read(mode_exec(mode)).payload.mode.bits.exec;
	};
	CHECK(bits(mode_64).csl);
	CHECK_FALSE(bits(mode_64).csd);
	CHECK(bits(mode_32).csd);
	CHECK_FALSE(bits(mode_16).csd);
	const pt_packet tsx = read(mode_tsx());
	CHECK(tsx.payload.mode.leaf == pt_mol_tsx);
	CHECK_FALSE(tsx.payload.mode.bits.tsx.intx);
	CHECK_FALSE(tsx.payload.mode.bits.tsx.abrt);
}

TEST_CASE("times come through")
{
	CHECK(read(tsc(0x12'3456'789a'bcde)).payload.tsc.tsc == 0x12'3456'789a'bcde);
	const pt_packet packet = read(tma(0xabcd, 0x1fe));
	CHECK(packet.payload.tma.ctc == 0xabcd);
	CHECK(packet.payload.tma.fc == 0x1fe);
	CHECK(read(mtc(0xa5)).payload.mtc.ctc == 0xa5);
	CHECK(read(cbr(30)).payload.cbr.ratio == 30);
}

TEST_CASE("a cycle count of any size comes through")
{
	for (unsigned shift = 0; shift < 60; shift++)
		for (const std::uint64_t more : {0, 1}) {
			const std::uint64_t cycles = (std::uint64_t{1} << shift) - more;
			CHECK(read(cyc(cycles)).payload.cyc.value == cycles);
		}
}

TEST_CASE("PTWRITE says its width and whether an IP follows")
{
	const pt_packet narrow = read(ptwrite(0x8765'4321, false, false));
	CHECK(narrow.payload.ptw.payload == 0x8765'4321);
	CHECK(narrow.payload.ptw.plc == 0);
	CHECK_FALSE(narrow.payload.ptw.ip);
	const pt_packet wide = read(ptwrite(0x1122'3344'5566'7788, true, true));
	CHECK(wide.payload.ptw.payload == 0x1122'3344'5566'7788);
	CHECK(wide.payload.ptw.plc == 1);
	CHECK(wide.payload.ptw.ip);
}
