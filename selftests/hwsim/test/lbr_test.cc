// SPDX-License-Identifier: GPL-2.0-or-later
/* SDM volume 3, "LBR Stack", "Filtering of Last Branch Records", "Call-Stack LBR"; architectural: "Last Branch Records". */
#include <catch2/catch_test_macros.hpp>

#include <string>
#include <vector>

#include "../x86/lbr.h"

using namespace hwsim::x86;
using hwsim::Branch;
using hwsim::Transfer;

namespace
{

/* Addresses of the registers in volume 4. */
constexpr std::uint32_t from_0 = 0x680, to_0 = 0x6c0, info_0 = 0xdc0, arch_from_0 = 0x1500, arch_to_0 = 0x1600,
			arch_info_0 = 0x1200;
constexpr std::uint64_t kernel_text = 0xffff'ffff'8100'0000;
constexpr Branch kinds[] = {Branch::conditional, Branch::call, Branch::indirect_call, Branch::ret,
	Branch::indirect_jump, Branch::jump, Branch::far};

struct Machine {
	explicit Machine(const char *profile) : lbr(*find_profile(profile), true) { lbr.switch_by_debugctl(true); }

	void branch(std::uint64_t from, std::uint64_t to, Branch kind = Branch::jump, std::uint8_t level = 3)
	{
		lbr.record(Transfer{kind, true, from, from + 2, level, {to, level, 0}}, now);
	}
	/* Does a branch of this kind to this level get a record? */
	bool records(Branch kind, std::uint8_t level)
	{
		const std::uint32_t newest = architectural() ? arch_from_0 : from_0;
		lbr.write(architectural() ? Lbr::arch_depth : Lbr::tos, architectural() ? 32 : 0);
		lbr.write(newest + (architectural() ? 0 : 1), 0);
		branch(0x1000, 0x2000, kind, level);
		return lbr.read(newest + (architectural() ? 0 : 1)) == 0x1000;
	}
	bool architectural() const { return lbr.owns(Lbr::arch_ctl); }

	Lbr lbr;
	std::uint64_t now = 1000;
};

} // namespace

TEST_CASE("the last branches are in a ring, which MSR_LASTBRANCH_TOS points into")
{
	Machine m("skylake");
	for (unsigned n = 1; n <= 34; n++)
		m.branch(0x1000 * n, 0x1000 * n + 1);
	CHECK(m.lbr.read(Lbr::tos) == 2);
	CHECK(m.lbr.read(from_0 + 2) == 0x22000);
	CHECK(m.lbr.read(to_0 + 2) == 0x22001);
	CHECK(m.lbr.read(from_0 + 1) == 0x21000);
	CHECK(m.lbr.read(from_0 + 3) == 0x3000);
	m.lbr.write(Lbr::tos, 7);
	m.branch(1, 2);
	CHECK(m.lbr.read(from_0 + 8) == 1);
	m.lbr.reset();
	CHECK_FALSE(m.lbr.is_on());
	CHECK(m.lbr.read(from_0 + 8) == 0);
	CHECK(m.lbr.read(Lbr::tos) == 0);
}

TEST_CASE("each format has its registers, its cycles, and its addresses")
{
	Machine flags("broadwell"), info("icelake"), time("goldmont");
	for (Machine *m : {&flags, &info, &time}) {
		m->branch(1, 2);
		m->now += 5;
		m->branch(kernel_text, kernel_text + 16);
	}
	CHECK(flags.lbr.owns(from_0 + 15));
	CHECK_FALSE(flags.lbr.owns(from_0 + 16));
	CHECK_FALSE(flags.lbr.owns(info_0));
	/* The highest bit says that the branch was mispredicted. */
	CHECK(flags.lbr.read(from_0 + 2) == (kernel_text & ~(std::uint64_t{1} << 63)));
	CHECK(flags.lbr.read(to_0 + 2) == kernel_text + 16);
	CHECK(info.lbr.owns(info_0 + 31));
	CHECK_FALSE(info.lbr.owns(info_0 + 32));
	CHECK(info.lbr.read(from_0 + 2) == kernel_text);
	CHECK(info.lbr.read(to_0 + 2) == kernel_text + 16);
	CHECK(info.lbr.read(info_0 + 2) == 5);
	CHECK_FALSE(time.lbr.owns(info_0));
	CHECK(time.lbr.read(from_0 + 2) == (kernel_text & ~(std::uint64_t{1} << 63)));
	CHECK(time.lbr.read(to_0 + 2) == ((kernel_text + 16) << 16 >> 16 | std::uint64_t{5} << 48));
	info.now += 0x12345;
	info.branch(1, 2);
	CHECK(info.lbr.read(info_0 + 3) == 0xffff);
	Lbr none(*find_profile("icelake"), false);
	for (const std::uint32_t msr : {Lbr::tos, Lbr::select, from_0, to_0, info_0})
		CHECK_FALSE(none.owns(msr));
	none.switch_by_debugctl(true);
	CHECK_FALSE(none.is_on());
}

