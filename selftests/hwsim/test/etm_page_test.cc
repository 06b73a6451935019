// SPDX-License-Identifier: GPL-2.0-or-later
/* A trace unit's memory-mapped registers: the system registers in words, behind a lock, and some that exist only there. */
#include <catch2/catch_test_macros.hpp>

#include "../arm64/etm_page.h"

using namespace hwsim;
using namespace hwsim::arm64;
using namespace hwsim::arm64::etm;

namespace
{

struct Around final : TraceProcessor, TraceSink, Clock {
	std::uint32_t context_id() override { return 1; }
	Exception exception_type(std::uint64_t) override { return Exception::irq; }
	void begins(std::uint64_t) override {}
	bool enabled() const override { return true; }
	std::size_t take(std::span<const std::uint8_t> bytes) override { return bytes.size(); }
	void trigger() override {}
	std::uint64_t counter() override { return 1; }
};

struct Machine {
	Machine() { CHECK(page.write(management::lar, management::unlock)); }
	void set(std::uint32_t offset, std::uint32_t value) { CHECK(page.write(offset, value)); }

	Around around;
	Faults faults;
	TraceUnit unit{etmv4, around, around, around, faults};
	EtmPage page{unit, false};
};

} // namespace

TEST_CASE("A page says what it is, and what the trace unit has", "[etm-page]")
{
	Machine m;
	const std::uint32_t part = m.page.read(management::pidr0) | m.page.read(management::pidr0 + 4) << 8 |
				   m.page.read(management::pidr0 + 8) << 16;
	CHECK(part == 0xb'bd0c);
	CHECK(m.page.read(management::devarch) == etmv4.devarch);
	CHECK(m.page.read(management::devtype) == 0x13);
	CHECK(m.page.read(management::authstatus) == etmv4.authstatus);
	CHECK(m.page.read(reg::idr0) == etmv4.idr0);
	CHECK(m.page.read(reg::idr0 + 4) == etmv4.idr1);
	CHECK(m.page.read(reg::statr) == (bits::idle | bits::pmstable));
	CHECK(m.page.read(0x314) == (1u | 1u << 5)); /* TRCPDSR: powered, the OS lock is set */
}

TEST_CASE("While a page is locked nothing is taken but what unlocks it", "[etm-page]")
{
	Machine m;
	m.set(management::lar, 0);
	CHECK(m.page.read(management::lsr) == 3);
	m.set(reg::configr, bits::ts);
	m.set(reg::prgctlr, bits::en);
	CHECK_FALSE(m.page.switches_on(reg::prgctlr, bits::en));
	CHECK_FALSE(m.unit.is_switched_on());
	CHECK(m.page.read(reg::configr) == 0);
	m.set(management::lar, management::unlock);
	CHECK(m.page.read(management::lsr) == 1);
	CHECK(m.page.switches_on(reg::prgctlr, bits::en));
	m.set(reg::configr, bits::ts);
	CHECK(m.unit.read(reg::configr) == bits::ts);
	CHECK(m.page.read(reg::configr) == bits::ts);
}

TEST_CASE("Registers of 64 bits are two words", "[etm-page]")
{
	Machine m;
	for (const bool upper_first : {false, true}) {
		const std::uint64_t value = upper_first ? 0xffff'8000'1234'5678 : 0x0000'1234'9abc'def0;
		const std::uint32_t at = reg::acvr + 16;
		for (const unsigned half : {unsigned{upper_first}, unsigned{!upper_first}})
			m.set(at + 4 * half, static_cast<std::uint32_t>(value >> 32 * half));
		CHECK(m.unit.read(at) == value);
		CHECK(m.page.read(at) == static_cast<std::uint32_t>(value));
		CHECK(m.page.read(at + 4) == value >> 32);
	}
	m.set(reg::acatr, 0x3000);
	CHECK(m.unit.read(reg::acatr) == 0x3000u);
	m.set(reg::vmidcctlr0, 0xf);
	CHECK(m.unit.read(reg::vmidcctlr0) == 0xfu);
}

TEST_CASE("What the trace unit does by itself is seen behind the next write", "[etm-page]")
{
	Machine m;
	m.set(reg::oslar, 0);
	CHECK(m.page.read(0x314) == 1);
	m.set(reg::prgctlr, bits::en);
	CHECK(m.unit.is_switched_on());
	CHECK(m.page.read(reg::statr) == 0);
	m.set(reg::configr, bits::ts); /* ignored */
	CHECK(m.page.read(reg::configr) == 0);
	m.set(reg::prgctlr, 0);
	CHECK(m.page.read(reg::statr) == (bits::idle | bits::pmstable));
}

TEST_CASE("Claim tags are the trace unit's, and what is not there or can only be read is not written", "[etm-page]")
{
	Machine m;
	m.set(management::claimset, 2);
	CHECK(m.unit.read(reg::claimclr) == 2u);
	CHECK(m.page.read(management::claimclr) == 2);
	CHECK(m.page.read(management::claimset) == 0xf);
	m.set(management::claimclr, 2);
	CHECK(m.page.read(management::claimclr) == 0);
	for (const std::uint32_t offset : {reg::idr0, reg::statr, 0x3fcu, 0xfccu, 0xff0u})
		CHECK_FALSE(m.page.write(offset, 1));
	m.set(0x310, 1 << 3); /* TRCPDCR.PU */
	CHECK(m.page.read(0x310) == 1 << 3);
}

TEST_CASE("Where power must not be asked for, that bit of TRCPDCR is refused", "[etm-page]")
{
	Machine m;
	EtmPage page{m.unit, true};
	CHECK(page.write(management::lar, management::unlock));
	CHECK_FALSE(page.write(0x310, 1 << 3));
	CHECK(page.read(0x310) == 0);
	CHECK(page.write(0x310, 0));
}

TEST_CASE("What has changed is told once", "[etm-page]")
{
	Machine m;
	const auto changes = [&m] {
		std::vector<std::uint32_t> all;
		m.page.take_changes([&all](std::uint32_t offset, std::uint32_t) { all.push_back(offset); });
		return all;
	};
	CHECK(changes().size() > 20);
	CHECK(changes().empty());
	m.set(reg::syncpr, 0xc);
	CHECK(changes() == std::vector<std::uint32_t>{reg::syncpr});
	m.set(reg::syncpr, 0xc);
	CHECK(changes().empty());
}
