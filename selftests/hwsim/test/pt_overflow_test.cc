// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * SDM volume 3, "Intel Processor Trace", "Internal Buffer Overflow" with "Overflow Impact on Enables" and "Overflow Impact on
 * Timing Packets", and table "OVF Packet Definition": which packets follow an overflow, by what happened while it lasted.
 */
#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <functional>

#include "pt_machine.h"

namespace
{

constexpr std::uint64_t filtered = ctl::user | ctl::os | std::uint64_t{range_filter} << ctl::addr_cfg(0).shift |
				   std::uint64_t{range_stop} << ctl::addr_cfg(1).shift;
constexpr std::uint64_t outside = 0x405000, stop_range = 0x403000, entry = 0xffff'ffff'8120'0000;
/* The return address of the call that was traced before the overflow. */
constexpr std::uint64_t behind_call = 0x401002;
constexpr std::uint64_t here = 0x402000;

/* Begins an overflow while tracing is on and an outcome is pending. */
void begin(Machine &m, std::uint64_t more)
{
	m.write(msr::addr0_a, 0x401000);
	m.write(msr::addr0_a + 1, 0x402fff);
	m.write(msr::addr0_a + 2, stop_range);
	m.write(msr::addr0_a + 3, stop_range + 0xfff);
	Faults faults;
	REQUIRE(faults.set("overflow:1"));
	m.unit.set_faults(faults);
	m.write(msr::ctl, ctl::trace_en | ctl::topa | more);
	m.unit.arrive(user(0x401000));
	m.unit.transfer({Branch::call, true, 0x401000, behind_call, 3, user(0x401010)});
	m.unit.transfer({Branch::conditional, true, 0x401010, 0x401012, 3, user(0x401020)});
	m.unit.arrive(user(0x401020));
	m.unit.set_faults({});
}

/* Runs branches until the overflow ends, if nothing prolongs it; it has already lasted for "lasted" branches. */
void wait(Machine &m, Place at = user(here), unsigned lasted = 0)
{
	for (unsigned n = lasted; n < 20; n++)
		m.branch(Branch::indirect_jump, 0x401020, at);
}

void enter_kernel(Machine &m)
{
	m.branch(Branch::far, 0x401020, kernel(entry));
}

struct Row {
	const char *what;
	std::uint64_t ctl;
	std::function<void(Machine &)> operate;
	const char *packets; /* from OVF on, to the WRMSR that ends the trace */
};

const Row rows[] = {
	{"it resolves while PacketEn is set", ctl::user, [](Machine &m) { wait(m); }, "OVF FUP:402000 FUP:off PGD "},
	{"what comes then is told", ctl::user,
		[](Machine &m) {
			wait(m);
			m.branch(Branch::conditional, here, user(here + 2), false);
			m.branch(Branch::indirect_jump, here + 2, user(0x401000));
		},
		"OVF FUP:402000 N TIP:401000 FUP:off PGD "},
	{"no RET is compressed against a CALL from before", ctl::user,
		[](Machine &m) {
			wait(m);
			m.branch(Branch::ret, here, user(behind_call));
		},
		"OVF FUP:402000 TIP:401002 FUP:off PGD "},
	{"nor against one that got lost", ctl::user,
		[](Machine &m) {
			m.branch(Branch::call, 0x401020, user(0x401040));
			wait(m, user(here), 1);
			m.branch(Branch::ret, here, user(0x401022));
		},
		"OVF FUP:402000 TIP:401022 FUP:off PGD "},
	{"but against one behind it", ctl::user,
		[](Machine &m) {
			wait(m);
			m.branch(Branch::call, here, user(0x401040));
			m.branch(Branch::ret, 0x401040, user(here + 2));
		},
		"OVF FUP:402000 T FUP:off PGD "},
	{"ContextEn goes: no TIP.PGD, and TIP.PGE in its time", ctl::user,
		[](Machine &m) {
			enter_kernel(m);
			m.unit.arrive(user(here));
		},
		"OVF PGE:402000 FUP:off PGD "},
	{"it goes by an interrupt, whose FUP is lost, too", ctl::user,
		[](Machine &m) {
			m.unit.interrupt(user(0x401020), kernel(entry));
			m.unit.arrive(user(here));
		},
		"OVF PGE:402000 FUP:off PGD "},
	{"FilterEn goes", filtered,
		[](Machine &m) {
			m.branch(Branch::indirect_jump, 0x401020, user(outside));
			m.branch(Branch::indirect_jump, outside, user(here));
		},
		"OVF PGE:402000 FUP:off PGD "},
	{"TraceStop: Stopped is set all the same", filtered,
		[](Machine &m) {
			m.branch(Branch::indirect_jump, 0x401020, user(stop_range));
			CHECK(m.unit.read(msr::status) & status::stopped);
		},
		"OVF STOP "},
	{"TraceEn goes", ctl::user, [](Machine &) {}, "OVF "},
	{"a mode that changed for a while", ctl::user,
		[](Machine &m) {
			m.branch(Branch::far, 0x401020, {0x401040, 3, mode_32});
			wait(m, user(here), 1);
		},
		"OVF FUP:402000 FUP:off PGD "},
	{"a mode that is another one: no MODE.Exec has a place before the FUP, so it lasts", ctl::user,
		[](Machine &m) {
			wait(m, {0x401040, 3, mode_32});
			wait(m, {0x401040, 3, mode_32});
			enter_kernel(m);
			m.unit.arrive({here, 3, mode_32});
		},
		"OVF 32 PGE:402000 FUP:off PGD "},
	{"PIP is lost", ctl::user | ctl::os,
		[](Machine &m) {
			m.root = 0x7000;
			m.unit.address_space(entry);
			wait(m);
		},
		"OVF FUP:402000 FUP:off PGD "},
	{"PTW is lost, and the next one is not", ctl::user | ctl::ptw_en,
		[](Machine &m) {
			m.unit.ptwrite(0x401020, 1, true);
			wait(m);
			m.unit.ptwrite(0x401020, 2, true);
		},
		"OVF FUP:402000 PTW:2 FUP:off PGD "},
};

/* Jumps to and fro, and into the kernel now and then: 48 KB of trace, or less. */
std::string words_of_jumps(Machine &m)
{
	m.start(ctl::user);
	m.unit.arrive(user(0x401000));
	for (unsigned n = 0; n < 12'000; n++) {
		m.branch(Branch::indirect_jump, 0x401002, user(n % 2 ? 0x10401000 : 0x401000));
		if (n % 60 == 59) {
			m.branch(Branch::far, 0x401004, kernel(entry));
			m.unit.arrive(user(0x401000));
		}
	}
	return m.said();
}

unsigned times(const std::string &text, const std::string &words)
{
	unsigned count = 0;
	for (auto at = text.find(words); at != text.npos; at = text.find(words, at + 1))
		count++;
	return count;
}

Rules of_overflows()
{
	Rules rules = Rules::lenient();
	REQUIRE(rules.set("internal-overflow", true));
	return rules;
}

struct Stream {
	ManualClock clock;
	PacketStream stream{*find_profile("icelake"), clock};

