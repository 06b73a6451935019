// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * SDM volume 3, "Intel Processor Trace", table "Packet Generation under Different Enable Conditions", row by row: which packets an
 * operation generates, by PacketEn before it, and PacketEn and ContextEn after it. Numbers are those of the edition that has Intel
 * PT in chapter 36. Rows are missing for what the machine does not have: VM entries and exits, SMM, SGX, TSX, power events,
 * hardware task switches (the PIPs of far transfers), INIT.
 *
 * Two departures. Case 2e has PSB after TIP.PGE; here TIP.PGE comes after PSB+. A decoder that begins at the PSB would otherwise
 * not see that tracing was switched on; the decoders of perf and libipt both accept that order, and the table itself refers to the
 * section on PSB.
 *
 * In cases 7e and 7f, the TIP.PGD of a conditional branch, or compressed RET, that leaves the filter has no address; here it has
 * that of the target, as in cases 6b and 9c. libipt takes a TIP.PGD without an address for a far branch only, and reports an error
 * here; with an address it follows the branch. perf, which knows the filter and the code, accepts either.
 */
#include <catch2/catch_test_macros.hpp>

#include <functional>

#include "pt_machine.h"

namespace
{

constexpr std::uint64_t syscall_entry = 0xffff'ffff'8120'0000, handler = 0xffff'ffff'8130'0000;
constexpr std::uint64_t inside = 0x401000, outside = 0x405000, stop_range = 0x403000;

/* ContextEn: programs only, the kernel is out of context. FilterEn: one range that is traced, and one that stops the trace. */
constexpr std::uint64_t programs = ctl::user;
constexpr std::uint64_t filtered = ctl::user | ctl::os | std::uint64_t{range_filter} << ctl::addr_cfg(0).shift |
				   std::uint64_t{range_stop} << ctl::addr_cfg(1).shift;
constexpr std::uint64_t of_root = ctl::user | ctl::os | ctl::cr3_filter;
constexpr std::uint64_t everything = ctl::user | ctl::os;

struct Row {
	const char *number;
	const char *operation;
	std::uint64_t ctl;
	Place begin;
	bool before, after; /* PacketEn */
	std::function<void(Machine &)> operate;
	const char *packets;
};

auto jump(Branch kind, Place to, bool taken = true)
{
	return [=](Machine &m) {
		m.branch(kind, inside + 2, to, taken);
	};
}
auto from_outside(Branch kind, Place to, std::uint8_t level = 3)
{
	return [=](Machine &m) {
		m.branch(kind, outside + 2, to, true, level);
	};
}
auto interrupt(std::uint64_t from, Place to)
{
	return [=](Machine &m) {
		m.unit.interrupt(user(from), to);
		m.unit.arrive(to);
	};
}
/* Runs code from here, which falls through to what follows it. */
auto run(std::uint64_t from, unsigned instructions)
{
	return [=](Machine &m) {
		m.run(user(from), instructions);
		m.unit.arrive(user(from + 2 * instructions));
	};
}
/* The kernel writes CR3 in the instruction at this address. */
auto mov_cr3(std::uint64_t at, std::uint64_t root)
{
	return [=](Machine &m) {
		m.root = root;
		m.run(kernel(at), 1);
		m.unit.address_space(at);
		m.unit.arrive(kernel(at + 2));
	};
}
/* An interrupt wakes up the kernel. */
void wake(Machine &m)
{
	m.clock.now += 10;
	m.unit.wake(10);
}
auto with_outcome(std::function<void(Machine &)> then)
{
	return [=](Machine &m) {
		m.branch(Branch::conditional, inside + 4, user(inside + 6), false);
		then(m);
	};
}

const Row rows[] = {
	{"1a", "no branch", programs, kernel(syscall_entry), false, false,
		[](Machine &m) { m.run(kernel(syscall_entry), 4); }, ""},
	{"1b", "no branch, into the filter", filtered, user(inside - 2), false, true, run(inside - 2, 1),
		"64 PGE:401000 "},
	{"1c", "no branch, within a block into the filter", filtered, user(inside - 4), false, true,
		[](Machine &m) { m.run(user(inside - 4), 4); }, "64 PGE:401000 "},
	{"1d", "no branch, out of the filter", filtered, user(inside), true, false, run(inside + 0xffe, 1),
		"PGD:402000 "},
	{"1d", "no branch, within a block out of the filter", filtered, user(inside), true, false,
		[](Machine &m) { m.run(user(inside + 0xffc), 4); }, "PGD:402000 "},
	{"1d", "no branch, into a range that stops", filtered, user(stop_range - 2), false, false,
		run(stop_range - 2, 1), "STOP "},
	{"1e", "no branch, traced", programs, user(inside), true, true, run(inside, 4), ""},

	{"3a", "WRMSR that clears TraceEn", programs, kernel(syscall_entry), false, false,
		[](Machine &m) { m.write(msr::ctl, 0); }, ""},
	{"3b", "WRMSR that clears TraceEn", everything, kernel(syscall_entry), true, false,
		[](Machine &m) { m.write(msr::ctl, 0); }, "FUP:off PGD "},
	{"3b", "WRMSR that clears TraceEn, with an outcome", everything, user(inside), true, false,
		with_outcome([](Machine &m) { m.write(msr::ctl, 0); }), "N FUP:off PGD "},

	{"5a", "MOV to CR3, of another root", of_root, kernel(syscall_entry), false, false,
		mov_cr3(syscall_entry, 0x9000), ""},
	{"5f", "MOV to CR3, outside of the filter", filtered, kernel(syscall_entry), false, false,
		mov_cr3(syscall_entry, 0x9000), "PIP:9000 "},
	{"5b", "MOV to CR3 of the root that is traced", of_root, kernel(syscall_entry), false, true,
		mov_cr3(syscall_entry, 0x7000), "PIP:7000 64 PGE:ffffffff81200002 "},
	{"5d", "MOV to CR3", everything, kernel(syscall_entry), true, true, mov_cr3(syscall_entry, 0x9000),
		"PIP:9000 "},

	{"6a", "direct jump", programs, kernel(syscall_entry), false, false,
		from_outside(Branch::jump, kernel(syscall_entry + 64), 0), ""},
	{"6b", "direct jump", filtered, user(inside), true, false, jump(Branch::jump, user(outside)), "PGD:405000 "},
	{"6b", "direct jump, to where tracing stops", filtered, user(inside), true, false,
		jump(Branch::jump, user(stop_range)), "PGD:403000 STOP "},
	{"6d", "direct jump", filtered, user(outside), false, true, from_outside(Branch::jump, user(inside)),
		"64 PGE:401000 "},
	{"6e", "direct jump", programs, user(inside), true, true, jump(Branch::jump, user(inside + 64)), ""},
	{"6", "direct call", programs, user(inside), true, true, jump(Branch::call, user(inside + 64)), ""},

	{"7a", "taken branch", filtered, user(outside), false, false,
		from_outside(Branch::conditional, user(outside + 64)), ""},
	{"7b", "taken branch", filtered, user(outside), false, true, from_outside(Branch::conditional, user(inside)),
		"64 PGE:401000 "},
	{"7e", "taken branch, no outcomes before", filtered, user(inside), true, false,
		jump(Branch::conditional, user(outside)), "PGD:405000 "},
	{"7e", "taken branch, no outcomes before, to where tracing stops", filtered, user(inside), true, false,
		jump(Branch::conditional, user(stop_range)), "PGD:403000 STOP "},
	{"7f", "taken branch, outcomes before", filtered, user(inside), true, false,
		with_outcome(jump(Branch::conditional, user(outside))), "N PGD:405000 "},
	{"7d", "taken branch", programs, user(inside), true, true, jump(Branch::conditional, user(inside + 64)), "T "},
	{"7d", "compressed RET", programs, user(inside), true, true,
		[](Machine &m) {
			m.branch(Branch::call, inside + 2, user(inside + 64));
			m.branch(Branch::ret, inside + 66, user(inside + 4));
		},
		"T "},
	{"8a", "branch not taken", filtered, user(outside), false, false,
		[](Machine &m) { m.branch(Branch::conditional, outside + 2, user(outside + 4), false); }, ""},
	{"8d", "branch not taken", programs, user(inside), true, true,
		jump(Branch::conditional, user(inside + 4), false), "N "},

	{"9a", "indirect jump", filtered, user(outside), false, false,
		from_outside(Branch::indirect_jump, user(outside + 64)), ""},
	{"9b", "indirect jump", filtered, user(outside), false, true, from_outside(Branch::indirect_jump, user(inside)),
		"64 PGE:401000 "},
	{"9c", "indirect jump", filtered, user(inside), true, false, jump(Branch::indirect_jump, user(outside)),
		"PGD:405000 "},
	{"9c", "indirect call, to where tracing stops", filtered, user(inside), true, false,
		jump(Branch::indirect_call, user(stop_range)), "PGD:403000 STOP "},
	{"9d", "indirect jump", programs, user(inside), true, true, jump(Branch::indirect_jump, user(inside + 64)),
		"TIP:401040 "},
	{"9d", "indirect call", programs, user(inside), true, true, jump(Branch::indirect_call, user(inside + 64)),
		"TIP:401040 "},
	{"9d", "RET that is not compressed", programs, user(inside), true, true, jump(Branch::ret, user(inside + 64)),
		"TIP:401040 "},

	{"10a", "far branch", programs, kernel(syscall_entry), false, false,
		from_outside(Branch::far, kernel(syscall_entry + 64), 0), ""},
	{"10f", "far branch, to where tracing stops", filtered, kernel(syscall_entry), false, false,
		from_outside(Branch::far, user(stop_range), 0), "STOP "},
	{"10b", "far branch", programs, kernel(syscall_entry), false, true, from_outside(Branch::far, user(inside), 0),
		"64 PGE:401000 "},
	{"10c", "far branch", programs, user(inside), true, false, jump(Branch::far, kernel(syscall_entry)), "PGD "},
	{"10d", "far branch", filtered, user(inside), true, false, jump(Branch::far, kernel(syscall_entry)),
		"PGD:ffffffff81200000 "},
	{"10d", "far branch, to where tracing stops", filtered, user(inside), true, false,
		jump(Branch::far, user(stop_range)), "PGD:403000 STOP "},
	{"10e", "far branch", everything, user(inside), true, true, jump(Branch::far, kernel(syscall_entry)),
		"TIP:ffffffff81200000 "},
	{"10e", "far branch, to 32-bit code", everything, user(inside), true, true,
		jump(Branch::far, {0x8000, 3, mode_32}), "32 TIP:8000 "},

	{"11a", "hardware interrupt", programs, kernel(syscall_entry), false, false,
		interrupt(syscall_entry, kernel(handler)), ""},
	{"11f", "hardware interrupt, to where tracing stops", filtered, user(outside), false, false,
		interrupt(outside, kernel(stop_range)), "STOP "},
	{"11b", "hardware interrupt", filtered, user(outside), false, true, interrupt(outside, kernel(inside)),
		"64 PGE:401000 "},
	{"11c", "hardware interrupt", programs, user(inside), true, false, interrupt(inside + 4, kernel(handler)),
		"FUP:401004 PGD "},
	{"11d", "hardware interrupt", filtered, user(inside), true, false, interrupt(inside + 4, kernel(handler)),
		"FUP:401004 PGD:ffffffff81300000 "},
	{"11d", "hardware interrupt, to where tracing stops", filtered, user(inside), true, false,
		interrupt(inside + 4, kernel(stop_range)), "FUP:401004 PGD:403000 STOP "},
	{"11e", "hardware interrupt", everything, user(inside), true, true, interrupt(inside + 4, kernel(handler)),
		"FUP:401004 TIP:ffffffff81300000 "},
	{"11e", "hardware interrupt, with an outcome", everything, user(inside), true, true,
		with_outcome(interrupt(inside + 6, kernel(handler))), "N FUP:401006 TIP:ffffffff81300000 "},

	{"12a", "software interrupt", programs, kernel(syscall_entry), false, false,
		from_outside(Branch::software_interrupt, kernel(handler), 0), ""},
	{"12f", "software interrupt, to where tracing stops", filtered, user(outside), false, false,
		from_outside(Branch::software_interrupt, kernel(stop_range)), "STOP "},
	{"12b", "software interrupt", filtered, user(outside), false, true,
		from_outside(Branch::software_interrupt, kernel(inside)), "64 PGE:401000 "},
	{"12c", "software interrupt", programs, user(inside), true, false,
		jump(Branch::software_interrupt, kernel(handler)), "FUP:401002 PGD "},
	{"12d", "software interrupt", filtered, user(inside), true, false,
		jump(Branch::software_interrupt, kernel(handler)), "FUP:401002 PGD:ffffffff81300000 "},
	{"12d", "software interrupt, to where tracing stops", filtered, user(inside), true, false,
		jump(Branch::software_interrupt, kernel(stop_range)), "FUP:401002 PGD:403000 STOP "},
	{"12e", "software interrupt", everything, user(inside), true, true,
		jump(Branch::software_interrupt, kernel(handler)), "FUP:401002 TIP:ffffffff81300000 "},
	{"12e", "software interrupt, out of 32-bit code", everything, {0x8000, 3, mode_32}, true, true,
		jump(Branch::software_interrupt, kernel(handler)), "FUP:401002 64 TIP:ffffffff81300000 "},

	{"33b", "wake-up from HLT, neither traced nor any time", programs, kernel(syscall_entry), false, false, wake,
		"CBR "},
	{"33b", "wake-up from HLT, not traced", programs | ctl::tsc_en, kernel(syscall_entry), false, false, wake,
		"TSC CBR "},
	{"33b", "wake-up from HLT, not traced, with MTC", programs | ctl::tsc_en | ctl::mtc_en, kernel(syscall_entry),
		false, false, wake, "TSC TMA CBR "},
	{"33b", "wake-up from HLT", everything | ctl::tsc_en | ctl::mtc_en, kernel(syscall_entry), true, true, wake,
		"TSC TMA CBR "},
	{"33b", "wake-up from HLT, with an outcome", everything, kernel(syscall_entry), true, true,
		[](Machine &m) {
			m.branch(Branch::conditional, syscall_entry, kernel(syscall_entry + 2), false, 0);
			wake(m);
		},
		"N CBR "},

	{"", "PTWRITE, not traced", programs | ctl::ptw_en | ctl::fup_on_ptw, kernel(syscall_entry), false, false,
		[](Machine &m) { m.unit.ptwrite(syscall_entry, 1, true); }, ""},
	{"", "PTWRITE", programs | ctl::ptw_en, user(inside), true, true,
		[](Machine &m) { m.unit.ptwrite(inside, 0xabc, true); }, "PTW:abc "},
	{"", "PTWRITE with its address", programs | ctl::ptw_en | ctl::fup_on_ptw, user(inside), true, true,
		[](Machine &m) { m.unit.ptwrite(inside, 0xabc, true); }, "PTW:abc FUP:401000 "},
};

} // namespace

