/* SPDX-License-Identifier: GPL-2.0-only */
/* The registers of Intel's trace units, and how the virtual hardware loses them. */
#ifndef AUXPMU_TESTS_REGISTERS_H
#define AUXPMU_TESTS_REGISTERS_H

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>

#include <fcntl.h>
#include <unistd.h>

#include "../../hwsim/x86/control.h"
#include "shared/fault.h"
#include "shared/fixture.h"

namespace auxpmu::test
{

constexpr unsigned debugctl = 0x1d9, output_base = 0x560, output_mask = 0x561, rtit_ctl = 0x570, rtit_status = 0x571,
		   cr3_match = 0x572, addr0_a = 0x580, addr0_b = 0x581, addr1_a = 0x582, addr1_b = 0x583,
		   ds_area = 0x600;

/* IA32_RTIT_CTL.ToPA: output goes where tables say. */
constexpr std::uint64_t topa_bit = 1 << 8;

/* std::nullopt without the module msr, or if there is no such register. */
inline std::optional<std::uint64_t> read_msr(int cpu, unsigned number)
{
	const UniqueFd file(::open(("/dev/cpu/" + std::to_string(cpu) + "/msr").c_str(), O_RDONLY | O_CLOEXEC));
	std::uint64_t value = 0;

	if (!file || ::pread(file.get(), &value, sizeof value, number) != sizeof value)
		return {};
	return value;
}

/* False without the module msr and its parameter allow_writes, or if the register does not accept the value. */
inline bool write_msr(int cpu, unsigned number, std::uint64_t value)
{
	const UniqueFd file(::open(("/dev/cpu/" + std::to_string(cpu) + "/msr").c_str(), O_WRONLY | O_CLOEXEC));

	return file && ::pwrite(file.get(), &value, sizeof value, number) == sizeof value;
}

/* IA32_DEBUGCTL, IA32_RTIT_*, IA32_DS_AREA of one CPU. */
struct Registers {
	static constexpr std::array<unsigned, 11> numbers = {debugctl, output_base, output_mask, rtit_ctl, rtit_status,
		cr3_match, addr0_a, addr0_b, addr1_a, addr1_b, ds_area};

	/* std::nullopt without the module msr. */
	static std::optional<Registers> read(int cpu)
	{
		Registers all;

		if (!read_msr(cpu, debugctl))
			return {};
		for (std::size_t n = 0; n < numbers.size(); n++)
			/* A register that does not exist always reads as 0 here. */
			all.values[n] = read_msr(cpu, numbers[n]).value_or(0);
		return all;
	}
	bool operator==(const Registers &) const = default;
	std::uint64_t operator[](unsigned number) const
	{
		return values[static_cast<std::size_t>(std::ranges::find(numbers, number) - numbers.begin())];
	}

	std::array<std::uint64_t, numbers.size()> values{};
};

inline std::string text(const std::optional<Registers> &registers)
{
	std::string all;

	if (!registers)
		return "none";
	for (std::size_t n = 0; n < Registers::numbers.size(); n++) {
		char one[64];
		std::snprintf(one, sizeof(one), " %x=%llx", Registers::numbers[n],
			static_cast<unsigned long long>(registers->values[n]));
		all += one;
	}
	return all;
}

inline Registers registers_of(int cpu)
{
	auto registers = Registers::read(cpu);

	if (!registers)
		SKIP("registers cannot be read: modprobe msr");
	return *registers;
}

/* Are TR and BTS, or TraceEn, set? */
inline bool is_on(int cpu)
{
	const Registers registers = registers_of(cpu);

	return (registers[debugctl] & 0xc0) == 0xc0 || (registers[rtit_ctl] & 1);
}

/* Gives the virtual hardware a command (docs/virtual-hardware.md); skips the test on any other machine. */
inline void tell_hardware(const std::string &command)
{
	using ::hwsim::x86::Control;
	std::uint64_t a = Control::cpuid_leaf, b = 0, c = reinterpret_cast<std::uint64_t>(command.data()),
		      d = command.size();

	if (!Fault::allowed())
		SKIP("no faults are asked for, see NO_FAULTS");
	asm volatile("cpuid" : "+a"(a), "+b"(b), "+c"(c), "+d"(d) : : "memory");
	if (static_cast<std::uint32_t>(b) != Control::signature)
		SKIP("this machine is not the virtual trace hardware");
	INFO("command " << command);
	REQUIRE(static_cast<std::uint32_t>(a) == 0);
}

} // namespace auxpmu::test

#endif /* AUXPMU_TESTS_REGISTERS_H */