	Stream(std::uint64_t ctl) { stream.start(ctl, 1); }
	void overflow()
	{
		stream.begin();
		stream.begin_overflow();
		for (unsigned n = 0; n < 3; n++) {
			clock.now += 1000;
			stream.begin();
			stream.tip(0x1234 + n);
			stream.tick();
		}
		stream.begin();
		stream.end_overflow();
	}
	/* From the last OVF on, or from the CYC just before it. */
	std::vector<pt_packet> end()
	{
		auto packets = read_packets(stream.pending());
		auto at = packets.end();
		while (at != packets.begin() && (--at)->type != ppt_ovf)
			;
		if (at != packets.begin() && at[-1].type == ppt_cyc)
			at--;
		return {at, packets.end()};
	}
};

} // namespace

TEST_CASE("what happens while the internal buffer overflows decides what is told behind it")
{
	for (const Row &row : rows) {
		INFO(row.what);
		Machine m;
		begin(m, ctl::branch_en | row.ctl);
		row.operate(m);
		/* The pending outcome and what came meanwhile are lost, but nothing that was written before. */
		CHECK(m.said() == std::string("PSB 64 PGE:401000 ") + row.packets);
		CHECK(m.losses == 1);
		const std::string packets = row.packets;
		CHECK(m.resumptions == (packets.starts_with("OVF FUP") || packets.find("PGE") != packets.npos ? 1 : 0));
		CHECK(m.unit.statistics().overflows == 1);
	}
}

TEST_CASE("without branches an overflow is OVF alone")
{
	Machine m;
	begin(m, ctl::user | ctl::ptw_en);
	m.unit.ptwrite(0x401020, 1, true);
	wait(m);
	m.unit.ptwrite(0x401020, 2, true);
	CHECK(m.said() == "PSB OVF PTW:2 ");

	Machine left;
	begin(left, ctl::user | ctl::ptw_en);
	enter_kernel(left);
	left.unit.arrive(user(here));
	left.unit.ptwrite(here, 2, true);
	CHECK(left.said() == "PSB OVF PTW:2 ");
	CHECK(left.unit.statistics().unseen == 0);
}

