// SPDX-License-Identifier: GPL-2.0-or-later
/* Entering and leaving VMX operation: SDM volume 3, the operation of VMXON and VMXOFF, line by line. */
#include <catch2/catch_test_macros.hpp>

#include <cstring>
#include <string>

#include "../x86/vmx.h"
#include "memory_fake.h"

using namespace hwsim::x86;
using End = Vmx::End;

namespace
{

constexpr std::uint64_t region = 0x5000, vmxe = 0x2000, enabled = 0x5;
constexpr std::uint32_t basic = 0x480, misc = 0x485, last = 0x48a;

/* A processor whose kernel has done all that VMXON requires. */
struct Ready {
	explicit Ready(const char *profile = "broadwell") : vmx(*find_profile(profile))
	{
		const auto revision = static_cast<std::uint32_t>(vmx.read(basic).value());
		std::uint8_t bytes[sizeof revision];
		std::memcpy(bytes, &revision, sizeof bytes);
		memory.write(region, bytes);
		memory.write(region + 8, bytes); /* not aligned: no region may begin here */
		vmx.write(enabled);
	}
	End enter() { return vmx.enter(vmxe, 0, region, memory); }

	FakeMemory memory{0x10000};
	Vmx vmx;
};

} // namespace

TEST_CASE("VMX operation begins with VMXON and ends with VMXOFF")
{
	Ready cpu;
	CHECK(cpu.vmx.leave(0) == End::invalid_opcode);
	CHECK_FALSE(cpu.vmx.cr4_faults(0));
	CHECK(cpu.enter() == End::done);
	/* CR4.VMXE cannot be cleared in VMX operation. */
	CHECK(cpu.vmx.cr4_faults(0));
	CHECK_FALSE(cpu.vmx.cr4_faults(vmxe));
	CHECK(cpu.enter() == End::failed);
	CHECK(cpu.vmx.leave(3) == End::general_protection);
	CHECK(cpu.vmx.leave(0) == End::done);
	CHECK_FALSE(cpu.vmx.cr4_faults(0));
	CHECK(cpu.enter() == End::done);
	cpu.vmx.reset();
	CHECK(cpu.vmx.leave(0) == End::invalid_opcode);
	CHECK(cpu.vmx.read(Vmx::feature_control) == 0);
}

TEST_CASE("VMXON is refused by what comes first")
{
	Ready cpu;
	CHECK(cpu.vmx.enter(0, 3, region, cpu.memory) == End::invalid_opcode);
	CHECK(cpu.vmx.enter(vmxe, 3, region, cpu.memory) == End::general_protection);
	for (const std::uint64_t control : {0, 1, 4}) {
		Ready other;
		other.vmx.reset();
		other.vmx.write(control);
		CHECK(other.enter() == End::general_protection);
	}
	/* VMfailInvalid, by the region's address or its revision identifier. */
	CHECK(cpu.vmx.enter(vmxe, 0, {}, cpu.memory) == End::failed);
	CHECK(cpu.vmx.enter(vmxe, 0, region + 8, cpu.memory) == End::failed);
	CHECK(cpu.vmx.enter(vmxe, 0, region + 0x1000, cpu.memory) == End::failed);
	CHECK(cpu.vmx.enter(vmxe, 0, 0x20000, cpu.memory) == End::failed);
	CHECK(cpu.vmx.leave(0) == End::invalid_opcode);
}

TEST_CASE("IA32_FEATURE_CONTROL is written once")
{
	Vmx vmx(*find_profile("skylake"));
	CHECK_FALSE(vmx.write_faults(Vmx::feature_control, enabled));
	CHECK(vmx.write_faults(Vmx::feature_control, enabled | 2)); /* there is no SMX */
	vmx.write(4);
	CHECK_FALSE(vmx.write_faults(Vmx::feature_control, enabled));
	vmx.write(enabled);
	CHECK(vmx.read(Vmx::feature_control) == enabled);
	CHECK(vmx.write_faults(Vmx::feature_control, enabled));
}

TEST_CASE("The capabilities are read only, and tell whether Intel PT goes with VMX operation")
{
	for (const Profile &profile : profiles()) {
		INFO(std::string(profile.name));
		const Vmx vmx(profile);
		CHECK((vmx.read(misc).value() >> 14 & 1) == (profile.name != "broadwell"));
		for (std::uint32_t msr = basic; msr <= Vmx::last_capability; msr++) {
			CHECK(Vmx::owns(msr));
			CHECK(vmx.write_faults(msr, 0));
			CHECK(vmx.read(msr).has_value() == (msr <= last));
		}
		/* Whatever must be 1 may be 1: the controls, and the bits of CR0 and CR4. */
		for (const std::uint32_t msr : {0x481, 0x482, 0x483, 0x484}) {
			const std::uint64_t value = vmx.read(msr).value();
			CHECK((value & ~(value >> 32) & 0xffff'ffff) == 0);
		}
		for (const std::uint32_t msr : {0x486, 0x488})
			CHECK((vmx.read(msr).value() & ~vmx.read(msr + 1).value()) == 0);
	}
	CHECK_FALSE(Vmx::owns(Vmx::last_capability + 1));
	CHECK_FALSE(Vmx::owns(basic - 1));
}

TEST_CASE("VMX operation forbids to trace where Intel PT does not go with it, and nowhere else")
{
	for (const char *profile : {"broadwell", "skylake", "alderlake-n"}) {
		INFO(profile);
		Ready cpu(profile);
		CHECK_FALSE(cpu.vmx.forbids_trace());
		CHECK(cpu.enter() == End::done);
		CHECK(cpu.vmx.forbids_trace() == (std::string(profile) == "broadwell"));
		CHECK(cpu.vmx.leave(0) == End::done);
		CHECK_FALSE(cpu.vmx.forbids_trace());
	}
}
