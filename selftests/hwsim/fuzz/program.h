/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Program: machine code of a seed, which leads from piece to piece through arenas of pages that lie apart as packets of addresses
 * tell apart. Knows nothing of tracing but that it is switched on and off by ioctl() of a descriptor with a fixed number.
 *
 * A piece does one thing (pieces.cc) and then goes to the next one, in one of many ways (links.cc). Each depends on the seed and on its
 * own number alone: a program from which some are left out has the others at the same addresses.
 */
#ifndef HWSIM_FUZZ_PROGRAM_H
#define HWSIM_FUZZ_PROGRAM_H

#include <array>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "code.h"
#include "rtit.h"

namespace hwsim::fuzz
{

constexpr std::uint64_t page_size = 4096;

/* Code: its pages in the file of the program, from this one on. */
struct Arena {
	std::uint64_t base;
	unsigned pages;
	unsigned file_page;

	std::uint64_t end() const { return base + pages * page_size; }
};
/*
 * From the first to the others only 2 bytes of an address change, 4, or 6; some lie across the places where they do. The last one
 * is the pages of the second at other addresses.
 */
constexpr Arena arenas[] = {
	{0x10000000, 3, 0},
	{0x10008000, 2, 3},
	{0x1000f000, 2, 5},
	{0x7fffe000, 3, 7},
	{0xfffff000, 4, 10},
	{0x123456780000, 2, 14},
	{0x7ffeffffe000, 4, 16},
	{0x10018000, 2, 3},
};
constexpr unsigned nr_placing = 7; /* arenas in which pieces are placed */
/* In the fifth the first function is where processors begin after a reset, and programs seldom. */
constexpr unsigned at_4g = 4;
constexpr std::uint64_t reset_vector = 0xfffffff0;
constexpr unsigned aliased = 1, alias = 7;

/* Handlers, beginning and end; nothing is ever wrong with this page. */
constexpr Arena base_arena = {0x30000000, 1, 20};
/* A page that pieces map anew: it has one function, of which there are as many kinds as pages behind it in the file. */
constexpr std::uint64_t remapped = 0x10030000;
constexpr unsigned remapped_file_page = 21, nr_remapped = 3;
constexpr unsigned file_pages = 24;

/* Memory that is not there until it is touched; that may not be touched until a handler of SIGSEGV has changed that; stacks. */
constexpr std::uint64_t fresh = 0x20000000, fresh_size = 0x40000;
constexpr std::uint64_t denied = 0x20100000, denied_size = 0x40000;
constexpr std::uint64_t stack = 0x20200000, stack_size = 0x40000, stack_top = 0x20230000;
constexpr std::uint64_t other_stack = 0x20300000, other_stack_size = 0x20000;

/* Descriptors of the event that traces the program, if one does, and of the file of its code. */
constexpr int event_fd = 100, code_fd = 101;
/* What it ends with where a handler does not know what to do. */
constexpr int lost_status = 77;

/* Where a program runs. */
enum class Ring : std::uint8_t { user, kernel };
struct Selectors {
	unsigned code, code_32, stack;
};
/* Of Linux. */
constexpr Selectors selectors(Ring ring)
{
	return ring == Ring::user ? Selectors{0x33, 0x23, 0x2b} : Selectors{0x10, 0x08, 0x18};
}

/*
 * Words behind the handlers, for those in ring 0: where it has to end, the flags that handlers are to have (they begin without the trap flag),
 * where it is lost, and how many faults it has had.
 */
constexpr std::uint64_t exit_word = base_arena.base + 0xff8, flags_word = base_arena.base + 0xff0,
			lost_word = base_arena.base + 0xfe8, faults_word = base_arena.base + 0xfe0;

/* A handler in ring 0. Of its first instructions there are no steps. */
struct Handler {
	std::uint64_t begin = 0;
	std::vector<std::vector<std::uint8_t>> unseen; /* what these are made of */
};

/* What a piece may use. */
struct Around {
	Ring ring = Ring::user;
	/* What the unit can do; and in ring 0, where output is to go. */
	Rtit unit;
	bool single_range = false;
	/* In ring 0: vectors that a piece may raise, and WRMSRs that are refused, filled in by pieces. */
	std::vector<unsigned> vectors;
	std::set<std::uint64_t> refused;
	/* Functions that change RAX and RCX at most, in all arenas; of those in the aliased one none returns by RET. */
	std::vector<std::uint64_t> leaves;
	/* Where tracing ends and begins again, filled in by pieces: the instructions that ask for it. */
	std::set<std::uint64_t> off, on;
};

/* One way of doing something: its name, and what writes it. It may change all registers but RSP, and R14, which is 0. */
struct Kind {
	enum class In : std::uint8_t { any_ring, ring_0, ring_3 };

