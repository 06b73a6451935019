// SPDX-License-Identifier: GPL-2.0-or-later
#include <catch2/catch_test_macros.hpp>

#include <array>

#include "../x86/idt.h"
#include "../x86/stack_frame.h"
#include "memory_fake.h"

using namespace hwsim::x86;

namespace
{

constexpr std::uint64_t rsp = 0x100, rip = 0x40'1000, cs = 0x33, resume_flag = 1 << 16;

} // namespace

TEST_CASE("A frame has the code segment and flags behind the address, with an error code or without", "[frame]")
{
	FakeMemory memory(0x1000);
	REQUIRE(memory.store_linear(rsp, std::array<std::uint64_t, 4>{rip, cs, 0x202, 7}));
	const StackFrame plain(memory, rsp);
	CHECK(plain.code_segment(rip) == cs);
	CHECK_FALSE(plain.code_segment(rip + 1));
	CHECK_FALSE(plain.has_resume_flag(rip));

	REQUIRE(memory.store_linear(rsp, std::array<std::uint64_t, 4>{6, rip, cs, 0x202 | resume_flag}));
	const StackFrame with_code(memory, rsp);
	CHECK(with_code.code_segment(rip) == cs);
	CHECK(with_code.has_resume_flag(rip));
	CHECK_FALSE(with_code.has_resume_flag(rip + 1));
}

TEST_CASE("A handler is made to return elsewhere, if it returns to where it is thought to", "[frame]")
{
	FakeMemory memory(0x1000);
	std::uint64_t now = 0;
	REQUIRE(memory.store_linear(rsp, std::array<std::uint64_t, 4>{6, rip, cs, 0x202}));
	CHECK_FALSE(StackFrame(memory, rsp).redirect(memory, rip + 2, 0x5000));
	CHECK(StackFrame(memory, rsp).redirect(memory, rip, 0x5000));
	CHECK(memory.load_linear(rsp + 8, now));
	CHECK(now == 0x5000);
}

TEST_CASE("A stack that is not there has no frame", "[frame]")
{
	FakeMemory memory(0x1000);
	CHECK_FALSE(StackFrame(memory, 0x10'0000).code_segment(rip));
}

TEST_CASE("A handler is of the first gate that leads to it", "[idt]")
{
	constexpr std::uint64_t base = 0x200, handler = 0xffff'ffff'8123'4567;
	FakeMemory memory(0x2000);
	for (const unsigned vector : {14u, 200u}) {
		REQUIRE(memory.store_linear(base + 16 * vector, 0x8123'8e00'0010'4567));
		REQUIRE(memory.store_linear(base + 16 * vector + 8, 0xffff'ffff));
	}
	Idt idt(memory);
	CHECK_FALSE(idt.vector_of(handler));
	idt.move(base);
	CHECK(idt.vector_of(handler) == 14);
	CHECK_FALSE(idt.vector_of(handler + 1));
	idt.move(0x10'0000);
	CHECK_FALSE(idt.vector_of(handler));
}
