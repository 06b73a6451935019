/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Program: machine code that follows from a seed. It leads from piece to piece through arenas of pages, between which addresses differ in the
 * various numbers of bytes that packets distinguish. All it knows of tracing is that ioctl() of a descriptor with a fixed number switches it on
 * and off.
 *
 * A piece does one thing (pieces.cc) and then goes to the next one, in one of many ways (links.cc). A piece depends on the seed and on its own
 * number alone: if some pieces are left out of a program, the others are at the same addresses.
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

/* Pages of code; in the file of the program the first of them is "file_page". */
struct Arena {
	std::uint64_t base;
	unsigned pages;
	unsigned file_page;

	std::uint64_t end() const { return base + pages * page_size; }
};
/*
 * From the first arena to the others only 2 bytes of an address change, 4, or 6; some lie across the places where they do. The last one maps
 * the pages of the second one again.
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
/* The first function of the fifth arena is at the reset vector, where programs seldom run. */
constexpr unsigned at_4g = 4;
constexpr std::uint64_t reset_vector = 0xfffffff0;
constexpr unsigned aliased = 1, alias = 7;

/* Handlers, beginning and end of the program; this page never causes a fault. */
constexpr Arena base_arena = {0x30000000, 1, 20};
/* A page that pieces map anew. It has one function, in as many versions as the file has pages for it. */
constexpr std::uint64_t remapped = 0x10030000;
constexpr unsigned remapped_file_page = 21, nr_remapped = 3;
constexpr unsigned file_pages = 24;

/* Memory that is not there until it is touched; memory that is denied until the handler of SIGSEGV has changed its protection; stacks. */
constexpr std::uint64_t fresh = 0x20000000, fresh_size = 0x40000;
constexpr std::uint64_t denied = 0x20100000, denied_size = 0x40000;
constexpr std::uint64_t stack = 0x20200000, stack_size = 0x40000, stack_top = 0x20230000;
constexpr std::uint64_t other_stack = 0x20300000, other_stack_size = 0x20000;

/* Descriptors of the event that traces the program, if one does, and of the file of its code. */
constexpr int event_fd = 100, code_fd = 101;
/* Exit status where a handler does not expect the fault. */
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
 * Words behind the handlers, for programs in ring 0: the address where the program has to end; the flags that handlers load, as they begin
 * without the trap flag; the address of an unexpected fault; and the number of faults.
 */
constexpr std::uint64_t exit_word = base_arena.base + 0xff8, flags_word = base_arena.base + 0xff0,
			lost_word = base_arena.base + 0xfe8, faults_word = base_arena.base + 0xfe0;

/* A handler in ring 0. Its first instructions are not stepped. */
struct Handler {
	std::uint64_t begin = 0;
	std::vector<std::vector<std::uint8_t>> unseen; /* the bytes of each of them */
};

/* What a piece may use. */
struct Around {
	Ring ring = Ring::user;
	/* What the trace unit can do; and in ring 0, whether output goes to a single range. */
	Rtit unit;
	bool single_range = false;
	/* In ring 0: vectors that a piece may raise; and addresses of WRMSRs that are refused, filled in by pieces. */
	std::vector<unsigned> vectors;
	std::set<std::uint64_t> refused;
	/* Functions that change RAX and RCX at most, in all arenas; of those in the aliased one none returns by RET. */
	std::vector<std::uint64_t> leaves;
	/* The instructions that switch tracing off and on again, filled in by pieces. */
	std::set<std::uint64_t> off, on;
};

/* A kind of piece: its name, and the function that writes the code. The code may change all registers but RSP, and R14, which is 0. */
struct Kind {
	enum class In : std::uint8_t { any_ring, ring_0, ring_3 };

	const char *name;
	void (*write)(Code &code, Random &random, Around &around);
	In in;
	bool below_4g = false; /* its code has to lie below 4 GiB */
};
const std::vector<Kind> &kinds(Ring ring);

/* Parts of pieces. */
void nop(Code &code, unsigned bytes);
void jcc(Code &code, Random &random);
void push_flags(Code &code, Ring ring);

/* PTWRITEs of the value in RAX, if the unit has PTWRITE; each with an instruction of one byte behind it. */
void ptwrites(Code &code, Random &random, Around &around);
/* Kinds that are in ring 0 alone (kernel_pieces.cc). */
void interrupts(Code &code, Random &random, Around &around);
void address_spaces(Code &code, Random &random, Around &around);
void control(Code &code, Random &random, Around &around);
void refused(Code &code, Random &random, Around &around);
/*
 * A program in ring 0 begins with write_control(), and ends with end_of_trace(). write_control() switches tracing off; then it writes all that
 * the new value of IA32_RTIT_CTL depends on, and the value, or leaves tracing off. Returns the value. "first": there has to be a PSB, or a
 * decoder cannot begin.
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
	std::uint64_t link = 0; /* where the way to the next piece begins */
};

class Program
{
public:
	/* Makes up to nr_pieces pieces from the seed. "only": the kind that all of them have, if there is a kind of this name. */
	Program(std::uint64_t seed, unsigned nr_pieces, const std::string &only, Ring ring, const Rtit &unit);
	unsigned nr_pieces() const { return static_cast<unsigned>(pieces.size()); }
	/* The file with the code of a program of these pieces: file_pages pages. */
	std::vector<std::uint8_t> image(const std::vector<unsigned> &kept) const;

	/* Handlers of signals, all in base_arena but that of SIGUSR1 and SIGUSR2. */
	struct Handlers {
		std::uint64_t recover = 0, trap = 0, user = 0, restorer = 0;
	};
	Handlers handlers;
	/* In ring 0: handlers of exceptions and interrupts, by vector. */
	std::map<unsigned, Handler> gates;
	/* Where the program is entered; its first instruction that is traced; its last one, which switches tracing off. */
	std::uint64_t entry = 0, first = 0, last = 0;
	Around around;
	/* The protection of each page of each arena at the beginning. */
	std::array<std::vector<int>, std::size(arenas)> protection;
	/* Pieces as text, for a report: a line each, with its bytes. */
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
