// SPDX-License-Identifier: GPL-2.0-or-later
#include <sys/mman.h>
#include <sys/syscall.h>

#include "program.h"

namespace hwsim::fuzz
{

/* NOP of up to nine bytes, as SDM volume 2 recommends. */
void nop(Code &code, unsigned bytes)
{
	static constexpr std::uint8_t nops[9][9] = {{0x90}, {0x66, 0x90}, {0x0f, 0x1f, 0}, {0x0f, 0x1f, 0x40, 0},
		{0x0f, 0x1f, 0x44, 0, 0}, {0x66, 0x0f, 0x1f, 0x44, 0, 0}, {0x0f, 0x1f, 0x80, 0, 0, 0, 0},
		{0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0}, {0x66, 0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0}};
	for (unsigned i = 0; i < bytes; i++)
		code.put({nops[bytes - 1][i]});
}

/* Any condition, near or short, to the next instruction or over some bytes. */
void jcc(Code &code, Random &random)
{
	const unsigned condition = random.below(16), over = random.one_in(3) ? 0 : random.between(1, 9);
	const bool near = random.one_in(2);
	if (near)
		code.put({0x0f, 0x80 | condition}).number(over, 4);
	else
		code.put({0x70 | condition, over});
	if (over)
		nop(code, over);
}

namespace
{

constexpr unsigned ioc_enable = 0x2400, ioc_disable = 0x2401;

// --- branches -------------------------------------------------------------------------------

void conditions(Code &code, Random &random, Around &)
{
	for (unsigned i = random.between(1, 12); i; i--) {
		code.load(0, random.next() & 0xffffffff);
		code.put({random.one_in(2) ? 0x05u : 0x2du}).number(random.next(), 4); /* ADD, SUB */
		for (unsigned j = random.between(1, 8); j; j--)
			jcc(code, random);
	}
}
/* A loop whose outcomes are the bits of a number: from one outcome to more than two packets of outcomes hold. */
void outcomes(Code &code, Random &random, Around &)
{
	code.load(1, random.between(1, 100)).load(0, random.next());
	const std::uint64_t loop = code.here();
	code.put({0x48, 0xd1, 0xc0, 0x73, 0x02, 0x66, 0x90}); /* ROL; JNC */
	if (random.one_in(2))
		code.put({0xe2}).to(loop, 1);
	else
		code.put({0xff, 0xc9, 0x0f, 0x85}).to(loop, 4);
}
void by_count(Code &code, Random &random, Around &)
{
	code.load(1, random.between(1, 9));
	const std::uint64_t loop = code.here();
	code.put({0x85, 0xc9, 0xe0 | random.below(3)}).to(loop, 1); /* LOOPNE, LOOPE, LOOP */
	if (random.one_in(2))
		code.put({0x31, 0xc9});
	code.put({0xe3, 0x01, 0x90});
	if (random.one_in(2))
		code.load(1, random.between(1, 5)).put({0xe2, 0xfe}); /* LOOP to itself */
	if (random.one_in(2))
		code.put({0x67, 0xe3, 0x00});
	for (unsigned i = random.below(3); i; i--)
		if (random.one_in(2))
			code.put({0xeb, 0});
		else
			code.put({0xeb, 4, 0xcc, 0xcc, 0xcc, 0xcc});
}

/* Calls within calls: as deep as RET compression remembers, deeper, and some that do not return. */
void recursion(Code &code, Random &random, Around &)
{
	const bool drop = random.one_in(2), leave = random.one_in(4);
	code.load(1, random.between(1, 90));
	if (drop)
		code.put({0x50});
	code.put({0xe8});
	const auto function = code.hole(4);
	code.put({0xe9});
	const auto out = code.hole(4);
	code.land(function);
	const std::uint64_t begin = code.here();
	code.put({0xff, 0xc9, 0x74});
	const auto bottom = code.hole(1);
	if (drop)
		code.put({0x50});
	code.put({0xe8}).to(begin, 4);
	code.land(bottom);
	if (leave) {
		code.put({0x83, 0xf9, random.between(0, 3), 0x0f, 0x84}); /* CMP; JE */
		const auto away = code.hole(4);
		code.land(away, drop ? 3 : 1);
	}
	if (drop)
		code.put({0xc2, 8, 0});
	else
		code.put({0xc3});
	code.land(out);
	code.load(4, stack_top);
}
void leaf_calls(Code &code, Random &random, Around &around)
{
	for (unsigned i = random.between(1, 8); i; i--) {
		const std::uint64_t leaf = around.leaves[random.below(static_cast<unsigned>(around.leaves.size()))];
		switch (random.below(3)) {
		case 0:
			if (code.reaches(leaf)) {
				code.put({0xe8}).to(leaf, 4);
				break;
			}
			[[fallthrough]];
		case 1:
			code.load(0, leaf).put({0xff, 0xd0});
			break;
		default: { /* CALL through memory; a JMP leads over that */
			code.put({0xff, 0x15}).number(2, 4).put({0xeb, 8}).number(leaf, 8);
		}
		}
	}
}
/* Returns without a call, and calls whose return address is not used. */
void odd_returns(Code &code, Random &random, Around &)
{
	for (unsigned i = random.between(1, 4); i; i--)
		switch (random.below(3)) {
		case 0:
			code.put({0xe8, 0, 0, 0, 0, 0x58}); /* CALL to the next instruction; POP */
			break;
		case 1: {
			code.put({0x48, 0x8d, 0x05}); /* LEA; PUSH; RET */
			const auto behind = code.hole(4);
			code.put({0x50, 0xc3});
			nop(code, random.between(1, 9));
			code.land(behind);
			break;
		}
		default:
			code.put({0xe8, 1, 0, 0, 0, 0xcc, 0x48, 0x83, 0x04, 0x24, 7, 0xc3, 0x90, 0x90});
			/* CALL; ADD of the return address: to the NOPs behind RET */
		}
}
void far_transfers(Code &code, Random &random, Around &around)
{
	const Selectors its = selectors(around.ring);
	for (unsigned i = random.between(1, 3); i; i--) {
		code.put({0x48, 0x8d, 0x05}); /* LEA of what comes behind */
		const auto behind = code.hole(4);
		if (random.one_in(2)) {
			code.put({0x6a, its.code, 0x50, 0x48, 0xcb});
		} else {
			code.put({0x48, 0x89, 0xe1, 0x6a, its.stack, 0x51});
			push_flags(code, around.ring);
			code.put({0x6a, its.code, 0x50, 0x48, 0xcf});
		}
		nop(code, random.between(1, 9));
		code.land(behind);
	}
}
/* Into 32-bit code and back, by the selector. Without INTO, which libipt takes for one that always traps. */
void compatibility(Code &code, Random &random, Around &around)
{
	const Selectors its = selectors(around.ring);
	code.put({0x48, 0xff, 0x2d, 0, 0, 0, 0}); /* JMP through the far pointer behind it */
	const auto into = code.hole(8);
	code.number(its.code_32, 2);
	code.land_absolute(into);
	code.put({0x31, 0xc0, 0x31, 0xc9, 0x31, 0xd2, 0x31, 0xdb});
	for (unsigned i = random.between(1, 6); i; i--) {
		code.put({0x40 | random.below(4)}); /* INC of a register, which is a prefix in 64-bit code */
		jcc(code, random);
	}
	code.put({0xe8, 0, 0, 0, 0, 0x58, 0xe8, 2, 0, 0, 0, 0xeb, 1, 0xc3, 0xb9, 2, 0, 0, 0, 0xe2, 0xfe});
	code.put({0xea});
	const auto back = code.hole(4);
	code.number(its.code, 2);
	code.land_absolute(back);
	code.load(4, stack_top);
}

// --- the kernel -------------------------------------------------------------------------------

void system_calls(Code &code, Random &random, Around &)
{
	for (unsigned i = random.between(1, 4); i; i--)
		switch (random.below(4)) {
		case 0:
			code.call_kernel(SYS_sched_yield);
			break;
		case 1:
			code.load(0, 20).put({0xcd, 0x80}); /* getpid() by INT */
			break;
		default:
			code.call_kernel(SYS_getppid);
		}
}
/* A process that ends at once: the page tables change meanwhile. Its end raises no signal. */
void child(Code &code, Random &, Around &)
{
	code.call_kernel(SYS_clone, {0, 0}).put({0x85, 0xc0, 0x75});
	const auto parent = code.hole(1);
	code.call_kernel(SYS_exit, {0});
	code.land(parent);
	constexpr std::uint64_t all = 0x40000000;
	code.call_kernel(SYS_wait4, {0xffffffffffffffff, 0, all, 0});
	/* Flags must not depend on the number of the process. */
	code.put({0x31, 0xc0});
}
/* The handler of the signal raises one more. It is sometimes on a page that is not executable yet. */
void signals(Code &code, Random &random, Around &)
{
	for (unsigned i = random.between(1, 3); i; i--) {
		code.call_kernel(SYS_getpid).put({0x89, 0xc7, 0xbe, random.one_in(2) ? 10u : 12u, 0, 0, 0});
		code.load(0, SYS_kill).put({0x0f, 0x05});
		jcc(code, random);
	}
}
void traps(Code &code, Random &random, Around &)
{
	for (unsigned i = random.between(1, 3); i; i--) {
		if (random.one_in(2))
			code.put({0xcc});
		else
			code.put({0xcd, 3});
		jcc(code, random);
	}
}
/*
 * Instructions that the virtual hardware carries out, in the middle of blocks and at the end of pages. Not RDTSC: if the virtual
 * hardware carries it out, the trap flag stops the program one instruction late.
 */
void carried_out(Code &code, Random &random, Around &)
{
	for (unsigned i = random.between(1, 4); i; i--)
		code.put({0x31, 0xc0, 0x31, 0xc9, 0x0f, 0xa2}); /* CPUID of leaf 0 */
}
/* Tracing is off, for a while. */
void without_trace(Code &code, Random &random, Around &around)
{
	code.call_kernel(SYS_ioctl, {event_fd, ioc_disable, 0});
	around.off.insert(code.here() - 2);
	for (unsigned i = random.below(8); i; i--)
		jcc(code, random);
	code.call_kernel(SYS_ioctl, {event_fd, ioc_enable, 0});
	around.on.insert(code.here() - 2);
}

// --- memory -------------------------------------------------------------------------------------

/* An address near the end of a page, in memory that is not there yet or that is denied. */
std::uint64_t edge(Random &random)
{
	const bool deny = random.one_in(2);
	const unsigned pages = (deny ? denied_size : fresh_size) / page_size;
	return (deny ? denied : fresh) + random.between(1, pages - 3) * page_size - random.between(1, 40);
}
/* Makes a page as if it had never been touched. */
void forget(Code &code, std::uint64_t at)
{
	const std::uint64_t page = at & ~(page_size - 1);
	if (at < denied)
		code.call_kernel(SYS_madvise, {page, 2 * page_size, MADV_DONTNEED});
	else
		code.call_kernel(SYS_mprotect, {page, 2 * page_size, PROT_NONE});
}
/* Strings that have a fault in the middle, of either operand. */
void strings(Code &code, Random &random, Around &)
{
	static constexpr unsigned operations[][2] = {
		{0xf3, 0xa4}, {0xf3, 0xaa}, {0xf3, 0xa6}, {0xf2, 0xa6}, {0xf2, 0xae}, {0xf3, 0xae}, {0xf3, 0xac}};
	for (unsigned i = random.between(1, 3); i; i--) {
		const std::uint64_t from = edge(random), to = edge(random);
		const auto &operation = random.of(operations);
		forget(code, from);
		forget(code, to);
		code.load(6, from).load(7, to).load(1, random.below(60)).load(0, random.below(2));
		code.put({operation[0], operation[1]});
	}
}
/* Single accesses, some of which cross the end of a page. */
void accesses(Code &code, Random &random, Around &)
{
	for (unsigned i = random.between(1, 3); i; i--) {
		const std::uint64_t at = (edge(random) & ~(page_size - 1)) + page_size - random.between(1, 16);
		forget(code, at);
		code.load(7, at);
		switch (random.below(5)) {
		case 0:
			code.put({0x48, 0x8b, 0x07}); /* MOV */
			break;
		case 1:
			code.put({0xf0, 0x48, 0x0f, 0xc1, 0x07}); /* LOCK XADD */
			break;
		case 2:
			code.put({0xf0, 0x48, 0x0f, 0xb1, 0x07}); /* LOCK CMPXCHG */
			break;
		case 3: /* LOCK CMPXCHG16B, of an operand that is aligned */
			code.load(7, (at & ~(page_size - 1)) + page_size)
				.put({0x53, 0x31, 0xdb, 0xf0, 0x48, 0x0f, 0xc7, 0x0f, 0x5b});
			break;
		default:
			code.put({0xc7, 0x07}).number(0, 4);
		}
		/* With the trap flag set, flags behind LOCK differ in QEMU 11. */
		code.put({0x31, 0xc0});
		jcc(code, random);
	}
}
/* A call whose push faults, and a return whose pop faults, at first. */
void stack_faults(Code &code, Random &random, Around &)
{
	const std::uint64_t top = (edge(random) & ~(page_size - 1)) + page_size + (random.one_in(2) ? 8 : 0);
	forget(code, top - page_size);
	code.load(4, top).put({0xe8, 2, 0, 0, 0, 0xeb, 1, 0xc3}); /* CALL; JMP; RET */
	code.load(4, stack_top);
}

// --- code that changes ----------------------------------------------------------------------------

/* Changes the operand of the next instruction, or of a later one in the same block. */
void operand_changes(Code &code, Random &random, Around &)
{
	for (unsigned i = random.between(1, 3); i; i--) {
		const unsigned between = random.below(9);
		code.put({0xc6, 0x05}).number(between + 1, 4).put({random.below(256)}); /* MOV to the operand of MOV */
		if (between)
			nop(code, between);
		code.load(0, random.next() & 0x7fffffff);
	}
}
/* Changes a branch before it is executed: its condition, its displacement, or its kind. */
void branch_changes(Code &code, Random &random, Around &)
{
	for (unsigned i = random.between(1, 3); i; i--) {
		const unsigned between = random.below(6);
		code.put({0x31, 0xc0}); /* ZF */
		switch (random.below(3)) {
		case 0:
			code.put({0x80, 0x35}).number(between, 4).put({0x01}); /* XOR of the opcode */
			break;
		case 1:
			code.put({0xc6, 0x05}).number(between + 1, 4).put({random.below(10)});
			break;
		default:
			code.put({0xc6, 0x05}).number(between, 4).put({0xeb});
		}
		if (between)
			nop(code, between);
		code.put({0x70 | random.below(16), random.below(10)});
		for (unsigned j = 0; j < 10; j++)
			code.put({0x90});
	}
}
/* A loop that changes one of its branches each time. */
void loop_changes(Code &code, Random &random, Around &)
{
	code.load(1, random.between(2, 12));
	const std::uint64_t loop = code.here();
	const bool before = random.one_in(2);
	if (before)
		code.put({0x80, 0x35})
			.number(2, 4)
			.put({0x01, 0x31, 0xc0}); /* XOR of the opcode of what comes behind it */
	else
		code.put({0x31, 0xc0});
	const std::uint64_t branch = code.here();
	code.put({0x74 | random.below(2), 1, 0x90});
	if (!before)
		code.put({0x80, 0x35}).number(branch - (code.here() + 5), 4).put({0x01});
	code.put({0xe2}).to(loop, 1);
}
/* Changes a function that was called before: the JZ at its beginning becomes JNZ, and the reverse. */
void leaf_changes(Code &code, Random &random, Around &around)
{
	const std::uint64_t leaf = around.leaves[random.below(static_cast<unsigned>(around.leaves.size()))];
	for (unsigned i = random.between(1, 3); i; i--) {
		code.load(0, leaf).put({0xff, 0xd0});                   /* translated before */
		code.load(0, leaf).put({0x80, 0x30, 0x01, 0xff, 0xd0}); /* XOR; CALL */
	}
}
/* Maps another page at the address of a function, and calls it. */
void page_changes(Code &code, Random &random, Around &)
{
	for (unsigned i = random.between(1, 3); i; i--) {
		const unsigned page = remapped_file_page + random.below(nr_remapped);
		code.call_kernel(SYS_mmap, {remapped, page_size, PROT_READ | PROT_WRITE | PROT_EXEC,
						   MAP_SHARED | MAP_FIXED, code_fd, page * page_size});
		code.load(0, remapped).put({0xff, 0xd0});
	}
}
/* A page, perhaps this one, is not executable any more. */
void page_is_denied(Code &code, Random &random, Around &)
{
	const Arena &arena = arenas[random.below(std::size(arenas))];
	const std::uint64_t page =
		random.one_in(3) ? code.here() & ~(page_size - 1) : arena.base + random.below(arena.pages) * page_size;
	const unsigned rights = random.one_in(2) ? PROT_NONE : PROT_READ | PROT_WRITE;
	code.call_kernel(SYS_mprotect, {page, page_size, rights});
	jcc(code, random);
}

// --- what the program says itself -------------------------------------------------------------------

void ptwrite(Code &code, Random &random)
{
	code.load(0, random.next());
	switch (random.below(3)) {
	case 0:
		code.put({0xf3, 0x0f, 0xae, 0xe0, 0x90});
		break;
	case 1:
		code.put({0xf3, 0x48, 0x0f, 0xae, 0xe0, 0x90});
		break;
	default: /* of what has been pushed */
		code.put({0x50, 0xf3, 0x48, 0x0f, 0xae, 0x24, 0x24, 0x58});
	}
}

} // namespace

void ptwrites(Code &code, Random &random, Around &around)
{
	for (unsigned i = random.between(1, 4); i; i--) {
		if (around.unit.ptwrite)
			ptwrite(code, random);
		jcc(code, random);
	}
}

const std::vector<Kind> &kinds(Ring ring)
{
	using enum Kind::In;
	static const std::vector<Kind> all = {
		{"conditions", conditions, any_ring},
		{"outcomes", outcomes, any_ring},
		{"by-count", by_count, any_ring},
		{"recursion", recursion, any_ring},
		{"leaf-calls", leaf_calls, any_ring},
		{"odd-returns", odd_returns, any_ring},
		{"far-transfers", far_transfers, any_ring},
		{"compatibility", compatibility, any_ring, true},
		{"system-calls", system_calls, ring_3},
		{"child", child, ring_3},
		{"signals", signals, ring_3},
		{"traps", traps, ring_3},
		{"carried-out", carried_out, any_ring},
		{"without-trace", without_trace, ring_3},
		{"strings", strings, ring_3},
		{"accesses", accesses, ring_3},
		{"stack-faults", stack_faults, ring_3},
		{"operand-changes", operand_changes, any_ring},
		{"branch-changes", branch_changes, any_ring},
		{"loop-changes", loop_changes, any_ring},
		{"leaf-changes", leaf_changes, any_ring},
		{"page-changes", page_changes, ring_3},
		{"page-is-denied", page_is_denied, ring_3},
		{"interrupts", interrupts, ring_0},
		{"address-spaces", address_spaces, ring_0},
		{"ptwrites", ptwrites, any_ring},
		{"control", control, ring_0},
		{"refused", refused, ring_0},
	};
	static const auto in = [](Kind::In other) {
		std::vector<Kind> some = all;
		std::erase_if(some, [&](const Kind &kind) { return kind.in == other; });
		return some;
	};
	static const std::vector<Kind> of_users = in(ring_0), of_kernels = in(ring_3);
	return ring == Ring::user ? of_users : of_kernels;
}

} // namespace hwsim::fuzz
