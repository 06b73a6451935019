// SPDX-License-Identifier: GPL-2.0-or-later
/* The registers of the trace unit, its counters, and their encodings in MRS and MSR. */
#include <catch2/catch_test_macros.hpp>

#include <cstdlib>
#include <vector>

#include "../arm64/etm_registers.h"
#include "../arm64/etm_resources.h"
#include "../arm64/system_access.h"

using namespace hwsim::arm64;
using namespace hwsim::arm64::etm;

TEST_CASE("Instructions of ours are those that name a register of ours", "[etm-registers]")
{
	using Kind = SystemAccess::Kind;
	/* As assembled: MSR TRCCIDCCTLR0, X4; MRS X3, TRCSTATR; MSR TRCPRGCTLR, XZR */
	CHECK(system_access(0xd511'3044).kind == Kind::write);
	CHECK(trace_register_offset(system_access(0xd511'3044).reg) == 0x680);
	CHECK(system_access(0xd511'3044).operand == 4);
	CHECK(system_access(0xd531'0303).kind == Kind::read);
	CHECK(trace_register_offset(system_access(0xd531'0303).reg) == reg::statr);
	CHECK(trace_register_offset(system_access(0xd511'011f).reg) == reg::prgctlr);
	/* MSR TRCOSLAR, X6 */
	CHECK(trace_register_offset(system_access(0xd511'1086).reg) == reg::oslar);
	/* MSR TRBLIMITR_EL1, X0; MRS X1, TRBIDR_EL1; MSR TRFCR_EL1, X2; MSR OSLAR_EL1, X5 */
	CHECK(system_access(0xd518'9b00).reg == sysreg::trblimitr_el1);
	CHECK(system_access(0xd538'9be1).reg == sysreg::trbidr_el1);
	CHECK(system_access(0xd518'1222).reg == sysreg::trfcr_el1);
	/* MSR TRFCR_EL2, X2; MSR TRFCR_EL12, X19 */
	CHECK(system_access(0xd51c'1222).reg == sysreg::trfcr_el2);
	CHECK(system_access(0xd51d'1233).reg == sysreg::trfcr_el12);
	CHECK(system_access(0xd510'1085).reg == sysreg::oslar_el1);
	CHECK(system_access(0xd538'0500).reg == sysreg::id_aa64dfr0_el1);
	CHECK(system_access(0xd503'225f).kind == Kind::trace_synchronization);
	/* MRS X0, MIDR_EL1; ISB */
	CHECK(system_access(0xd538'0000).reg == sysreg::midr_el1);
	CHECK(system_access(0xd503'3fdf).kind == Kind::context_synchronization);
	/* MRS X0, CONTEXTIDR_EL1; MRS X0, OSLSR_EL1; TSB's neighbours PSB and CSDB; NOP */
	for (const std::uint32_t word : {0xd538'd020u, 0xd530'1180u, 0xd503'223fu, 0xd503'229fu, 0xd503'201fu})
		CHECK(system_access(word).kind == Kind::none);
}

TEST_CASE("What a trace unit has can be read, and what it has not cannot", "[etm-registers]")
{
	Registers registers{Features{}};
	CHECK(registers.read(reg::idr0) == Features{}.idr0);
	CHECK(registers.read(reg::idr0 + 20) == Features{}.idr5);
	CHECK(registers.read(reg::devarch) == Features{}.devarch);
	CHECK_FALSE(registers.write(reg::idr0, 0));
	CHECK_FALSE(registers.write(reg::statr, 0));
	/* Eight comparators, two counters, selectors 2 to 7 */
	CHECK(registers.write(reg::acvr + 8 * 7, 0x1000));
	CHECK_FALSE(registers.write(reg::acvr + 8 * 8, 0x1000));
	CHECK_FALSE(registers.read(reg::acvr + 4));
	CHECK(registers.write(reg::cntctlr + 4, 1));
	CHECK_FALSE(registers.write(reg::cntctlr + 8, 1));
	CHECK(registers.write(reg::rsctlr + 4 * 7, 1));
	CHECK_FALSE(registers.write(reg::rsctlr + 4 * 8, 1));
	CHECK_FALSE(registers.write(reg::rsctlr + 4, 1));
	/* There are no external inputs (TRCEXTINSELR), and there is no OS lock but the processor's. */
	CHECK_FALSE(registers.read(0x120));
	CHECK_FALSE(registers.write(reg::oslar, 0));
}

TEST_CASE("Bits that a register does not have stay clear", "[etm-registers]")
{
	Registers registers{Features{}};
	CHECK(registers.write(reg::configr, ~std::uint64_t{0}));
	CHECK(registers.read(reg::configr) == 0x18d8);
	CHECK(registers.write(reg::acvr, 0xffff'8000'1234'5677));
	CHECK(registers.read(reg::acvr) == 0xffff'8000'1234'5674);
	CHECK(registers.write(reg::traceidr, 0xff));
	CHECK(registers.read(reg::traceidr) == 0x7f);
}

TEST_CASE("An enabled trace unit is not idle, and takes no other write than to TRCPRGCTLR and claim tags",
	"[etm-registers]")
{
	Registers registers{Features{}};
	CHECK(registers.read(reg::statr) == (bits::idle | bits::pmstable));
	CHECK(registers.write(reg::configr, bits::ts));
	CHECK(registers.write(reg::prgctlr, 1));
	CHECK(registers.read(reg::statr) == 0);
	CHECK(registers.write(reg::configr, bits::cci));
	CHECK(registers.read(reg::configr) == bits::ts);
	CHECK(registers.write(reg::claimset, 2));
	CHECK(registers.read(reg::claimclr) == 2);
	CHECK(registers.write(reg::prgctlr, 0));
	CHECK(registers.read(reg::statr) == (bits::idle | bits::pmstable));
	CHECK(registers.write(reg::configr, bits::cci));
	CHECK(registers.read(reg::configr) == bits::cci);
	CHECK(registers.write(reg::acvr, 0x1000));
	registers.set_no_comparators(true);
	CHECK(registers.read(reg::acvr) == 0);
	CHECK(registers.write(reg::acvr + 8, 0x1000));
	CHECK(registers.write(reg::acatr, 0xc));
	CHECK((registers.read(reg::acvr + 8) == 0 && registers.read(reg::acatr) == 0));
	registers.set_no_comparators(false);
	CHECK(registers.write(reg::acvr, 0x1000));
	CHECK(registers.read(reg::acvr) == 0x1000);
	registers.set_never_idle(true);
	CHECK(registers.read(reg::statr) == bits::pmstable);
}

TEST_CASE("Claim tags are set and cleared apart, and four of them are there", "[etm-registers]")
{
	Registers registers{Features{}};
	CHECK(registers.read(reg::claimset) == 0xf);
	CHECK(registers.read(reg::claimclr) == 0);
	CHECK(registers.write(reg::claimset, 0xff));
	CHECK(registers.read(reg::claimclr) == 0xf);
	CHECK(registers.write(reg::claimclr, 0x6));
	CHECK(registers.read(reg::claimclr) == 0x9);
	CHECK(registers.read(reg::claimset) == 0xf);
}

TEST_CASE("TRCOSLSR shows the processor's OS lock", "[etm-registers]")
{
	Registers registers{Features{}};
	CHECK(registers.read(reg::oslsr) == 0x12);
	registers.set_os_lock(false);
	CHECK(registers.read(reg::oslsr) == 0x10);
}

TEST_CASE("An ETMv4 has an OS lock of its own, which can be written at any time, and not be read", "[etm-registers]")
{
	Registers registers{etmv4};
	CHECK(registers.read(reg::oslsr) == 0x0a);
	registers.set_os_lock(false);
	CHECK(registers.os_locked());
	CHECK(registers.write(reg::oslar, 0));
	CHECK(registers.read(reg::oslsr) == 0x08);
	registers.set_os_lock(true);
	CHECK_FALSE(registers.os_locked());
	CHECK(registers.write(reg::prgctlr, 1));
	CHECK(registers.write(reg::oslar, ~std::uint64_t{0}));
	CHECK(registers.read(reg::oslsr) == 0x0a);
	CHECK_FALSE(registers.read(reg::oslar));
}

TEST_CASE("An ETMv4 says that it is one, and has no register that only an ETE has", "[etm-registers]")
{
	Registers registers{etmv4};
	CHECK(registers.read(reg::devarch) == 0x4772'4a13);
	CHECK((*registers.read(reg::idr0 + 4) >> 4 & 0xff) == 0x42);
	CHECK(registers.read(reg::idr0) == Features{}.idr0);
	CHECK((*registers.read(reg::idr0 + 20) >> 16 & 0x3f) == 7); /* bits of a trace ID */
	CHECK_FALSE(registers.write(reg::rsr, 0));
	CHECK(Registers(Features{}).write(reg::rsr, 0));
}

namespace
{

/* Counter 0 has this control; selector 2 is active while it is at zero. */
struct Counting {
	Counting(std::uint64_t control, std::uint64_t value, std::uint64_t reload)
	{
		registers.write(reg::cntctlr, control);
		registers.write(reg::cntvr, value);
		registers.write(reg::cntrldvr, reload);
		registers.write(reg::rsctlr + 8, 2 << 16 | 1);
		registers.write(reg::tsctlr, 2);
		resources.start();
	}
	bool after(std::uint32_t cycles)
	{
		resources.advance(cycles, 0);
		return resources.happened(2);
	}
	std::uint64_t value() const { return registers[reg::cntvr]; }

	Registers registers{Features{}};
	Resources resources{registers};
};

} // namespace

TEST_CASE("Selector 0 is never, selector 1 is always", "[etm-registers]")
{
	Counting m(0, 5, 5);
	CHECK_FALSE(m.resources.happened(0));
	CHECK(m.resources.happened(1));
	/* The count event is selector 0. */
	CHECK_FALSE(m.after(100));
	CHECK(m.value() == 5);
}

TEST_CASE("A counter stays at zero, unless it reloads itself", "[etm-registers]")
{
	Counting once(1, 5, 9);
	CHECK_FALSE(once.after(4));
	CHECK_FALSE(once.after(1)); /* this cycle ends with zero */
	CHECK(once.after(50));
	CHECK(once.value() == 0);

	Counting again(1 | bits::rldself, 5, 9);
	CHECK_FALSE(again.after(4));
	CHECK_FALSE(again.after(1));
	CHECK(again.value() == 0);
	CHECK(again.after(1)); /* reloaded by this cycle */
	CHECK(again.value() == 9);
	CHECK_FALSE(again.after(8));
	CHECK(again.after(25));
	CHECK(again.value() == 6);
}

TEST_CASE("A chained counter counts how often the one before is reloaded", "[etm-registers]")
{
	Counting m(1 | bits::rldself, 9, 9);
	m.registers.write(reg::cntctlr + 4, bits::cntchain);
	m.registers.write(reg::cntvr + 4, 3);
	m.resources.start();
	m.resources.advance(30, 0);
	CHECK(m.registers[reg::cntvr + 4] == 0);
}

TEST_CASE("A selector chooses comparators and ranges, and may be inverted", "[etm-registers]")
{
	Registers registers{Features{}};
	Resources resources{registers};
	registers.write(reg::acvr, 0x1000);
	registers.write(reg::acvr + 8, 0x1ffc);
	registers.write(reg::rsctlr + 8, 5 << 16 | 1);
	registers.write(reg::rsctlr + 12, 4 << 16 | 2);
	registers.write(reg::rsctlr + 16, 1 << 20 | 5 << 16 | 1);
	resources.start();
	const auto at = [&](std::uint64_t pc) {
		resources.advance(1, pc);
		return resources.happened(2) | resources.happened(3) << 1 | resources.happened(4) << 2;
	};
	CHECK(at(0xffc) == 4);
	CHECK(at(0x1000) == 1);
	CHECK(at(0x1ffc) == 3);
	CHECK(at(0x2000) == 4);
}

TEST_CASE("A pair of selectors is what PAIRINV and INV of both make of it", "[etm-registers]")
{
	struct Row {
		std::uint64_t pair_inverted, inverted_a, inverted_b;
		unsigned truth; /* a bit for each: neither, A, B, both */
	};
	/* Arm ARM, TRCRSCTLR<n>.PAIRINV; two of the eight combinations are reserved. */
	const Row rows[] = {{0, 0, 0, 0b1000}, {0, 1, 0, 0b0100}, {0, 1, 1, 0b0001}, {1, 0, 0, 0b0111},
		{1, 0, 1, 0b1101}, {1, 1, 1, 0b1110}};
	for (const Row &row : rows)
		for (unsigned both = 0; both < 4; both++) {
			CAPTURE(row.pair_inverted, row.inverted_a, row.inverted_b, both);
			Registers registers{Features{}};
			Resources resources{registers};
			registers.write(reg::acvr, both & 1 ? 0x1000 : 0x2000);
			registers.write(reg::acvr + 8, both & 2 ? 0x1000 : 0x2000);
			registers.write(reg::rsctlr + 16, row.pair_inverted << 21 | row.inverted_a << 20 | 4 << 16 | 1);
			registers.write(reg::rsctlr + 20, row.inverted_b << 20 | 4 << 16 | 2);
			resources.start();
			resources.advance(7, 0x1000);
			CHECK(resources.happened(0x82) == bool(row.truth >> both & 1));
			/* Pair 0 is the constant selectors 0 and 1. */
			CHECK_FALSE(resources.happened(0x80));
		}
}

TEST_CASE("What happened in a long block happened in no more cycles of a short one behind it", "[etm-registers]")
{
	/* Counter 1 counts while counter 0 is at zero, where it stays. Selector 3: counter 1 is at zero; selector 4: it is not. */
	Counting m(0, 0, 0);
	m.registers.write(reg::cntctlr + 4, 2);
	m.registers.write(reg::rsctlr + 12, 2 << 16 | 2);
	m.registers.write(reg::rsctlr + 16, 1 << 20 | 2 << 16 | 2);
	m.resources.start();
	for (const std::uint32_t cycles : {30, 2, 30, 2}) {
		m.resources.advance(cycles, 0);
		CHECK(m.resources.happened(3));
		CHECK_FALSE(m.resources.happened(4));
	}
	/* Pair 1: not both counters are at zero. A longer block must not make that true, which would reload counter 1. */
	m.registers.write(reg::rsctlr + 8, 1 << 21 | 2 << 16 | 1);
	m.registers.write(reg::cntctlr + 4, 0x81 << 8 | 2);
	m.registers.write(reg::cntrldvr + 4, 9);
	m.resources.start();
	m.resources.advance(5, 0);
	for (const std::uint32_t cycles : {2, 30, 2, 30}) {
		m.resources.advance(cycles, 0);
		CHECK_FALSE(m.resources.happened(0x81));
		CHECK(m.registers[reg::cntvr + 4] == 0);
	}
}

TEST_CASE("The sequencer goes forward and back, one state at a time, and a reset is stronger", "[etm-registers]")
{
	Registers registers{Features{}};
	Resources resources{registers};
	/* Selectors 2 to 4 are one address comparator each. */
	constexpr std::uint64_t forward = 0x1000, back = 0x2000, reset = 0x3000;
	registers.write(reg::acvr, forward);
	registers.write(reg::acvr + 8, back);
	registers.write(reg::acvr + 16, reset);
	registers.write(reg::rsctlr + 8, 4 << 16 | 1);
	registers.write(reg::rsctlr + 12, 4 << 16 | 2);
	registers.write(reg::rsctlr + 16, 4 << 16 | 4);
	for (std::uint32_t state = 0; state < 3; state++)
		registers.write(reg::seqevr + 4 * state, 3 << 8 | 2);
	registers.write(reg::seqrstevr, 4);
	registers.write(reg::seqstr, 2);
	/* Selectors 5 to 7 are states 0, 2 and 3. */
	for (const unsigned state : {0u, 2u, 3u})
		registers.write(reg::rsctlr + 4 * (state ? state + 4 : 5), 2 << 16 | 0x10 << state);
	registers.write(reg::victlr, 5);
	resources.start();
	CHECK(resources.in_use());
	/* The sequencer reacts in the next cycles. */
	const auto after = [&](std::uint64_t pc) {
		resources.advance(1, pc);
		resources.advance(1, 0);
		const unsigned said = resources.happened(5) | resources.happened(6) << 2 | resources.happened(7) << 3;
		CHECK(said == (1u << registers[reg::seqstr] & 0b1101));
		return *registers.read(reg::seqstr);
	};
	CHECK(after(0) == 2);
	CHECK(after(forward) == 3);
	CHECK(after(forward) == 3);
	CHECK(after(back) == 2);
	CHECK(after(back) == 1);
	CHECK(after(back) == 0);
	CHECK(after(back) == 0);
	CHECK(after(forward) == 1);
	CHECK(after(reset) == 0);
	/* Forward and back at once cancel each other; a reset at the same time wins. */
	registers.write(reg::seqstr, 1);
	registers.write(reg::acvr + 8, forward);
	CHECK(after(forward) == 1);
	registers.write(reg::acvr + 16, forward);
	CHECK(after(forward) == 0);
}

TEST_CASE("Two counters make windows of it, one in so many", "[etm-registers]")
{
	/* As perf's autofdo configuration does: counter 1 counts rounds of counter 0, and the round after its last reloads it. */
	constexpr std::uint64_t window = 100, period = 7;
	Registers registers{Features{}};
	Resources resources{registers};
	registers.write(reg::rsctlr + 8, 2 << 16 | 1);
	registers.write(reg::rsctlr + 12, 2 << 16 | 2);
	registers.write(reg::cntrldvr, window);
	registers.write(reg::cntctlr, bits::rldself | 1);
	registers.write(reg::cntrldvr + 4, period);
	registers.write(reg::cntctlr + 4, 0x81 << 8 | 2);
	registers.write(reg::victlr, 3);
	resources.start();
	std::vector<std::uint64_t> ends;
	std::uint64_t now = 0, on = 0;
	bool was = false;
	while (ends.size() < 20) {
		const std::uint32_t cycles = 1 + now % 5;
		resources.advance(cycles, 0);
		now += cycles;
		const bool is = resources.happened(3);
		on += is ? cycles : 0;
		if (was && !is)
			ends.push_back(now);
		was = is;
	}
	for (std::size_t n = 1; n < ends.size(); n++)
		CHECK(std::abs(static_cast<long>(ends[n] - ends[n - 1]) -
			       static_cast<long>((window + 1) * (period + 1))) < 10);
	CHECK(std::abs(static_cast<long>(on) - static_cast<long>(20 * window)) < 20 * 20);
}

TEST_CASE("With EL2 there is a level more to leave out, and VMIDOPT", "[etm-registers]")
{
	for (const bool el2 : {false, true}) {
		Registers registers{el2 ? etmv4.with_el2() : etmv4};
		/* TRCIDR3.EXLEVEL_NS, TRCIDR2.VMIDOPT */
		CHECK((*registers.read(reg::idr0 + 12) >> 20 & 0xf) == (el2 ? 7 : 3));
		CHECK((*registers.read(reg::idr0 + 8) >> 29 & 3) == (el2 ? 1 : 0));
		CHECK(registers.write(reg::victlr, 0xff'0000));
		CHECK(registers.read(reg::victlr) == (el2 ? 0x70'0000u : 0x30'0000u));
		CHECK(registers.write(reg::acatr, 0xff00));
		CHECK(registers.read(reg::acatr) == (el2 ? 0x7000u : 0x3000u));
		CHECK(registers.write(reg::configr, bits::vmidopt));
		CHECK(registers.read(reg::configr) == (el2 ? bits::vmidopt : 0));
	}
}

TEST_CASE("A trace unit that was powered down has the values of a reset, or others than before", "[etm-registers]")
{
	for (const Features &features : {Features{}, etmv4}) {
		Registers registers{features};
		/* One that has no lock of its own follows the processor's. */
		registers.set_os_lock(false);
		CHECK(registers.write(reg::oslar, 0) == features.has_os_lock());
		CHECK(registers.write(reg::configr, bits::rs));
		CHECK(registers.write(reg::acvr + 8, 0x1234));
		CHECK(registers.write(reg::victlr, 1));
		CHECK(registers.write(reg::claimset, 2));
		CHECK(registers.write(reg::prgctlr, bits::en));
		const auto configr = registers.read(reg::configr), acvr = registers.read(reg::acvr + 8),
			   victlr = registers.read(reg::victlr);
		registers.lose();
		CHECK_FALSE(registers.enabled());
		CHECK(registers.os_locked() == features.has_os_lock());
		CHECK(registers.read(reg::claimclr) == 0);
		CHECK(registers.read(reg::configr) != configr);
		CHECK(registers.read(reg::acvr + 8) != acvr);
		CHECK(registers.read(reg::victlr) != victlr);
		/* What it is it remains. */
		CHECK(registers.read(reg::idr0) == features.idr0);
		CHECK(registers.read(reg::devarch) == features.devarch);
	}
}
