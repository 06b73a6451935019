// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Tests that the instructions that the virtual hardware carries out in QEMU's place preserve the flags: an arithmetic instruction followed
 * by such an instruction must leave the same flags as one followed by a NOP. At that point QEMU holds not the flags but the operands from
 * which it computes them, in a way that depends on where the block of code began: after a system call, after a jump.
 *
 *   flags [INSTRUCTION...]     INSTRUCTION: ptwrite or rdpmc (of counter 0), tested in addition to cpuid, rdtsc and rdtscp
 */
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string_view>

namespace
{

using Flags = std::uint64_t (*)(std::uint64_t value);

#define BEHIND_CALL "mov $39, %%eax\n\tsyscall\n\t" /* getpid */
#define BEHIND_JUMP "jmp 1f\n1:\t"
#define IN_THE_MIDDLE "mov $1, %%eax\n\t"

#define FLAGS(begin, arithmetic, instruction)                                                                          \
	[](std::uint64_t value) {                                                                                      \
		std::uint64_t flags;                                                                                   \
		asm volatile("lea -128(%%rsp), %%rsp\n\t" begin "mov $0, %%eax\n\tmov $0, %%ecx\n\t" arithmetic        \
			     "\n\t" instruction "\n\tpushfq\n\tpop %0\n\tlea 128(%%rsp), %%rsp"                        \
			: "=&r"(flags), "+r"(value)                                                                    \
			:                                                                                              \
			: "rax", "rbx", "rcx", "rdx", "r11", "memory", "cc");                                          \
		return flags;                                                                                          \
	}

#define ARITHMETIC(begin, instruction)                                                                                 \
	FLAGS(begin, "add %1, %1", instruction), FLAGS(begin, "cmp $77, %1", instruction),                             \
		FLAGS(begin, "sub $-5, %1", instruction), FLAGS(begin, "shr $32, %1", instruction),                    \
		FLAGS(begin, "sar $3, %1", instruction), FLAGS(begin, "shl $7, %1", instruction),                      \
		FLAGS(begin, "and $-16, %1", instruction), FLAGS(begin, "inc %1", instruction),                        \
		FLAGS(begin, "dec %1", instruction), FLAGS(begin, "neg %1", instruction),                              \
		FLAGS(begin, "bt $40, %1", instruction), FLAGS(begin, "imul $3, %1", instruction),                     \
		FLAGS(begin, "popcnt %1, %1", instruction)
constexpr std::size_t cases = 39;

#define EVERYWHERE(instruction)                                                                                        \
	ARITHMETIC(BEHIND_CALL, instruction), ARITHMETIC(BEHIND_JUMP, instruction),                                    \
		ARITHMETIC(IN_THE_MIDDLE, instruction)

struct Kind {
	const char *name;
	Flags flags[cases];
};

constexpr Kind plain = {"nop", {EVERYWHERE("nop")}};
constexpr Kind kinds[] = {
	{"cpuid", {EVERYWHERE("cpuid")}},
	{"rdtsc", {EVERYWHERE("rdtsc")}},
	{"rdtscp", {EVERYWHERE("rdtscp")}},
	{"rdpmc", {EVERYWHERE("rdpmc")}},
	{"ptwrite", {EVERYWHERE("ptwrite %%rsp")}},
};

/* Test values of all bit lengths. */
std::uint64_t value(unsigned n)
{
	return 0x9e37'79b9'7f4a'7c15 * (n + 1) >> n % 64;
}

bool wanted(std::string_view name, int argc, char **argv)
{
	if (name != "rdpmc" && name != "ptwrite")
		return true;
	for (int i = 1; i < argc; i++) {
		if (name == argv[i])
			return true;
	}
	return false;
}

} // namespace

int main(int argc, char **argv)
{
	unsigned tried = 0, wrong = 0;
	for (const Kind &kind : kinds) {
		if (!wanted(kind.name, argc, argv))
			continue;
		for (std::size_t i = 0; i < cases; i++) {
			for (unsigned n = 0; n < 128; n++, tried++) {
				const std::uint64_t right = plain.flags[i](value(n)), is = kind.flags[i](value(n));
				if (is == right)
					continue;
				if (!wrong++)
					std::printf("%s, case %zu, value %#llx: %#llx, and not %#llx\n", kind.name, i,
						static_cast<unsigned long long>(value(n)),
						static_cast<unsigned long long>(is),
						static_cast<unsigned long long>(right));
			}
		}
	}
	std::printf("tried %u, wrong %u\n", tried, wrong);
	return wrong ? 1 : 0;
}