TEST_CASE("each operation makes the packets that the table of packet generation has for it")
{
	for (const Row &row : rows) {
		CAPTURE(row.number, row.operation);
		Machine m;
		m.write(msr::addr0_a, inside);
		m.write(msr::addr0_a + 1, inside + 0xfff);
		m.write(msr::addr0_a + 2, stop_range);
		m.write(msr::addr0_a + 3, stop_range + 0xfff);
		m.write(msr::cr3_match, 0x7000);
		m.start(row.ctl);
		m.unit.arrive(row.begin);
		REQUIRE(m.unit.enabled() == row.before);
		row.operate(m);
		CHECK(m.unit.enabled() == row.after);
		const std::string mode = row.begin.mode == mode_64 ? "64 " : "32 ";
		std::ostringstream begin;
		begin << "PSB " << (row.before ? mode + "PGE:" : "") << std::hex;
		if (row.before)
			begin << row.begin.pc << " ";
		CHECK(m.said() == begin.str() + row.packets + (row.after ? "FUP:off PGD " : ""));
	}
}

TEST_CASE("MOV to CR3 of another root than the one that is traced ends the trace without an address")
{
	Machine m; /* 5c */
	m.write(msr::cr3_match, 0x7000);
	m.root = 0x7000;
	m.start(of_root);
	m.unit.arrive(kernel(syscall_entry));
	REQUIRE(m.unit.enabled());
	mov_cr3(syscall_entry, 0x9000)(m);
	CHECK(m.said() == "PSB 64 PGE:ffffffff81200000 PGD ");
}