TEST_CASE("the IP behind an overflow is whole, whatever came before, and those behind it are not")
{
	for (const std::uint64_t ip :
		{0x401000ull, 0x7fff'f7dd'0000ull, 0xffff'ffff'8100'0000ull, 0x1234'0000'0000'0000ull}) {
		Stream s(0);
		s.stream.tip(ip);
		s.overflow();
		s.stream.fup(ip);
		s.stream.tip(ip + 2);
		const auto packets = s.end();
		REQUIRE(packets.size() == 3);
		CHECK(packets[0].type == ppt_ovf);
		CHECK(packets[1].payload.ip.ipc == (ip >> 48 == 0x1234 ? pt_ipc_full : pt_ipc_sext_48));
		CHECK(packets[2].payload.ip.ipc == pt_ipc_update_16);
		/* A FUP is never compressed; a TIP is whole here, too. */
		Stream outside(0);
		outside.stream.tip(ip);
		outside.overflow();
		outside.stream.tip(ip + 2);
		CHECK(outside.end()[1].payload.ip.ipc == packets[1].payload.ip.ipc);
	}
	/* A PSB resets the last IP to zero. */
	Stream s(0);
	s.overflow();
	s.stream.sync({.packets_enabled = true, .ip = 0x1000});
	s.stream.tip(0x2000);
	const auto packets = s.end();
	const auto fup = std::ranges::find(packets, ppt_fup, &pt_packet::type);
	REQUIRE(fup != packets.end());
	CHECK(fup->payload.ip.ipc == pt_ipc_sext_48);
	CHECK(packets.back().payload.ip.ipc == pt_ipc_update_16);
}

TEST_CASE("the CYC of OVF counts how long the overflow was")
{
	Stream s(ctl::cyc_en);
	s.clock.now += 500;
	s.stream.begin();
	s.stream.tip(0x401000);
	s.overflow();
	const auto packets = s.end();
	REQUIRE(packets.size() == 2);
	CHECK(packets[0].type == ppt_cyc);
	CHECK(packets[0].payload.cyc.value == 3000);
}

TEST_CASE("MTCs of an overflow are lost; where they are too many the time is told anew")
{
	for (const std::uint64_t more : {std::uint64_t{0}, std::uint64_t{ctl::cyc_en}}) {
		Stream few(ctl::tsc_en | ctl::mtc_en | more);
		few.overflow();
		few.stream.tick();
		CHECK(few.end().back().type == ppt_ovf);

		Stream many(ctl::tsc_en | ctl::mtc_en | more);
		many.stream.begin_overflow();
		many.clock.now += 1'000'000;
		many.stream.begin();
		many.stream.end_overflow();
		const auto packets = many.end();
		REQUIRE(packets.size() >= 3);
		CHECK(packets.rbegin()[2].type == ppt_ovf);
		CHECK(packets.rbegin()[1].type == ppt_tsc);
		CHECK(packets.rbegin()[1].payload.tsc.tsc == 1'000'000);
		CHECK(packets.rbegin()[0].type == ppt_tma);
	}
}

TEST_CASE("of itself the internal buffer overflows where that is asked for, and both ends are there")
{
	Machine none;
	CHECK(words_of_jumps(none).find("OVF") == std::string::npos);
	CHECK_FALSE(Rules{}.internal_overflow);

	Machine m({}, "icelake", of_overflows());
	const std::string words = words_of_jumps(m);
	const auto overflows = m.unit.statistics().overflows;
	CHECK(overflows == m.losses);
	/* Each comes after 8 to 16 KiB; every other one waits then until the program leaves the traced code. */
	CHECK(overflows >= 2);
	CHECK(overflows <= 48'000 / 8192);
	CHECK(times(words, "OVF ") == overflows);
	CHECK(times(words, "OVF FUP:") > 0);
	CHECK(times(words, "OVF PGE:") > 0);
	/* Overflows depend on the seed alone. */
	Machine again({}, "icelake", of_overflows());
	CHECK(words_of_jumps(again) == words);
}

TEST_CASE("it overflows all the same where nothing ever leaves what is traced")
{
	Machine m({}, "icelake", of_overflows());
	m.start(ctl::user | ctl::os);
	m.unit.arrive(user(0x401000));
	for (unsigned n = 0; n < 12'000; n++)
		m.branch(Branch::indirect_jump, 0x401002, user(n % 2 ? 0x10401000 : 0x401000));
	CHECK(m.unit.statistics().overflows >= 2);
}

TEST_CASE("the rule is put in force and relaxed while the machine runs, and branches keep their short way")
{
	Machine m;
	m.start(ctl::user);
	m.unit.arrive(user(0x401000));
	m.unit.set_rules(of_overflows());
	CHECK(m.unit.is_plain());
	while (!m.unit.statistics().overflows)
		m.branch(Branch::indirect_jump, 0x401002, user(0x401000));
	m.unit.set_rules(Rules::lenient());
	for (unsigned n = 0; n < 50'000; n++)
		m.branch(Branch::indirect_jump, 0x401002, user(0x401000));
	CHECK(m.unit.statistics().overflows == 1);
}
