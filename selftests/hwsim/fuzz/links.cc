// SPDX-License-Identifier: GPL-2.0-or-later
#include "program.h"

namespace hwsim::fuzz
{
namespace
{

/* The displacement that ends an instruction, and behind it the address that the instruction reads. */
void pointer(Code &code, std::uint64_t to)
{
	code.number(0, 4).number(to, 8);
}

void by_register(Code &code, Random &random, std::uint64_t to, Ring)
{
	code.load(0, to);
	if (random.one_in(3))
		code.put({0x3e});
	code.put({0xff, random.one_in(3) ? 0xd0u : 0xe0u}); /* CALL, JMP */
}
void by_memory(Code &code, Random &random, std::uint64_t to, Ring)
{
	code.put({0xff, random.one_in(3) ? 0x15u : 0x25u});
	pointer(code, to);
}
void by_displacement(Code &code, Random &random, std::uint64_t to, Ring ring)
{
	if (!code.reaches(to))
		return by_register(code, random, to, ring);
	switch (random.below(5)) {
	case 0: /* XOR; JZ, which is taken */
		code.put({0x31, 0xc0, 0x0f, 0x84}).to(to, 4);
		break;
	case 1: /* XOR; two JNZ, which are not taken; JMP */
		code.put({0x31, 0xc0, 0x75, 0x00, 0x0f, 0x85, 0, 0, 0, 0, 0xe9}).to(to, 4);
		break;
	case 2:
		code.put({0xe8}).to(to, 4);
		break;
	case 3: /* prefixes that mean nothing here */
		code.put({random.one_in(2) ? 0xf2u : 0x48u, 0xe9}).to(to, 4);
		break;
	default:
		code.put({0xe9}).to(to, 4);
	}
}
void by_return(Code &code, Random &random, std::uint64_t to, Ring)
{
	code.push_address(to);
	switch (random.below(3)) {
	case 0:
		code.put({0xc2, 16, 0});
		break;
	case 1:
		code.put({0xf3, 0xc3});
		break;
	default:
		code.put({0xc3});
	}
}
void by_far_return(Code &code, Random &random, std::uint64_t to, Ring ring)
{
	code.put({0x6a, selectors(ring).code}).push_address(to);
	if (random.one_in(2))
		code.put({0x48, 0xcb});
	else
		code.put({0x48, 0xca, 8, 0});
}
void by_far_memory(Code &code, Random &random, std::uint64_t to, Ring ring)
{
	code.put({0x48, 0xff, random.one_in(2) ? 0x1du : 0x2du}); /* CALL, JMP */
	pointer(code, to);
	code.number(selectors(ring).code, 2);
}
void by_iret(Code &code, Random &, std::uint64_t to, Ring ring)
{
	code.put({0x6a, selectors(ring).stack, 0x68}).number(stack_top, 4);
	push_flags(code, ring);
	code.put({0x6a, selectors(ring).code}).push_address(to).put({0x48, 0xcf});
}
/*
 * A fault, either at an instruction here or at an address where there is none. The handler goes on at the address in
 * R14.
 */
void by_fault(Code &code, Random &random, std::uint64_t to, Ring ring)
{
	constexpr std::uint64_t kernel = 0xffffffff81000000;
	static constexpr std::uint64_t nowhere[] = {
		0x666000, 0x10004ffe, 0x5500000000, 0x7ffd00001234, 0xffff800000000000, kernel, 0xfffffffffffffff0};
	/* The kernel may do some things that programs may not. */
	const bool user = ring == Ring::user;
	const unsigned what = random.below(6);
	code.load(14, to);
	switch (user || what > 2 ? what : 0) {
	case 0:
		code.put({0x0f, 0x0b}); /* UD2 */
		break;
	case 1:
		code.put({0xcd, random.between(0x20, 0x7f)}); /* INT n, which no program may */
		break;
	case 2:
		code.put({0xf4}); /* HLT */
		break;
	case 3:
		code.put({0x31, 0xc9, 0xf7, 0xf1}); /* DIV by zero */
		break;
	default: {
		const std::uint64_t where = random.of(nowhere);
		by_register(code, random, user || where != kernel ? where : nowhere[0], ring);
	}
	}
}
void by_trap(Code &code, Random &random, std::uint64_t to, Ring ring)
{
	code.put({0xcc});
	by_register(code, random, to, ring);
}

} // namespace

/*
 * The flags that IRET loads: in a program a constant; in the kernel the present ones, which say whether it is
 * single-stepped.
 */
void push_flags(Code &code, Ring ring)
{
	if (ring == Ring::user)
		code.put({0x68}).number(0x202, 4);
	else
		code.put({0x9c});
}

void write_link(Code &code, Random &random, std::uint64_t to, Ring ring)
{
	static constexpr void (*ways[])(Code &, Random &, std::uint64_t, Ring) = {by_register, by_memory,
		by_displacement, by_displacement, by_return, by_far_return, by_far_memory, by_iret, by_fault, by_trap};
	random.of(ways)(code, random, to, ring);
}

} // namespace hwsim::fuzz
