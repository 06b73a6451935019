// SPDX-License-Identifier: GPL-2.0-or-later
/* The trace unit from register writes and program flow to bytes in memory, read back by libipt. */
#include <catch2/catch_get_random_seed.hpp>
#include <catch2/catch_test_macros.hpp>

#include <random>

#include "pt_machine.h"

TEST_CASE("a user program with a system call, the kernel left out")
{
	Machine m;
	m.start(ctl::user);
	m.unit.arrive(kernel(0xffff'ffff'8100'0000));
	m.unit.arrive(user(0x401000));
	m.branch(Branch::conditional, 0x401002, user(0x401004), false);
	m.branch(Branch::indirect_jump, 0x401006, user(0x402000));
	m.branch(Branch::far, 0x402002, kernel(0xffff'ffff'8100'0000));
	m.unit.arrive(user(0x402004));
	CHECK(m.said() == "PSB 64 PGE:401000 N TIP:402000 PGD PGE:402004 FUP:off PGD ");
}

TEST_CASE("kernel and user, with an interrupt")
{
	Machine m;
	m.start(ctl::user | ctl::os);
	m.unit.arrive(user(0x401000));
	m.unit.interrupt(user(0x401004), kernel(0xffff'ffff'8100'0000));
	m.unit.arrive(kernel(0xffff'ffff'8100'0000));
	m.branch(Branch::far, 0xffff'ffff'8100'0010, user(0x401004), true, 0);
	CHECK(m.said() == "PSB 64 PGE:401000 FUP:401004 TIP:ffffffff81000000 TIP:401004 FUP:off PGD ");
}

TEST_CASE("event trace tells vectors, addresses of page faults, IRET and the interrupt flag")
{
	Machine m({}, "alderlake-n");
	m.interruptible = true;
	m.start(ctl::user | ctl::os | ctl::event_en);
	m.unit.arrive(user(0x401000));
	m.interruptible = false;
	m.unit.interrupt(user(0x401004), kernel(0xffff'ffff'8100'0000));
	m.unit.arrive(kernel(0xffff'ffff'8100'0000));
	m.interruptible = true;
	m.unit.arrive(kernel(0xffff'ffff'8100'0004)); /* after STI */
	m.branch(Branch::far, 0xffff'ffff'8100'0010, user(0x401004), true, 0);
	m.unit.interrupt(user(0x401004), kernel(0xffff'ffff'8200'0000)); /* no gate leads there */
	CHECK(m.said() == "PSB 64i PGE:401000 CR2:deadbeef INTR14 FUP:401004 64 TIP:ffffffff81000000 "
			  "64i FUP:ffffffff81000004 IRET0+ FUP:ffffffff81000010 TIP:401004 FUP:401004 "
			  "TIP:ffffffff82000000 FUP:off PGD ");
}

TEST_CASE("a change of execution mode comes before the address")
{
	Machine m;
	m.start(ctl::user | ctl::os);
	m.unit.arrive(user(0x401000));
	m.branch(Branch::far, 0x401002, {0x8000, 3, mode_32});
	CHECK(m.said() == "PSB 64 PGE:401000 32 TIP:8000 FUP:off PGD ");
}

TEST_CASE("an interrupt that is not traced is FUP and TIP.PGD")
{
	Machine m;
	m.start(ctl::user);
	m.unit.arrive(user(0x401000));
	m.unit.interrupt(user(0x401004), kernel(0xffff'ffff'8100'0000));
	CHECK_FALSE(m.unit.enabled());
	CHECK(m.said() == "PSB 64 PGE:401000 FUP:401004 PGD ");
}

TEST_CASE("calls and returns of the traced program are compressed")
{
	Machine m;
	m.start(ctl::user);
	m.unit.arrive(user(0x401000));
	m.branch(Branch::call, 0x401002, user(0x402000));
	m.branch(Branch::ret, 0x402008, user(0x401004));
	m.branch(Branch::call, 0x401006, user(0x401008)); /* to the next instruction: leaves nothing to return to */
	m.branch(Branch::ret, 0x401008, user(0x401008));
	CHECK(m.said() == "PSB 64 PGE:401000 T TIP:401008 FUP:off PGD ");
}

TEST_CASE("a range filter is exact to the instruction, also inside a block")
{
	Machine m;
	m.write(msr::addr0_a, 0x401004);
	m.write(msr::addr0_a + 1, 0x401007);
	m.start(ctl::user | std::uint64_t{range_filter} << ctl::addr_cfg(0).shift);
	BasicBlock block;
	block.address = 0x401000;
	block.length = 12;
	block.level = 3;
	block.mode = mode_64;
	block.sizes = {2, 2, 2, 2, 2, 2};
	m.unit.arrive(user(0x401000));
	CHECK_FALSE(m.unit.enabled());
	m.unit.straight(block, 0x401000, 0x40100c);
	m.branch(Branch::conditional, 0x40100a, user(0x401000));
	CHECK(m.said() == "PSB 64 PGE:401004 PGD:401008 ");
	CHECK(m.edges == std::vector<std::pair<std::uint64_t, std::uint64_t>>{{0, 0x401004}, {0x401006, 0x401008}});
}

TEST_CASE("what an instruction in the middle of a block does hangs on the ranges there")
{
	Machine m;
	m.write(msr::addr0_a, 0x401002);
	m.write(msr::addr0_a + 1, 0x401005);
	m.start(ctl::os | ctl::ptw_en | std::uint64_t{range_filter} << ctl::addr_cfg(0).shift);
	BasicBlock block;
	block.address = 0x401000;
	block.length = 10;
	block.mode = mode_64;
	block.sizes = {2, 2, 2, 2, 2};
	const auto ptwrite = [&](std::uint64_t at) {
		m.unit.reach(block, 0x401000, at);
		m.unit.ptwrite(at, at & 0xf, true);
	};
	m.unit.arrive(kernel(0x401000));
	ptwrite(0x401002);
	ptwrite(0x401004);
	ptwrite(0x401006);
	m.unit.straight(block, 0x401000, 0x40100a);
	/* The block again, up to a WRMSR within the range */
	m.branch(Branch::jump, 0x401008, kernel(0x401000), true, 0);
	m.unit.reach(block, 0x401000, 0x401004);
	CHECK(m.unit.enabled());
	CHECK(m.said() == "PSB 64 PGE:401002 PTW:2 PTW:4 PGD:401006 PGE:401002 FUP:off PGD ");
	CHECK(m.edges.size() == 3);
}

TEST_CASE("a branch out of the filter is told by its target alone")
{
	Machine m;
	m.write(msr::addr0_a, 0x401000);
	m.write(msr::addr0_a + 1, 0x401fff);
	m.start(ctl::user | std::uint64_t{range_filter} << ctl::addr_cfg(0).shift);
	m.unit.arrive(user(0x401000));
	m.branch(Branch::conditional, 0x401002, user(0x402000));
	CHECK(m.unit.left_for() == 0x402000);
	m.branch(Branch::conditional, 0x402002, user(0x402010));
	m.branch(Branch::jump, 0x402012, user(0x401010));
	CHECK(m.said() == "PSB 64 PGE:401000 PGD:402000 PGE:401010 FUP:off PGD ");
}

TEST_CASE("a stop range ends tracing until software begins anew")
{
	Machine m;
	m.write(msr::addr0_a, 0x402000);
	m.write(msr::addr0_a + 1, 0x402fff);
	m.start(ctl::user | std::uint64_t{range_stop} << ctl::addr_cfg(0).shift);
	m.unit.arrive(user(0x401000));
	m.branch(Branch::jump, 0x401002, user(0x402000));
	m.branch(Branch::jump, 0x402002, user(0x401000));
	CHECK_FALSE(m.unit.enabled());
	CHECK((m.unit.read(msr::status) & (status::stopped | status::trigger_en)) == status::stopped);
	CHECK(m.said() == "PSB 64 PGE:401000 PGD:402000 STOP ");
}

TEST_CASE("a unit that is switched on while Stopped is set says nothing, and loses nothing")
{
	Machine m;
	m.write(msr::status, status::stopped | std::uint64_t{100} << status::byte_count.shift);
	m.start(ctl::os | ctl::tsc_en | ctl::mtc_en | ctl::cyc_en);
	m.unit.arrive(kernel(0x401000));
	m.clock.now += 1'000'000;
	CHECK(m.said().empty());
	CHECK(m.losses == 0);
}

TEST_CASE("a CR3 filter follows the address space")
{
	Machine m;
	m.write(msr::cr3_match, 0x7000);
	m.start(ctl::user | ctl::os | ctl::cr3_filter);
	m.unit.arrive(kernel(0xffff'ffff'8100'0000));
	CHECK_FALSE(m.unit.enabled());
	m.root = 0x7000;
	m.unit.address_space(0xffff'ffff'8100'0004);
	m.unit.arrive(kernel(0xffff'ffff'8100'0004));
	CHECK(m.unit.enabled());
	m.root = 0x5000;
	m.unit.address_space(0xffff'ffff'8100'0008);
	CHECK_FALSE(m.unit.enabled());
	CHECK(m.said() == "PSB PIP:7000 64 PGE:ffffffff81000004 PGD ");
}

TEST_CASE("a switch of address space in a traced kernel is a PIP")
{
	Machine m;
	m.start(ctl::user | ctl::os);
	m.unit.arrive(kernel(0xffff'ffff'8100'0000));
	m.root = 0x9000;
	m.unit.address_space(0xffff'ffff'8100'0004);
	CHECK(m.said() == "PSB 64 PGE:ffffffff81000000 PIP:9000 FUP:off PGD ");
}

TEST_CASE("PTWRITE is in the trace where it is switched on")
{
	Machine m;
	m.start(ctl::user | ctl::ptw_en | ctl::fup_on_ptw);
	m.unit.ptwrite(0x401000, 1, true); /* not traced yet */
	m.unit.arrive(user(0x401000));
	m.unit.ptwrite(0x401004, 0xabc, true);
	CHECK(m.said() == "PSB 64 PGE:401000 PTW:abc FUP:401004 FUP:off PGD ");
}

TEST_CASE("the time that has passed is told before the program goes on")
{
	Machine m;
	m.start(ctl::user | ctl::tsc_en | ctl::mtc_en);
	m.unit.arrive(user(0x401000));
	m.branch(Branch::far, 0x401002, kernel(0xffff'ffff'8100'0000));
	m.clock.now += 1'000'000;
	m.unit.arrive(user(0x401004));
	m.branch(Branch::far, 0x401006, kernel(0xffff'ffff'8100'0000));
	m.clock.now += 150;
	m.unit.arrive(user(0x401008));
	CHECK(m.said() == "PSB 64 PGE:401000 PGD TSC TMA CBR PGE:401004 PGD MTC MTC MTC PGE:401008 FUP:off PGD ");
}

TEST_CASE("who sleeps and wakes is traced on, and a PSB comes in its time")
{
	Machine m;
	m.start(ctl::user | ctl::tsc_en);
	for (unsigned n = 0; n < 1000; n++)
		m.unit.wake(0);
	CHECK(m.unit.statistics().bytes > 10'000);
	CHECK(m.unit.statistics().lost == 0);
	const std::string said = m.said();
	CHECK(said.find("TSC CBR PSB TSC CBR") != std::string::npos);
	CHECK(m.unit.statistics().syncs == 6);

	Machine off;
	off.unit.wake(0);
	CHECK(off.unit.statistics().bytes == 0);
}

TEST_CASE("a second session goes on without a PSB unless the byte count is cleared")
{
	Machine m;
	m.start(ctl::user);
	m.unit.arrive(user(0x401000));
	m.write(msr::ctl, 0);
	m.start(ctl::user);
	m.unit.arrive(user(0x401010));
	m.write(msr::ctl, 0);
	m.write(msr::status, 0);
	m.start(ctl::user);
	m.unit.arrive(user(0x401020));
	CHECK(m.said() == "PSB 64 PGE:401000 FUP:off PGD CBR 64 PGE:401010 FUP:off PGD PSB 64 PGE:401020 FUP:off PGD ");
}

TEST_CASE("addresses of a session without a PSB are those that the decoder puts together")
{
	Machine m;
	m.start(ctl::user);
	m.unit.arrive(user(0x7fff'f7dd'0000));
	m.write(msr::ctl, 0);
	m.start(ctl::user);
	m.unit.arrive(user(0x401010));
	CHECK(m.said() == "PSB 64 PGE:7ffff7dd0000 FUP:off PGD CBR 64 PGE:401010 FUP:off PGD ");
}

TEST_CASE("a full buffer interrupts, and at STOP the unit is silent")
{
	Machine m;
	m.memory.store(table, data | TopaEntry::interrupt | TopaEntry::stop); /* 4 KiB */
	m.start(ctl::user);
	m.unit.arrive(user(0x401000));
	for (std::uint64_t i = 0; i < 4000; i++)
		m.branch(Branch::indirect_jump, 0x401002, user(0x401000 + (i << 20)));
	CHECK(m.interrupts == 1);
	CHECK_FALSE(m.unit.enabled());
	CHECK_FALSE(m.unit.watches(3));
	CHECK(m.unit.read(msr::status) & status::stopped);
	CHECK(m.unit.read(msr::output_mask_ptrs) >> 32 == 4096);
	CHECK(m.unit.statistics().bytes == 4096);
	CHECK(m.losses == 1);
}

TEST_CASE("a broken table is an error that the status tells")
{
	Machine m;
	m.memory.store(table, table | TopaEntry::end);
	m.start(ctl::user);
	m.unit.arrive(user(0x401000));
	m.write(msr::ctl, 0);
	CHECK(m.unit.read(msr::status) & status::error);
	CHECK(m.interrupts == 0);
}

TEST_CASE("without branches there are only the packets that were asked for")
{
	Machine m;
	m.write(msr::ctl, ctl::trace_en | ctl::topa | ctl::user | ctl::ptw_en);
	m.unit.arrive(user(0x401000));
	m.branch(Branch::indirect_jump, 0x401002, user(0x402000));
	m.unit.ptwrite(0x402004, 0xabc, true);
	CHECK(m.said() == "PSB PTW:abc ");
}

TEST_CASE("without branches nothing tells that the context, the filter or all of it ends")
{
	Machine m;
	m.write(msr::cr3_match, 0x5000);
	m.write(msr::addr0_a, 0x401000);
	m.write(msr::addr0_a + 1, 0x401fff);
	m.write(msr::addr0_a + 2, 0x403000);
	m.write(msr::addr0_a + 3, 0x403fff);
	m.write(msr::ctl, ctl::trace_en | ctl::topa | ctl::user | ctl::os | ctl::cr3_filter |
				  std::uint64_t{range_filter} << ctl::addr_cfg(0).shift |
				  std::uint64_t{range_stop} << ctl::addr_cfg(1).shift);
	m.unit.arrive(kernel(0x401000));
	m.root = 0x6000;
	m.unit.address_space(0x401000);
	m.root = 0x5000;
	m.unit.address_space(0x401004);
	m.unit.arrive(kernel(0x401008));
	m.run(kernel(0x401ffc), 3);
	m.unit.arrive(kernel(0x402002));
	CHECK_FALSE(m.unit.enabled());
	m.unit.arrive(kernel(0x403000));
	CHECK(m.edges.empty());
	CHECK(m.said() == "PSB PIP:5000 STOP ");
}

TEST_CASE("an overflow on demand loses some blocks and says where it ends")
{
	Faults faults;
	REQUIRE(faults.set("overflow:60"));
	Machine m(faults);
	m.start(ctl::user);
	m.unit.arrive(user(0x401000));
	for (std::uint64_t i = 1; i <= 40; i++)
		m.branch(Branch::indirect_jump, 0x401002, user(0x401000 + 0x10 * i));
	CHECK(m.unit.statistics().overflows == 1);
	const std::string said = m.said();
	CHECK(said.find("OVF FUP:401") != std::string::npos);
	CHECK(said.find("TIP:4010c0") == std::string::npos);
	CHECK(said.find("TIP:401230") != std::string::npos);
}

TEST_CASE("an operational error on demand comes once")
{
	Faults faults;
	REQUIRE(faults.set("topa-error:1"));
	Machine m(faults);
	m.start(ctl::user);
	m.unit.arrive(user(0x401000));
	m.write(msr::ctl, 0);
	CHECK_FALSE(m.unit.read(msr::status) & status::error);
	m.start(ctl::user);
	m.unit.arrive(user(0x401000));
	m.write(msr::ctl, 0);
	CHECK(m.unit.read(msr::status) & status::error);
}

TEST_CASE("registers that are lost end the trace, and what is traced then goes where they point")
{
	constexpr std::uint64_t others_table = 0x3000, others_data = data + 0x8000;
	for (const Loss::To to : {Loss::To::reset, Loss::To::other}) {
		Machine m;
		m.memory.store(others_table, others_data | 0 << 6);
		m.memory.store(others_table + 8, others_data | 0 << 6);
		m.memory.store(others_table + 16, others_table | TopaEntry::end);
		m.start(ctl::user);
		m.unit.arrive(user(0x401000));
		m.unit.lose({.to = to, .base = others_table});
		CHECK_FALSE(m.unit.enabled());
		CHECK_FALSE(m.unit.is_switched_on());
		CHECK(m.losses == 1);
		CHECK(m.unit.read(msr::output_base) == (to == Loss::To::reset ? 0 : others_table));
		/* A driver that does not restore the registers traces on to where they point. */
		m.write(msr::status, 0);
		m.start(ctl::user);
		m.unit.arrive(user(0x401000));
		m.write(msr::ctl, 0);
		std::uint64_t first = 0;
		m.memory.load(data, first);
		CHECK(first == 0);
		m.memory.load(others_data + 0x40, first);
		CHECK((first != 0) == (to == Loss::To::other));
	}
}

TEST_CASE("a reset clears the registers and ends the trace")
{
	Machine m;
	m.write(msr::addr0_a, 0x1000);
	m.start(ctl::user);
	m.unit.arrive(user(0x401000));
	m.unit.reset();
	CHECK_FALSE(m.unit.enabled());
	CHECK_FALSE(m.unit.watches(3));
	for (const std::uint32_t msr : {msr::ctl, msr::status, msr::output_base, msr::cr3_match, msr::addr0_a})
		CHECK(m.unit.read(msr) == 0);
	CHECK(m.unit.read(msr::output_mask_ptrs) == 0x7f);
	CHECK(m.losses == 1);
	m.unit.arrive(user(0x401010));
	CHECK_FALSE(m.unit.enabled());
}

TEST_CASE("a unit in use at boot has TraceEn set and traces nothing")
{
	Faults faults;
	REQUIRE(faults.set("in-use:1"));
	Machine m(faults);
	CHECK(m.unit.read(msr::ctl) & ctl::trace_en);
	CHECK_FALSE(m.unit.watches(0));
	CHECK_FALSE(m.unit.watches(3));
}

TEST_CASE("faults are named, and have a number")
{
	Faults faults;
	CHECK(faults.set("gp:0x570"));
	CHECK(faults.gp == 0x570);
	CHECK_FALSE(faults.set("gp"));
	CHECK_FALSE(faults.set("gp:x"));
	CHECK_FALSE(faults.set("no:1"));
}

TEST_CASE("branches told by the dozen make the packets of branches told one by one")
{
	Machine one, dozen;
	std::minstd_rand random(Catch::getSeed());
	constexpr Branch kinds[] = {Branch::conditional, Branch::jump, Branch::call, Branch::ret, Branch::indirect_call,
		Branch::indirect_jump};
	for (Machine *m : {&one, &dozen}) {
		m->start(ctl::user | ctl::mtc_en | ctl::tsc_en);
		m->unit.arrive(user(0x401000));
	}
	REQUIRE(dozen.unit.is_plain());
	std::vector<std::uint64_t> calls;
	std::uint64_t at = 0x401000;
	/* Too few bytes for a PSB or a flush, whose places may differ by a dozen branches. */
	for (unsigned n = 1; n < 6 * PtUnit::dozen; n++) {
		const Branch kind = kinds[random() % std::size(kinds)];
		const bool taken = kind != Branch::conditional || random() % 2;
		std::uint64_t to = taken ? 0x401000 + random() % 1000 : at + 2;
		if (kind == Branch::ret && !calls.empty() && random() % 4) {
			to = calls.back();
			calls.pop_back();
		}
		if (kind == Branch::call || kind == Branch::indirect_call)
			calls.push_back(at + 2);
		one.branch(kind, at, user(to), taken);
		dozen.unit.plain_transfer({kind, taken, at, at + 2, 3, user(to)});
		if (n % PtUnit::dozen == 0)
			dozen.unit.arrive_by_the_dozen(user(to));
		at = to;
	}
	CHECK(one.said() == dozen.said());
}

TEST_CASE("branches are told one by one where a filter, an event or a fault looks at them")
{
	const auto plain = [](std::uint64_t more, const Faults &faults = {}) {
		Machine m(faults, "alderlake-n");
		m.write(msr::addr0_a, 0x401000);
		m.write(msr::addr0_a + 1, 0x402000);
		m.write(msr::cr3_match, 0x5000);
		m.start(ctl::user | more);
		m.unit.arrive(user(0x401000));
		return m.unit.is_plain();
	};
	CHECK(plain(0));
	CHECK_FALSE(plain(ctl::cr3_filter));
	CHECK_FALSE(plain(ctl::event_en));
	CHECK_FALSE(plain(std::uint64_t{range_filter} << ctl::addr_cfg(0).shift));
	Faults overflow;
	overflow.overflow = 8000;
	CHECK_FALSE(plain(0, overflow));
}

TEST_CASE("a unit that is told to fault looks at every branch from then on")
{
	Machine m;
	m.start(ctl::user);
	m.unit.arrive(user(0x401000));
	Faults faults;
	faults.overflow = 8000;
	m.unit.set_faults(faults);
	CHECK_FALSE(m.unit.is_plain());
}

TEST_CASE("an output error is one loss, with the outcomes that no packet has told")
{
	Faults faults;
	faults.topa_error = 1;
	Machine m(faults);
	m.start(ctl::user);
	m.unit.arrive(user(0x401000));
	for (unsigned n = 0; n < 2000; n++) {
		m.unit.transfer({Branch::indirect_jump, true, 0x401000, 0x401002, 3, user(0x401100)});
		m.unit.transfer({Branch::conditional, true, 0x401100, 0x401102, 3, user(0x401000)});
		m.unit.arrive(user(0x401000));
	}
	CHECK(m.unit.statistics().errors == 1);
	m.write(msr::ctl, 0);
	CHECK(m.losses == 1);
}

TEST_CASE("while TraceEn is set registers say what they said then, unless stale-registers is relaxed")
{
	for (const bool strict : {true, false}) {
		Rules rules = Rules::lenient();
		REQUIRE(rules.set("stale-registers", strict));
		Machine m({}, "icelake", rules);
		m.memory.store(table, data | TopaEntry::interrupt | TopaEntry::stop); /* 4 KiB */
		m.start(ctl::user);
		m.unit.arrive(user(0x401000));
		for (std::uint64_t i = 0; i < 4000; i++)
			m.branch(Branch::indirect_jump, 0x401002, user(0x401000 + (i << 20)));
		CHECK(m.unit.read(msr::output_mask_ptrs) >> 32 == (strict ? 0 : 4096));
		CHECK(static_cast<bool>(m.unit.read(msr::status) & status::stopped) == !strict);
		CHECK((m.unit.read(msr::status) >> 32 != 0) == !strict);
		CHECK(m.unit.read(msr::ctl) & ctl::trace_en);
		m.write(msr::ctl, 0);
		CHECK(m.unit.read(msr::output_mask_ptrs) >> 32 == 4096);
		CHECK(m.unit.read(msr::status) & status::stopped);
	}
}

TEST_CASE("PADs change nothing that is said, and are there unless padding is relaxed")
{
	for (const char *profile : {"broadwell", "skylake", "goldmont"}) {
		std::string said[2];
		std::uint64_t bytes[2];
		for (const bool strict : {true, false}) {
			Rules rules = Rules::lenient();
			REQUIRE(rules.set("padding", strict));
			Machine m({}, profile, rules);
			m.start(ctl::user | ctl::tsc_en);
			m.unit.arrive(user(0x401000));
			for (std::uint64_t i = 0; i < 30; i++) {
				m.branch(Branch::conditional, 0x401002, user(0x401004), false);
				m.branch(Branch::indirect_jump, 0x401006, user(0x401000 + (i << i % 40)));
				m.unit.interrupt(user(0x401004), kernel(0xffff'ffff'8100'0000));
				m.unit.wake(0);
				m.unit.arrive(user(0x401004));
			}
			said[strict] = m.said();
			bytes[strict] = m.unit.statistics().bytes;
		}
		CAPTURE(profile);
		CHECK(said[0] == said[1]);
		CHECK(bytes[1] > bytes[0] * 11 / 10);
		CHECK(bytes[1] < bytes[0] * 2);
	}
}

TEST_CASE("trace goes to memory in pieces that are never the same, unless late-flush is relaxed")
{
	for (const bool strict : {true, false}) {
		Rules rules = Rules::lenient();
		REQUIRE(rules.set("late-flush", strict));
		Machine m({}, "icelake", rules);
		m.start(ctl::user);
		std::vector<std::uint64_t> pieces;
		std::uint64_t written = 0;
		for (std::uint64_t i = 0; i < 4000; i++) {
			m.branch(Branch::indirect_jump, 0x401002, user(0x401000 + 16 * i));
			if (const std::uint64_t now = m.unit.statistics().bytes; now != written) {
				pieces.push_back(now - written);
				written = now;
			}
		}
		const auto [least, most] = std::ranges::minmax(pieces);
		CHECK(pieces.size() > 5);
		CHECK((most > 2 * least) == strict);
		m.write(msr::ctl, 0);
		CHECK(m.unit.statistics().lost == 0);
	}
}

TEST_CASE("what a program did is in memory when the kernel runs only where late-flush is relaxed")
{
	for (const bool strict : {true, false}) {
		Rules rules = Rules::lenient();
		REQUIRE(rules.set("late-flush", strict));
		Machine m({}, "icelake", rules);
		m.start(ctl::user);
		m.unit.arrive(user(0x401000));
		m.branch(Branch::indirect_jump, 0x401002, user(0x402000));
		const std::uint64_t before = m.unit.statistics().bytes;
		m.unit.interrupt(user(0x402000), kernel(0xffff'ffff'8100'0000));
		const std::uint64_t then = m.unit.statistics().bytes;
		m.write(msr::ctl, 0);
		CHECK((then > before) == !strict);
		CHECK((then == m.unit.statistics().bytes) == !strict);
	}
}
