// SPDX-License-Identifier: GPL-2.0-or-later
/* Which writes fault, on each profile. */
#include <catch2/catch_test_macros.hpp>

#include <string>

#include "../x86/pt_registers.h"

using namespace hwsim::x86;
using namespace hwsim::x86::pt;

namespace
{

constexpr std::uint64_t run = ctl::trace_en | ctl::topa | ctl::branch_en | ctl::os | ctl::user | ctl::tsc_en;

PtRegisters of(std::string_view profile)
{
	return PtRegisters(find_profile(profile)->pt);
}

} // namespace

TEST_CASE("what every processor can do never faults")
{
	for (const Profile &profile : profiles()) {
		const PtRegisters registers(profile.pt);
		INFO(std::string(profile.name));
		CHECK_FALSE(registers.write_faults(msr::ctl, 0));
		CHECK_FALSE(registers.write_faults(msr::ctl, run | ctl::dis_retc));
		CHECK_FALSE(registers.write_faults(msr::output_base, 0x1000));
		CHECK_FALSE(registers.write_faults(msr::status, 0));
		CHECK_FALSE(registers.write_faults(msr::cr3_match, 0x1000));
	}
}

TEST_CASE("bits without their capability are reserved")
{
	struct Bit {
		std::uint64_t bits;
		bool PtCapabilities::*capability;
	};
	const Bit bits[] = {
		{ctl::cyc_en, &PtCapabilities::psb_cyc},
		{std::uint64_t{1} << ctl::psb_freq.shift, &PtCapabilities::psb_cyc},
		{ctl::mtc_en, &PtCapabilities::mtc},
		{ctl::ptw_en, &PtCapabilities::ptwrite},
		{ctl::fup_on_ptw, &PtCapabilities::ptwrite},
		{ctl::event_en, &PtCapabilities::event_trace},
		{ctl::dis_tnt, &PtCapabilities::tnt_disable},
		{std::uint64_t{1} << ctl::addr_cfg(0).shift, &PtCapabilities::ip_filtering},
	};
	for (const Profile &profile : profiles())
		for (const Bit &bit : bits) {
			INFO(std::string(profile.name) << " bits " << bit.bits);
			CHECK(PtRegisters(profile.pt).write_faults(msr::ctl, run | bit.bits) ==
				!(profile.pt.*bit.capability));
		}
	CHECK(of("icelake").write_faults(msr::ctl, ctl::fabric_en));
	CHECK(of("icelake").write_faults(msr::ctl, std::uint64_t{1} << 63));
	CHECK(of("icelake").write_faults(msr::ctl, std::uint64_t{1} << ctl::addr_cfg(2).shift)); /* two ranges */
}

TEST_CASE("encodings that are not enumerated are reserved")
{
	const PtRegisters registers = of("skylake");
	const auto field = [](ctl::Field field, std::uint64_t value) {
		return run | value << field.shift;
	};
	CHECK_FALSE(registers.write_faults(msr::ctl, field(ctl::mtc_freq, 3)));
	CHECK(registers.write_faults(msr::ctl, field(ctl::mtc_freq, 1)));
	CHECK_FALSE(registers.write_faults(msr::ctl, field(ctl::psb_freq, 5)));
	CHECK(registers.write_faults(msr::ctl, field(ctl::psb_freq, 6)));
	CHECK_FALSE(registers.write_faults(msr::ctl, field(ctl::cyc_thresh, 13)));
	CHECK(registers.write_faults(msr::ctl, field(ctl::cyc_thresh, 14)));
	CHECK_FALSE(registers.write_faults(msr::ctl, field(ctl::addr_cfg(1), range_stop)));
	CHECK(registers.write_faults(msr::ctl, field(ctl::addr_cfg(1), 3)));
}

TEST_CASE("while tracing nothing but the end of tracing can be written")
{
	PtRegisters registers = of("skylake");
	registers.write(msr::ctl, run);
	CHECK_FALSE(registers.write_faults(msr::ctl, run));
	CHECK(registers.write_faults(msr::ctl, run & ~ctl::user));
	CHECK_FALSE(registers.write_faults(msr::ctl, 0));
	for (const std::uint32_t msr :
		{msr::output_base, msr::output_mask_ptrs, msr::status, msr::cr3_match, msr::addr0_a})
		CHECK(registers.write_faults(msr, 0));
	registers.write(msr::ctl, 0);
	CHECK_FALSE(registers.write_faults(msr::status, 0));
}

TEST_CASE("without ToPA there has to be single range output")
{
	CHECK(of("broadwell").write_faults(msr::ctl, run & ~ctl::topa));
	CHECK_FALSE(of("skylake").write_faults(msr::ctl, run & ~ctl::topa));
}

TEST_CASE("addresses are checked")
{
	const PtRegisters registers = of("skylake");
	CHECK(registers.write_faults(msr::output_base, 0x1001));
	CHECK(registers.write_faults(msr::output_base, std::uint64_t{1} << 50));
	CHECK_FALSE(registers.write_faults(msr::addr0_a, 0xffff'ffff'8100'0000));
	CHECK(registers.write_faults(msr::addr0_a, 0x0000'8000'0000'0000));
	CHECK(registers.write_faults(msr::addr0_a + 4, 0)); /* ADDR2_A of two ranges */
	CHECK(registers.read_faults(msr::addr0_a + 4));
	CHECK(of("broadwell").write_faults(msr::addr0_a, 0));
}

TEST_CASE("another owner leaves values of its own in every register that there is, and TraceEn clear")
{
	for (const Profile &profile : profiles()) {
		PtRegisters registers(profile.pt);
		INFO(std::string(profile.name));
		registers.write(msr::ctl, run);
		registers.leave(0x5000);
		CHECK(registers.read(msr::output_base) == 0x5000);
		CHECK(registers.read(msr::status) & status::stopped);
		for (std::uint32_t msr = msr::output_base; msr <= msr::addr3_b; msr++) {
			if (!PtRegisters::owns(msr) || registers.read_faults(msr))
				continue;
			INFO("register " << std::hex << msr);
			CHECK(registers.read(msr) != 0);
			/* Software that saved the value can restore it. */
			CHECK_FALSE(registers.write_faults(msr, registers.read(msr)));
		}
		CHECK_FALSE(registers.read(msr::ctl) & ctl::trace_en);
		registers.reset();
		CHECK(registers.read(msr::output_base) == 0);
		CHECK(registers.read(msr::addr0_a) == 0);
	}
}

TEST_CASE("registers read as they were written, but for what is fixed")
{
	PtRegisters registers = of("skylake");
	registers.write(msr::output_mask_ptrs, 0x1234'0000'0000);
	CHECK(registers.read(msr::output_mask_ptrs) == 0x1234'0000'007f);
	registers.write(msr::status, status::error | status::trigger_en | std::uint64_t{77} << 32);
	CHECK(registers.read(msr::status) == (status::error | std::uint64_t{77} << 32));
	registers.write(msr::addr0_a + 3, 0x1000);
	CHECK(registers.read(msr::addr0_a + 3) == 0x1000);
}