	const char *name;
	void (*write)(Code &code, Random &random, Around &around);
	In in;
	bool below_4g = false; /* its code has to lie there */
};
const std::vector<Kind> &kinds(Ring ring);

/* Parts of pieces. */
void nop(Code &code, unsigned bytes);
void jcc(Code &code, Random &random);
void push_flags(Code &code, Ring ring);

/* PTWRITEs of RAX, if the unit has that; each with an instruction of one byte behind it. */
void ptwrites(Code &code, Random &random, Around &around);
/* Kinds that are in ring 0 alone (kernel_pieces.cc). */
void interrupts(Code &code, Random &random, Around &around);
void address_spaces(Code &code, Random &random, Around &around);
void control(Code &code, Random &random, Around &around);
void refused(Code &code, Random &random, Around &around);
/*
 * And what such a program begins and ends with: tracing is switched off, then on with all that the new value depends on, or not at all. Returns
 * that. The first time a PSB has to come, or a decoder cannot begin.
 */
std::uint64_t write_control(Code &code, Random &random, const Around &around, bool first = false);
void end_of_trace(Code &code);

/* The way from the end of a piece to the next one. */
constexpr unsigned link_room = 64;
void write_link(Code &code, Random &random, std::uint64_t to, Ring ring);

struct Piece {
	const Kind *kind;
	std::uint64_t begin = 0; /* where it is */
	std::vector<std::uint8_t> bytes;
	std::uint64_t link = 0; /* where what leads on is */
};

class Program
{
public:
	/* Of the pieces that the seed makes, those whose numbers are named. "only": a name of a kind that all have. */
	Program(std::uint64_t seed, unsigned nr_pieces, const std::string &only, Ring ring, const Rtit &unit);
	unsigned nr_pieces() const { return static_cast<unsigned>(pieces.size()); }
	/* The code of the program that has these pieces, as the file of it: file_pages pages. */
	std::vector<std::uint8_t> image(const std::vector<unsigned> &kept) const;

	/* Handlers of signals, all in base_arena but that of SIGUSR1. */
	struct Handlers {
		std::uint64_t recover = 0, trap = 0, user = 0, restorer = 0;
	};
	Handlers handlers;
	/* In ring 0: of exceptions and interrupts, in the order of gates. */
	std::map<unsigned, Handler> gates;
	/* Where it is entered; its first instruction that is traced; the last one, which asks for the end of tracing. */
	std::uint64_t entry = 0, first = 0, last = 0;
	Around around;
	/* Of each page of each arena: what its protection is at the beginning. */
	std::array<std::vector<int>, std::size(arenas)> protection;
	/* Pieces as text, for those who look for what went wrong: a line each, with its bytes. */
	std::string text(const std::vector<unsigned> &kept) const;
	const Piece &piece(unsigned nr) const { return pieces[nr]; }

private:
	void make(unsigned nr_pieces, const std::string &only);
	void write_base();
	void write_kernel_base(Random &random);
	void write_user_handler(Random &random);
	void write_gates(Random &random);
	void place(Code code, std::vector<std::uint8_t> &file) const;
	Code fitting(Random &random, const Kind &kind);
	void write_leaves(Random &random);

	std::uint64_t seed;
	std::vector<Piece> pieces;
	std::vector<Code> fixed; /* what all programs of the seed have */
	std::uint64_t chain = 0; /* where the way to the first piece begins */
	std::uint64_t epilogue = 0;
	std::array<std::uint64_t, nr_placing> cursor{};
};

} // namespace hwsim::fuzz

#endif
