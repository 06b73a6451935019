// SPDX-License-Identifier: GPL-2.0-or-later
#include "program.h"

#include <algorithm>
#include <cstdio>
#include <stdexcept>
#include <sys/mman.h>
#include <sys/syscall.h>

namespace hwsim::fuzz
{
namespace
{

constexpr int all_rights = PROT_READ | PROT_WRITE | PROT_EXEC;
/* Offsets of registers in struct ucontext, and of si_addr in struct siginfo. */
constexpr unsigned in_context_r14 = 88, in_context_rip = 168, in_info_address = 16;

/* If R14 is not 0 the fault was wanted, and the program goes on at that address. Else the page may be used from now on. */
void write_recover(Code &code)
{
	code.put({0x48, 0x8b, 0x4a, in_context_r14, 0x48, 0x85, 0xc9, 0x74}); /* MOV RCX; TEST; JZ */
	const auto page = code.hole(1);
	code.put({0x48, 0x89, 0x8a}).number(in_context_rip, 4);         /* MOV to RIP */
	code.put({0x31, 0xc9, 0x48, 0x89, 0x4a, in_context_r14, 0xc3}); /* R14 is 0 again */
	code.land(page);
	code.put({0x48, 0x8b, 0x7e, in_info_address, 0x48, 0x81, 0xe7}).number(0xfffff000, 4); /* MOV RDI; AND */
	code.load(6, page_size).load(2, all_rights).load(0, SYS_mprotect).put({0x0f, 0x05});
	code.put({0x85, 0xc0, 0x75, 0x01, 0xc3}); /* TEST; JNZ; RET */
	code.call_kernel(SYS_exit_group, {lost_status});
}
/* Handler of SIGUSR1 and SIGUSR2: at the first it raises the second. */
void write_user(Code &code)
{
	code.put({0x83, 0xff, 10, 0x75}); /* CMP; JNE */
	const auto second = code.hole(1);
	code.call_kernel(SYS_getpid).put({0x89, 0xc7, 0xbe, 12, 0, 0, 0});
	code.load(0, SYS_kill).put({0x0f, 0x05});
	code.land(second);
	code.put({0x31, 0xc0, 0x74, 0x00, 0xc3}); /* XOR; JZ; RET */
}
/* A function. It begins with a branch that pieces may change, and returns by RET, or without. */
void write_leaf(Code &code, Random &random, bool returns)
{
	code.put({0x74, 0x02, 0x31, 0xc0});
	if (!returns)
		code.put({0x58, 0xff, 0xe0}); /* POP; JMP */
	else if (random.one_in(3))
		code.put({0xf3, 0xc3});
	else
		code.put({0xc3});
}

/*
 * The beginning of a handler in ring 0. It is entered without the trap flag, so it drops the error code, if the fault has one, and loads its
 * flags from flags_word. The instruction behind POPF is the last one that is not stepped.
 */
void begin_handler(Code &code, Handler &handler, bool has_error_code)
{
	handler.begin = code.here();
	const auto add = [&](auto write) {
		const std::size_t from = code.all().size();
		write();
		handler.unseen.emplace_back(code.all().begin() + static_cast<std::ptrdiff_t>(from), code.all().end());
	};
	if (has_error_code)
		add([&] { code.put({0x48, 0x83, 0xc4, 0x08}); });         /* ADD */
	add([&] { code.put({0xff, 0x34, 0x25}).number(flags_word, 4); }); /* PUSH */
	add([&] { code.put({0x9d}); });                                   /* POPF */
	add([&] { code.put({0x90}); });
}
/* For faults that were wanted: the program goes on at the address in R14. */
void write_kernel_recover(Code &code)
{
	code.put({0xff, 0x04, 0x25}).number(faults_word, 4); /* INC */
	code.put({0x4d, 0x85, 0xf6, 0x74});                  /* TEST; JZ */
	const auto lost = code.hole(1);
	code.put({0x4c, 0x89, 0x34, 0x24, 0x45, 0x31, 0xf6, 0x48, 0xcf}); /* MOV; XOR; IRET */
	code.land(lost);
	code.put({0x48, 0x8b, 0x04, 0x24, 0x48, 0x89, 0x04, 0x25}).number(lost_word, 4); /* MOV; MOV */
	code.put({0xff, 0x24, 0x25}).number(exit_word, 4);                               /* JMP */
}

/* The place of an address in the file. */
std::size_t in_file(std::uint64_t at)
{
	for (const Arena &arena : arenas)
		if (at - arena.base < arena.pages * page_size)
			return arena.file_page * page_size + (at - arena.base);
	if (at - base_arena.base < page_size)
		return base_arena.file_page * page_size + (at - base_arena.base);
	throw std::logic_error("code that lies nowhere");
}

} // namespace

Program::Program(std::uint64_t of, unsigned most, const std::string &only, Ring ring, const Rtit &unit) : seed(of)
{
	around.ring = ring;
	around.unit = unit;
	around.single_range = unit.single_range && seed % 2;
	make(most, only);
}

void Program::make(unsigned most, const std::string &only)
{
	Random random(seed);
	for (unsigned i = 0; i < nr_placing; i++)
		cursor[i] = i == at_4g ? reset_vector : arenas[i].base;
	write_leaves(random);
	if (around.ring == Ring::user) {
		write_user_handler(random);
		write_base();
	} else {
		write_gates(random);
		write_kernel_base(random);
	}
	for (std::size_t i = 0; i < std::size(arenas); i++)
		for (unsigned page = 0; page < arenas[i].pages; page++)
			protection[i].push_back(around.ring == Ring::kernel ? all_rights
						: random.one_in(3)          ? PROT_NONE
						: random.one_in(4)          ? PROT_READ
									    : all_rights);
	const std::vector<Kind> &all = kinds(around.ring);
	for (unsigned i = 0; i < most; i++) {
		Random own(random.next());
		const Kind *kind = &all[own.below(static_cast<unsigned>(all.size()))];
		for (const Kind &one : all)
			if (one.name == only)
				kind = &one;
		const Code code = fitting(own, *kind);
		if (code.all().empty())
			break;
		pieces.push_back({kind, code.begin(), code.all(), code.here()});
	}
}

/* The code of a piece at a place in an arena, which often makes it cross the end of a page. Empty if there is no room. */
Code Program::fitting(Random &random, const Kind &kind)
{
	for (unsigned tries = 0; tries < 20; tries++) {
		const unsigned nr = random.below(nr_placing);
		const Arena &arena = arenas[nr];
		const std::uint64_t page = cursor[nr] & ~(page_size - 1);
		std::uint64_t at = cursor[nr] + random.below(24);
		if (random.one_in(3))
			at = std::max(at, page + page_size - random.between(1, 60));
		Code code(at);
		Around tried = around;
		/* The way here may have left anything on the stack. */
		code.load(4, stack_top);
		kind.write(code, random, tried);
		if (code.here() + link_room > arena.end() || (kind.below_4g && code.here() >> 32))
			continue;
		cursor[nr] = code.here() + link_room;
		around = tried;
		return code;
	}
	return Code(0);
}

void Program::write_leaves(Random &random)
{
	for (unsigned nr = 0; nr < nr_placing; nr++)
		for (unsigned i = 0; i < 2; i++) {
			Code code(cursor[nr] + (nr == at_4g && !i ? 0 : random.below(40)));
			write_leaf(code, random, nr != aliased);
			around.leaves.push_back(code.begin());
			if (nr == aliased)
				around.leaves.push_back(code.begin() - arenas[aliased].base + arenas[alias].base);
			cursor[nr] = code.here();
			fixed.push_back(code);
		}
}

void Program::write_user_handler(Random &random)
{
	const unsigned nr = random.below(nr_placing);
	Code code(cursor[nr] + random.below(40));
	write_user(code);
	handlers.user = code.begin();
	cursor[nr] = code.here();
	fixed.push_back(code);
}

void Program::write_base()
{
	constexpr unsigned ioc_enable = 0x2400, ioc_disable = 0x2401;
	Code code(base_arena.base);
	handlers.recover = code.here();
	write_recover(code);
	handlers.trap = code.here();
	code.put({0x31, 0xc0, 0x75, 0x00, 0xc3});
	handlers.restorer = code.here();
	code.load(0, SYS_rt_sigreturn).put({0x0f, 0x05});
	epilogue = code.here();
	code.load(4, stack_top).call_kernel(SYS_ioctl, {event_fd, ioc_disable, 0});
	last = code.here() - 2;
	code.call_kernel(SYS_exit_group, {0});
	entry = code.here();
	code.load(4, stack_top).put({0x45, 0x31, 0xf6}).call_kernel(SYS_ioctl, {event_fd, ioc_enable, 0});
	first = code.here();
	chain = code.here();
	fixed.push_back(code);
}

/* Handlers of interrupts lie anywhere, those of faults in base_arena. */
void Program::write_gates(Random &random)
{
	constexpr unsigned breakpoint = 3;
	std::array<Handler, 3> handlers_of_interrupts;
	for (Handler &handler : handlers_of_interrupts) {
		const unsigned nr = random.below(nr_placing);
		Code code(cursor[nr] + random.below(40));
		begin_handler(code, handler, false);
		code.put({0x31, 0xc0, 0x75, 0x00, 0x48, 0xcf}); /* XOR; JNZ; IRET */
		cursor[nr] = code.here();
		fixed.push_back(code);
	}
	around.vectors = {breakpoint, 4, 0x31, 0x80, 0xf0};
	for (const unsigned vector : around.vectors)
		gates[vector] = handlers_of_interrupts[random.below(handlers_of_interrupts.size())];
}

void Program::write_kernel_base(Random &random)
{
	constexpr unsigned divide_error = 0, invalid_opcode = 6, general_protection = 13, page_fault = 14;
	Code code(base_arena.base);
	begin_handler(code, gates[divide_error], false);
	write_kernel_recover(code);
	gates[invalid_opcode] = gates[divide_error];
	begin_handler(code, gates[general_protection], true);
	write_kernel_recover(code);
	gates[page_fault] = gates[general_protection];
	epilogue = code.here();
	end_of_trace(code);
	code.put({0xff, 0x24, 0x25}).number(exit_word, 4);
	entry = first = code.here();
	code.load(4, stack_top).put({0x45, 0x31, 0xf6});
	write_control(code, random, around, true);
	chain = code.here();
	fixed.push_back(code);
}

void Program::place(Code code, std::vector<std::uint8_t> &file) const
{
	std::copy(code.all().begin(), code.all().end(),
		file.begin() + static_cast<std::ptrdiff_t>(in_file(code.begin())));
}

std::vector<std::uint8_t> Program::image(const std::vector<unsigned> &kept) const
{
	/* INT3 where no program should come to. */
	std::vector<std::uint8_t> file(file_pages * page_size, 0xcc);
	for (const Code &code : fixed)
		place(code, file);
	for (unsigned i = 0; i < nr_remapped; i++) {
		Random random(seed + i);
		Code code(remapped);
		for (unsigned j = 0; j < i; j++)
			code.put({0x31, 0xc0, 0x74 | (i & 1), 0x02, 0x66, 0x90});
		write_leaf(code, random, true);
		std::copy(code.all().begin(), code.all().end(),
			file.begin() + static_cast<std::ptrdiff_t>((remapped_file_page + i) * page_size));
	}
	std::uint64_t from = chain;
	for (std::size_t i = 0; i <= kept.size(); i++) {
		const bool ends = i == kept.size();
		Random random(seed ^ from);
		Code code(from);
		write_link(code, random, ends ? epilogue : pieces[kept[i]].begin, around.ring);
		place(code, file);
		if (ends)
			break;
		const Piece &piece = pieces[kept[i]];
		std::copy(piece.bytes.begin(), piece.bytes.end(),
			file.begin() + static_cast<std::ptrdiff_t>(in_file(piece.begin)));
		from = piece.link;
	}
	return file;
}

std::string Program::text(const std::vector<unsigned> &kept) const
{
	const std::vector<std::uint8_t> file = image(kept);
	std::string said;
	char word[64];
	for (const unsigned nr : kept) {
		const Piece &piece = pieces[nr];
		std::snprintf(word, sizeof word, "# piece %u %s %lx:", nr, piece.kind->name, piece.begin);
		said += word;
		for (std::uint64_t at = piece.begin; at < piece.link + link_room; at++) {
			std::snprintf(word, sizeof word, " %02x", file[in_file(at)]);
			said += word;
		}
		said += "\n";
	}
	return said;
}

} // namespace hwsim::fuzz