TEST_CASE("MOV to CR3 as the last instruction of the filter is PIP and an end")
{
	Machine m; /* 5e, where the table has TIP.PGE instead of TIP.PGD */
	m.write(msr::addr0_a, syscall_entry);
	m.write(msr::addr0_a + 1, syscall_entry + 1);
	m.start(everything | std::uint64_t{range_filter} << ctl::addr_cfg(0).shift);
	m.unit.arrive(kernel(syscall_entry));
	mov_cr3(syscall_entry, 0x9000)(m);
	CHECK(m.said() == "PSB 64 PGE:ffffffff81200000 PIP:9000 PGD:ffffffff81200002 ");
}

TEST_CASE("WRMSR that sets TraceEn tells the time and the ratio, with PSB+ if no byte has been counted")
{
	struct {
		const char *number;
		std::uint64_t ctl, bytes;
		const char *packets;
	} const all[] = {
		{"2a", programs, 100, "CBR "},
		{"2a", programs | ctl::tsc_en, 100, "TSC CBR "},
		{"2a", programs | ctl::tsc_en | ctl::mtc_en, 100, "TSC TMA CBR "},
		{"2a", programs | ctl::mtc_en, 100, "CBR "},
		{"2b", programs, 0, "PSB "},
		{"2b", programs | ctl::tsc_en | ctl::mtc_en, 0, "PSB "},
		{"2d", everything, 100, "CBR 64 PGE:ffffffff81200000 FUP:off PGD "},
		{"2d", everything | ctl::tsc_en | ctl::mtc_en, 100, "TSC TMA CBR 64 PGE:ffffffff81200000 FUP:off PGD "},
		{"2e", everything, 0, "PSB 64 PGE:ffffffff81200000 FUP:off PGD "},
	};
	for (const auto &row : all) {
		CAPTURE(row.number, row.ctl, row.bytes);
		Machine m;
		m.write(msr::status, row.bytes << status::byte_count.shift);
		m.start(row.ctl);
		m.unit.arrive(kernel(syscall_entry));
		CHECK(m.said() == row.packets);
	}
}

TEST_CASE("a buffer of outcomes that is full goes out by itself")
{
	/* 7d, 8d: SDM, "Taken/Not-taken (TNT) Packet": up to 47 outcomes in the long form, and partial packets at any time. */
	for (const Profile &profile : profiles()) {
		CAPTURE(profile.name);
		Machine m({}, profile.name.data());
		m.start(programs);
		m.unit.arrive(user(inside));
		std::string outcomes;
		for (unsigned n = 0; n < long_tnt_bits; n++) {
			m.branch(Branch::conditional, inside + 2, user(n % 3 ? inside : inside + 4), n % 3 != 0);
			outcomes += n % 3 ? "T " : "N ";
		}
		CHECK(m.said() == "PSB 64 PGE:401000 " + outcomes + "FUP:off PGD ");
	}
}