TEST_CASE("MSR_LBR_SELECT says what gets no record")
{
	Machine m("skylake");
	for (unsigned bit = 2; bit <= 8; bit++) {
		m.lbr.write(Lbr::select, 1u << bit);
		for (unsigned n = 0; n < std::size(kinds); n++) {
			INFO("bit " << bit << " kind " << n);
			CHECK(m.records(kinds[n], 3) == (n != bit - 2));
		}
	}
	for (const std::uint64_t levels : {0, 1, 2, 3}) {
		m.lbr.write(Lbr::select, levels);
		CHECK(m.records(Branch::jump, 0) == !(levels & 1));
		CHECK(m.records(Branch::jump, 3) == !(levels & 2));
	}
	/* The level that the branch leads to decides. */
	m.lbr.write(Lbr::select, 1);
	m.lbr.write(Lbr::tos, 0);
	m.lbr.record({Branch::far, true, kernel_text, kernel_text + 1, 0, {0x3000, 3, 0}}, 0);
	CHECK(m.lbr.read(from_0 + 1) == kernel_text);
}

TEST_CASE("IA32_LBR_CTL says what gets one, and architectural records begin with the newest")
{
	Machine m("alderlake-n");
	CHECK(m.architectural());
	CHECK_FALSE(m.lbr.is_on());
	CHECK_FALSE(m.lbr.switches_on(Lbr::arch_ctl, 6));
	CHECK(m.lbr.switches_on(Lbr::arch_ctl, 1));
	m.lbr.write(Lbr::arch_ctl, 0x7f'0007);
	CHECK(m.lbr.is_on());
	m.lbr.switch_by_debugctl(false);
	CHECK(m.lbr.is_on());
	for (unsigned n = 1; n <= 34; n++, m.now += 3)
		m.branch(0x1000 * n, 0x1000 * n + 1, Branch::indirect_call);
	CHECK(m.lbr.read(arch_from_0) == 0x22000);
	CHECK(m.lbr.read(arch_to_0 + 1) == 0x21001);
	CHECK(m.lbr.read(arch_from_0 + 31) == 0x3000);
	CHECK(m.lbr.read(arch_info_0) == (std::uint64_t{1} << 60 | std::uint64_t{3} << 56 | 3));
	for (const std::uint32_t msr : {Lbr::tos, Lbr::select, from_0, to_0, info_0})
		CHECK_FALSE(m.lbr.owns(msr));
	/* With a smaller depth, the records beyond it do not exist. */
	m.lbr.write(Lbr::arch_depth, 8);
	for (unsigned n = 1; n <= 9; n++)
		m.branch(n, 0);
	CHECK(m.lbr.read(arch_from_0 + 7) == 2);
	m.lbr.write(arch_from_0 + 8, 5);
	CHECK(m.lbr.read(arch_from_0 + 8) == 0);

	constexpr unsigned bits[] = {16, 19, 20, 21, 18, 17, 22};
	constexpr std::uint64_t types[] = {0, 4, 3, 5, 1, 2, 8};
	for (unsigned chosen = 0; chosen < std::size(kinds); chosen++) {
		m.lbr.write(Lbr::arch_ctl, 7 | std::uint64_t{1} << bits[chosen]);
		for (unsigned n = 0; n < std::size(kinds); n++) {
			INFO("bit " << bits[chosen] << " kind " << n);
			CHECK(m.records(kinds[n], 3) == (n == chosen));
		}
		CHECK(m.records(kinds[chosen], 3));
		CHECK((m.lbr.read(arch_info_0) >> 56 & 15) == types[chosen]);
	}
	m.lbr.write(Lbr::arch_ctl, 0x7f'0003);
	CHECK(m.records(Branch::jump, 0));
	CHECK_FALSE(m.records(Branch::jump, 3));
	m.lbr.write(Lbr::arch_ctl, 0x7f'0005);
	CHECK_FALSE(m.records(Branch::jump, 0));
	CHECK(m.records(Branch::jump, 3));
	m.lbr.write(Lbr::arch_ctl, 0);
	CHECK_FALSE(m.lbr.is_on());
}

TEST_CASE("a stack of calls has those that have not returned")
{
	Machine legacy("skylake"), architectural("alderlake-n");
	legacy.lbr.write(Lbr::select, 0x3c4 & ~0x20u);
	architectural.lbr.write(Lbr::arch_ctl, 0x38'000f);
	for (Machine *m : {&legacy, &architectural}) {
		const auto newest = [m] {
			return m->architectural()
				       ? m->lbr.read(arch_from_0)
				       : m->lbr.read(from_0 + static_cast<std::uint32_t>(m->lbr.read(Lbr::tos)));
		};
		m->branch(0x1000, 0x2000, Branch::call);
		m->branch(0x2010, 0x2020);
		m->branch(0x2020, 0x3000, Branch::indirect_call);
		CHECK(newest() == 0x2020);
		m->branch(0x3010, 0x3012, Branch::call); /* to the next instruction */
		CHECK(newest() == 0x2020);
		m->branch(0x3020, 0x2022, Branch::ret);
		CHECK(newest() == 0x1000);
		m->branch(0x2030, 0x4000, Branch::call);
		CHECK(newest() == 0x2030);
		m->branch(0x4010, 0x2032, Branch::ret);
		m->branch(0x2040, 0x1002, Branch::ret);
		CHECK(newest() == 0);
		/* No record of the calls that have returned is left. */
		for (std::uint32_t n = 0; n < 32; n++)
			CHECK(m->lbr.read((m->architectural() ? arch_from_0 : from_0) + n) == 0);
	}
	/* Outside call-stack mode, calls and returns are branches like others. */
	legacy.lbr.write(Lbr::select, 0);
	legacy.branch(0x3010, 0x3012, Branch::call);
	legacy.branch(0x3020, 0x2022, Branch::ret);
	CHECK(legacy.lbr.read(from_0 + static_cast<std::uint32_t>(legacy.lbr.read(Lbr::tos))) == 0x3020);
}

TEST_CASE("what registers of branch records cannot be is refused")
{
	const auto taken = [](const Lbr &lbr, std::uint32_t msr) {
		std::uint64_t bits = 0;
		for (unsigned n = 0; n < 64; n++)
			bits |= std::uint64_t{!lbr.write_faults(msr, std::uint64_t{1} << n)} << n;
		return bits;
	};
	constexpr std::uint64_t address = 0x7fff'ffff'ffff, highest = std::uint64_t{1} << 63,
				canonical_kernel = 0xffff'8000'0000'0000;
	const Machine flags("broadwell"), info("skylake"), time("goldmont"), arch("alderlake-n");
	CHECK(taken(info.lbr, Lbr::select) == 0x3ff);
	CHECK(taken(flags.lbr, Lbr::tos) == 0xf);
	CHECK(taken(info.lbr, Lbr::tos) == 0x1f);
	CHECK_FALSE(flags.lbr.write_faults(Lbr::tos, 15));
	CHECK(taken(flags.lbr, from_0) == (address | highest));
	CHECK(taken(flags.lbr, to_0) == address);
	CHECK(taken(info.lbr, from_0) == address);
	CHECK(taken(info.lbr, to_0) == address);
	CHECK(taken(info.lbr, info_0) == (std::uint64_t{7} << 61 | 0xffff));
	CHECK(taken(time.lbr, from_0) == (address | highest));
	CHECK(taken(time.lbr, to_0) == ~std::uint64_t{0});
	for (const std::uint32_t msr : {from_0, to_0})
		CHECK_FALSE(info.lbr.write_faults(msr, canonical_kernel));
	CHECK(taken(arch.lbr, arch_from_0) == address);
	CHECK(taken(arch.lbr, arch_info_0) == (std::uint64_t{0xff} << 56 | 0xffff));
	CHECK(taken(arch.lbr, Lbr::arch_ctl) == 0x7f'000f);
	CHECK(taken(arch.lbr, Lbr::arch_depth) == (8 | 16 | 32));
	for (const std::uint64_t depth : {0, 9, 24, 40})
		CHECK(arch.lbr.write_faults(Lbr::arch_depth, depth));
}
