// SPDX-License-Identifier: GPL-2.0-or-later
/* Decodes memory operands in each form, as assembled by GNU as. */
#include <catch2/catch_test_macros.hpp>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>
#include <unistd.h>
#include <vector>

#include "../x86/operand.h"

using namespace hwsim::x86;

namespace
{

struct Case {
	const char *text;
	std::uint64_t address;
};

/* Register n contains 0x1000 * (n + 1); the base of FS is 0x7000'0000, that of GS 0x6000'0000. */
constexpr std::uint64_t fs = 0x7000'0000, gs = 0x6000'0000;
constexpr std::uint64_t reg(unsigned n)
{
	return 0x1000ull * (n + 1);
}

/* The expected addresses; RIP-relative ones count from the end of the instruction, which is taken to be at 0. */
const Case cases[] = {
	{"(%rax)", reg(0)},
	{"8(%rbx)", reg(3) + 8},
	{"-8(%rbp)", reg(5) - 8},
	{"(%rbp)", reg(5)},
	{"(%rsp)", reg(4)},
	{"0x12345(%rsp)", reg(4) + 0x12345},
	{"(%r12)", reg(12)},
	{"(%r13)", reg(13)},
	{"-0x12345(%r13)", reg(13) - 0x12345},
	{"(%rax,%rcx,4)", reg(0) + 4 * reg(1)},
	{"7(%r9,%r12,8)", reg(9) + 8 * reg(12) + 7},
	{"0x100(,%rdi,2)", 2 * reg(7) + 0x100},
	{"0x100", 0x100},
	{"%fs:0x10", fs + 0x10},
	{"%gs:(%rsi)", gs + reg(6)},
	{"(%eax,%ecx)", reg(0) + reg(1)},
	{"0x20(%rip)", 0x20},
};

std::vector<std::uint8_t> assemble(const std::string &source)
{
	const std::string name = "operand_test." + std::to_string(getpid());
	std::ofstream(name + ".s") << source;
	const std::string command =
		"as -o " + name + ".o " + name + ".s && objcopy -O binary -j .text " + name + ".o " + name;
	const int status = std::system(command.c_str());
	std::ifstream file(name, std::ios::binary);
	std::vector<std::uint8_t> bytes{std::istreambuf_iterator<char>(file), {}};
	for (const char *suffix : {".s", ".o", ""})
		std::remove((name + suffix).c_str());
	REQUIRE(status == 0);
	return bytes;
}

} // namespace

TEST_CASE("memory operands are where the assembler put them")
{
	for (const Case &one : cases)
		for (const char *suffix : {"l", "q"}) {
			INFO(one.text);
			auto bytes = assemble(std::string("ptwrite") + suffix + " " + one.text + "\n");
			const std::size_t length = bytes.size();
			bytes.resize(length + 4, 0xcc); /* what follows is not part of it */
			const auto operand = memory_operand(bytes);
			REQUIRE(operand);
			CHECK(operand->length == length);
			const std::uint64_t segment = operand->segment == MemoryOperand::Segment::fs   ? fs
						      : operand->segment == MemoryOperand::Segment::gs ? gs
												       : 0;
			CHECK(operand->address(reg, 0, segment) == one.address);
			CHECK_FALSE(memory_operand(std::span(bytes).first(length - 1)));
		}
}

TEST_CASE("a register is no memory operand")
{
	CHECK_FALSE(memory_operand(assemble("ptwrite %rax\n")));
}
