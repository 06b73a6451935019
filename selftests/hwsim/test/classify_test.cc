// SPDX-License-Identifier: GPL-2.0-or-later
/* The classifier against binutils: every instruction of real programs; and by hand those that no program has. */
#include <catch2/catch_test_macros.hpp>

#include <cstdlib>
#include <sstream>
#include <string>
#include <vector>

#include "../x86/classify.h"
#include "objdump.h"

using namespace hwsim;
using namespace hwsim::x86;

namespace
{

struct Line {
	std::uint64_t address = 0;
	std::vector<std::uint8_t> bytes;
	std::string mnemonic; /* without prefixes */
	std::string operands;
};

bool is_prefix(const std::string &word)
{
	static const std::string prefixes[] = {"bnd", "notrack", "rep", "repz", "repnz", "lock", "data16", "addr32",
		"cs", "ds", "es", "ss", "fs", "gs", "xacquire", "xrelease"};
	for (const std::string &prefix : prefixes)
		if (word == prefix)
			return true;
	return word.starts_with("rex");
}

/* A line of objdump: "  401000:\t0f 05 \tsyscall". */
bool parse(const std::string &text, Line &line)
{
	const auto colon = text.find(":\t");
	const auto tab = text.find('\t', colon + 2);
	if (colon == std::string::npos || tab == std::string::npos)
		return false;
	line = {};
	line.address = std::strtoull(text.c_str(), nullptr, 16);
	std::istringstream bytes(text.substr(colon + 2, tab - colon - 2)), words(text.substr(tab + 1));
	for (unsigned byte; bytes >> std::hex >> byte;)
		line.bytes.push_back(static_cast<std::uint8_t>(byte));
	while (words >> line.mnemonic && is_prefix(line.mnemonic))
		;
	const auto comma = line.mnemonic.find(','); /* branch hints: "jne,pn" */
	line.mnemonic = line.mnemonic.substr(0, comma);
	words >> line.operands;
	return !line.bytes.empty() && line.mnemonic != "(bad)";
}

Branch expected(const Line &line)
{
	const std::string &name = line.mnemonic;
	const bool indirect = line.operands.starts_with("*");
	const bool far = name.starts_with("l") && (name.substr(1) == "jmp" || name.substr(1) == "call");
	if (far || name.starts_with("iret") || name.starts_with("lret") || name.starts_with("sys") || name == "rsm" ||
		name == "eretu")
		return Branch::far;
	if (name.starts_with("call"))
		return indirect ? Branch::indirect_call : Branch::call;
	if (name.starts_with("jmp"))
		return indirect ? Branch::indirect_jump : Branch::jump;
	if (name.starts_with("ret"))
		return Branch::ret;
	if (name.starts_with("j") || name.starts_with("loop"))
		return Branch::conditional;
	if (name.starts_with("int") || name == "into" || name == "icebp")
		return Branch::software_interrupt;
	return name == "mov" && line.operands.ends_with(",%cr3") ? Branch::address_space : Branch::none;
}

Special expected_special(const std::string &name)
{
	if (name == "cpuid")
		return Special::cpuid;
	if (name == "rdmsr")
		return Special::rdmsr;
	if (name == "wrmsr")
		return Special::wrmsr;
	if (name == "rdtsc")
		return Special::rdtsc;
	if (name == "rdtscp")
		return Special::rdtscp;
	if (name == "rdpmc")
		return Special::rdpmc;
	if (name == "vmxon" || name == "vmxoff")
		return name == "vmxon" ? Special::vmxon : Special::vmxoff;
	return name.starts_with("ptwrite") ? Special::ptwrite : Special::none;
}

/* Returns how many instructions agree with objdump; fails at the first that does not. */
std::size_t agree_with_objdump(const std::string &options, std::size_t &branches)
{
	std::size_t count = 0;
	for_lines_of("objdump -d -w " + options + " 2>/dev/null", [&](const char *text) {
		Line line;
		if (!parse(text, line))
			return;
		const Instruction found = classify(line.bytes);
		const Branch kind = expected(line);
		bool right = found.kind == kind && found.special == expected_special(line.mnemonic);
		if (kind == Branch::conditional || kind == Branch::jump || kind == Branch::call) {
			const std::uint64_t target = std::strtoull(line.operands.c_str(), nullptr, 16);
			right &= line.address + line.bytes.size() + static_cast<std::uint64_t>(found.displacement) ==
				 target;
		}
		if (!right)
			FAIL("not as objdump has it: " << text);
		branches += kind != Branch::none;
		count++;
	});
	return count;
}

Instruction of(std::initializer_list<std::uint8_t> bytes)
{
	return classify(std::vector<std::uint8_t>(bytes));
}

} // namespace

TEST_CASE("every instruction of real programs is classified as binutils reads it")
{
	std::size_t branches = 0;
	const std::size_t count = agree_with_objdump("/lib/x86_64-linux-gnu/libc.so.6", branches) +
				  agree_with_objdump("/lib/x86_64-linux-gnu/libm.so.6", branches);
	CHECK(count > 300'000);
	CHECK(branches > 50'000);
}

TEST_CASE("instructions of kernels and of other modes are known")
{
	CHECK(of({0x0f, 0x05}).kind == Branch::far);
	CHECK(of({0x48, 0x0f, 0x07}).kind == Branch::far); /* SYSRETQ */
	CHECK(of({0x0f, 0x34}).kind == Branch::far);
	CHECK(of({0x48, 0xcf}).kind == Branch::far); /* IRETQ */
	CHECK(of({0xcf}).kind == Branch::far);
	CHECK(of({0xea, 1, 2, 3, 4, 5, 6}).kind == Branch::far);
	CHECK(of({0x9a, 1, 2, 3, 4, 5, 6}).kind == Branch::far);
	CHECK(of({0xff, 0x2d, 0, 0, 0, 0}).kind == Branch::far); /* LJMP *mem */
	CHECK(of({0x48, 0xff, 0x1d, 0, 0, 0, 0}).kind == Branch::far);
	CHECK(of({0xcd, 0x80}).kind == Branch::software_interrupt);
	CHECK(of({0xcc}).kind == Branch::software_interrupt);
	CHECK(of({0xf1}).kind == Branch::software_interrupt);
	CHECK(of({0x0f, 0x22, 0xd8}).kind == Branch::address_space);
	CHECK(of({0x0f, 0x22, 0xc0}).kind == Branch::none);       /* MOV CR0 */
	CHECK(of({0x44, 0x0f, 0x22, 0xd8}).kind == Branch::none); /* CR11 */
	CHECK(of({0xf3, 0x0f, 0x01, 0xca}).kind == Branch::far);  /* ERETU */
	CHECK(of({0x0f, 0x01, 0xca}).kind == Branch::none);       /* CLAC */
	CHECK(of({0x0f, 0x30}).special == Special::wrmsr);
	CHECK(of({0x0f, 0x32}).special == Special::rdmsr);
	CHECK(of({0x0f, 0x33}).special == Special::rdpmc);
	CHECK(of({0x0f, 0x01, 0xf9}).special == Special::rdtscp);
	CHECK(of({0x40}).kind == Branch::none);                   /* INC EAX in 32-bit code */
	CHECK(of({0xc5, 0xe8, 0x57, 0xd2}).kind == Branch::none); /* a VEX prefix is no CALL */
}

TEST_CASE("the width of a displacement follows from the length")
{
	CHECK(of({0xeb, 0xfe}).displacement == -2);
	CHECK(of({0xe9, 0xfb, 0xff, 0xff, 0xff}).displacement == -5);
	CHECK(of({0x66, 0xe9, 0xfc, 0xff}).displacement == -4); /* 16-bit operand in 32-bit code */
	CHECK(of({0x0f, 0x84, 0x00, 0x01, 0x00, 0x00}).displacement == 256);
	CHECK(of({0xf2, 0xe8, 0x10, 0, 0, 0}).displacement == 16); /* BND CALL */
	CHECK(of({0xe3, 0x7f}).displacement == 127);               /* JRCXZ */
}

TEST_CASE("what leads into VMX operation and out of it is known, and where its operand is")
{
	const Instruction cr4 = of({0x41, 0x0f, 0x22, 0xe1});
	CHECK(cr4.special == Special::mov_to_cr4);
	CHECK(cr4.operand == 9);
	CHECK(of({0x0f, 0x22, 0xe7}).operand == 7);
	CHECK(of({0x0f, 0x22, 0x27}).special == Special::mov_to_cr4);       /* mod is ignored */
	CHECK(of({0x44, 0x0f, 0x22, 0xe0}).special == Special::none);       /* CR12 */
	CHECK(of({0x0f, 0x20, 0xe0}).special == Special::none);             /* MOV from CR4 */
	CHECK(of({0x0f, 0x22, 0xd8}).special == Special::none);             /* MOV to CR3 */
	const Instruction vmxon = of({0xf3, 0x0f, 0xc7, 0x74, 0x24, 0x08}); /* 8(%rsp) */
	CHECK(vmxon.special == Special::vmxon);
	CHECK(vmxon.in_memory);
	CHECK(of({0x0f, 0xc7, 0x30}).special == Special::none);       /* VMPTRLD */
	CHECK(of({0x66, 0x0f, 0xc7, 0x30}).special == Special::none); /* VMCLEAR */
	CHECK(of({0xf3, 0x0f, 0xc7, 0xf0}).special == Special::none); /* SENDUIPI */
	CHECK(of({0x0f, 0x01, 0xc4}).special == Special::vmxoff);
	CHECK(of({0x0f, 0x01, 0xc1}).special == Special::none); /* VMCALL */
}

TEST_CASE("PTWRITE tells where its operand is")
{
	const Instruction eax = of({0xf3, 0x0f, 0xae, 0xe0});
	CHECK(eax.special == Special::ptwrite);
	CHECK_FALSE(eax.wide);
	CHECK_FALSE(eax.in_memory);
	CHECK(eax.operand == 0);
	const Instruction r9 = of({0xf3, 0x49, 0x0f, 0xae, 0xe1});
	CHECK(r9.wide);
	CHECK(r9.operand == 9);
	CHECK(of({0xf3, 0x48, 0x0f, 0xae, 0x20}).in_memory);
	CHECK(of({0x0f, 0xae, 0xe8}).special == Special::none);             /* LFENCE */
	CHECK(of({0xf3, 0x48, 0x0f, 0xae, 0xe8}).special == Special::none); /* INCSSP */
}
